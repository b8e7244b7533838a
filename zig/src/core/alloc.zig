//! The caching allocator of CPU memory. Freed blocks are kept by size class and handed out again, so that a loop
//! over tensors costs no page faults. Sizes round as torch's caching allocator rounds them, and so do the
//! statistics. Safe to call from any thread; the collector may release a block from a thread of its own.
const std = @import("std");
const builtin = @import("builtin");
const abi = @import("abi");

const small_limit = 1 << 20;
const large_limit = 10 << 20;
const large_round = 2 << 20;
const min_round = 512;
const alignment = 64;
const header_size = 64;
/// Cached bytes beyond this go back to the system.
const cache_limit: usize = 1 << 30;

const Header = extern struct {
    magic: u64,
    rounded: usize,
    requested: usize,
    next: ?*Header,
    /// Number of the allocation that handed the block out last.
    stamp: u64,
    owners: u32,
    /// What the block was cut from, if anything.
    chunk: ?*Chunk,
};
const magic_live: u64 = 0x7a656e736f72_0001;
const magic_free: u64 = 0x7a656e736f72_0002;
/// Free for the statistics, but its owner keeps it to hand it out again.
const magic_parked: u64 = 0x7a656e736f72_0003;

const small_classes = small_limit / min_round + 1;
const large_slots = 256;

var lock: std.atomic.Value(u32) = .init(0);
var small: [small_classes]?*Header = @splat(null);
var large: [large_slots]*Header = undefined;
var large_count: usize = 0;

var live: usize = 0;
var requested_live: usize = 0;
var peak: usize = 0;
var cached: usize = 0;
var allocations: usize = 0;
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
    const reused = take(rounded);
    release();
    const header = reused orelse fresh(rounded) orelse return null;
    header.owners = 1;
    acquire();
    hand_out(header, n);
    release();
    return @as([*]u8, @ptrCast(header)) + header_size;
}

fn hand_out(h: *Header, n: usize) void {
    h.magic = magic_live;
    h.requested = n;
    live += h.rounded;
    requested_live += n;
    peak = @max(peak, live);
    allocations += 1;
    h.stamp = allocations;
}

/// Counts a block as free that its owner keeps; false when it has other owners, who may still use it.
pub fn park(block: [*]u8) bool {
    const h: *Header = @ptrCast(@alignCast(block - header_size));
    acquire();
    defer release();
    if (h.magic != magic_live or h.owners != 1) return false;
    take_in(h, magic_parked);
    cached += h.rounded;
    return true;
}

/// Hands a parked block out again, to the owner that parked it and for as many bytes; false where `alloc` would fail.
pub fn unpark(block: [*]u8) bool {
    const h: *Header = @ptrCast(@alignCast(block - header_size));
    acquire();
    defer release();
    if (h.magic != magic_parked or fail_after >= 0) return false;
    cached -= h.rounded;
    hand_out(h, h.requested);
    return true;
}

fn take_in(h: *Header, magic: u64) void {
    h.magic = magic;
    live -= h.rounded;
    requested_live -= h.requested;
    frees += 1;
}

fn take(rounded: usize) ?*Header {
    if (rounded <= small_limit) {
        const slot = &small[rounded / min_round];
        const h = slot.* orelse return null;
        slot.* = h.next;
        cached -= h.rounded;
        return h;
    }
    // Large blocks are few. The one handed out last serves first: the processor's caches still hold most of it.
    var found: ?usize = null;
    for (large[0..large_count], 0..) |h, i| {
        if (h.rounded != rounded) continue;
        if (found) |j| if (large[j].stamp > h.stamp) continue;
        found = i;
    }
    const chosen = found orelse return null;
    const h = large[chosen];
    large_count -= 1;
    large[chosen] = large[large_count];
    cached -= h.rounded;
    return h;
}

fn fresh(rounded: usize) ?*Header {
    const total = rounded + header_size;
    var source: ?*Chunk = null;
    const raw = (if (total >= cut_from and total <= cut_to) cut(total, &source) else null) orelse
        (if (total < huge_page) from_system(total, alignment) else from_huge_pages(total));
    const header: *Header = @ptrCast(@alignCast(raw orelse return null));
    header.rounded = rounded;
    header.next = null;
    header.chunk = source;
    return header;
}

/// Middle-sized blocks are cut from huge pages: one at a time they would lie on small ones, and a loop over fresh
/// results would wait for the processor's tables. A chunk goes back to the system when its last block does.
const Chunk = extern struct { live: usize, used: usize };
const cut_from = 32 << 10;
const cut_to = small_limit + header_size;
const chunk_size = 8 << 20;
var current: ?*Chunk = null;

fn cut(total: usize, source: *?*Chunk) ?[*]u8 {
    acquire();
    defer release();
    if (current == null or current.?.used + total > chunk_size) {
        const c: *Chunk = @ptrCast(@alignCast(from_huge_pages(chunk_size) orelse return null));
        c.* = .{ .live = 0, .used = header_size };
        const full = current;
        current = c;
        if (full) |f| if (f.live == 0) to_system(f);
    }
    const c = current.?;
    const p = @as([*]u8, @ptrCast(c)) + c.used;
    c.used += total;
    c.live += 1;
    source.* = c;
    return p;
}

fn uncut(c: *Chunk) void {
    acquire();
    defer release();
    c.live -= 1;
    if (c.live > 0) return;
    if (c == current) c.used = header_size else to_system(c);
}

fn from_system(total: usize, at: usize) ?[*]u8 {
    if (builtin.os.tag == .windows) return @ptrCast(_aligned_malloc(total, at) orelse return null);
    var p: ?*anyopaque = null;
    if (posix_memalign(&p, at, total) != 0) return null;
    return @ptrCast(p);
}

const huge_page = 2 << 20;

/// Memory whose translations fit the processor's tables: asked for, and had where the system grants it. The end of
/// the block joins when that wastes little.
fn from_huge_pages(total: usize) ?[*]u8 {
    if (builtin.os.tag != .linux) return from_system(total, alignment);
    const whole = std.mem.alignForward(usize, total, huge_page);
    const size = if (whole - total <= total / 8) whole else total;
    const p = from_system(size, huge_page) orelse return null;
    _ = madvise(p, std.mem.alignBackward(usize, size, huge_page), madv_hugepage);
    return p;
}

const madv_hugepage = 14;
extern "c" fn madvise(p: [*]u8, length: usize, advice: c_int) c_int;

extern "c" fn posix_memalign(out: *?*anyopaque, alignment: usize, size: usize) c_int;
extern "c" fn _aligned_malloc(size: usize, alignment: usize) ?*anyopaque;
extern "c" fn _aligned_free(p: *anyopaque) void;
extern "c" fn free(p: *anyopaque) void;

fn give_back(h: *Header) void {
    h.magic = 0;
    if (h.chunk) |c| uncut(c) else to_system(h);
}

fn to_system(p: *anyopaque) void {
    if (builtin.os.tag == .windows) _aligned_free(p) else free(p);
}

/// One more owner, who releases the block too. False for a block that nobody owns.
pub fn keep_alive(block: [*]u8) bool {
    const h: *Header = @ptrCast(@alignCast(block - header_size));
    acquire();
    defer release();
    if (h.magic != magic_live) return false;
    h.owners += 1;
    return true;
}

/// Takes a block back from an owner. A release after the last is ignored.
pub fn dealloc(block: [*]u8) void {
    const h: *Header = @ptrCast(@alignCast(block - header_size));
    acquire();
    if (h.magic == magic_parked) {
        cached -= h.rounded;
        h.magic = magic_free;
    } else {
        if (h.magic == magic_live) h.owners -= 1;
        if (h.magic != magic_live or h.owners > 0) {
            release();
            return;
        }
        take_in(h, magic_free);
    }
    const kept = keep(h);
    release();
    if (!kept) give_back(h);
}

fn keep(h: *Header) bool {
    if (cached + h.rounded > cache_limit) return false;
    if (h.rounded <= small_limit) {
        const slot = &small[h.rounded / min_round];
        h.next = slot.*;
        slot.* = h;
        cached += h.rounded;
        return true;
    }
    if (large_count == large_slots) return false;
    large[large_count] = h;
    large_count += 1;
    cached += h.rounded;
    return true;
}

/// Returns all cached blocks to the system.
pub fn empty_cache() void {
    acquire();
    var first: ?*Header = null;
    for (&small) |*slot| {
        while (slot.*) |h| {
            slot.* = h.next;
            h.next = first;
            first = h;
            cached -= h.rounded;
        }
    }
    for (large[0..large_count]) |h| {
        h.next = first;
        first = h;
        cached -= h.rounded;
    }
    large_count = 0;
    release();
    while (first) |h| {
        first = h.next;
        give_back(h);
    }
}

pub fn stat(which: u32) usize {
    acquire();
    defer release();
    return switch (which) {
        abi.MemoryStat.live => live,
        abi.MemoryStat.peak => peak,
        abi.MemoryStat.cached => cached,
        abi.MemoryStat.allocations => allocations,
        abi.MemoryStat.frees => frees,
        abi.MemoryStat.requested => requested_live,
        else => 0,
    };
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
    const before = stat(abi.MemoryStat.live);
    const a = alloc(1000).?;
    try std.testing.expectEqual(before + 1024, stat(abi.MemoryStat.live));
    dealloc(a);
    dealloc(a);
    try std.testing.expectEqual(before, stat(abi.MemoryStat.live));
    const b = alloc(300).?;
    const c = alloc(1001).?;
    try std.testing.expectEqual(a, c);
    try std.testing.expect(keep_alive(b));
    dealloc(b);
    try std.testing.expectEqual(before + 1536, stat(abi.MemoryStat.live));
    dealloc(b);
    dealloc(c);
}

test "middle-sized blocks share chunks, which go when their last block does" {
    var blocks: [200][*]u8 = undefined;
    for (&blocks) |*b| b.* = alloc(100_000).?;
    for (blocks) |b| @memset(b[0..100_000], 7);
    for (blocks) |b| dealloc(b);
    empty_cache();
    try std.testing.expect(current != null and current.?.live == 0);
    const again = alloc(100_000).?;
    try std.testing.expectEqual(1, current.?.live);
    dealloc(again);
}

test "a parked block counts as free, and goes when its owner does" {
    empty_cache();
    const before = stat(abi.MemoryStat.live);
    const a = alloc(1000).?;
    try std.testing.expect(keep_alive(a));
    try std.testing.expect(!park(a));
    dealloc(a);
    try std.testing.expect(park(a));
    try std.testing.expect(!park(a));
    try std.testing.expectEqual(before, stat(abi.MemoryStat.live));
    try std.testing.expectEqual(1024, stat(abi.MemoryStat.cached));
    empty_cache();
    try std.testing.expect(unpark(a));
    try std.testing.expectEqual(before + 1024, stat(abi.MemoryStat.live));
    try std.testing.expectEqual(0, stat(abi.MemoryStat.cached));
    try std.testing.expect(park(a));
    dealloc(a);
    dealloc(a);
    try std.testing.expectEqual(1024, stat(abi.MemoryStat.cached));
    try std.testing.expect(!unpark(a));
    try std.testing.expectEqual(a, alloc(1024).?);
    dealloc(a);
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
