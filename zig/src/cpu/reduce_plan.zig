//! How a reduction walks memory: which dimensions are kept and which are reduced, each list sorted by the input's
//! strides and merged, and how the work is cut into tasks. The cuts depend on sizes alone, never on threads.
const std = @import("std");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");

/// Elements of work that are worth a second thread.
pub const grain = 32768;
/// Elements of one part of a long reduction.
const part = 65536;
const max_parts = 64;

/// Sizes and strides, innermost first.
pub const Dims = struct {
    rank: usize,
    total: usize,
    sizes: [fr.max_rank]usize,
    in: [fr.max_rank]isize,
    out: [2][fr.max_rank]isize,

    fn add(d: *Dims, n: usize, in: isize, out0: isize, out1: isize) void {
        d.sizes[d.rank] = n;
        d.in[d.rank] = in;
        d.out[0][d.rank] = out0;
        d.out[1][d.rank] = out1;
        d.rank += 1;
        d.total *= n;
    }

    /// A broadcast dimension (stride 0) goes outside: it brings no locality.
    fn key(d: *const Dims, i: usize) usize {
        const s = @abs(d.in[i]);
        return if (s == 0) std.math.maxInt(usize) else s;
    }

    fn swap(d: *Dims, a: usize, b: usize) void {
        std.mem.swap(usize, &d.sizes[a], &d.sizes[b]);
        std.mem.swap(isize, &d.in[a], &d.in[b]);
        for (0..2) |k| std.mem.swap(isize, &d.out[k][a], &d.out[k][b]);
    }

    fn tidy(d: *Dims) void {
        for (1..@max(1, d.rank)) |i| {
            var j = i;
            while (j > 0 and d.key(j) < d.key(j - 1)) : (j -= 1) d.swap(j, j - 1);
        }
        if (d.rank == 0) return;
        var last: usize = 0;
        for (1..d.rank) |i| {
            const n: isize = @intCast(d.sizes[last]);
            const joins = d.in[i] == d.in[last] * n and d.out[0][i] == d.out[0][last] * n and
                d.out[1][i] == d.out[1][last] * n;
            if (joins) {
                d.sizes[last] *= d.sizes[i];
            } else {
                last += 1;
                if (last != i) d.swap(last, i);
            }
        }
        d.rank = last + 1;
    }

    pub fn inner_stride(d: *const Dims) usize {
        return if (d.rank == 0) std.math.maxInt(usize) else d.key(0);
    }
};

/// A position in a list of dimensions, from dimension `first` outwards.
pub const Walk = struct {
    dims: *const Dims,
    first: usize,
    index: [fr.max_rank]usize,
    in: isize,
    out: [2]isize,

    /// In place: the struct is large, and most of it stays unused.
    pub fn open(w: *Walk, dims: *const Dims, first: usize, start: usize) void {
        w.dims = dims;
        w.first = first;
        w.in = 0;
        w.out = .{ 0, 0 };
        if (dims.total == 0) return;
        var rest = start;
        for (first..@max(first, dims.rank)) |d| {
            const i: isize = @intCast(rest % dims.sizes[d]);
            rest /= dims.sizes[d];
            w.index[d] = @intCast(i);
            w.in += i * dims.in[d];
            for (0..2) |k| w.out[k] += i * dims.out[k][d];
        }
    }

    /// Elements left along the first dimension.
    pub inline fn run(w: *const Walk, limit: usize) usize {
        if (w.first >= w.dims.rank) return limit;
        return @min(limit, w.dims.sizes[w.first] - w.index[w.first]);
    }

    pub inline fn advance(w: *Walk, n: usize) void {
        const dims = w.dims;
        var d = w.first;
        if (d >= dims.rank) return;
        w.index[d] += n;
        w.shift(d, @intCast(n));
        while (w.index[d] == dims.sizes[d] and d + 1 < dims.rank) {
            w.shift(d, -@as(isize, @intCast(dims.sizes[d])));
            w.index[d] = 0;
            d += 1;
            w.index[d] += 1;
            w.shift(d, 1);
        }
    }

    inline fn shift(w: *Walk, d: usize, n: isize) void {
        w.in += n * w.dims.in[d];
        for (0..2) |k| w.out[k] += n * w.dims.out[k][d];
    }
};

pub const Plan = struct {
    kept: Dims,
    reduced: Dims,
    /// Whole rows of outputs are accumulated at once, instead of one output after the other.
    columns: bool,
    /// Outputs in a task.
    width: usize,
    blocks: usize,
    tasks: usize,
    /// Parts of the reduced elements of one task, and the elements in each.
    parts: usize,
    step: usize,

    /// Operand `in` is reduced where operand 0 has size one and it has not; `outs` operands are written.
    pub fn open(p: *Plan, f: *fr.Frame, in: usize, outs: usize, max_width: usize) void {
        p.divide(f, in, outs);
        p.cut(max_width);
    }

    /// The dimensions alone.
    pub fn divide(p: *Plan, f: *fr.Frame, in: usize, outs: usize) void {
        for ([_]*Dims{ &p.kept, &p.reduced }) |d| {
            d.rank = 0;
            d.total = 1;
        }
        const src = fr.view(f, in);
        const dst = fr.view(f, 0);
        const second = fr.view(f, if (outs > 1) 1 else 0);
        for (0..src.rank) |d| {
            const n = src.size(d);
            if (n == 1) continue;
            if (dst.size(d) == n) {
                p.kept.add(n, src.stride(d), dst.stride(d), second.stride(d));
            } else p.reduced.add(n, src.stride(d), 0, 0);
        }
        p.kept.tidy();
        p.reduced.tidy();
    }

    /// Lines along dimension `dim` of operand `in`: the operands before it have its shape, and nothing is split.
    pub fn open_lines(p: *Plan, f: *fr.Frame, in: usize, outs: usize, dim: usize, max_width: usize) void {
        p.divide_lines(f, in, outs, dim);
        p.cut(max_width);
        p.parts = 1;
        p.step = p.reduced.total;
    }

    /// The dimensions alone.
    pub fn divide_lines(p: *Plan, f: *fr.Frame, in: usize, outs: usize, dim: usize) void {
        for ([_]*Dims{ &p.kept, &p.reduced }) |d| {
            d.rank = 0;
            d.total = 1;
        }
        const src = fr.view(f, in);
        const dst = fr.view(f, 0);
        const second = fr.view(f, if (outs > 1) 1 else 0);
        for (0..src.rank) |d| {
            const to = if (d == dim) &p.reduced else &p.kept;
            if (d != dim and src.size(d) == 1) continue;
            to.add(src.size(d), src.stride(d), dst.stride(d), second.stride(d));
        }
        p.kept.tidy();
    }

    fn cut(p: *Plan, max_width: usize) void {
        const outputs = p.kept.total;
        const total = p.reduced.total;
        const short = total <= 8 and outputs >= 64;
        p.columns = p.kept.rank > 0 and p.kept.sizes[0] > 1 and
            (short or p.kept.inner_stride() < p.reduced.inner_stride());
        if (p.columns) {
            p.width = @min(max_width, p.kept.sizes[0]);
            p.blocks = std.math.divCeil(usize, p.kept.sizes[0], p.width) catch unreachable;
            p.tasks = p.blocks * (outputs / @max(1, p.kept.sizes[0]));
        } else {
            p.width = 1;
            p.blocks = 1;
            p.tasks = outputs;
        }
        p.parts = 1;
        p.step = total;
        if (p.tasks == 0 or p.tasks >= 16) return;
        const wanted = @min(max_parts, total / @max(1, part / p.width));
        if (wanted < 2) return;
        const rounded: usize = if (p.columns) 64 else 4096;
        p.step = std.mem.alignForward(usize, std.math.divCeil(usize, total, wanted) catch unreachable, rounded);
        p.parts = std.math.divCeil(usize, total, p.step) catch unreachable;
    }

    /// Tasks that are worth a thread.
    pub fn task_grain(p: *const Plan) usize {
        return @max(1, grain / @max(1, p.width * p.reduced.total));
    }

    /// Sets the walk on the first output of task `t`; how many outputs it has.
    pub fn place(p: *const Plan, t: usize, w: *Walk) usize {
        if (!p.columns) {
            w.open(&p.kept, 0, t);
            return 1;
        }
        w.open(&p.kept, 1, t / p.blocks);
        const first = (t % p.blocks) * p.width;
        const i: isize = @intCast(first);
        w.in += i * p.kept.in[0];
        for (0..2) |k| w.out[k] += i * p.kept.out[k][0];
        return @min(p.width, p.kept.sizes[0] - first);
    }
};

/// The address `elements` away from `data`.
pub inline fn element(data: [*]u8, elements: isize, size: usize) [*]u8 {
    const bytes = elements * @as(isize, @intCast(size));
    return @ptrFromInt(@intFromPtr(data) +% @as(usize, @bitCast(bytes)));
}

/// Applies the conjugate and negative bits of an operand to its elements.
pub inline fn apply_flags(comptime T: type, flags: u32, x: [*]T, n: usize) void {
    if (flags != 0) convert.flip(T, flags, x, n);
}
