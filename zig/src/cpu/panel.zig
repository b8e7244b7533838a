//! Pointwise calls with a transposed operand: a panel of it, a few rows of the result high, is turned in registers
//! and then read like any other operand.
const std = @import("std");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const parallel = @import("../core/parallel.zig");
const pw = @import("pointwise.zig");
const tile = @import("tile.zig");

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
pub fn suits(spec: *const pw.Spec, f: *fr.Frame, space: *const iter.Space) bool {
    if (space.rank < 2 or space.sizes[0] < least or space.sizes[1] < least) return false;
    if (space.strides[0][0] != 1 or !native(f, 0, spec)) return false;
    var columns: usize = 0;
    for (1..spec.arity + 1) |k| {
        if (dt.size_of(spec.types[k]) > 8 or !native(f, k, spec)) return false;
        const s = shape_of(space, k) orelse return false;
        if (s == .column) columns += 1;
    }
    return columns > 0;
}

fn native(f: *fr.Frame, k: usize, spec: *const pw.Spec) bool {
    const v = fr.view(f, k);
    return convert.is_native(&v, spec.types[k]);
}

pub fn run(spec: *const pw.Spec, f: *fr.Frame, space: *const iter.Space) void {
    const rows = space.sizes[1];
    const bands = (rows + height - 1) / height;
    const planes = space.total / (rows * space.sizes[0]);
    const Job = struct {
        spec: *const pw.Spec,
        f: *fr.Frame,
        space: *const iter.Space,
        bands: usize,
        fn part(j: @This(), begin: usize, end: usize) void {
            for (begin..end) |i| band(j.spec, j.f, j.space, i / j.bands, (i % j.bands) * height);
        }
    };
    const step = @max(1, pw.grain / (height * space.sizes[0]));
    const job: Job = .{ .spec = spec, .f = f, .space = space, .bands = bands };
    parallel.parallel_for(bands * planes, step, job, Job.part);
}

/// Rows of a panel: a whole number of tiles for every element size.
const height = 16;
const Panel = [height * width * 8]u8;

/// One input of a band: where its row `r` begins.
const Source = struct { start: usize, step: isize };

fn band(spec: *const pw.Spec, f: *fr.Frame, space: *const iter.Space, plane: usize, row: usize) void {
    const rows = @min(height, space.sizes[1] - row);
    const p: pw.Params = .{ .attrs = &f.attrs };
    var panels: [3]Panel align(64) = undefined;
    const size = dt.size_of(spec.types[0]);
    const out = at(@intFromPtr(fr.view(f, 0).data), origin(space, 0, plane, row), size);
    var col: usize = 0;
    while (col < space.sizes[0]) : (col += width) {
        const n = @min(width, space.sizes[0] - col);
        for (0..rows) |r| fetch(at(out, step_by(r, space.strides[0][1]) + step_by(col, 1), size), n * size);
        var sources: [3]Source = undefined;
        for (0..spec.arity) |k| {
            const w = dt.size_of(spec.types[k + 1]);
            const first = at(@intFromPtr(fr.view(f, k + 1).data), origin(space, k + 1, plane, row), w);
            sources[k] = source(space, k + 1, w, first, &panels[k], rows, col, n);
        }
        for (0..rows) |r| {
            var in: [3][*]const u8 = undefined;
            for (0..spec.arity) |k| in[k] = @ptrFromInt(at(sources[k].start, step_by(r, sources[k].step), 1));
            spec.loop(p, @ptrFromInt(at(out, step_by(r, space.strides[0][1]) + step_by(col, 1), size)), &in, n);
        }
    }
}

/// Asks for the lines that a row of the panel will be written to; they come while the operands are turned.
fn fetch(start: usize, bytes: usize) void {
    var i: usize = 0;
    while (i < bytes) : (i += 64) @prefetch(@as([*]const u8, @ptrFromInt(start + i)), .{ .rw = .write, .locality = 3 });
}

/// Columns [col, col + n) of an input whose band begins at `first`.
fn source(
    space: *const iter.Space,
    k: usize,
    size: usize,
    first: usize,
    panel: *Panel,
    rows: usize,
    col: usize,
    n: usize,
) Source {
    const stride = space.strides[k][0];
    const bytes: isize = @intCast(size);
    switch (shape_of(space, k).?) {
        .row => return .{ .start = at(first, step_by(col, 1), size), .step = space.strides[k][1] * bytes },
        .constant => {
            repeat(size, panel, first, n);
            return .{ .start = @intFromPtr(panel), .step = 0 };
        },
        .column => {
            const from = at(first, step_by(col, stride), size);
            switch (size) {
                inline 1, 2, 4, 8 => |w| turn(Word(w), from, stride, @intFromPtr(panel), rows, n),
                else => unreachable,
            }
            return .{ .start = @intFromPtr(panel), .step = width * bytes };
        },
    }
}

pub fn Word(comptime size: usize) type {
    return std.meta.Int(.unsigned, 8 * size);
}

/// The element at `from`, of `size` bytes, `n` times.
pub fn repeat(size: usize, to: [*]u8, from: usize, n: usize) void {
    switch (size) {
        inline 1, 2, 4, 8, 16 => |w| {
            const x = @as(*align(1) const Word(w), @ptrFromInt(from)).*;
            for (@as([*]align(1) Word(w), @ptrCast(to))[0..n]) |*b| b.* = x;
        },
        else => unreachable,
    }
}

inline fn step_by(n: usize, stride: isize) isize {
    return @as(isize, @intCast(n)) * stride;
}

inline fn at(base: usize, elements: isize, size: usize) usize {
    return base +% @as(usize, @bitCast(elements * @as(isize, @intCast(size))));
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
noinline fn turn(comptime T: type, src: usize, stride: isize, out: usize, rows: usize, n: usize) void {
    const side = comptime tile.side(T);
    const size = @sizeOf(T);
    var i: usize = 0;
    while (rows == height and i + side <= n) : (i += side) {
        inline for (0..height / side) |j| {
            const from = at(src, step_by(i, stride) + j * side, size);
            tile.transpose(T, from, stride * size, out + (j * side * width + i) * size, width * size);
        }
    }
    while (i < n) : (i += 1) {
        const from: [*]align(1) const T = @ptrFromInt(at(src, step_by(i, stride), size));
        for (0..rows) |r| @as(*align(1) T, @ptrFromInt(out + (r * width + i) * size)).* = from[r];
    }
}
