//! What the frame says of a product of matrices.
const std = @import("std");
const abi = @import("abi");
const fr = @import("../core/frame.zig");

/// Sizes, and strides in elements: of the batch, the rows and the columns of the result, both factors and what beta
/// multiplies.
pub const Product = struct {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    dtype: abi.DType,
    data: [4][*]u8,
    strides: [4][3]isize,

    /// Null when sizes or dtypes do not fit.
    pub fn of(f: *fr.Frame) ?Product {
        const c = fr.view(f, 0);
        const a = fr.view(f, 1);
        const b = fr.view(f, 2);
        const d = if (fr.count(f) > 3) fr.view(f, 3) else c;
        const rank = c.rank;
        if ((rank != 2 and rank != 3) or a.rank != rank or b.rank != rank or d.rank != rank) return null;
        const row = rank - 2;
        var p: Product = .{
            .batch = if (rank == 3) c.size(0) else 1,
            .m = c.size(row),
            .n = c.size(row + 1),
            .k = a.size(row + 1),
            .dtype = c.dtype,
            .data = .{ c.data, a.data, b.data, d.data },
            .strides = undefined,
        };
        for ([_]fr.View{ c, a, b, d }, 0..) |v, i| {
            if (rank == 3 and v.size(0) != p.batch) return null;
            p.strides[i] = .{ if (rank == 3) v.stride(0) else 0, v.stride(row), v.stride(row + 1) };
        }
        if (a.size(row) != p.m or b.size(row) != p.k or b.size(row + 1) != p.n) return null;
        if (d.size(row) != p.m or d.size(row + 1) != p.n) return null;
        if (a.dtype != c.dtype or b.dtype != c.dtype or d.dtype != c.dtype) return null;
        return p;
    }

    pub fn at(p: *const Product, comptime T: type, operand: usize, index: usize) [*]T {
        const offset = @as(isize, @intCast(index)) * p.strides[operand][0] * @sizeOf(T);
        return @ptrFromInt(@intFromPtr(p.data[operand]) +% @as(usize, @bitCast(offset)));
    }
};
