//! Packing for matrix multiplication: copies blocks of A and B with any strides into the order in which the tile
//! kernels read them. Rows or columns that are contiguous move as vectors, crosswise ones through a transpose in
//! registers.

const std = @import("std");
const kernel = @import("gemm_kernel.zig");
const at = kernel.at;
const span = kernel.span;

/// Elements that a packed buffer must have beyond its contents: vector stores may run over its end.
pub const slack = 32;

/// Lane picks for one stage of a butterfly transpose of n x n: `high` gives the lower of the two result rows.
fn stage_mask(comptime n: usize, comptime half: usize, comptime high: bool) @Vector(n, i32) {
    @setEvalBranchQuota(20000);
    var m: [n]i32 = undefined;
    for (0..n) |lane| {
        const upper = lane & half != 0;
        const i: i32 = @intCast(lane);
        const h: i32 = @intCast(half);
        m[lane] = if (high) (if (upper) ~i else i + h) else (if (upper) ~(i - h) else i);
    }
    return m;
}

inline fn transpose_square(comptime T: type, comptime n: usize, r: *[n]@Vector(n, T)) void {
    @setEvalBranchQuota(20000);
    comptime var half: usize = 1;
    inline while (half < n) : (half *= 2) {
        var s: [n]@Vector(n, T) = undefined;
        inline for (0..n) |i| if (comptime i & half == 0) {
            s[i] = @shuffle(T, r[i], r[i + half], stage_mask(n, half, false));
            s[i + half] = @shuffle(T, r[i], r[i + half], stage_mask(n, half, true));
        };
        r.* = s;
    }
}

/// out[k * h + i] = in[i * stride + k] for i < h and k < kc: rows that are contiguous along k become columns.
/// Rows shorter than a vector run over their end, which the next row then overwrites; the last one is left over.
fn strip_crosswise(comptime T: type, comptime h: usize, kc: usize, in: [*]const T, stride: isize, out: [*]T) void {
    const lanes = kernel.Tile(T).lanes;
    if (kc < lanes) return pack_scalar(T, h, kc, in, stride, 1, out, h);
    comptime var group: usize = 0;
    inline while (group < h) : (group += lanes) {
        // The last group starts early rather than being short, if there are enough rows.
        const first = if (group + lanes <= h) group else h -| lanes;
        const rows = at(in, span(first, stride));
        var k: usize = 0;
        while (k < kc) : (k += lanes) {
            const from = @min(k, kc - lanes);
            transpose_group(T, @min(lanes, h), rows + from, stride, out + from * h + first, h);
        }
    }
}

/// Rows of the group beyond `height` are not read and leave zeros.
inline fn transpose_group(
    comptime T: type,
    comptime height: usize,
    in: [*]const T,
    stride: isize,
    out: [*]T,
    ldo: usize,
) void {
    const tile = kernel.Tile(T);
    var r: [tile.lanes]tile.V = @splat(@splat(0));
    inline for (0..height) |i| {
        const row = at(in, span(i, stride));
        r[i] = tile.load(row);
        // Several rows to a page: more streams than the processor follows by itself.
        @prefetch(row + 4 * tile.lanes, .{ .locality = 3 });
    }
    transpose_square(T, tile.lanes, &r);
    inline for (0..tile.lanes) |i| tile.store(out + i * ldo, r[i]);
}

/// out[k * ldo + i] = in[i * rs + k * ks], with no assumption about strides.
fn pack_scalar(
    comptime T: type,
    h: usize,
    kc: usize,
    in: [*]const T,
    rs: isize,
    ks: isize,
    out: [*]T,
    ldo: usize,
) void {
    for (0..kc) |k| {
        const row = at(in, span(k, ks));
        for (0..h) |i| out[k * ldo + i] = at(row, span(i, rs))[0];
    }
}

/// out[k * ldo + i] = in[i + k * ks]: `w` contiguous elements for each k, as two overlapping vectors where they fit.
fn pack_lengthwise(comptime T: type, w: usize, kc: usize, in: [*]const T, ks: isize, out: [*]T, ldo: usize) void {
    comptime var width: usize = 32; // no panel or strip is wider
    inline while (width >= 2) : (width /= 2) if (w >= width) {
        const V = @Vector(width, T);
        const both = w != width;
        for (0..kc) |k| {
            const from = at(in, span(k, ks));
            const to = out + k * ldo;
            // The next rows may be pages away, where the processor does not look ahead by itself.
            @prefetch(at(from, 8 *% ks), .{ .locality = 3 });
            if (width * @sizeOf(T) > 64) @prefetch(at(from, 8 *% ks) + 64 / @sizeOf(T), .{ .locality = 3 });
            @as(*align(@alignOf(T)) V, @ptrCast(to)).* = @as(*align(@alignOf(T)) const V, @ptrCast(from)).*;
            if (both) @as(*align(@alignOf(T)) V, @ptrCast(to + (w - width))).* =
                @as(*align(@alignOf(T)) const V, @ptrCast(from + (w - width))).*;
        }
        return;
    };
    pack_scalar(T, w, kc, in, 1, ks, out, ldo);
}

/// Packs `h` rows of A into a strip: out[k * h + i]. Strips are packed in order: a strip's end may be overrun.
pub fn pack_strip(comptime T: type, h: usize, kc: usize, a: [*]const T, rsa: isize, csa: isize, out: [*]T) void {
    if (csa == 1) switch (h) {
        inline 1...kernel.Tile(T).rows => |rows| return strip_crosswise(T, rows, kc, a, rsa, out),
        else => unreachable,
    };
    if (rsa == 1) return pack_lengthwise(T, h, kc, a, csa, out, h);
    pack_scalar(T, h, kc, a, rsa, csa, out, h);
}

/// Packs `w` columns of B into a panel: out[k * ldo + j], ldo = w rounded up to whole vectors. The columns added
/// are zeros: nobody stores their products, but whatever was in memory could slow the kernels down.
pub fn pack_panel(
    comptime T: type,
    w: usize,
    kc: usize,
    b: [*]const T,
    rsb: isize,
    csb: isize,
    out: [*]T,
    ldo: usize,
) void {
    const lanes = kernel.Tile(T).lanes;
    const zero: kernel.Tile(T).V = @splat(0);
    if (w < ldo) for (0..kc) |k| kernel.Tile(T).store(out + (k + 1) * ldo - lanes, zero);
    const whole = if (csb != 1 and rsb == 1 and kc >= lanes) w - w % lanes else 0;
    var j: usize = 0;
    while (j < whole) : (j += lanes) panel_crosswise(T, kc, at(b, span(j, csb)), csb, out + j, ldo);
    if (whole == w) return;
    if (csb != 1 and rsb == 1 and kc >= lanes) {
        return panel_part(T, w - whole, kc, at(b, span(whole, csb)), csb, out + whole, ldo);
    }
    const rest = at(b, span(whole, csb));
    if (csb == 1) {
        pack_lengthwise(T, w, kc, rest, rsb, out, ldo);
    } else pack_scalar(T, w - whole, kc, rest, csb, rsb, out + whole, ldo);
}

/// One vector of columns, each contiguous along k.
fn panel_crosswise(comptime T: type, kc: usize, b: [*]const T, csb: isize, out: [*]T, ldo: usize) void {
    const lanes = kernel.Tile(T).lanes;
    var k: usize = 0;
    while (k < kc) : (k += lanes) {
        const from = @min(k, kc - lanes);
        transpose_group(T, lanes, b + from, csb, out + from * ldo, ldo);
    }
}

/// Fewer columns than a vector has: zeros follow.
fn panel_part(comptime T: type, w: usize, kc: usize, b: [*]const T, csb: isize, out: [*]T, ldo: usize) void {
    const tile = kernel.Tile(T);
    var k: usize = 0;
    while (k < kc) : (k += tile.lanes) {
        const from = @min(k, kc - tile.lanes);
        var r: [tile.lanes]tile.V = @splat(@splat(0));
        inline for (0..tile.lanes) |i| if (i < w) {
            r[i] = tile.load(at(b, span(i, csb)) + from);
        };
        transpose_square(T, tile.lanes, &r);
        inline for (0..tile.lanes) |i| tile.store(out + (from + i) * ldo, r[i]);
    }
}
