//! Exponential family: exp, expm1, tanh, sigmoid and their helpers, for f32 and f64, scalar or vector.
const std = @import("std");
const b = @import("vmath_base.zig");
const c = b.c;
const fma = b.fma;

const log2_e = 1.44269504088896340736;
/// ln 2 in two parts; the first has so few bits that its product with the exponent is exact. Both are
/// positive, so that an infinite exponent times both stays infinite.
const ln2_f32 = [2]comptime_float{ 0x1.62ep-1, 0x1.0bfbe8e7bcd5ep-15 };
const ln2_f64 = [2]comptime_float{ 0x1.62e42fefa3p-1, 0x1.3de6af278ece6p-42 };
pub fn ln2_parts(comptime V: type) [2]comptime_float {
    return if (b.is_f64(V)) ln2_f64 else ln2_f32;
}

// Minimax fits of (e^r - 1 - r) / r^2 on |r| <= ln(2)/2, highest power first. The short one is for e^r, where
// the term counts less; the long one keeps e^r - 1 accurate near 0.
const quotient_short_f32 = [_]comptime_float{
    0.00138145688773, 0.00836874496214, 0.0416683903171, 0.166665204019, 0.499999934337,
};
const quotient_long_f32 = [_]comptime_float{
    0.000199142610969, 0.00139410504166, 0.00833327289023, 0.0416663541624, 0.166666668177, 0.500000004652,
};
const quotient_short_f64 = [_]comptime_float{
    2.5114541279703599606e-8,  2.7626382657263799343e-7, 2.755722774275984159e-6,  2.4801504311178136904e-5,
    0.00019841269903262081817, 0.0013888888932484764814, 0.0083333333333144870285, 0.04166666666657332438,
    0.16666666666666686158,    0.50000000000000055719,
};
const quotient_long_f64 = [_]comptime_float{
    2.0924515921565005393e-9, 2.5109090490605079179e-8,  2.7557242510008704365e-7, 2.7557244061778923815e-6,
    2.4801587360873566846e-5, 0.00019841269886266287934, 0.0013888888888866657868, 0.0083333333333215783367,
    0.041666666666666701787,  0.16666666666666676639,    0.49999999999999999986,
};

pub fn Reduced(comptime V: type) type {
    return struct { n: b.Rounded(V), r: V };
}
/// x = n ln 2 + r with |r| <= ln(2)/2.
pub inline fn reduce(x: anytype) Reduced(@TypeOf(x)) {
    const V = @TypeOf(x);
    const n = b.round_times(x, log2_e);
    const ln2 = comptime ln2_parts(V);
    const r = fma(n.value, c(V, -ln2[1]), fma(n.value, c(V, -ln2[0]), x));
    return .{ .n = n, .r = r };
}
/// e^r - 1 for a reduced r, with a relative error of about one ulp.
inline fn expm1_reduced(r: anytype) @TypeOf(r) {
    const q = b.horner(r, if (comptime b.is_f64(@TypeOf(r))) &quotient_long_f64 else &quotient_long_f32);
    return fma(q, r * r, r);
}
/// e^r for a reduced r.
pub inline fn exp_reduced(r: anytype) @TypeOf(r) {
    const V = @TypeOf(r);
    const q = b.horner(r, if (comptime b.is_f64(V)) &quotient_short_f64 else &quotient_short_f32);
    return fma(q, r * r, r) + c(V, 1.0);
}

/// Beyond these bounds the result is inf or 0 whatever the argument; inside, the exponent arithmetic is safe.
const upper_f32 = 89.0;
const lower_f32 = -104.5;
const upper_f64 = 710.0;
const lower_f64 = -746.0;
pub inline fn clamp(x: anytype) @TypeOf(x) {
    const f64_lane = comptime b.is_f64(@TypeOf(x));
    const hi = if (f64_lane) upper_f64 else upper_f32;
    return b.max_const(b.min_const(x, hi), if (f64_lane) lower_f64 else lower_f32);
}

pub inline fn exp(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    if (comptime !b.fits_avx512(V) and !b.on_gpu) {
        // Without the scaling instruction results inside the normal range are worth a path of their own, but not where
        // each lane would branch.
        const ordinary = @abs(x) <= c(V, if (b.is_f64(V)) 708.0 else 87.0);
        if (b.any(b.not(ordinary))) return exp_any(x);
        const red = reduce(x);
        return exp_reduced(red.r) * red.n.pow2();
    }
    return exp_any(x);
}
inline fn exp_any(x: anytype) @TypeOf(x) {
    if (comptime b.on_gpu and @TypeOf(x) == f32) return exp_by_bits(x);
    return exp_with(x, {});
}
/// The same bits with fewer integer instructions, which GPUs have half as many units for: with twice the bias in the
/// magic number, the low bits of the sum are those of two exponents together.
inline fn exp_by_bits(x: f32) f32 {
    const magic = comptime b.round_magic(f32) + 2 * b.exponent_bias(f32);
    const a = clamp(x);
    const t = fma(a, @as(f32, log2_e), @as(f32, magic));
    const n = t - magic;
    const r = fma(n, @as(f32, -ln2_f32[1]), fma(n, @as(f32, -ln2_f32[0]), a));
    const both: u32 = @bitCast(t);
    const half = (both << 22) & 0xff80_0000;
    return exp_reduced(r) * @as(f32, @bitCast(half)) * @as(f32, @bitCast((both << 23) -% half));
}

// A minimax fit of 2^f on |f| <= 1/2, highest power first.
const power_short_f32 = [_]comptime_float{
    0.0013276470126584172, 0.009675540961325169, 0.05550713464617729,
    0.24022120237350464,   0.6931469440460205,   1.0000001192092896,
};
/// e^x to 21 bits in two thirds of the steps: the square of e^(x/2), whose power of two is a normal number whatever x
/// is. Of every bfloat16 it is, rounded to that type, what `exp` gives: test/cuda/pointwise.test.ts tries them.
pub inline fn exp_short(x: f32) f32 {
    return exp_short_below(b.min_const(x, upper_f32));
}
/// The same of an x that is no greater than `upper_f32`.
pub inline fn exp_short_below(x: f32) f32 {
    const half_log2_e: f32 = 0.5 * log2_e;
    const magic: f32 = comptime b.round_magic(f32) + b.exponent_bias(f32);
    // What is below is 0 as a bfloat16.
    const a = b.max_const(x, -96.0);
    const t = fma(a, half_log2_e, magic);
    const f = fma(a, half_log2_e, magic - t);
    const n: u32 = @bitCast(t);
    const half = b.horner(f, &power_short_f32) * @as(f32, @bitCast(n << 23));
    return half * half;
}

/// e^(x + tail) for a tail below one ulp of x.
pub inline fn exp_double(x: anytype, tail: @TypeOf(x)) @TypeOf(x) {
    return exp_with(x, tail);
}
inline fn exp_with(x: anytype, tail: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const has_tail = @TypeOf(tail) == V;
    if (comptime b.on_gpu) {
        const red = reduce(clamp(x));
        return b.scale(exp_reduced(if (has_tail) red.r + tail else red.r), red.n);
    }
    // A CPU takes a hundred steps to find that a number is too small for it: masks of -inf and of -1e9 are common.
    const none = x < c(V, if (comptime b.is_f64(V)) lower_f64 else lower_f32);
    const red = reduce(b.min_const(b.select(none, c(V, 0.0), x), if (comptime b.is_f64(V)) upper_f64 else upper_f32));
    const y = exp_reduced(if (has_tail) red.r + tail else red.r);
    return b.select(none, c(V, 0.0), b.scale(y, red.n));
}

/// 2^x, exact where x is whole.
pub inline fn exp2(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const bound = if (comptime b.is_f64(V)) 1080.0 else 152.0;
    const a = b.max_const(b.min_const(x, bound), -bound);
    const n = b.round_times(a, 1.0);
    return b.scale(exp_reduced((a - n.value) * c(V, 0.69314718055994530942)), n);
}

/// e^x - 1 without cancellation: 2^n (e^r - 1) + (2^n - 1), whose parts do not cancel.
pub inline fn expm1(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    // Below the lower bound the result rounds to -1. Above, half of 2^n keeps the sum in range.
    const low = if (comptime b.is_f64(V)) -40.0 else -20.0;
    const red = reduce(b.max_const(b.min_const(x, if (comptime b.is_f64(V)) upper_f64 else upper_f32), low));
    const half = b.pow2(V, red.n.int() -% b.ci(V, 1));
    const h = fma(half, expm1_reduced(red.r), half - c(V, 0.5));
    // x itself where it is so small that h, halved, would lose bits of a denormal.
    return b.select(@abs(x) < c(V, 1e-30), x, h + h);
}

pub inline fn tanh(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const f64_lane = comptime b.is_f64(V);
    // tanh a = -h / (1 + h) with h = (e^-2a - 1) / 2; at the bound the result already rounds to 1. All in halves, so
    // that 2a is never formed: r is half of the reduced argument and p half of e^2r - 1.
    const a = b.max_const(-@abs(x), if (f64_lane) -20.0 else -9.1);
    const n = b.round_times(a, 2.0 * log2_e);
    const ln2 = comptime ln2_parts(V);
    const r = fma(n.value, c(V, -0.5 * ln2[1]), fma(n.value, c(V, -0.5 * ln2[0]), a));
    const q = b.horner(r, comptime doubled(if (f64_lane) &quotient_long_f64 else &quotient_long_f32));
    const p = fma(q, r * r, r);
    const s = n.pow2();
    const h = fma(s, p, fma(s, c(V, 0.5), c(V, -0.5)));
    return b.copysign(b.over_one_plus(h), x);
}
/// The coefficients k of a polynomial q, changed so that they give 2 q(2r).
fn doubled(comptime k: []const comptime_float) []const comptime_float {
    comptime {
        var out: [k.len]comptime_float = undefined;
        for (&out, k, 0..) |*o, v, i| o.* = v * @as(comptime_float, 1 << (k.len - i));
        const fixed = out;
        return &fixed;
    }
}

pub inline fn sigmoid(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const wide = comptime b.is_f64(V);
    const lower = if (wide) lower_f64 else lower_f32;
    if (comptime b.on_gpu) return sigmoid_of(x, b.max_const(-@abs(x), lower));
    // Far on the right the exponential counts as much as none, and farther out on the left all is zero: there subnormal
    // numbers would only be slow.
    const right: comptime_float = if (wide) 40.0 else 18.0;
    const a = -@abs(x);
    if (!b.any(a < c(V, -right))) return sigmoid_of(x, a);
    const none = x < c(V, lower);
    const near = b.select(none, c(V, 0.0), b.select(x > c(V, right), c(V, -right), a));
    return b.select(none, c(V, 0.0), sigmoid_of(x, near));
}
/// With e = exp(-|x|) nothing overflows: 1 / (1 + e), or e / (1 + e) on the left side.
inline fn sigmoid_of(x: anytype, a: @TypeOf(x)) @TypeOf(x) {
    const V = @TypeOf(x);
    const red = reduce(a);
    const e = b.scale(exp_reduced(red.r), red.n);
    const one = c(V, 1.0);
    const d = one + e;
    return b.divide_tail(b.select(x < c(V, 0.0), e, one), d, e - (d - one));
}

test "what is far out stands beside what is not" {
    inline for (.{ f32, f64 }) |T| {
        const inf = std.math.inf(T);
        const far: T = if (T == f32) 104.6 else 746.1;
        const xs = [8]T{ -inf, -1e9, -far, -2, 1.5, far, inf, std.math.nan(T) };
        const x: @Vector(8, T) = xs;
        const es: [8]T = exp(x);
        const ss: [8]T = sigmoid(x);
        for (xs, es, ss) |each, e, s| {
            const known = @exp(@as(f64, each));
            if (std.math.isNan(each)) {
                try std.testing.expect(std.math.isNan(e) and std.math.isNan(s));
                continue;
            }
            // Alone as beside others, to the last bit.
            try std.testing.expectEqual(exp(each), e);
            try std.testing.expectEqual(sigmoid(each), s);
            if (each < -100) {
                try std.testing.expectEqual(0, e);
                try std.testing.expectEqual(0, s);
            } else {
                if (each < 100) try std.testing.expectApproxEqRel(known, @as(f64, e), 1e-6);
                try std.testing.expectApproxEqRel(1 / (1 + 1 / known), @as(f64, s), 1e-6);
            }
        }
    }
}
