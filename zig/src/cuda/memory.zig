//! The caching allocator of a device's memory. It rounds, splits and counts as torch's does, so that experiments with
//! memory statistics print the same numbers: blocks are multiples of 512 bytes; up to 1 MiB they are cut from segments
//! of 2 MiB, up to 10 MiB from segments of 20 MiB, and larger ones have segments of their own, in steps of 2 MiB.
//!
//! A block goes back to the stream that it was made for, whose work is done in order: the next owner's work waits
//! for the last owner's by itself.
const std = @import("std");
const context = @import("context.zig");
const driver = @import("driver.zig");
const Lock = @import("lock.zig").Lock;

const gpa = std.heap.c_allocator;

const step = 512;
const small_most = 1 << 20;
const small_segment = 2 << 20;
const middle_most = 10 << 20;
const middle_segment = 20 << 20;
const large_step = 2 << 20;

pub const Block = struct {
    device: u32,
    stream: u64,
    address: u64,
    size: u64,
    requested: u64 = 0,
    /// Owners; none when the block is free.
    owners: u32 = 0,
    small: bool,
    /// Neighbours within the segment.
    before: ?*Block = null,
    after: ?*Block = null,

    fn is_segment(b: *const Block) bool {
        return b.before == null and b.after == null;
    }
};

pub const Statistics = struct {
    allocated: u64 = 0,
    most_allocated: u64 = 0,
    reserved: u64 = 0,
    most_reserved: u64 = 0,
    requested: u64 = 0,
    allocations: u64 = 0,
    frees: u64 = 0,
    /// Times that memory was given back to the driver and asked for again, and that there was none even so.
    retries: u64 = 0,
    failures: u64 = 0,
    segments: u64 = 0,

    fn grow(s: *Statistics, bytes: u64) void {
        s.allocated += bytes;
        s.most_allocated = @max(s.most_allocated, s.allocated);
    }
    fn reserve(s: *Statistics, bytes: u64) void {
        s.reserved += bytes;
        s.most_reserved = @max(s.most_reserved, s.reserved);
        s.segments += 1;
    }
};

/// Free blocks by stream, size and address.
const Pool = std.ArrayList(*Block);

const State = struct {
    lock: Lock = .{},
    pools: [2]Pool = .{ .empty, .empty },
    statistics: Statistics = .{},
};

var states: [context.max_devices]State = @splat(.{});

fn rounded(bytes: u64) u64 {
    return std.mem.alignForward(u64, @max(bytes, step), step);
}

fn segment_size(size: u64) u64 {
    if (size <= small_most) return small_segment;
    if (size < middle_most) return middle_segment;
    return std.mem.alignForward(u64, size, large_step);
}

fn order(a: *const Block, b: *const Block) std.math.Order {
    if (a.stream != b.stream) return std.math.order(a.stream, b.stream);
    if (a.size != b.size) return std.math.order(a.size, b.size);
    return std.math.order(a.address, b.address);
}

fn lower_bound(pool: *const Pool, key: *const Block) usize {
    return std.sort.lowerBound(*Block, pool.items, key, struct {
        fn compare(wanted: *const Block, b: *Block) std.math.Order {
            return order(wanted, b);
        }
    }.compare);
}

const Failure = context.Failure || std.mem.Allocator.Error;

/// A block of at least `bytes` bytes on the current device, which the caller made current.
pub fn allocate(device: u32, bytes: u64, stream: u64) Failure!*Block {
    const state = &states[device];
    state.lock.lock();
    defer state.lock.unlock();
    const size = rounded(bytes);
    const block = take(state, device, size, stream) orelse try fresh(state, device, size, stream);
    try split(state, block, size);
    block.owners = 1;
    block.requested = bytes;
    const s = &state.statistics;
    s.grow(block.size);
    s.requested += bytes;
    s.allocations += 1;
    return block;
}

/// The smallest free block of the stream that is large enough.
fn take(state: *State, device: u32, size: u64, stream: u64) ?*Block {
    const small = size <= small_most;
    const pool = &state.pools[@intFromBool(small)];
    const key: Block = .{ .device = device, .stream = stream, .address = 0, .size = size, .small = small };
    const at = lower_bound(pool, &key);
    if (at == pool.items.len or pool.items[at].stream != stream) return null;
    return pool.orderedRemove(at);
}

fn fresh(state: *State, device: u32, size: u64, stream: u64) Failure!*Block {
    const block = try gpa.create(Block);
    errdefer gpa.destroy(block);
    const total = segment_size(size);
    var address: driver.Pointer = 0;
    const cu = try context.functions();
    var result = cu.MemAlloc_v2(&address, total);
    if (result == driver.out_of_memory) {
        state.statistics.retries += 1;
        try give_back(state);
        result = cu.MemAlloc_v2(&address, total);
        if (result == driver.out_of_memory) state.statistics.failures += 1;
    }
    try context.check(result);
    block.* = .{ .device = device, .stream = stream, .address = address, .size = total, .small = size <= small_most };
    state.statistics.reserve(total);
    return block;
}

/// Cuts off what is not needed, when it is worth keeping.
fn split(state: *State, block: *Block, size: u64) Failure!void {
    const rest = block.size - size;
    if (if (block.small) rest < step else rest <= small_most) return;
    const other = try gpa.create(Block);
    other.* = block.*;
    other.address += size;
    other.size = rest;
    other.before = block;
    if (block.after) |next| next.before = other;
    block.after = other;
    block.size = size;
    try put(state, other);
}

fn put(state: *State, block: *Block) std.mem.Allocator.Error!void {
    const pool = &state.pools[@intFromBool(block.small)];
    try pool.insert(gpa, lower_bound(pool, block), block);
}

fn drop(state: *State, block: *Block) void {
    const pool = &state.pools[@intFromBool(block.small)];
    const at = lower_bound(pool, block);
    std.debug.assert(pool.items[at] == block);
    _ = pool.orderedRemove(at);
}

pub fn keep(block: *Block) void {
    const state = &states[block.device];
    state.lock.lock();
    defer state.lock.unlock();
    block.owners += 1;
}

/// Gives up one owner; the last one's block is free again. Runs on any thread, the collector's among them.
pub fn release(block: *Block) void {
    const state = &states[block.device];
    state.lock.lock();
    defer state.lock.unlock();
    block.owners -= 1;
    if (block.owners > 0) return;
    const s = &state.statistics;
    s.allocated -= block.size;
    s.requested -= block.requested;
    s.frees += 1;
    var b = block;
    if (b.before) |left| if (left.owners == 0) {
        drop(state, left);
        b = join(left, b);
    };
    if (b.after) |right| if (right.owners == 0) {
        drop(state, right);
        b = join(b, right);
    };
    // Without memory for the list the block is lost to this process, and its bytes stay counted as reserved.
    put(state, b) catch {};
}

fn join(left: *Block, right: *Block) *Block {
    left.size += right.size;
    left.after = right.after;
    if (right.after) |next| next.before = left;
    gpa.destroy(right);
    return left;
}

/// Returns the segments that are wholly free to the driver.
fn give_back(state: *State) context.Failure!void {
    const cu = try context.functions();
    for (&state.pools) |*pool| {
        var i: usize = 0;
        while (i < pool.items.len) {
            const block = pool.items[i];
            if (!block.is_segment()) {
                i += 1;
                continue;
            }
            try context.check(cu.MemFree_v2(block.address));
            state.statistics.reserved -= block.size;
            state.statistics.segments -= 1;
            _ = pool.orderedRemove(i);
            gpa.destroy(block);
        }
    }
}

/// The caller has made the device current.
pub fn empty_cache(device: u32) context.Failure!void {
    const state = &states[device];
    state.lock.lock();
    defer state.lock.unlock();
    try give_back(state);
}

pub fn statistics(device: u32) Statistics {
    const state = &states[device];
    state.lock.lock();
    defer state.lock.unlock();
    return state.statistics;
}

pub fn reset_peak(device: u32) void {
    const state = &states[device];
    state.lock.lock();
    defer state.lock.unlock();
    state.statistics.most_allocated = state.statistics.allocated;
    state.statistics.most_reserved = state.statistics.reserved;
}

/// Bytes of blocks that somebody has, on all devices.
pub fn live() u64 {
    var total: u64 = 0;
    for (0..context.max_devices) |i| {
        if (context.is_used(@intCast(i))) total += statistics(@intCast(i)).allocated;
    }
    return total;
}

test "sizes as torch rounds them" {
    try std.testing.expectEqual(512, rounded(1));
    try std.testing.expectEqual(1024, rounded(513));
    try std.testing.expectEqual(2 << 20, segment_size(1 << 20));
    try std.testing.expectEqual(20 << 20, segment_size((1 << 20) + 512));
    try std.testing.expectEqual(382 << 20, segment_size(400_000_000));
}
