//! Pointwise kernels of three inputs.
const std = @import("std");
const abi = @import("abi");
const cm = @import("vmath_complex.zig");
const dt = @import("../core/dtype.zig");
const pw = @import("pointwise.zig");
const vm = @import("vmath.zig");

const Compute = abi.Compute;
const Params = pw.Params;

inline fn cx(comptime c: Compute) bool {
    return comptime dt.is_complex(dt.Computed(c));
}

inline fn is_float(comptime c: Compute) bool {
    return c == .f32 or c == .f64;
}

/// where(condition, a, b)
pub const where = struct {
    pub const arity = 3;
    pub const computes = pw.everything;
    pub fn In(comptime c: Compute, comptime i: usize) Compute {
        return if (i == 0) .b8 else c;
    }
    pub inline fn apply(comptime c: Compute, _: Params, m: anytype, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime cx(c)) return if (m != 0) a else b;
        return pw.select(m != pw.constant(@TypeOf(m), 0), a, b);
    }
};

/// self + value * a * b, value in attribute 0.
pub const addcmul = struct {
    pub const arity = 3;
    pub const computes = pw.all_numbers;
    pub inline fn apply(comptime c: Compute, p: Params, s: anytype, a: @TypeOf(s), b: @TypeOf(s)) @TypeOf(s) {
        const k = p.value(c, @TypeOf(s), 0);
        if (comptime cx(c)) {
            const x = cm.mul(cm.mul(k, a), b);
            return .{ .re = s.re + x.re, .im = s.im + x.im };
        }
        return if (comptime is_float(c)) vm.fma(k * a, b, s) else s +% k *% a *% b;
    }
};

/// self + value * a / b, value in attribute 0.
pub const addcdiv = struct {
    pub const arity = 3;
    pub const computes = pw.inexact;
    pub inline fn apply(comptime c: Compute, p: Params, s: anytype, a: @TypeOf(s), b: @TypeOf(s)) @TypeOf(s) {
        const k = p.value(c, @TypeOf(s), 0);
        if (comptime cx(c)) {
            const x = cm.div(cm.mul(k, a), b);
            return .{ .re = s.re + x.re, .im = s.im + x.im };
        }
        return s + k * a / b;
    }
};

/// start + weight * (end - start), from the nearer end.
pub const lerp = struct {
    pub const arity = 3;
    pub const computes = pw.inexact;
    pub inline fn apply(comptime c: Compute, _: Params, s: anytype, e: @TypeOf(s), w: @TypeOf(s)) @TypeOf(s) {
        return between(c, s, e, w);
    }
    pub inline fn between(comptime c: Compute, s: anytype, e: @TypeOf(s), w: @TypeOf(s)) @TypeOf(s) {
        if (comptime cx(c)) {
            const d = .{ .re = e.re - s.re, .im = e.im - s.im };
            const diff: @TypeOf(s) = .{ .re = d.re, .im = d.im };
            if (w.re * w.re + w.im * w.im < 0.25) {
                const x = cm.mul(w, diff);
                return .{ .re = s.re + x.re, .im = s.im + x.im };
            }
            const x = cm.mul(diff, .{ .re = 1 - w.re, .im = -w.im });
            return .{ .re = e.re - x.re, .im = e.im - x.im };
        }
        const half = pw.constant(@TypeOf(s), 0.5);
        const one = pw.constant(@TypeOf(s), 1);
        const d = e - s;
        const near = @abs(w) < half;
        return vm.fma(pw.select(near, w, w - one), d, pw.select(near, s, e));
    }
};

/// min(max(x, low), high); NaN in any operand stays.
pub const clamp = struct {
    pub const arity = 3;
    pub const computes = pw.all_real ++ [_]Compute{.b8};
    pub inline fn apply(comptime c: Compute, _: Params, x: anytype, low: @TypeOf(x), high: @TypeOf(x)) @TypeOf(x) {
        // Equal values keep x, so that -0 clamped to 0 stays; a bound that is not a number wins.
        if (comptime is_float(c)) {
            const m = pw.select(x < low, low, pw.select(low == low, x, low));
            const r = pw.select(high < m, high, pw.select(high == high, m, high));
            return pw.select(m == m, r, m);
        }
        const m = pw.select(x < low, low, x);
        return pw.select(high < m, high, m);
    }
};

/// The loss of logits, its logarithm weighted where the truth is 1: x, truth, weight.
pub const bce_logits = struct {
    pub const arity = 3;
    pub const computes = [_]Compute{ .f32, .f64 };
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, x: anytype, t: @TypeOf(x), w: @TypeOf(x)) @TypeOf(x) {
        const one = pw.constant(@TypeOf(x), 1);
        return (one - t) * x - vm.log_sigmoid(x) * ((w - one) * t + one);
    }
};

/// The gradient of the loss of a probability: gradient, x, truth.
pub const bce_backward = struct {
    pub const arity = 3;
    pub const computes = [_]Compute{ .f32, .f64 };
    pub inline fn apply(comptime _: Compute, _: Params, g: anytype, x: @TypeOf(g), t: @TypeOf(g)) @TypeOf(g) {
        const run = (pw.constant(@TypeOf(g), 1) - x) * x;
        return g * (x - t) / vm.maximum(run, pw.constant(@TypeOf(g), 1e-12));
    }
};
