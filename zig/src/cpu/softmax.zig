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
        const V = @Vector(lanes, F);

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

        /// Softmax of floats keeps the powers in the result; the others compute them again.
        const keeps = mode == .softmax and S == F;

        fn row(to: [*]S, from: [*]const S, n: usize) void {
            if (n < lanes) return short_row(to, from, n);
            // The last vector of a row reaches back over elements that are done already. It is read before they are
            // written, since the result may be the input.
            const whole = n - n % lanes;
            const last = load(lanes, from + n - lanes);
            const maxes: V = @splat(greatest(to, from, whole, last));
            var sums: [2]V = @splat(@splat(0));
            var i: usize = 0;
            while (i + 2 * lanes <= whole) : (i += 2 * lanes) {
                inline for (0..2) |u| sums[u] += power(to, i + u * lanes, load(lanes, from + i + u * lanes), maxes);
            }
            if (i < whole) sums[0] += power(to, i, load(lanes, from + i), maxes);
            if (whole < n) {
                const e = power(to, n - lanes, last, maxes);
                const old: @Vector(lanes, u32) = @splat(@intCast(lanes - (n - whole)));
                const new = std.simd.iota(u32, lanes) >= old;
                sums[1] += @select(F, new, e, @as(V, @splat(0)));
            }
            const sum = @reduce(.Add, sums[0] + sums[1]);
            const scale: V = @splat(if (mode == .softmax) 1 / sum else vmath.log(sum));
            const final = if (keeps) load(lanes, to + n - lanes) else last;
            i = 0;
            while (i < whole) : (i += lanes) {
                store(lanes, to + i, scaled(load(lanes, if (keeps) to + i else from + i), maxes, scale));
            }
            if (whole < n) store(lanes, to + n - lanes, scaled(final, maxes, scale));
        }

        /// A row of less than a vector.
        fn short_row(to: [*]S, from: [*]const S, n: usize) void {
            // Padding gives exp(-inf) = 0, or NaN where the sum is NaN anyway.
            const x = get(from, 0, n, -std.math.inf(F));
            const maxes: V = @splat(@reduce(.Max, x));
            const e = vmath.exp(x - maxes);
            const sum = @reduce(.Add, e);
            const scale: V = @splat(if (mode == .softmax) 1 / sum else vmath.log(sum));
            put(to, 0, n, scaled(if (keeps) e else x, maxes, scale));
        }

        inline fn greatest(to: [*]S, from: [*]const S, whole: usize, last: V) F {
            var top: [2]V = @splat(last);
            var i: usize = 0;
            while (i + 2 * lanes <= whole) : (i += 2 * lanes) {
                @prefetch(to + i, .{ .rw = .write, .locality = 3 });
                @prefetch(to + i + lanes, .{ .rw = .write, .locality = 3 });
                inline for (0..2) |u| top[u] = larger(top[u], load(lanes, from + i + u * lanes));
            }
            if (i < whole) top[0] = larger(top[0], load(lanes, from + i));
            return @reduce(.Max, larger(top[0], top[1]));
        }

        inline fn power(to: [*]S, at: usize, x: V, maxes: V) V {
            const e = vmath.exp(x - maxes);
            if (keeps) store(lanes, to + at, e);
            return e;
        }

        /// The result from the power where that was kept, else from the input.
        inline fn scaled(x: anytype, maxes: @TypeOf(x), scale: @TypeOf(x)) @TypeOf(x) {
            if (keeps) return x * scale;
            return if (mode == .log_softmax) x - maxes - scale else vmath.exp(x - maxes) * scale;
        }

        fn row_backward(to: [*]S, grad: [*]const S, result: [*]const S, n: usize) void {
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

        inline fn gradient(comptime T: type, g: T, y: T, sum: T) T {
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
            const W = @Vector(w, F);
            const to = base(l, 0) + at;
            const from = base(l, 1) + at;
            var sum: W = @splat(0);
            if (mode == .softmax_backward or mode == .log_softmax_backward) {
                const result = base(l, 2) + at;
                for (0..l.size) |i| {
                    const g = load(w, from + i * l.inner);
                    sum += if (mode == .softmax_backward) g * load(w, result + i * l.inner) else g;
                }
                for (0..l.size) |i| {
                    const o = i * l.inner;
                    store(w, to + o, gradient(W, load(w, from + o), load(w, result + o), sum));
                }
                return;
            }
            var max: W = @splat(-std.math.inf(F));
            for (0..l.size) |i| max = larger(max, load(w, from + i * l.inner));
            for (0..l.size) |i| {
                const e = vmath.exp(load(w, from + i * l.inner) - max);
                if (keeps) store(w, to + i * l.inner, e);
                sum += e;
            }
            const scale: W = if (mode == .softmax) @as(W, @splat(1)) / sum else vmath.log(sum);
            for (0..l.size) |i| {
                const o = i * l.inner;
                store(w, to + o, scaled(load(w, if (keeps) to + o else from + o), max, scale));
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
