//! Square tiles transposed in registers.
const cfg = @import("cfg");

/// Rows and columns of a tile of `T`.
pub fn side(comptime T: type) usize {
    const bytes = 4 * @as(usize, cfg.lanes);
    return @max(2, @min(16, bytes / @sizeOf(T)));
}

/// dst[j][i] = src[i][j] for one full tile; leading strides in bytes.
pub inline fn transpose(comptime T: type, src: usize, src_stride: isize, dst: usize, dst_stride: isize) void {
    @setEvalBranchQuota(100_000);
    const n = comptime side(T);
    const V = @Vector(n, T);
    var rows: [n]V = undefined;
    inline for (0..n) |i| rows[i] = @as(*align(1) const V, @ptrFromInt(offset(src, src_stride, i))).*;
    comptime var half = 1;
    // Each stage exchanges the off-diagonal halves of 2h x 2h blocks.
    inline while (half < n) : (half *= 2) {
        var next: [n]V = undefined;
        inline for (0..n) |i| {
            if (comptime i & half == 0) {
                next[i] = @shuffle(T, rows[i], rows[i + half], mask(n, half, false));
                next[i + half] = @shuffle(T, rows[i], rows[i + half], mask(n, half, true));
            }
        }
        rows = next;
    }
    inline for (0..n) |i| @as(*align(1) V, @ptrFromInt(offset(dst, dst_stride, i))).* = rows[i];
}

inline fn offset(base: usize, stride: isize, i: usize) usize {
    return base +% @as(usize, @bitCast(stride *% @as(isize, @intCast(i))));
}

fn mask(comptime n: usize, comptime half: usize, comptime high: bool) @Vector(n, i32) {
    var m: [n]i32 = undefined;
    for (0..n) |j| {
        const other = j & half != 0;
        const from = if (high) j | half else j & ~half;
        m[j] = if (other) ~@as(i32, @intCast(from)) else @intCast(from);
    }
    return m;
}

test "a tile is transposed" {
    const std = @import("std");
    inline for (.{ u8, u16, u32, u64, u128 }) |T| {
        const n = comptime side(T);
        var a: [n][n]T = undefined;
        var b: [n][n]T = undefined;
        for (0..n) |i| for (0..n) |j| {
            a[i][j] = @intCast(i * n + j & 255);
        };
        transpose(T, @intFromPtr(&a), n * @sizeOf(T), @intFromPtr(&b), n * @sizeOf(T));
        for (0..n) |i| for (0..n) |j| try std.testing.expectEqual(a[i][j], b[j][i]);
    }
}
