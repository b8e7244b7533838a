//! Memory of the system: mapped, given back whole, or page by page while the addresses stay.
const std = @import("std");
const builtin = @import("builtin");

pub const huge_page = 2 << 20;
/// Addresses of regions are multiples of this where they are not of huge pages; Windows cuts no finer.
const grain = 64 << 10;

/// Bytes to ask for when `total` are needed. A region that ends amid a huge page gets the rest when that wastes little.
pub fn whole(total: usize) usize {
    const huge = std.mem.alignForward(usize, total, huge_page);
    return if (huge - total <= total / 8) huge else std.mem.alignForward(usize, total, std.heap.pageSize());
}

/// A fresh region of zeros, null when there is none. From one huge page on it lies on huge pages where the system
/// grants them: a loop over fresh results would wait for the processor's tables otherwise.
pub fn map(size: usize) ?[*]u8 {
    const alignment: std.mem.Alignment = .fromByteUnits(if (size >= huge_page) huge_page else grain);
    const p = std.heap.PageAllocator.map(size, alignment) orelse return null;
    if (builtin.os.tag == .linux and size >= huge_page) {
        _ = std.os.linux.madvise(p, std.mem.alignBackward(usize, size, huge_page), std.os.linux.MADV.HUGEPAGE);
        const cost = touch(p);
        const known = fresh_cost.load(.monotonic);
        fresh_cost.store(if (known == 0) cost else (known + cost) / 2, .monotonic);
    }
    return p;
}

/// Nanoseconds that the first write to a MiB of a fresh region takes, of late; 0: not known. A virtual machine whose
/// host has to find the memory takes thirty times those of one that had it before.
pub var fresh_cost: std.atomic.Value(usize) = .init(0);

/// Has the first page of a region made, which is written in any case, and says what a MiB takes.
fn touch(p: [*]volatile u8) usize {
    const start = nanoseconds();
    p[0] = 0;
    const first = nanoseconds();
    p[std.heap.pageSize()] = 0;
    const second = nanoseconds() - first;
    // A second page that costs nothing was the same one, a huge one.
    if (second < (first - start) / 8) return (first - start) / (huge_page >> 20);
    return second * ((1 << 20) / std.heap.pageSize());
}

fn nanoseconds() usize {
    var t: std.os.linux.timespec = undefined;
    _ = std.os.linux.clock_gettime(.MONOTONIC, &t);
    return @as(usize, @intCast(t.sec)) *% std.time.ns_per_s +% @as(usize, @intCast(t.nsec));
}

pub fn unmap(p: [*]u8, size: usize) void {
    std.heap.PageAllocator.unmap(@alignCast(p[0..size]));
}

/// The whole pages within some bytes.
pub fn within(start: usize, end: usize) struct { usize, usize } {
    const page = std.heap.pageSize();
    const first = std.mem.alignForward(usize, start, page);
    return .{ first, @max(first, std.mem.alignBackward(usize, end, page)) };
}

/// Gives whole pages back; their addresses stay, and what is written there comes on new pages.
pub fn purge(start: usize, end: usize) void {
    const p: [*]align(std.heap.page_size_min) u8 = @ptrFromInt(start);
    const n = end - start;
    switch (builtin.os.tag) {
        .linux => _ = std.os.linux.madvise(p, n, std.os.linux.MADV.DONTNEED),
        .macos, .ios => _ = std.c.madvise(p, n, madv_free),
        .windows => _ = DiscardVirtualMemory(p, n),
        else => {},
    }
}

const madv_free = 5;
extern "kernel32" fn DiscardVirtualMemory(p: [*]u8, size: usize) callconv(.winapi) u32;

test "pages are given back, and come again as zeros" {
    const size = 8 << 20;
    const p = map(size).?;
    defer unmap(p, size);
    @memset(p[0..size], 7);
    const start, const end = within(@intFromPtr(p) + 100, @intFromPtr(p) + size - 100);
    purge(start, end);
    try std.testing.expectEqual(7, p[0]);
    try std.testing.expectEqual(7, p[size - 1]);
    if (builtin.os.tag == .linux) try std.testing.expectEqual(0, p[size / 2]);
}

test "a region takes the rest of its huge page when that is little" {
    try std.testing.expectEqual(16 << 20, whole(15 << 20));
    try std.testing.expectEqual(5 << 20, whole(5 << 20));
    try std.testing.expectEqual(std.heap.pageSize(), whole(1));
}
