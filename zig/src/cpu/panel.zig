//! Pointwise calls with a transposed operand: a panel of it, a few rows of the result high, is turned in registers
//! and then read like any other operand.
const std = @import("std");
const abi = @import("abi");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const parallel = @import("../core/parallel.zig");
const pw = @import("pointwise.zig");
const tile = @import("tile.zig");

const Compute = abi.Compute;
/// Columns of a panel.
const width = 256;
const least = 32;

const Shape = enum { row, column, constant };

/// How an operand lies along dimensions 0 and 1, or null when a panel does not help.
fn shape_of(space: *const iter.Space, k: usize) ?Shape {
    const inner = space.strides[k][0];
    if (inner == 1) return .row;
    if (space.is_constant(k)) return .constant;
    if (space.strides[k][1] == 1 and inner > 1) return .column;
    return null;
}

/// True when every operand is native, the result runs along dimension 0, and some operand runs along dimension 1.
pub fn suits(comptime Body: type, comptime c: Compute, f: *fr.Frame, space: *const iter.Space) bool {
    if (space.rank < 2 or space.sizes[0] < least or space.sizes[1] < least) return false;
    if (space.strides[0][0] != 1 or !native(f, 0, pw.out_of(Body, c))) return false;
    var columns: usize = 0;
    inline for (0..Body.arity) |k| {
        const ic = comptime pw.in_of(Body, c, k);
        if (@sizeOf(dt.Computed(ic)) > 8 or !native(f, k + 1, ic)) return false;
        const s = shape_of(space, k + 1) orelse return false;
        if (s == .column) columns += 1;
    }
    return columns > 0;
}

fn native(f: *fr.Frame, k: usize, c: Compute) bool {
    const v = fr.view(f, k);
    return v.flags == 0 and v.dtype == native_of(c);
}

fn native_of(c: Compute) abi.DType {
    return switch (c) {
        inline else => |x| comptime dt.native_dtype(x),
    };
}

/// The transposed type of the same size.
fn Word(comptime T: type) type {
    return switch (@sizeOf(T)) {
        1 => u8,
        2 => u16,
        4 => u32,
        else => u64,
    };
}

pub fn run(comptime Body: type, comptime c: Compute, f: *fr.Frame, space: *const iter.Space) void {
    const rows = space.sizes[1];
    const bands = (rows + height - 1) / height;
    const planes = space.total / (rows * space.sizes[0]);
    const Job = struct {
        f: *fr.Frame,
        space: *const iter.Space,
        bands: usize,
        fn part(j: @This(), begin: usize, end: usize) void {
            for (begin..end) |i| band(Body, c, j.f, j.space, i / j.bands, (i % j.bands) * height);
        }
    };
    const step = @max(1, pw.grain / (height * space.sizes[0]));
    parallel.parallel_for(bands * planes, step, Job{ .f = f, .space = space, .bands = bands }, Job.part);
}

/// Rows of a panel: a whole number of tiles for every element size.
const height = 16;

fn band(
    comptime Body: type,
    comptime c: Compute,
    f: *fr.Frame,
    space: *const iter.Space,
    plane: usize,
    row: usize,
) void {
    const rows = @min(height, space.sizes[1] - row);
    const p: pw.Params = .{ .attrs = &f.attrs };
    var base: [Body.arity + 1]isize = undefined;
    inline for (0..Body.arity + 1) |k| base[k] = origin(space, k, plane, row);
    var panels: Panels(Body, c) = undefined;
    const Out = dt.Computed(comptime pw.out_of(Body, c));
    const out = @intFromPtr(fr.view(f, 0).data);
    var col: usize = 0;
    while (col < space.sizes[0]) : (col += width) {
        const n = @min(width, space.sizes[0] - col);
        inline for (0..Body.arity) |k| {
            const T = dt.Computed(comptime pw.in_of(Body, c, k));
            const from = @intFromPtr(fr.view(f, k + 1).data);
            const stride = space.strides[k + 1][0];
            switch (shape_of(space, k + 1).?) {
                .row => {},
                .constant => for (panels[k][0][0..n]) |*x| {
                    x.* = at(T, from, base[k + 1])[0];
                },
                .column => turn(T, at(T, from, base[k + 1] + step_by(col, stride)), stride, &panels[k], rows, n),
            }
        }
        for (0..rows) |r| {
            var in: pw.Inputs(Body, c) = undefined;
            inline for (0..Body.arity) |k| {
                const T = dt.Computed(comptime pw.in_of(Body, c, k));
                const from = @intFromPtr(fr.view(f, k + 1).data);
                in[k] = switch (shape_of(space, k + 1).?) {
                    .row => at(T, from, base[k + 1] + step_by(r, space.strides[k + 1][1]) + step_by(col, 1)),
                    .constant => &panels[k][0],
                    .column => &panels[k][r],
                };
            }
            pw.loop(Body, c, p, at(Out, out, base[0] + step_by(r, space.strides[0][1]) + step_by(col, 1)), in, n);
        }
    }
}

fn Panels(comptime Body: type, comptime c: Compute) type {
    var types: [Body.arity]type = undefined;
    for (0..Body.arity) |k| types[k] = [height][width]dt.Computed(pw.in_of(Body, c, k));
    return std.meta.Tuple(&types);
}

inline fn step_by(n: usize, stride: isize) isize {
    return @as(isize, @intCast(n)) * stride;
}

inline fn at(comptime T: type, base: usize, elements: isize) [*]T {
    return @ptrFromInt(base +% @as(usize, @bitCast(elements * @sizeOf(T))));
}

/// Offset of the first element of a band, in elements.
fn origin(space: *const iter.Space, k: usize, plane: usize, row: usize) isize {
    var o = step_by(row, space.strides[k][1]);
    var rest = plane;
    for (2..space.rank) |d| {
        o += step_by(rest % space.sizes[d], space.strides[k][d]);
        rest /= space.sizes[d];
    }
    return o;
}

/// `n` columns of `rows` neighbours each become rows of the panel.
fn turn(comptime T: type, src: [*]const T, stride: isize, out: *[height][width]T, rows: usize, n: usize) void {
    const side = comptime tile.side(Word(T));
    var i: usize = 0;
    while (rows == height and i + side <= n) : (i += side) {
        inline for (0..height / side) |j| {
            const from = @intFromPtr(at(T, @intFromPtr(src), step_by(i, stride) + j * side));
            tile.transpose(Word(T), from, stride * @sizeOf(T), @intFromPtr(&out[j * side][i]), width * @sizeOf(T));
        }
    }
    while (i < n) : (i += 1) {
        const from = at(T, @intFromPtr(src), step_by(i, stride));
        for (0..rows) |r| out[r][i] = from[r];
    }
}
