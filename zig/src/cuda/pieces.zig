//! Halves a space until one launch can take each piece: 32 bits count its elements, and its dimensions fit the
//! arguments.
const std = @import("std");
const args = @import("../gpu/args.zig");
const iter = @import("../core/iter.zig");

/// Elements of one launch: 32 bits are enough for all that it counts.
pub const most_elements = @import("../gpu/dims.zig").most_elements;

pub const Space = iter.Space;
/// Of a piece's first element, for each operand, in elements.
pub const Offsets = [iter.max_operands]i64;

/// Calls `body(context, piece, offsets)` for all pieces in their order. `reach`: offsets within one fit 32 bits, too.
pub fn each(space: *const Space, comptime reach: bool, context: anytype, comptime body: anytype) !void {
    const start: Offsets = @splat(0);
    try halves(space, &start, reach, context, body);
}

fn halves(
    space: *const Space,
    offsets: *const Offsets,
    comptime reach: bool,
    context: anytype,
    comptime body: anytype,
) !void {
    if (fits(space, reach)) return body(context, space, offsets);
    var d = space.rank - 1;
    if (space.rank <= args.max_dims) {
        for (0..space.rank) |i| {
            if (span(space, i, reach) > span(space, d, reach)) d = i;
        }
    }
    const first = space.sizes[d] / 2;
    var half = space.*;
    half.sizes[d] = first;
    shrink(&half);
    try halves(&half, offsets, reach, context, body);
    var rest = offsets.*;
    for (0..space.operands) |k| rest[k] += space.strides[k][d] * @as(i64, @intCast(first));
    half = space.*;
    half.sizes[d] = space.sizes[d] - first;
    shrink(&half);
    try halves(&half, &rest, reach, context, body);
}

/// Drops dimensions of one element, counts again.
pub fn shrink(space: *Space) void {
    var rank: usize = 0;
    space.total = 1;
    for (0..space.rank) |d| {
        space.total *= space.sizes[d];
        if (space.sizes[d] == 1) continue;
        space.sizes[rank] = space.sizes[d];
        for (0..space.operands) |k| space.strides[k][rank] = space.strides[k][d];
        rank += 1;
    }
    space.rank = @max(rank, 1);
    if (rank > 0) return;
    space.sizes[0] = 1;
    for (0..space.operands) |k| space.strides[k][0] = 0;
}

/// How far a dimension reaches, by the widest operand, or the number of elements.
fn span(space: *const Space, d: usize, comptime reach: bool) usize {
    var most = space.sizes[d];
    if (reach) for (0..space.operands) |k| {
        most = @max(most, @abs(space.strides[k][d]) * space.sizes[d]);
    };
    return most;
}

fn fits(space: *const Space, comptime reach: bool) bool {
    if (space.rank > args.max_dims or space.total > most_elements) return false;
    if (reach) for (0..space.operands) |k| {
        var far: usize = 0;
        for (0..space.rank) |d| far += @abs(space.strides[k][d]) * (space.sizes[d] - 1);
        if (far >= most_elements) return false;
    };
    return true;
}

/// Sizes as a kernel divides by them.
pub fn divisors(space: *const Space, to: *[args.max_dims]args.Divisor) void {
    for (0..space.rank) |d| to[d] = .of(@intCast(space.sizes[d]));
}

test "pieces cover a space" {
    var space: Space = .{ .rank = 14, .total = 1 << 14, .operands = 2 };
    for (0..14) |d| {
        space.sizes[d] = 2;
        space.strides[0][d] = @as(isize, 1) << @intCast(d);
        space.strides[1][d] = @as(isize, 1) << @intCast(13 - d);
    }
    const Sum = struct {
        total: usize = 0,
        offsets: i64 = 0,
        fn add(s: *@This(), piece: *const Space, offsets: *const Offsets) !void {
            try std.testing.expect(piece.rank <= args.max_dims);
            s.total += piece.total;
            s.offsets += offsets[0];
        }
    };
    var sum: Sum = .{};
    try each(&space, true, &sum, Sum.add);
    try std.testing.expectEqual(1 << 14, sum.total);
    try std.testing.expectEqual((1 << 12) + (1 << 13) + (1 << 12) + (1 << 13), sum.offsets);
}
