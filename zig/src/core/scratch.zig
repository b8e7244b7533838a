//! Reusable aligned work buffers. A kernel borrows one for the length of a call; buffers stay mapped between calls,
//! because asking the system for megabytes on each call costs more than the work they serve. A fixed set of slots
//! shared by all threads (rather than one buffer for each thread) leaves nothing behind when a thread ends.

const std = @import("std");
const builtin = @import("builtin");

/// Buffers of up to 128 KiB, of up to one huge page, and bigger ones have slots of their own: within the first two
/// classes any buffer serves any request, so that only the third ever replaces one by a bigger one.
const class_sizes = [_]usize{ 128 << 10, huge_page };
const classes = class_sizes.len + 1;
const class_slots = 32;
const slot_count = classes * class_slots;
/// Large buffers are whole huge pages where the system has them: packed blocks are read crosswise, and the
/// processor remembers few small pages.
const huge_page = 2 << 20;
const none = std.math.maxInt(u32);
/// Buffers above this size go back to the system at once instead of staying with their slot.
const keep_limit = 64 << 20;
const allocator = std.heap.page_allocator;

const Slot = struct {
    busy: std.atomic.Value(bool) align(64) = .init(false),
    memory: []align(4096) u8 = &.{},
};

/// Where a borrowed buffer came from; give it back unchanged.
pub const Lease = extern struct { ptr: [*]align(4096) u8, len: usize, slot: u32 };

var slots: [slot_count]Slot = @splat(.{});
var held: std.atomic.Value(usize) = .init(0);
/// Where this thread starts to look, so that it finds the buffers it had before, still in its core's cache.
threadlocal var home: u32 = none;
var next_home: std.atomic.Value(u32) = .init(0);

fn take_slot(class: usize) u32 {
    if (home == none) home = next_home.fetchAdd(4, .monotonic);
    for (0..class_slots) |i| {
        const s: u32 = @intCast(class * class_slots + (home +% i) % class_slots);
        if (!slots[s].busy.swap(true, .acquire)) return s;
    }
    return none;
}

fn map(size: usize) ?[]align(4096) u8 {
    if (size < huge_page) return allocator.alignedAlloc(u8, .fromByteUnits(4096), size) catch null;
    const memory = allocator.alignedAlloc(u8, .fromByteUnits(huge_page), size) catch return null;
    if (builtin.os.tag == .linux) _ = std.os.linux.madvise(memory.ptr, size, std.os.linux.MADV.HUGEPAGE);
    return memory;
}

/// Borrows at least `bytes` bytes (content undefined), or returns false when the system has no memory left.
pub fn acquire(bytes: usize, lease: *Lease) bool {
    if (bytes > std.math.maxInt(usize) / 2) return false;
    var class: usize = 0;
    while (class < class_sizes.len and bytes > class_sizes[class]) class += 1;
    const want = if (class < class_sizes.len) class_sizes[class] else std.mem.alignForward(usize, bytes, huge_page);
    const s = if (want > keep_limit) none else take_slot(class);
    if (s == none) {
        const fresh = map(want) orelse return false;
        lease.* = .{ .ptr = fresh.ptr, .len = want, .slot = none };
        return true;
    }
    const slot = &slots[s];
    if (slot.memory.len < want) {
        unmap(slot);
        slot.memory = map(want) orelse {
            slot.busy.store(false, .release);
            return false;
        };
        _ = held.fetchAdd(slot.memory.len, .monotonic);
    }
    lease.* = .{ .ptr = slot.memory.ptr, .len = slot.memory.len, .slot = s };
    return true;
}

pub fn release(lease: *const Lease) void {
    if (lease.slot == none) return allocator.free(lease.ptr[0..lease.len]);
    slots[lease.slot].busy.store(false, .release);
}

/// Bytes that all slots hold.
pub fn reserved() usize {
    return held.load(.monotonic);
}

/// Gives back the buffers that nobody has borrowed.
pub fn empty() void {
    for (&slots) |*slot| {
        if (slot.busy.swap(true, .acquire)) continue;
        unmap(slot);
        slot.busy.store(false, .release);
    }
}

fn unmap(slot: *Slot) void {
    if (slot.memory.len == 0) return;
    allocator.free(slot.memory);
    _ = held.fetchSub(slot.memory.len, .monotonic);
    slot.memory = &.{};
}

fn c_acquire(bytes: usize, lease: *Lease) callconv(.c) bool {
    return acquire(bytes, lease);
}

fn c_release(lease: *const Lease) callconv(.c) void {
    release(lease);
}

comptime {
    @export(&c_acquire, .{ .name = "zs_scratch_acquire", .visibility = .hidden });
    @export(&c_release, .{ .name = "zs_scratch_release", .visibility = .hidden });
}

test "leases are distinct, aligned, and reused" {
    var a: Lease = undefined;
    var b: Lease = undefined;
    try std.testing.expect(acquire(100, &a));
    try std.testing.expect(acquire(1 << 20, &b));
    try std.testing.expect(a.ptr != b.ptr);
    try std.testing.expect(@intFromPtr(b.ptr) % 4096 == 0);
    @memset(b.ptr[0 .. 1 << 20], 7);
    const before = b.ptr;
    release(&b);
    try std.testing.expect(acquire(1 << 20, &b));
    try std.testing.expectEqual(before, b.ptr);
    release(&b);
    release(&a);
}

test "idle buffers are given back, borrowed ones stay" {
    var a: Lease = undefined;
    var b: Lease = undefined;
    try std.testing.expect(acquire(8 << 20, &a));
    try std.testing.expect(acquire(8 << 20, &b));
    release(&b);
    const before = reserved();
    empty();
    try std.testing.expect(reserved() + (8 << 20) <= before);
    try std.testing.expect(reserved() >= 8 << 20);
    a.ptr[0] = 1;
    release(&a);
}

test "more leases than slots" {
    var leases: [slot_count + 5]Lease = undefined;
    for (&leases) |*l| try std.testing.expect(acquire(64, l));
    for (leases, 0..) |l, i| for (leases[0..i]) |other| try std.testing.expect(l.ptr != other.ptr);
    for (&leases) |*l| release(l);
}
