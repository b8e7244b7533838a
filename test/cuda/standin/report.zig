//! What the stand-in tells about itself: the last report, and counters. Every text says that it is emulated.
const std = @import("std");
const Lock = @import("lock.zig").Lock;

const head = "emulated CUDA (zensor's stand-in): ";

var lock: Lock = .{};
var text: [4096]u8 = ("" ++ .{0} ** 4096).*;

/// Keeps a text as the last report.
pub fn say(comptime format: []const u8, args: anytype) void {
    lock.lock();
    defer lock.unlock();
    const made = std.fmt.bufPrint(text[0 .. text.len - 1], head ++ format, args) catch text[0 .. text.len - 1];
    text[made.len] = 0;
}

pub fn clear() void {
    lock.lock();
    defer lock.unlock();
    text[0] = 0;
}

pub fn last() [*:0]const u8 {
    return @ptrCast(&text);
}

pub const Counter = std.atomic.Value(u64);

/// Named as tests ask for them.
pub const Counters = struct {
    launches: Counter = .init(0),
    blocks: Counter = .init(0),
    thread_instructions: Counter = .init(0),
    launch_nanoseconds: Counter = .init(0),
    allocations: Counter = .init(0),
    allocated_bytes: Counter = .init(0),
    peak_bytes: Counter = .init(0),
    host_allocations: Counter = .init(0),
    modules: Counter = .init(0),
    streams: Counter = .init(0),
    events: Counter = .init(0),
    races: Counter = .init(0),
    faults: Counter = .init(0),
    copies: Counter = .init(0),
    copied_bytes: Counter = .init(0),
};

pub var counters: Counters = .{};

pub fn counter(name: []const u8) ?u64 {
    inline for (@typeInfo(Counters).@"struct".fields) |field| {
        if (std.mem.eql(u8, name, field.name)) return @field(counters, field.name).load(.monotonic);
    }
    return null;
}

pub fn count(comptime name: []const u8, n: u64) void {
    _ = @field(counters, name).fetchAdd(n, .monotonic);
}

pub fn uncount(comptime name: []const u8, n: u64) void {
    _ = @field(counters, name).fetchSub(n, .monotonic);
}
