//! Softmax and its logarithm along one dimension of dense operands, and their gradients. Every row is summed by one
//! thread in an order that depends on its length only.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const fr = @import("../core/frame.zig");
const dt = @import("../core/dtype.zig");
const half = @import("../core/half.zig");
const parallel = @import("../core/parallel.zig");
const vmath = @import("vmath.zig");

/// Elements worth handing to another thread.
const grain = 16384;

const Mode = enum { softmax, log_softmax, softmax_backward, log_softmax_backward };

/// exp(x) / sum(exp(x)). Operand 0 is the result, 1 the input; attribute 0 the dimension.
pub fn softmax(f: *fr.Frame) abi.Status {
    return dispatch(.softmax, f);
}

/// The logarithm of `softmax`.
pub fn log_softmax(f: *fr.Frame) abi.Status {
    return dispatch(.log_softmax, f);
}

/// Operand 0 is the gradient of the input, 1 that of the result, 2 the result.
pub fn softmax_backward(f: *fr.Frame) abi.Status {
    return dispatch(.softmax_backward, f);
}

pub fn log_softmax_backward(f: *fr.Frame) abi.Status {
    return dispatch(.log_softmax_backward, f);
}

/// Elements [outer][size][inner] of dense operands.
const Layout = struct {
    outer: usize = 1,
    size: usize = 1,
    inner: usize = 1,
    data: [3][*]u8 = undefined,

    fn of(f: *fr.Frame, comptime operands: usize) ?Layout {
        const first = fr.view(f, 0);
        const dim = fr.attr_int(f, 0);
        if (dim < 0 or (dim >= first.rank and first.rank != 0)) return null;
        var l: Layout = .{};
        for (0..first.rank) |d| {
            const part = if (d < dim) &l.outer else if (d == dim) &l.size else &l.inner;
            part.* *= first.size(d);
        }
        const total = l.outer * l.size * l.inner;
        for (0..operands) |i| {
            const v = fr.view(f, i);
            if (v.dtype != first.dtype or v.numel() != total) return null;
            l.data[i] = v.data;
        }
        return l;
    }
};

fn dispatch(comptime mode: Mode, f: *fr.Frame) abi.Status {
    const operands: usize = switch (mode) {
        .softmax, .log_softmax => 2,
        .softmax_backward, .log_softmax_backward => 3,
    };
    const l = Layout.of(f, operands) orelse return fr.fail(f, .bad_argument, &.{0});
    if (l.outer * l.size * l.inner == 0) return .ok;
    switch (fr.view(f, 0).dtype) {
        inline .float32, .float64, .float16, .bfloat16 => |d| Kernel(mode, d).run(&l),
        else => return .unsupported,
    }
    return .ok;
}

fn Kernel(comptime mode: Mode, comptime d: dt.DType) type {
    const S = dt.Stored(d);
    const F = if (d == .float64) f64 else f32;
    const lanes = cfg.lanes * 4 / @sizeOf(F);
    return struct {
        fn run(l: *const Layout) void {
            if (l.inner == 1) {
                return parallel.parallel_for(l.outer, @max(1, grain / l.size), l, rows);
            }
            const strips = (l.inner - 1) / lanes + 1;
            parallel.parallel_for(l.outer * strips, @max(1, grain / (l.size * lanes)), l, columns);
        }

        inline fn base(l: *const Layout, operand: usize) [*]S {
            return @ptrCast(@alignCast(l.data[operand]));
        }

        fn rows(l: *const Layout, begin: usize, end: usize) void {
            for (begin..end) |i| {
                const at = i * l.size;
                const to = base(l, 0) + at;
                const from = base(l, 1) + at;
                switch (mode) {
                    .softmax, .log_softmax => row(to, from, l.size),
                    else => row_backward(to, from, base(l, 2) + at, l.size),
                }
            }
        }

        /// Elements [at, at + lanes) of a row; beyond its end `pad`.
        inline fn get(p: [*]const S, at: usize, n: usize, pad: F) @Vector(lanes, F) {
            if (at + lanes <= n) return load(lanes, p + at);
            var some: [lanes]F = @splat(pad);
            for (at..n) |i| some[i - at] = load(1, p + i)[0];
            return some;
        }

        inline fn put(p: [*]S, at: usize, n: usize, x: @Vector(lanes, F)) void {
            if (at + lanes <= n) return store(lanes, p + at, x);
            const some: [lanes]F = x;
            for (at..n) |i| store(1, p + i, .{some[i - at]});
        }

        fn row(to: [*]S, from: [*]const S, n: usize) void {
            const V = @Vector(lanes, F);
            const low = -std.math.inf(F);
            var top: [2]V = @splat(@splat(low));
            var i: usize = 0;
            while (i + 2 * lanes <= n) : (i += 2 * lanes) {
                inline for (0..2) |u| top[u] = larger(top[u], load(lanes, from + i + u * lanes));
            }
            while (i < n) : (i += lanes) top[0] = larger(top[0], get(from, i, n, low));
            const max = @reduce(.Max, larger(top[0], top[1]));
            const maxes: V = @splat(max);
            // Padding gives exp(-inf) = 0, or NaN where the sum is NaN anyway.
            var sums: V = @splat(0);
            i = 0;
            while (i < n) : (i += lanes) {
                const e = vmath.exp(get(from, i, n, low) - maxes);
                if (mode == .softmax and S == F) put(to, i, n, e);
                sums += e;
            }
            finish(to, from, n, maxes, @reduce(.Add, sums));
        }

        inline fn finish(to: [*]S, from: [*]const S, n: usize, maxes: @Vector(lanes, F), sum: F) void {
            const V = @Vector(lanes, F);
            const scale: V = @splat(if (mode == .softmax) 1 / sum else vmath.log(sum));
            var i: usize = 0;
            while (i < n) : (i += lanes) {
                const y = if (mode == .log_softmax)
                    get(from, i, n, 0) - maxes - scale
                else if (S == F)
                    get(to, i, n, 0) * scale
                else
                    vmath.exp(get(from, i, n, 0) - maxes) * scale;
                put(to, i, n, y);
            }
        }

        fn row_backward(to: [*]S, grad: [*]const S, result: [*]const S, n: usize) void {
            const V = @Vector(lanes, F);
            var sums: V = @splat(0);
            var i: usize = 0;
            while (i < n) : (i += lanes) {
                const g = get(grad, i, n, 0);
                sums += if (mode == .softmax_backward) g * get(result, i, n, 0) else g;
            }
            const sum: V = @splat(@reduce(.Add, sums));
            i = 0;
            while (i < n) : (i += lanes) {
                put(to, i, n, gradient(V, get(grad, i, n, 0), get(result, i, n, 0), sum));
            }
        }

        inline fn gradient(comptime V: type, g: V, y: V, sum: V) V {
            return if (mode == .softmax_backward) (g - sum) * y else g - vmath.exp(y) * sum;
        }

        /// Strips of neighbouring columns, each column of a strip in its own lane.
        fn columns(l: *const Layout, begin: usize, end: usize) void {
            const strips = (l.inner - 1) / lanes + 1;
            for (begin..end) |t| {
                const first = t % strips * lanes;
                const at = t / strips * l.size * l.inner + first;
                if (first + lanes <= l.inner) {
                    column(lanes, l, at);
                } else for (0..l.inner - first) |j| column(1, l, at + j);
            }
        }

        fn column(comptime w: usize, l: *const Layout, at: usize) void {
            const V = @Vector(w, F);
            const to = base(l, 0) + at;
            const from = base(l, 1) + at;
            var sum: V = @splat(0);
            if (mode == .softmax_backward or mode == .log_softmax_backward) {
                const result = base(l, 2) + at;
                for (0..l.size) |i| {
                    const g = load(w, from + i * l.inner);
                    sum += if (mode == .softmax_backward) g * load(w, result + i * l.inner) else g;
                }
                for (0..l.size) |i| {
                    const o = i * l.inner;
                    store(w, to + o, gradient(V, load(w, from + o), load(w, result + o), sum));
                }
                return;
            }
            var max: V = @splat(-std.math.inf(F));
            for (0..l.size) |i| max = larger(max, load(w, from + i * l.inner));
            for (0..l.size) |i| {
                const e = vmath.exp(load(w, from + i * l.inner) - max);
                if (mode == .softmax and S == F) store(w, to + i * l.inner, e);
                sum += e;
            }
            const scale: V = if (mode == .softmax) @as(V, @splat(1)) / sum else vmath.log(sum);
            for (0..l.size) |i| {
                const o = i * l.inner;
                store(w, to + o, if (mode == .log_softmax)
                    load(w, from + o) - max - scale
                else if (S == F)
                    load(w, to + o) * scale
                else
                    vmath.exp(load(w, from + o) - max) * scale);
            }
        }

        /// One instruction; a NaN that gets lost here comes back in the sum.
        inline fn larger(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
            return @select(F, a > b, a, b);
        }

        inline fn load(comptime w: usize, p: [*]const S) @Vector(w, F) {
            if (S == F) return p[0..w].*;
            const bits: @Vector(w, u16) = p[0..w].*;
            return if (d == .float16) half.f16_to_f32(@as(@Vector(w, f16), @bitCast(bits))) else half.bf16_to_f32(bits);
        }

        inline fn store(comptime w: usize, p: [*]S, x: @Vector(w, F)) void {
            if (S == F) {
                p[0..w].* = x;
            } else if (d == .float16) {
                const bits: @Vector(w, u16) = @bitCast(half.f32_to_f16(x));
                p[0..w].* = bits;
            } else {
                const bits: @Vector(w, u16) = half.f32_to_bf16(x);
                p[0..w].* = bits;
            }
        }
    };
}
