//! The caching allocator of CPU memory. Freed blocks are kept and handed out again, so that a loop over tensors costs
//! no page faults; more than a part of the machine's memory is not kept. Sizes round as in torch's caching allocator,
//! and so do the statistics. Safe to call from any thread; the collector may release a block from one of its own.
const std = @import("std");
const abi_memory = @import("abi_memory");
const blocks = @import("blocks.zig");
const memory_limit = @import("memory_limit.zig");
const pages = @import("pages.zig");
const scratch = @import("scratch.zig");
const Block = blocks.Block;

const small_limit = 1 << 20;
const large_limit = 10 << 20;
const large_round = 2 << 20;
const min_round = 512;
const header_size = blocks.header_size;

/// Blocks of the small arena, with their headers, are smaller than this.
const middle_from = 32 << 10;
const middle_region = 8 << 20;
/// The first region of small blocks, and the largest.
const small_region = 1 << 20;
const most_small_region = 8 << 20;

/// Bytes of blocks that wait in lists of one size each before they join their neighbours.
const most_quick = 64 << 20;
const quick_classes = small_limit / min_round + 1;

var lock: std.atomic.Value(u32) = .init(0);
var quick: [quick_classes]?*Block = @splat(null);
var quick_bytes: usize = 0;
var small_mapped: usize = 0;

/// Idle bytes beyond this go back to the system; 0: not known yet.
var cache_limit: usize = 0;
const most_cached = 1 << 30;
const least_cached = 64 << 20;
/// Idle bytes at which it is tried next: what lies between live blocks on one page with them cannot go.
var evict_from: usize = least_cached;

var live: usize = 0;
var requested_live: usize = 0;
var peak: usize = 0;
var parked: usize = 0;
var allocations: usize = 0;
/// Bytes handed out since the program began.
var handed: u64 = 0;
var frees: usize = 0;
var fail_after: i64 = -1;

fn acquire() void {
    while (lock.cmpxchgWeak(0, 1, .acquire, .monotonic) != null) std.atomic.spinLoopHint();
}

fn release() void {
    lock.store(0, .release);
}

/// Block sizes: multiples of 512 bytes, from 10 MiB on multiples of 2 MiB.
pub fn round(n: usize) usize {
    const unit: usize = if (n < large_limit) min_round else large_round;
    return std.mem.alignForward(usize, @max(n, 1), unit);
}

/// A block of at least `n` bytes, aligned to 64, not cleared; null when memory cannot be had.
pub fn alloc(n: usize) ?[*]u8 {
    if (n > 1 << 48) return null;
    const rounded = round(n);
    acquire();
    if (fail_after >= 0) {
        fail_after -= 1;
        if (fail_after < 0) {
            release();
            return null;
        }
    }
    const b = takeQuick(rounded) orelse take(rounded + header_size) orelse {
        release();
        return null;
    };
    b.owners = 1;
    handOut(b, n);
    release();
    return b.bytes();
}

fn handOut(b: *Block, n: usize) void {
    b.state = .live;
    b.requested = n;
    live += round(n);
    requested_live += n;
    peak = @max(peak, live);
    allocations += 1;
    handed += round(n);
    b.stamp = handed;
}

fn takeIn(b: *Block, state: blocks.State) void {
    b.state = state;
    live -= round(b.requested);
    requested_live -= b.requested;
    frees += 1;
}

/// Counts a block as free that its owner keeps; false when it has other owners, who may still use it.
pub fn park(block: [*]u8) bool {
    const b: *Block = .of(block);
    acquire();
    defer release();
    if (b.state != .live or b.owners != 1) return false;
    takeIn(b, .parked);
    parked += round(b.requested);
    return true;
}

/// Hands a parked block out again, to the owner that parked it and for as many bytes; false where `alloc` would fail.
pub fn unpark(block: [*]u8) bool {
    const b: *Block = .of(block);
    acquire();
    defer release();
    if (b.state != .parked or fail_after >= 0) return false;
    parked -= round(b.requested);
    handOut(b, b.requested);
    return true;
}

fn takeQuick(rounded: usize) ?*Block {
    if (rounded > small_limit) return null;
    const slot = &quick[rounded / min_round];
    const b = slot.* orelse return null;
    slot.* = b.next;
    quick_bytes -= b.size;
    return b;
}

fn keepQuick(b: *Block) void {
    const slot = &quick[round(b.requested) / min_round];
    b.state = .quick;
    b.next = slot.*;
    slot.* = b;
    quick_bytes += b.size;
    if (quick_bytes > most_quick) join();
}

/// All blocks of the lists join their neighbours.
fn join() void {
    if (quick_bytes == 0) return;
    for (&quick) |*slot| {
        var next = slot.*;
        slot.* = null;
        while (next) |b| {
            next = b.next;
            blocks.arenaOf(b).insert(b, b.size);
        }
    }
    quick_bytes = 0;
}

/// A free block, or one of a fresh region. The lock is not held while the system is asked.
fn take(total: usize) ?*Block {
    const kind: blocks.Arena.Kind =
        if (total < middle_from) .small else if (total <= small_limit + header_size) .middle else .large;
    const arena = &blocks.arenas[@intFromEnum(kind)];
    const want = if (kind == .large) pages.whole(total) else total;
    if (arena.take(want)) |b| return b;
    if (kind != .large and quick_bytes > 0) {
        join();
        if (arena.take(want)) |b| return b;
    }
    var size = switch (kind) {
        .small => std.math.clamp(small_mapped / 8 / small_region * small_region, small_region, most_small_region),
        .middle => middle_region,
        .large => want,
    };
    release();
    var region = pages.map(size);
    if (region == null) {
        give_back(0);
        region = pages.map(size);
    }
    if (region == null and kind != .large) {
        size = std.mem.alignForward(usize, total, std.heap.pageSize());
        region = pages.map(size);
    }
    acquire();
    if (kind == .small and region != null) small_mapped += size;
    return arena.adopt(region orelse return null, size, want);
}

/// One more owner, who releases the block too. False for a block that nobody owns.
pub fn keep_alive(block: [*]u8) bool {
    const b: *Block = .of(block);
    acquire();
    defer release();
    if (b.state != .live) return false;
    b.owners += 1;
    return true;
}

/// Takes a block back from an owner. A release after the last is ignored.
pub fn dealloc(block: [*]u8) void {
    const b: *Block = .of(block);
    acquire();
    switch (b.state) {
        .parked => parked -= round(b.requested),
        .live => {
            b.owners -= 1;
            if (b.owners > 0) return release();
            takeIn(b, .none);
        },
        else => return release(),
    }
    if (round(b.requested) <= small_limit) {
        keepQuick(b);
    } else if (b.size > limit() and b.isRegion()) {
        blocks.forget(b);
        release();
        return pages.unmap(@ptrCast(b), b.size);
    } else blocks.arenaOf(b).insert(b, b.size);
    const idle = blocks.totals.idle + quick_bytes;
    if (idle < cache_limit / 2) evict_from = cache_limit;
    const full = idle > evict_from;
    release();
    if (full) limit_cache();
}

fn limit() usize {
    return if (cache_limit == 0) most_cached else cache_limit;
}

/// Keeps idle bytes within the limit.
fn limit_cache() void {
    if (cache_limit == 0) set_cache_limit(std.math.clamp(memory_limit.total() / 8, least_cached, most_cached));
    acquire();
    const most = cache_limit;
    const is_over = blocks.totals.idle + quick_bytes > evict_from;
    release();
    if (!is_over) return;
    // Some room at once: the next ones that become free shall not ask the system one at a time.
    give_back(most - most / 4);
    acquire();
    evict_from = @max(most, blocks.totals.idle + most / 8);
    release();
}

/// How many idle bytes may stay.
pub fn set_cache_limit(bytes: usize) void {
    acquire();
    cache_limit = bytes;
    evict_from = bytes;
    release();
}

/// Gives free pages back to the system until `target` idle bytes are left. The lock is not held meanwhile.
fn give_back(target: usize) void {
    acquire();
    join();
    var list = blocks.evict(target);
    release();
    while (list) |b| {
        list = b.next;
        if (b.isRegion()) {
            const size = b.size;
            const small = b.arena == .small;
            pages.unmap(@ptrCast(b), size);
            if (!small) continue;
            acquire();
            small_mapped -= size;
            release();
            continue;
        }
        const touched = blocks.purge(b);
        acquire();
        blocks.arenaOf(b).insert(b, touched);
        release();
    }
}

/// Returns all that is kept to the system, but what lies on a page with a live block.
pub fn empty_cache() void {
    give_back(0);
    scratch.empty();
    acquire();
    evict_from = if (cache_limit == 0) least_cached else cache_limit;
    release();
}

pub fn stat(which: u32) usize {
    acquire();
    defer release();
    return switch (which) {
        abi_memory.MemoryStat.live => live,
        abi_memory.MemoryStat.peak => peak,
        abi_memory.MemoryStat.cached => blocks.totals.idle + quick_bytes + parked,
        abi_memory.MemoryStat.reserved => blocks.totals.mapped - blocks.totals.clean + scratch.reserved(),
        abi_memory.MemoryStat.cache_limit => limit(),
        abi_memory.MemoryStat.allocations => allocations,
        abi_memory.MemoryStat.frees => frees,
        abi_memory.MemoryStat.requested => requested_live,
        abi_memory.MemoryStat.fresh => pages.fresh_cost.load(.monotonic),
        else => 0,
    };
}

/// Writes some bytes of free blocks that were handed out when so many bytes had not been yet; how many bytes. What that
/// takes longer than once more tells what the caches have lost of them.
pub fn write_aged(least: u64, most: u64) usize {
    acquire();
    defer release();
    var written: usize = 0;
    for (quick[blocks.ages_from / min_round ..]) |head| {
        var at = head;
        for (0..most_aged) |_| {
            const b = at orelse break;
            at = b.next;
            written += writeAged(b, least, most, written);
        }
    }
    var at = blocks.newest;
    for (0..most_aged) |_| {
        const b = at orelse break;
        at = b.older();
        written += writeAged(b, least, most, written);
    }
    return written;
}

/// Looked at in each list; written in all.
const most_aged = 32;
const most_aged_bytes = 64 << 10;

fn writeAged(b: *Block, least: u64, most: u64, written: usize) usize {
    const age = handed - b.stamp;
    // What was cut off from a block has not been handed out.
    if (b.stamp == 0 or age < least or age >= most or written >= most_aged_bytes) return 0;
    const Line = @Vector(64, u8);
    const from = blocks.least_touched / @sizeOf(Line) + 1;
    const lines: [*]volatile Line = @ptrCast(@alignCast(b));
    const until = b.touched() / @sizeOf(Line);
    if (until <= from) return 0;
    const n = @min(until - from, (most_aged_bytes - written) / @sizeOf(Line));
    // Amid it: where a kernel began and ended says less.
    const first = from + (until - from - n) / 2;
    for (first..first + n) |i| lines[i] = @splat(0);
    return n * @sizeOf(Line);
}

pub fn reset_peak() void {
    acquire();
    defer release();
    peak = live;
}

/// Testing: lets `n` more allocations pass and fails the one after; negative: none.
pub fn set_fail_after(n: i64) void {
    acquire();
    defer release();
    fail_after = n;
}

test "blocks are reused and counted" {
    const before = stat(abi_memory.MemoryStat.live);
    const a = alloc(1000).?;
    try std.testing.expectEqual(before + 1024, stat(abi_memory.MemoryStat.live));
    dealloc(a);
    dealloc(a);
    try std.testing.expectEqual(before, stat(abi_memory.MemoryStat.live));
    const b = alloc(300).?;
    const c = alloc(1001).?;
    try std.testing.expectEqual(a, c);
    try std.testing.expect(keep_alive(b));
    dealloc(b);
    try std.testing.expectEqual(before + 1536, stat(abi_memory.MemoryStat.live));
    dealloc(b);
    dealloc(c);
}

test "a parked block counts as free, and goes when its owner does" {
    empty_cache();
    const before = stat(abi_memory.MemoryStat.live);
    const a = alloc(1000).?;
    try std.testing.expect(keep_alive(a));
    try std.testing.expect(!park(a));
    dealloc(a);
    const cached = stat(abi_memory.MemoryStat.cached);
    try std.testing.expect(park(a));
    try std.testing.expect(!park(a));
    try std.testing.expectEqual(before, stat(abi_memory.MemoryStat.live));
    try std.testing.expectEqual(cached + 1024, stat(abi_memory.MemoryStat.cached));
    try std.testing.expect(unpark(a));
    try std.testing.expectEqual(before + 1024, stat(abi_memory.MemoryStat.live));
    try std.testing.expectEqual(cached, stat(abi_memory.MemoryStat.cached));
    try std.testing.expect(park(a));
    dealloc(a);
    dealloc(a);
    try std.testing.expect(!unpark(a));
    try std.testing.expectEqual(a, alloc(1024).?);
    dealloc(a);
}

test "freed neighbours serve any size, and all goes back when nothing lives" {
    empty_cache();
    const before = stat(abi_memory.MemoryStat.reserved);
    var held: [200][*]u8 = undefined;
    for (&held) |*b| b.* = alloc(100_000).?;
    for (held) |b| @memset(b[0..100_000], 7);
    const mapped = blocks.totals.mapped;
    for (held) |b| dealloc(b);
    for (held[0..20]) |*b| b.* = alloc(600_000).?;
    try std.testing.expectEqual(mapped, blocks.totals.mapped);
    for (held[0..20]) |b| dealloc(b);
    empty_cache();
    try std.testing.expect(stat(abi_memory.MemoryStat.reserved) <= before);
}

test "a live block keeps its own pages only" {
    empty_cache();
    var held: [200][*]u8 = undefined;
    for (&held) |*b| b.* = alloc(100_000).?;
    for (held, 0..) |b, i| if (i % 50 != 0) dealloc(b);
    empty_cache();
    for (held, 0..) |b, i| if (i % 50 == 0) dealloc(b);
    try std.testing.expect(stat(abi_memory.MemoryStat.reserved) < stat(abi_memory.MemoryStat.live) + (2 << 20));
    empty_cache();
}

test "what is kept stays within the limit" {
    empty_cache();
    const most = limit();
    set_cache_limit(32 << 20);
    defer set_cache_limit(most);
    var held: [64][*]u8 = undefined;
    for (&held, 0..) |*b, i| b.* = alloc((1 << 20) + i * 50_000).?;
    for (held) |b| {
        dealloc(b);
        try std.testing.expect(stat(abi_memory.MemoryStat.cached) <= 33 << 20);
    }
    const large = alloc(40 << 20).?;
    const cached = stat(abi_memory.MemoryStat.cached);
    dealloc(large);
    try std.testing.expectEqual(cached, stat(abi_memory.MemoryStat.cached));
    empty_cache();
}

test "bytes stay what they were while blocks of random sizes come and go" {
    var random: std.Random.DefaultPrng = .init(7);
    const r = random.random();
    const Held = struct { at: [*]u8, n: usize, value: u8 };
    var held: [256]?Held = @splat(null);
    for (0..20_000) |round_number| {
        const slot = &held[r.uintLessThan(usize, held.len)];
        if (slot.*) |h| {
            for ([_]usize{ 0, h.n / 2, h.n - 1 }) |i| try std.testing.expectEqual(h.value, h.at[i]);
            dealloc(h.at);
            slot.* = null;
        } else {
            const power = r.uintLessThan(u5, 22);
            const n = (@as(usize, 1) << power) + r.uintLessThan(usize, @as(usize, 1) << power);
            const h: Held = .{ .at = alloc(n).?, .n = n, .value = @truncate(round_number) };
            try std.testing.expectEqual(0, @intFromPtr(h.at) % 64);
            h.at[0] = h.value;
            h.at[n - 1] = h.value;
            @memset(h.at[n / 2 ..][0..1], h.value);
            slot.* = h;
        }
        if (round_number % 5_000 == 0) empty_cache();
    }
    for (held) |h| if (h) |x| dealloc(x.at);
    empty_cache();
}

test "free blocks are written by their age, live ones never" {
    empty_cache();
    var held: [3][*]u8 = undefined;
    for (&held) |*b| {
        b.* = alloc(100_000).?;
        @memset(b.*[0..100_000], 7);
    }
    dealloc(held[1]);
    try std.testing.expectEqual(0, write_aged(1, 50_000));
    try std.testing.expectEqual(most_aged_bytes, write_aged(1, 200_000));
    for ([_]usize{ 0, 2 }) |i| for (held[i][0..100_000]) |byte| try std.testing.expectEqual(7, byte);
    dealloc(held[0]);
    dealloc(held[2]);
    empty_cache();
}

test "sizes round as torch rounds them" {
    try std.testing.expectEqual(@as(usize, 512), round(1));
    try std.testing.expectEqual(@as(usize, 382 << 20), round(400_000_000));
}

test "a failing allocation is reported" {
    set_fail_after(0);
    try std.testing.expect(alloc(64) == null);
    const p = alloc(64).?;
    dealloc(p);
}
