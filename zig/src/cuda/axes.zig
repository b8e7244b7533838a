//! Dimensions of a call on a device before they are handed to a kernel: in bytes, and as many as there are.
const std = @import("std");
const args = @import("../gpu/args.zig");
const dims = @import("../gpu/dims.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const plans = @import("../cpu/reduce_plan.zig");

const most_operands = 3;

pub const Axes = struct {
    rank: usize = 0,
    /// The innermost dimension first.
    sizes: [fr.max_rank]usize = undefined,
    /// Bytes from an element to the next, of what is read and then of what is written.
    steps: [most_operands][fr.max_rank]i64 = undefined,

    pub fn of(d: *const plans.Dims, bytes: [most_operands]usize) Axes {
        var a: Axes = .{ .rank = d.rank };
        for (0..d.rank) |i| {
            a.sizes[i] = d.sizes[i];
            for ([_]isize{ d.in[i], d.out[0][i], d.out[1][i] }, bytes, 0..) |step, size, k| {
                a.steps[k][i] = step * @as(i64, @intCast(size));
            }
        }
        return a;
    }

    /// Of the operands that have bytes.
    pub fn of_space(s: *const iter.Space, bytes: [most_operands]usize) Axes {
        var a: Axes = .{ .rank = if (s.total == 1) 0 else s.rank };
        for (0..a.rank) |i| {
            a.sizes[i] = s.sizes[i];
            for (bytes, 0..) |size, k| {
                a.steps[k][i] = if (size == 0) 0 else s.strides[k][i] * @as(i64, @intCast(size));
            }
        }
        return a;
    }

    pub fn count(a: *const Axes) usize {
        var n: usize = 1;
        for (a.sizes[0..a.rank]) |size| n *= size;
        return n;
    }

    /// A launch can take all of it.
    pub fn fits(a: *const Axes) bool {
        return a.rank <= dims.max_rank and a.count() <= dims.most_elements;
    }

    pub const Rest = struct {
        axes: Axes,
        /// Bytes from the first element, by operand.
        at: [most_operands]u64,
        /// Elements of a lower dimension that lie before it.
        elements: usize,
    };

    /// Cuts off the second half of the longest dimension, or of the outermost where there are too many.
    pub fn halve(a: *Axes) Rest {
        var d = a.rank - 1;
        if (a.rank <= dims.max_rank) {
            for (a.sizes[0..a.rank], 0..) |size, i| {
                if (size > a.sizes[d]) d = i;
            }
        }
        const first = a.sizes[d] / 2;
        var rest: Rest = .{ .axes = a.*, .at = undefined, .elements = first };
        for (&rest.at, 0..) |*x, k| x.* = @bitCast(a.steps[k][d] * @as(i64, @intCast(first)));
        rest.axes.sizes[d] -= first;
        a.sizes[d] = first;
        rest.axes.drop_single(d);
        a.drop_single(d);
        return rest;
    }

    fn drop_single(a: *Axes, d: usize) void {
        if (a.sizes[d] != 1) return;
        a.rank -= 1;
        for (d..a.rank) |i| {
            a.sizes[i] = a.sizes[i + 1];
            for (&a.steps) |*s| s[i] = s[i + 1];
        }
    }

    /// As a kernel wants them; `to` is a pointer to dims.Dims of some operands.
    pub fn write(a: *const Axes, to: anytype) void {
        to.rank = @intCast(a.rank);
        to.count = @intCast(a.count());
        to.sizes = @splat(.of(1));
        for (&to.steps) |*s| s.* = @splat(0);
        for (0..a.rank) |d| {
            to.sizes[d] = .of(@intCast(@max(1, a.sizes[d])));
            for (&to.steps, 0..) |*s, k| s[d] = a.steps[k][d];
        }
    }

    /// How far the next element of an operand is; nothing is further than what is one element for all.
    pub fn nearest(a: *const Axes) u64 {
        if (a.rank == 0 or a.steps[0][0] == 0) return std.math.maxInt(u64);
        return @abs(a.steps[0][0]);
    }
};

/// The logarithm of the next power of two.
pub fn log_up(n: usize) u32 {
    return if (n <= 1) 0 else std.math.log2_int_ceil(usize, n);
}

test "halves know where they begin, and lose dimensions of one element" {
    var a: Axes = .{ .rank = 2 };
    a.sizes[0..2].* = .{ 3, 5 };
    for (&a.steps, 1..) |*s, k| s[0..2].* = .{ @intCast(4 * k), @intCast(12 * k) };
    var rest = a.halve();
    try std.testing.expectEqual([2]usize{ 3, 2 }, a.sizes[0..2].*);
    try std.testing.expectEqual([2]usize{ 3, 3 }, rest.axes.sizes[0..2].*);
    try std.testing.expectEqual([3]u64{ 24, 48, 72 }, rest.at);
    try std.testing.expectEqual(2, rest.elements);
    const last = a.halve();
    try std.testing.expectEqual(1, a.rank);
    try std.testing.expectEqual(2, a.count());
    try std.testing.expectEqual(4, last.axes.count());
}

test "what is too much for a launch fits in the end" {
    var a: Axes = .{ .rank = 14 };
    for (0..14) |d| {
        a.sizes[d] = if (d == 3) 1 << 31 else 2;
        for (&a.steps) |*s| s[d] = 0;
    }
    const all = a.count();
    var stack: std.ArrayList(Axes) = .empty;
    defer stack.deinit(std.testing.allocator);
    try stack.append(std.testing.allocator, a);
    var seen: usize = 0;
    var pieces: usize = 0;
    while (stack.pop()) |one| {
        var x = one;
        if (x.fits()) {
            seen += x.count();
            pieces += 1;
            continue;
        }
        const rest = x.halve();
        try stack.append(std.testing.allocator, rest.axes);
        try stack.append(std.testing.allocator, x);
    }
    try std.testing.expectEqual(all, seen);
    try std.testing.expect(pieces >= all / dims.most_elements);
}
