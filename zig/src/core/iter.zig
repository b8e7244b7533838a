//! The iteration space of a pointwise call: dimensions of size one dropped, the rest merged where every
//! operand allows it, so that most calls become one or two dimensions.
const std = @import("std");
const fr = @import("frame.zig");

pub const max_operands = 5;

pub const Space = struct {
    rank: usize = 0,
    total: usize = 1,
    /// sizes[0] is the innermost dimension.
    sizes: [fr.max_rank]usize = undefined,
    /// strides[operand][dim], in elements.
    strides: [max_operands][fr.max_rank]isize = undefined,
    operands: usize = 0,

    /// Shape comes from operand 0; the other operands carry strides broadcast to that shape.
    pub fn init(s: *Space, f: *fr.Frame, operands: usize) void {
        s.rank = 0;
        s.total = 1;
        s.operands = operands;
        const first = fr.view(f, 0);
        var dim = first.rank;
        while (dim > 0) {
            dim -= 1;
            const n = first.size(dim);
            s.total *= n;
            if (n == 1) continue;
            s.sizes[s.rank] = n;
            for (0..operands) |k| s.strides[k][s.rank] = @intFromFloat(fr.operand(f, k).strides[dim]);
            s.rank += 1;
        }
        s.coalesce();
    }

    /// Of dimensions that were set by hand, as `init` does it.
    pub fn coalesce(s: *Space) void {
        if (s.rank == 0) {
            s.rank = 1;
            s.sizes[0] = s.total;
            for (0..s.operands) |k| s.strides[k][0] = 0;
            return;
        }
        s.order();
        var last: usize = 0;
        for (1..s.rank) |d| {
            if (s.mergeable(last, d)) {
                s.sizes[last] *= s.sizes[d];
            } else {
                last += 1;
                s.sizes[last] = s.sizes[d];
                for (0..s.operands) |k| s.strides[k][last] = s.strides[k][d];
            }
        }
        s.rank = last + 1;
    }

    /// Sorts dimensions so that the output's smallest stride is innermost; a permuted output is written
    /// in the order of its memory.
    fn order(s: *Space) void {
        for (1..s.rank) |i| {
            var j = i;
            while (j > 0 and s.before(j, j - 1)) : (j -= 1) s.swap(j, j - 1);
        }
    }

    fn before(s: *const Space, a: usize, b: usize) bool {
        for (0..s.operands) |k| {
            const x = s.strides[k][a];
            const y = s.strides[k][b];
            if (x == 0 or y == 0 or x == y) continue;
            return x < y;
        }
        return false;
    }

    fn swap(s: *Space, a: usize, b: usize) void {
        std.mem.swap(usize, &s.sizes[a], &s.sizes[b]);
        for (0..s.operands) |k| std.mem.swap(isize, &s.strides[k][a], &s.strides[k][b]);
    }

    fn mergeable(s: *const Space, inner: usize, outer: usize) bool {
        for (0..s.operands) |k| {
            if (s.strides[k][outer] != s.strides[k][inner] * @as(isize, @intCast(s.sizes[inner]))) return false;
        }
        return true;
    }

    /// The operand's elements lie one after the other, in the order of the space.
    pub fn is_dense(s: *const Space, k: usize) bool {
        if (s.total == 1) return true;
        var step: isize = 1;
        for (0..s.rank) |d| {
            if (s.strides[k][d] != step) return false;
            step *= @intCast(s.sizes[d]);
        }
        return true;
    }

    pub fn is_constant(s: *const Space, k: usize) bool {
        for (0..s.rank) |d| if (s.strides[k][d] != 0 and s.sizes[d] != 1) return false;
        return true;
    }
};

/// A position in the space, for one operand: yields runs along the innermost dimension.
pub const Cursor = struct {
    space: *const Space,
    k: usize,
    index: [fr.max_rank]usize = undefined,
    offset: isize = 0,

    pub fn init(space: *const Space, k: usize, start: usize) Cursor {
        var c: Cursor = undefined;
        c.reset(space, k, start);
        return c;
    }

    /// In place: a cursor is too big to be copied in small calls.
    pub fn reset(c: *Cursor, space: *const Space, k: usize, start: usize) void {
        c.space = space;
        c.k = k;
        c.offset = 0;
        if (start == 0) {
            for (0..space.rank) |d| c.index[d] = 0;
            return;
        }
        var rest = start;
        for (0..space.rank) |d| {
            const n = space.sizes[d];
            c.index[d] = rest % n;
            rest /= n;
            c.offset += @as(isize, @intCast(c.index[d])) * space.strides[k][d];
        }
    }

    /// Elements left before the innermost dimension ends, at most `limit`.
    pub inline fn run(c: *const Cursor, limit: usize) usize {
        return @min(limit, c.space.sizes[0] - c.index[0]);
    }

    pub inline fn advance(c: *Cursor, n: usize) void {
        const s = c.space;
        c.index[0] += n;
        c.offset += @as(isize, @intCast(n)) * s.strides[c.k][0];
        var d: usize = 0;
        while (c.index[d] == s.sizes[d] and d + 1 < s.rank) {
            c.offset -= @as(isize, @intCast(s.sizes[d])) * s.strides[c.k][d];
            c.index[d] = 0;
            d += 1;
            c.index[d] += 1;
            c.offset += s.strides[c.k][d];
        }
    }
};
