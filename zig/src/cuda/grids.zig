//! Cuts a batch of planes into launches, each of no more elements than 32 bits count.
const std = @import("std");
const args = @import("../gpu/args.zig");
const launch = @import("launch.zig");
const driver = @import("driver.zig");
const Grid = @import("../gpu/grid.zig").Grid;
const Planes = @import("../cpu/planes.zig").Planes;

const most_elements = @import("pieces.zig").most_elements;

/// Batch, channels, and three sizes of a plane.
pub const Sizes = [5]usize;

pub fn sizes_of(p: *const Planes, n: usize, c: usize) Sizes {
    return .{ n, c, p.size[0], p.size[1], p.size[2] };
}

/// Whether channels lie beside each other, and elements of a plane do not.
pub fn is_last(p: *const Planes, c: usize) bool {
    return c > 1 and p.c == 1 and p.s[2] != 1;
}

/// Runs `kernel` for all elements, a thread each; `a.grid` says which are those of a launch.
pub fn each(c: *const launch.Call, kernel: driver.Function, sizes: Sizes, last: bool, a: anytype) !void {
    try halves(sizes, .{ 0, 0, 0, 0, 0 }, last, Launches(@TypeOf(a)){ .c = c, .kernel = kernel, .a = a });
}

fn Launches(comptime Args: type) type {
    return struct {
        c: *const launch.Call,
        kernel: driver.Function,
        a: Args,

        pub fn one(l: @This(), grid: *const Grid) !void {
            l.a.grid = grid.*;
            const blocks = std.math.divCeil(u64, grid.count, launch.block_threads) catch unreachable;
            try l.c.start(l.kernel, blocks, launch.block_threads, l.a);
        }
    };
}

/// Calls `to.one` with each part of the elements that one launch can take.
pub fn halves(sizes: Sizes, begin: Sizes, last: bool, to: anytype) !void {
    var count: usize = 1;
    var longest: usize = 0;
    for (sizes, 0..) |size, d| {
        count *|= size;
        if (size > sizes[longest]) longest = d;
    }
    if (count == 0) return;
    if (count <= most_elements) {
        const n, const ch, const d, const h, const w = sizes;
        _ = n;
        const order: [4]usize = if (last) .{ ch, w, h, d } else .{ w, h, d, ch };
        var grid: Grid = .{ .count = @intCast(count), .last = @intFromBool(last), .sizes = undefined, .begin = begin };
        for (&grid.sizes, order) |*x, size| x.* = .of(@intCast(size));
        return to.one(&grid);
    }
    var first = sizes;
    first[longest] = sizes[longest] / 2;
    try halves(first, begin, last, to);
    var rest = sizes;
    rest[longest] -= first[longest];
    var at = begin;
    at[longest] += first[longest];
    try halves(rest, at, last, to);
}

test "parts have all elements once" {
    const Sum = struct {
        total: *usize,
        parts: *usize,
        pub fn one(s: @This(), grid: *const Grid) !void {
            s.total.* += grid.count;
            s.parts.* += 1;
        }
    };
    var total: usize = 0;
    var parts: usize = 0;
    try halves(.{ 3, 5, 1 << 16, 1 << 10, 1 << 9 }, .{ 0, 0, 0, 0, 0 }, false, Sum{ .total = &total, .parts = &parts });
    try std.testing.expectEqual(15 << 35, total);
    try std.testing.expect(parts >= 15 << 5);
}
