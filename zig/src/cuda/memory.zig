//! The caching allocator of a device's memory. It rounds, splits and counts as torch's does, so that experiments with
//! memory statistics print the same numbers: blocks are multiples of 512 bytes; up to 1 MiB they are cut from segments
//! of 2 MiB, up to 10 MiB from segments of 20 MiB, and larger ones have segments of their own, in steps of 2 MiB.
//!
//! A block goes back to the stream that it was made for, whose work is done in order: the next owner's work waits
//! for the last owner's by itself. What other streams did with it (`record`) must have passed before.
const std = @import("std");
const abi_cuda = @import("abi_cuda");
const context = @import("context.zig");
const driver = @import("driver.zig");
const events = @import("events.zig");
const Lock = @import("lock.zig").Lock;
pub const Statistics = @import("statistics.zig").Statistics;

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
    /// Owners; none when the block is free, or waits for other streams.
    owners: u32 = 0,
    small: bool,
    /// Counted as free, and kept by its one owner for the next who asks.
    parked: bool = false,
    /// Other streams that work with it, and how many of them its last owner left behind.
    uses: std.ArrayList(events.Use) = .empty,
    waiting: u32 = 0,
    /// Neighbours within the segment.
    before: ?*Block = null,
    after: ?*Block = null,

    fn is_segment(b: *const Block) bool {
        return b.before == null and b.after == null;
    }
    fn is_free(b: *const Block) bool {
        return b.owners == 0 and b.waiting == 0;
    }
};

/// Free blocks by stream, size and address.
const Pool = std.ArrayList(*Block);

/// A block without owners that a stream may still work with.
const Pending = struct { event: driver.Event, device: u32, block: *Block };

const State = struct {
    lock: Lock = .{},
    pools: [2]Pool = .{ .empty, .empty },
    pending: std.ArrayList(Pending) = .empty,
    statistics: Statistics = .{},
    /// Bytes that may be reserved.
    limit: u64 = std.math.maxInt(u64),
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

/// What a block may come from: free ones alone, or the driver where none is large enough.
pub const From = enum { pools, driver };

/// A block of at least `bytes` bytes on the current device, which the caller made current.
pub fn allocate(device: u32, bytes: u64, stream: u64, from: From) Failure!*Block {
    const state = &states[device];
    state.lock.lock();
    defer state.lock.unlock();
    if (state.pending.items.len > 0) settle(state);
    const size = rounded(bytes);
    const block = take(state, device, size, stream) orelse switch (from) {
        .pools => return context.fail(abi_cuda.CudaStatus.no_room),
        .driver => try fresh(state, device, size, stream),
    };
    try split(state, block, size);
    block.owners = 1;
    block.requested = bytes;
    count(state, block, 1);
    return block;
}

/// One more block that somebody has, or one less; what others still work with is active longer.
fn count(state: *State, block: *const Block, by: i64) void {
    count_allocated(state, block, by);
    count_active(state, block, by);
}

fn count_allocated(state: *State, block: *const Block, by: i64) void {
    const s = &state.statistics;
    s.add(.allocation, block.small, by);
    s.add(.allocated_bytes, block.small, by * @as(i64, @intCast(block.size)));
}

fn count_active(state: *State, block: *const Block, by: i64) void {
    const s = &state.statistics;
    s.add(.active, block.small, by);
    s.add(.active_bytes, block.small, by * @as(i64, @intCast(block.size)));
    s.add(.requested_bytes, block.small, by * @as(i64, @intCast(block.requested)));
}

/// One more part of a segment that lies there unused, or one less.
fn count_rest(state: *State, block: *const Block, by: i64) void {
    if (block.is_segment()) return;
    state.statistics.add(.inactive_split, block.small, by);
    state.statistics.add(.inactive_split_bytes, block.small, by * @as(i64, @intCast(block.size)));
}

/// Counts a block as free that its owner keeps, and hands out again to who asks for one like it. False where others
/// own it, too, or work with it.
pub fn park(block: *Block) bool {
    const state = &states[block.device];
    state.lock.lock();
    defer state.lock.unlock();
    if (block.parked or block.owners != 1 or block.uses.items.len > 0) return false;
    count(state, block, -1);
    count_rest(state, block, 1);
    block.parked = true;
    return true;
}

/// Hands a parked block out again; false where it is of another size, or of another stream or device.
pub fn unpark(block: *Block, device: u32, bytes: u64, stream: u64) bool {
    if (block.device != device) return false;
    const state = &states[block.device];
    state.lock.lock();
    defer state.lock.unlock();
    if (!block.parked or block.stream != stream or block.size != rounded(bytes)) return false;
    block.parked = false;
    block.requested = bytes;
    count_rest(state, block, -1);
    count(state, block, 1);
    return true;
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
    var result = try segment(state, total, &address);
    if (result == driver.out_of_memory) {
        state.statistics.counts.num_alloc_retries += 1;
        try wait_for_uses(state);
        try give_back(state);
        result = try segment(state, total, &address);
    }
    try context.check(result);
    block.* = .{ .device = device, .stream = stream, .address = address, .size = total, .small = size <= small_most };
    const s = &state.statistics;
    s.add(.segment, block.small, 1);
    s.add(.reserved_bytes, block.small, @intCast(total));
    s.counts.num_device_alloc += 1;
    return block;
}

/// Memory of the driver, within the limit.
fn segment(state: *State, bytes: u64, address: *driver.Pointer) context.Failure!driver.Result {
    if (bytes > state.limit -| state.statistics.total(.reserved_bytes)) return driver.out_of_memory;
    const cu = try context.functions();
    return cu.MemAlloc_v2(address, bytes);
}

/// Cuts off what is not needed, when it is worth keeping.
fn split(state: *State, block: *Block, size: u64) Failure!void {
    const s = &state.statistics;
    const part = !block.is_segment();
    const rest = block.size - size;
    if (if (block.small) rest < step else rest <= small_most) {
        if (!part) return;
        s.add(.inactive_split, block.small, -1);
        s.add(.inactive_split_bytes, block.small, -@as(i64, @intCast(block.size)));
        return;
    }
    const other = try gpa.create(Block);
    other.* = block.*;
    other.uses = .empty;
    other.address += size;
    other.size = rest;
    other.before = block;
    if (block.after) |next| next.before = other;
    block.after = other;
    block.size = size;
    if (!part) s.add(.inactive_split, block.small, 1);
    s.add(.inactive_split_bytes, block.small, if (part) -@as(i64, @intCast(size)) else @intCast(rest));
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

/// Notes that a stream, maybe of another device, works with a block that was made for another one.
pub fn record(block: *Block, use: events.Use) void {
    const state = &states[block.device];
    state.lock.lock();
    defer state.lock.unlock();
    if (use.device == block.device and use.stream == block.stream) return;
    for (block.uses.items) |known| if (std.meta.eql(known, use)) return;
    // What cannot be noted is waited for.
    block.uses.append(gpa, use) catch if (events.mark(use.device, use.stream)) |event| {
        events.wait(event) catch {};
        events.give(use.device, event);
    } else |_| {};
}

/// Gives up one owner; the last one's block is free again. Runs on any thread, the collector's among them.
pub fn release(block: *Block) void {
    const state = &states[block.device];
    state.lock.lock();
    defer state.lock.unlock();
    block.owners -= 1;
    if (block.owners > 0) return;
    if (block.parked) {
        block.parked = false;
        count_rest(state, block, -1);
        return make_free(state, block);
    }
    count_allocated(state, block, -1);
    for (block.uses.items) |use| leave(state, block, use);
    block.uses.clearAndFree(gpa);
    if (block.waiting == 0) pass(state, block);
}

/// Nobody works with a block any more.
fn pass(state: *State, block: *Block) void {
    count_active(state, block, -1);
    make_free(state, block);
}

/// Keeps a block until a stream has passed this moment. A device that cannot say so has nothing left to lose.
fn leave(state: *State, block: *Block, use: events.Use) void {
    const event = events.mark(use.device, use.stream) catch return;
    state.pending.append(gpa, .{ .event = event, .device = use.device, .block = block }) catch {
        events.wait(event) catch {};
        events.give(use.device, event);
        return;
    };
    block.waiting += 1;
}

/// Frees the blocks that other streams are done with.
fn settle(state: *State) void {
    var i: usize = 0;
    while (i < state.pending.items.len) {
        if (!events.passed(state.pending.items[i].event)) {
            i += 1;
            continue;
        }
        arrived(state, state.pending.orderedRemove(i));
    }
}

fn arrived(state: *State, p: Pending) void {
    events.give(p.device, p.event);
    p.block.waiting -= 1;
    if (p.block.waiting == 0) pass(state, p.block);
}

fn wait_for_uses(state: *State) context.Failure!void {
    state.statistics.counts.num_sync_all_streams += 1;
    while (state.pending.items.len > 0) {
        try events.wait(state.pending.items[0].event);
        arrived(state, state.pending.orderedRemove(0));
    }
}

/// Joins a block with its free neighbours, for the next who asks.
fn make_free(state: *State, block: *Block) void {
    const s = &state.statistics;
    var splits: i64 = 0;
    var bytes: i64 = 0;
    var b = block;
    if (b.before) |left| if (left.is_free()) {
        drop(state, left);
        splits -= 1;
        bytes -= @intCast(left.size);
        b = join(left, b);
    };
    if (b.after) |right| if (right.is_free()) {
        drop(state, right);
        splits -= 1;
        bytes -= @intCast(right.size);
        b = join(b, right);
    };
    if (!b.is_segment()) {
        splits += 1;
        bytes += @intCast(b.size);
    }
    s.add(.inactive_split, b.small, splits);
    s.add(.inactive_split_bytes, b.small, bytes);
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
            state.statistics.add(.segment, block.small, -1);
            state.statistics.add(.reserved_bytes, block.small, -@as(i64, @intCast(block.size)));
            state.statistics.counts.num_device_free += 1;
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
    try wait_for_uses(state);
    try give_back(state);
}

pub fn statistics(device: u32) Statistics {
    const state = &states[device];
    state.lock.lock();
    defer state.lock.unlock();
    return state.statistics;
}

pub const Reset = enum { peak, accumulated };

pub fn reset(device: u32, what: Reset) void {
    const state = &states[device];
    state.lock.lock();
    defer state.lock.unlock();
    switch (what) {
        .peak => state.statistics.reset_peak(),
        .accumulated => state.statistics.reset_accumulated(),
    }
}

/// How many bytes may be reserved from now on.
pub fn set_limit(device: u32, bytes: u64) void {
    const state = &states[device];
    state.lock.lock();
    defer state.lock.unlock();
    state.limit = bytes;
}

/// Counts a request that failed for good. Gives the bytes that the driver was asked for, and the limit.
pub fn refused(device: u32, bytes: u64) [2]u64 {
    const state = &states[device];
    state.lock.lock();
    defer state.lock.unlock();
    state.statistics.counts.num_ooms += 1;
    return .{ segment_size(rounded(bytes)), state.limit };
}

/// Where the segment of a block begins, which the driver knows.
pub fn segment_of(block: *const Block) u64 {
    const state = &states[block.device];
    state.lock.lock();
    defer state.lock.unlock();
    var b = block;
    while (b.before) |left| b = left;
    return b.address;
}

/// Bytes of blocks that somebody has, on all devices.
pub fn live() u64 {
    var total: u64 = 0;
    for (0..context.max_devices) |i| {
        if (context.is_used(@intCast(i))) total += statistics(@intCast(i)).total(.allocated_bytes);
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
