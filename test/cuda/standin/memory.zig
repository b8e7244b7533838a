//! Device memory: host memory under tagged addresses, so that a program that uses one by itself faults at once.
const std = @import("std");
const ipc = @import("api_ipc.zig");
const report = @import("report.zig");

pub const tag: u64 = 1 << 50;
const alignment = 256;
const poison: u8 = 0xCD;
/// Fresh memory is filled up to this size; beyond it pages stay untouched until somebody writes them.
const poison_limit = 64 << 20;
const kept_bytes = 32 << 20;
const kept_count = 64;

const gpa = std.heap.c_allocator;

/// Device addresses from `low` up to, not including, `high`.
pub const Range = struct { low: u64 = std.math.maxInt(u64), high: u64 = 0 };

pub const Allocation = struct {
    base: u64,
    size: u64,
    device: u32,
    /// Bytes taken from the host.
    room: u64,
    /// Belongs to a module, which alone may free it; constants refuse writes.
    of_module: bool = false,
    read_only: bool = false,
    /// Of another process: only closing its handle gives it back.
    imported: bool = false,
};

/// Live ones by rising addresses; guarded by the lock of the driver, and left alone while a kernel runs.
var live: std.ArrayList(Allocation) = .empty;
/// The newest freed ones, whose addresses are not given out again for a while.
var freed: std.ArrayList(Allocation) = .empty;
var freed_bytes: u64 = 0;

pub fn host(address: u64) [*]u8 {
    return @ptrFromInt(address - tag);
}

fn raw(bytes: u64) ?u64 {
    const page: std.mem.Alignment = .fromByteUnits(4096);
    const p = std.heap.page_allocator.rawAlloc(bytes, page, @returnAddress()) orelse return null;
    return @intFromPtr(p);
}

fn unmap(a: Allocation) void {
    const page: std.mem.Alignment = .fromByteUnits(4096);
    std.heap.page_allocator.rawFree(host(a.base)[0..a.room], page, @returnAddress());
}

/// A new allocation's address.
pub fn allocate(size: u64, device: u32) ?u64 {
    const room = std.mem.alignForward(u64, std.math.add(u64, size, alignment) catch return null, 4096);
    const at = raw(room) orelse return null;
    const base = at + tag;
    const made: Allocation = .{ .base = base, .size = size, .device = device, .room = room };
    const index = position(base);
    live.insert(gpa, index, made) catch {
        unmap(made);
        return null;
    };
    if (room <= poison_limit) @memset(host(base)[0..room], poison);
    report.count("allocations", 1);
    report.count("allocated_bytes", size);
    const now = report.counters.allocated_bytes.load(.monotonic);
    _ = report.counters.peak_bytes.fetchMax(now, .monotonic);
    return base;
}

/// Index of the first allocation that lies above `address`.
fn position(address: u64) usize {
    var low: usize = 0;
    var high = live.items.len;
    while (low < high) {
        const middle = (low + high) / 2;
        if (live.items[middle].base > address) high = middle else low = middle + 1;
    }
    return low;
}

/// The live allocation that holds `address`.
pub fn find(address: u64) ?*Allocation {
    const index = position(address);
    if (index == 0) return null;
    const a = &live.items[index - 1];
    return if (address - a.base < a.size or address == a.base) a else null;
}

/// Whether `bytes` at `address` lie in one allocation.
pub fn holds(address: u64, bytes: u64) bool {
    const a = find(address) orelse return false;
    return bytes <= a.size - (address - a.base);
}

/// Frees by the address that `allocate` gave; false for any other.
pub fn free(address: u64) bool {
    const index = position(address);
    if (index == 0) return false;
    const a = live.items[index - 1];
    if (a.base != address) return false;
    _ = live.orderedRemove(index - 1);
    ipc.forget(address);
    report.uncount("allocations", 1);
    report.uncount("allocated_bytes", a.size);
    freed_bytes += a.room;
    freed.append(gpa, a) catch {
        unmap(a);
        return true;
    };
    while (freed.items.len > kept_count or freed_bytes > kept_bytes) {
        const oldest = freed.orderedRemove(0);
        freed_bytes -= oldest.room;
        unmap(oldest);
    }
    return true;
}

pub fn used(device: u32) u64 {
    var sum: u64 = 0;
    for (live.items) |a| if (a.device == device) {
        sum += std.mem.alignForward(u64, a.size, alignment);
    };
    return sum;
}

/// What lies at or next to an address that is not valid, in words.
pub fn describe(address: u64, buffer: []u8) []const u8 {
    for (freed.items) |a| if (address >= a.base and address - a.base < @max(1, a.size)) {
        return std.fmt.bufPrint(buffer, "{d} bytes into an allocation of {d} bytes at 0x{x} that was freed", .{
            address - a.base, a.size, a.base,
        }) catch buffer;
    };
    const index = position(address);
    const before: ?Allocation = if (index > 0) live.items[index - 1] else null;
    const after: ?Allocation = if (index < live.items.len) live.items[index] else null;
    const past_before = if (before) |b| address - b.base -| b.size else std.math.maxInt(u64);
    const to_after = if (after) |a| a.base - address else std.math.maxInt(u64);
    const closer_before = before != null and past_before <= to_after;
    if (closer_before) {
        const b = before.?;
        const past = address -| (b.base + b.size);
        if (address < b.base + b.size) return std.fmt.bufPrint(
            buffer,
            "{d} bytes into the allocation of {d} bytes at 0x{x}",
            .{ address - b.base, b.size, b.base },
        ) catch buffer;
        return std.fmt.bufPrint(buffer, "{d} bytes past the end of the allocation of {d} bytes at 0x{x}", .{
            past, b.size, b.base,
        }) catch buffer;
    }
    const a = after orelse return "there is no live allocation";
    return std.fmt.bufPrint(buffer, "{d} bytes before the allocation of {d} bytes at 0x{x}", .{
        a.base - address, a.size, a.base,
    }) catch buffer;
}

/// Frees everything of a device.
pub fn free_all(device: u32) void {
    var n = live.items.len;
    while (n > 0) {
        n -= 1;
        if (live.items[n].device == device) _ = free(live.items[n].base);
    }
}

/// Makes another process's memory, mapped at `at`, an allocation of this one.
pub fn import(at: u64, size: u64, room: u64, device: u32) ?u64 {
    const base = at + tag;
    const made: Allocation = .{ .base = base, .size = size, .device = device, .room = room, .imported = true };
    live.insert(gpa, position(base), made) catch return null;
    report.count("allocations", 1);
    report.count("allocated_bytes", size);
    return base;
}
