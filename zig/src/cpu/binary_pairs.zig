//! Pointwise kernels of two inputs: lengths, neighbours, divisors, powers of two, extremes beside NaN.
const abi = @import("abi");
const base = @import("vmath_base.zig");
const cm = @import("vmath_complex.zig");
const dt = @import("../core/dtype.zig");
const pw = @import("pointwise.zig");
const vm = @import("vmath.zig");

const Compute = abi.Compute;
const Params = pw.Params;
const c = base.c;
const ci = base.ci;

/// A gradient times the slope of tanh, 1 - b^2 at its result.
pub const tanh_backward = struct {
    pub const arity = 2;
    pub const computes = pw.inexact;
    pub inline fn apply(comptime k: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime dt.is_complex(dt.Computed(k))) return cm.mul(a, slope(cm.mul(b, b)));
        return a * base.fma(-b, b, pw.constant(@TypeOf(a), 1));
    }
    inline fn slope(square: anytype) @TypeOf(square) {
        return .{ .re = 1 - square.re, .im = square.im };
    }
};

/// A gradient times the slope of sigmoid, (1 - b) b at its result.
pub const sigmoid_backward = struct {
    pub const arity = 2;
    pub const computes = pw.inexact;
    pub inline fn apply(comptime k: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime !dt.is_complex(dt.Computed(k))) return a * (pw.constant(@TypeOf(a), 1) - b) * b;
        const rest: @TypeOf(a) = .{ .re = 1 - b.re, .im = -b.im };
        const slope = cm.mul(rest, b);
        return cm.mul(a, .{ .re = slope.re, .im = -slope.im });
    }
};

/// A gradient where the result is above zero, or is no number.
pub const threshold_backward = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const zero = pw.constant(@TypeOf(a), 0);
        return pw.select(b <= zero, zero, a);
    }
};

pub const hypot = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        return vm.hypot(a, b);
    }
};

/// The next number from a towards b, of the dtype whose code is attribute 0: 0 as computed, 1 bfloat16, 2 float16.
pub const nextafter = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime compute: Compute, p: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const V = @TypeOf(a);
        const code = p.value(compute, V, 0);
        const zero = c(V, 0.0);
        var next = step(a, b, 1);
        var least: V = @bitCast(ci(V, 1));
        if (comptime compute == .f32) {
            const brief = code == c(V, 1.0);
            const half = code == c(V, 2.0);
            next = base.select(brief, step(a, b, 1 << 16), base.select(half, half_step(a, b), next));
            const short: V = @bitCast(ci(V, 1 << 16));
            least = base.select(brief, short, base.select(half, c(V, 0x1p-24), least));
        }
        const moved = base.select(a == zero, base.copysign(least, b), next);
        return base.select(a == b, b, base.select(base.either(a != a, b != b), a + b, moved));
    }
    /// Bits of a number count away from zero.
    inline fn step(a: anytype, b: @TypeOf(a), comptime by: comptime_int) @TypeOf(a) {
        const V = @TypeOf(a);
        const inward = (a > c(V, 0.0)) != (a < b);
        const grown: V = @bitCast(base.as_int(a) +% ci(V, by));
        const shrunk: V = @bitCast(base.as_int(a) -% ci(V, by));
        return base.select(inward, shrunk, grown);
    }
    inline fn half_step(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const V = @TypeOf(a);
        const fine = c(V, 0x1p-24);
        const up = a < b;
        const inward = (a > c(V, 0.0)) != up;
        // Below the smallest normal number, and down to it, steps are of one size.
        const small = base.select(inward, @abs(a) <= c(V, 0x1p-14), @abs(a) < c(V, 0x1p-14));
        const shifted = a + base.select(up, fine, -fine);
        const kept = base.select(shifted == c(V, 0.0), base.copysign(shifted, a), shifted);
        const r = base.select(small, kept, step(a, b, 1 << 13));
        return base.select(@abs(a) == base.infinity(V), base.copysign(c(V, 65504.0), a), r);
    }
};

/// 0 below zero and for NaN, 1 above, the other number at zero.
pub const heaviside = struct {
    pub const arity = 2;
    pub const computes = pw.all_real ++ [_]Compute{.b8};
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const zero = pw.constant(@TypeOf(a), 0);
        return pw.select(a == zero, b, pw.select(a > zero, pw.constant(@TypeOf(a), 1), zero));
    }
};

/// As `maximum` and `minimum`, but a number wins over NaN.
pub const fmax = Extremum(true);
pub const fmin = Extremum(false);

fn Extremum(comptime larger: bool) type {
    return struct {
        pub const arity = 2;
        pub const computes = pw.all_real ++ [_]Compute{.b8};
        pub inline fn apply(comptime compute: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
            // Of equal numbers, and where the second is a NaN, the first is taken.
            const winner = if (larger) pw.select(b > a, b, a) else pw.select(b < a, b, a);
            if (comptime compute != .f32 and compute != .f64) return winner;
            return pw.select(a == a, winner, b);
        }
    };
}

pub const gcd = Divisors(false);
pub const lcm = Divisors(true);

fn Divisors(comptime multiple: bool) type {
    return struct {
        pub const arity = 2;
        pub const computes = [_]Compute{ .i32, .i64 };
        pub const heavy = true;
        pub fn lanes(comptime _: Compute) usize {
            return 1;
        }
        pub inline fn apply(comptime compute: Compute, p: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
            const zero = pw.constant(@TypeOf(a), 0);
            const d = common(p.value(compute, @TypeOf(a), 0), a, b);
            if (!multiple) return d;
            if (d == zero) return zero;
            const product = (if (d == -1) zero -% a else @divTrunc(a, d)) *% b;
            return if (product < zero) zero -% product else product;
        }
    };
}
/// Euclid's, of the sizes. The least number of a dtype, attribute 0, has no size and stays, which torch divides by as
/// well: then the result may be negative.
fn common(least: anytype, a: @TypeOf(least), b: @TypeOf(least)) @TypeOf(least) {
    var x = size_of(least, a);
    var y = size_of(least, b);
    while (x != 0) {
        const rest = if (x == -1) 0 else @rem(y, x);
        y = x;
        x = rest;
    }
    return y;
}
inline fn size_of(least: anytype, x: @TypeOf(least)) @TypeOf(least) {
    return if (x < 0 and x != least) 0 -% x else x;
}

/// a 2^b for a whole b, without an overflow on the way.
pub const ldexp = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const V = @TypeOf(a);
        // Four factors: the whole range of exponents twice over is more than one number holds.
        const bound = if (comptime base.is_f64(V)) 2200.0 else 320.0;
        const n = base.max_const(base.min_const(b, bound), -bound);
        const half = @trunc(n * c(V, 0.5));
        const rest = n - half;
        const quarter = @trunc(half * c(V, 0.5));
        const other = @trunc(rest * c(V, 0.5));
        return a * vm.exp2(quarter) * vm.exp2(half - quarter) * vm.exp2(other) * vm.exp2(rest - other);
    }
};
