//! The loops of softmax and its relatives: along rows without gaps, and down strips of neighbouring columns. The result
//! may be an input.
const std = @import("std");
const cfg = @import("cfg");
const vmath = @import("vmath.zig");

pub const Mode = enum { softmax, log_softmax, softmax_backward, log_softmax_backward };

/// One mode for one type. Backward modes read the gradient of the result, then the result; the others one input.
pub const Loop = struct {
    operands: usize,
    size: usize,
    /// Columns of a strip.
    lanes: usize,
    row: *const fn (to: [*]u8, from: [*]const u8, result: [*]const u8, n: usize) void,
    /// `size` rows of `lanes` columns, `inner` elements apart.
    strip: *const fn (to: [*]u8, from: [*]const u8, result: [*]const u8, size: usize, inner: usize) void,
};

pub const Loops = struct { f32: *const Loop, f64: *const Loop };

/// The gradient of an element from that of the result, the result, and the sum over the row.
pub inline fn gradient(comptime mode: Mode, comptime T: type, g: T, y: T, sum: T) T {
    return if (mode == .softmax_backward) (g - sum) * y else g - vmath.exp(y) * sum;
}

pub fn loops(comptime mode: Mode) Loops {
    return .{ .f32 = &Kernel(mode, f32).loop, .f64 = &Kernel(mode, f64).loop };
}

fn Kernel(comptime mode: Mode, comptime F: type) type {
    const lanes = cfg.lanes * 4 / @sizeOf(F);
    const backward = mode == .softmax_backward or mode == .log_softmax_backward;
    return struct {
        const V = @Vector(lanes, F);

        const loop: Loop = .{
            .operands = if (backward) 3 else 2,
            .size = @sizeOf(F),
            .lanes = lanes,
            .row = any_row,
            .strip = strip,
        };

        fn any_row(to: [*]u8, from: [*]const u8, result: [*]const u8, n: usize) void {
            const out: [*]F = @ptrCast(@alignCast(to));
            const in: [*]const F = @ptrCast(@alignCast(from));
            if (backward) return row_backward(out, in, @ptrCast(@alignCast(result)), n);
            row(out, in, n);
        }

        /// Elements [at, at + lanes) of a row; beyond its end `pad`.
        inline fn get(p: [*]const F, at: usize, n: usize, pad: F) @Vector(lanes, F) {
            if (at + lanes <= n) return load(lanes, p + at);
            var some: [lanes]F = @splat(pad);
            for (at..n) |i| some[i - at] = p[i];
            return some;
        }

        inline fn put(p: [*]F, at: usize, n: usize, x: @Vector(lanes, F)) void {
            if (at + lanes <= n) return store(lanes, p + at, x);
            const some: [lanes]F = x;
            for (at..n) |i| p[i] = some[i - at];
        }

        /// Softmax keeps the powers in the result; its logarithm computes none again.
        const keeps = mode == .softmax;

        fn row(to: [*]F, from: [*]const F, n: usize) void {
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
        fn short_row(to: [*]F, from: [*]const F, n: usize) void {
            // Padding gives exp(-inf) = 0, or NaN where the sum is NaN anyway.
            const x = get(from, 0, n, -std.math.inf(F));
            const maxes: V = @splat(@reduce(.Max, x));
            const e = vmath.exp(x - maxes);
            const sum = @reduce(.Add, e);
            const scale: V = @splat(if (mode == .softmax) 1 / sum else vmath.log(sum));
            put(to, 0, n, scaled(if (keeps) e else x, maxes, scale));
        }

        inline fn greatest(to: [*]F, from: [*]const F, whole: usize, last: V) F {
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

        inline fn power(to: [*]F, at: usize, x: V, maxes: V) V {
            const e = vmath.exp(x - maxes);
            if (keeps) store(lanes, to + at, e);
            return e;
        }

        /// The result from the power where that was kept, else from the input.
        inline fn scaled(x: anytype, maxes: @TypeOf(x), scale: @TypeOf(x)) @TypeOf(x) {
            return if (keeps) x * scale else x - maxes - scale;
        }

        fn row_backward(to: [*]F, grad: [*]const F, result: [*]const F, n: usize) void {
            var sums: V = @splat(0);
            var i: usize = 0;
            while (i < n) : (i += lanes) {
                const g = get(grad, i, n, 0);
                sums += if (mode == .softmax_backward) g * get(result, i, n, 0) else g;
            }
            const sum: V = @splat(@reduce(.Add, sums));
            i = 0;
            while (i < n) : (i += lanes) {
                put(to, i, n, gradient(mode, V, get(grad, i, n, 0), get(result, i, n, 0), sum));
            }
        }

        /// Each column in its own lane.
        fn strip(target: [*]u8, source: [*]const u8, results: [*]const u8, size: usize, inner: usize) void {
            const to: [*]F = @ptrCast(@alignCast(target));
            const from: [*]const F = @ptrCast(@alignCast(source));
            var sum: V = @splat(0);
            if (backward) {
                const result: [*]const F = @ptrCast(@alignCast(results));
                for (0..size) |i| {
                    const g = load(lanes, from + i * inner);
                    sum += if (mode == .softmax_backward) g * load(lanes, result + i * inner) else g;
                }
                for (0..size) |i| {
                    const o = i * inner;
                    store(lanes, to + o, gradient(mode, V, load(lanes, from + o), load(lanes, result + o), sum));
                }
                return;
            }
            var max: V = @splat(-std.math.inf(F));
            for (0..size) |i| max = larger(max, load(lanes, from + i * inner));
            for (0..size) |i| {
                const e = vmath.exp(load(lanes, from + i * inner) - max);
                if (keeps) store(lanes, to + i * inner, e);
                sum += e;
            }
            const scale: V = if (mode == .softmax) @as(V, @splat(1)) / sum else vmath.log(sum);
            for (0..size) |i| {
                const o = i * inner;
                store(lanes, to + o, scaled(load(lanes, if (keeps) to + o else from + o), max, scale));
            }
        }

        /// One instruction; a NaN that gets lost here comes back in the sum.
        inline fn larger(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
            return @select(F, a > b, a, b);
        }

        inline fn load(comptime w: usize, p: [*]const F) @Vector(w, F) {
            return p[0..w].*;
        }

        inline fn store(comptime w: usize, p: [*]F, x: @Vector(w, F)) void {
            p[0..w].* = x;
        }
    };
}
