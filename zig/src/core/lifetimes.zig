//! The program's threads (its main one and its Workers) that have loaded the library and have not ended. The runtime
//! gives a thread's handle back when it ends, however it ends. Files that an unfinished save left tell its thread.
const builtin = @import("builtin");
const std = @import("std");
const abi_memory = @import("abi_memory");

const State = abi_memory.ThreadState;

const Thread = extern struct {
    /// First, so that the other side can read it at the handle.
    number: f64,
    next: ?*Thread,
    /// What the system calls it.
    id: std.Thread.Id,
};

var lock: std.atomic.Value(u32) = .init(0);
var first: ?*Thread = null;
var last_number: f64 = 0;

fn acquire() void {
    while (lock.cmpxchgWeak(0, 1, .acquire, .monotonic) != null) std.atomic.spinLoopHint();
}

fn release() void {
    lock.store(0, .release);
}

/// Notes the calling thread: a handle, whose first field is a number that no other thread of this process has had.
pub fn zs_thread_begin() callconv(.c) f64 {
    const self = std.heap.c_allocator.create(Thread) catch return 0;
    acquire();
    defer release();
    last_number += 1;
    self.* = .{ .number = last_number, .next = first, .id = std.Thread.getCurrentId() };
    first = self;
    return @floatFromInt(@intFromPtr(self));
}

fn runs(id: std.Thread.Id) bool {
    if (builtin.os.tag != .linux) return true;
    const linux = std.os.linux;
    return linux.errno(linux.tgkill(linux.getpid(), @intCast(id), @enumFromInt(0))) != .SRCH;
}

/// Whether the thread of this number goes on: one of ThreadState.
pub fn zs_thread_state(number: f64) callconv(.c) i32 {
    acquire();
    defer release();
    var at = first;
    while (at) |t| : (at = t.next) if (t.number == number) return if (runs(t.id)) State.living else State.kept;
    return State.ended;
}

fn end(_: ?*anyopaque, handle: ?*anyopaque) callconv(.c) void {
    const self: *Thread = @ptrCast(@alignCast(handle orelse return));
    acquire();
    var at = &first;
    while (at.*) |t| : (at = &t.next) {
        if (t != self) continue;
        at.* = t.next;
        break;
    }
    release();
    std.heap.c_allocator.destroy(self);
}

/// Address of the function that ends a thread: (any address, the handle).
pub fn zs_release_thread_function() callconv(.c) f64 {
    return @floatFromInt(@intFromPtr(&end));
}

test "a thread that has ended without giving its handle back" {
    if (builtin.os.tag != .linux) return;
    const Side = struct {
        fn run(handle: *f64) void {
            handle.* = zs_thread_begin();
        }
    };
    var handle: f64 = 0;
    const side = try std.Thread.spawn(.{}, Side.run, .{&handle});
    side.join();
    const thread: *Thread = @ptrFromInt(@as(usize, @intFromFloat(handle)));
    // `join` returns a little before the system has forgotten the thread.
    var looks: usize = 0;
    while (zs_thread_state(thread.number) == State.living and looks < 1_000_000) : (looks += 1) {
        std.Thread.yield() catch {};
    }
    try std.testing.expectEqual(State.kept, zs_thread_state(thread.number));
    end(null, thread);
}

test "threads live until their handles are given back" {
    const a = zs_thread_begin();
    const b = zs_thread_begin();
    const thread: *Thread = @ptrFromInt(@as(usize, @intFromFloat(a)));
    const other: *Thread = @ptrFromInt(@as(usize, @intFromFloat(b)));
    const numbers = [2]f64{ thread.number, other.number };
    end(null, thread);
    try std.testing.expectEqual(State.ended, zs_thread_state(numbers[0]));
    try std.testing.expectEqual(State.living, zs_thread_state(numbers[1]));
    end(null, other);
    try std.testing.expectEqual(State.ended, zs_thread_state(numbers[1]));
}
