//! pow with the C rules for every exceptional pair, for f32 and f64, scalar or vector.
const std = @import("std");
const b = @import("vmath_base.zig");
const e = @import("vmath_exp.zig");
const l = @import("vmath_log.zig");
const c = b.c;
const fma = b.fma;

/// ((atanh(s)/s - 1)/z - 1/3)/z in z = s^2, |s| <= (sqrt(2) - 1) / (sqrt(2) + 1).
const atanh_tail = [_]comptime_float{
    0.065600759613590124463, 0.066328204628567832156, 0.076931733626553380004, 0.090908970629231867592,
    0.11111111198077626515,  0.14285714285441839414,  0.20000000000000176465,
};
/// log2(1 + f) / f on [sqrt(1/2) - 1, sqrt(2) - 1], 2^-41.
const log2_quotient = [_]comptime_float{
    0.063180722205017341921, -0.12352521236880318444, 0.12612795607099335578, -0.11962536968993093068,
    0.12914310004343410903,  -0.14412608818459962314, 0.16042532174208493768, -0.18035041516650208897,
    0.20609526291365436811,  -0.24044872682163538984, 0.28853907074942396037, -0.36067376590676571384,
    0.48089834658499297592,  -0.72134752042494320951, 1.4426950408893552103,
};
/// 2^r on [-1/2, 1/2], 2^-34.
const exp2_f64 = [_]comptime_float{
    1.5201727780037286207e-5, 0.00015469553517093506952, 0.0013333925451443462082, 0.009618026440354037361,
    0.05550410347294463805,   0.24022651204185094081,    0.69314718073115654021,   0.99999999996106069709,
};

/// log(a) as an unevaluated sum with a relative error of about 2^-66, f64, a > 0 finite.
inline fn log_double(a: anytype) b.Double(@TypeOf(a)) {
    const V = @TypeOf(a);
    const parts = l.split_positive(a);
    const m = parts.mantissa;
    const one = c(V, 1.0);
    // s = (m - 1) / (m + 1) in two parts
    const num = m - one;
    const den = m + one;
    const den_lo = m - (den - one);
    const inv = one / den;
    const s0 = num * inv;
    const back = b.two_product(s0, den);
    const s = b.fast_two_sum(s0, (((num - back.hi) - back.lo) - s0 * den_lo) * inv);
    // log m = 2s (1 + z (1/3 + z tail)), z = s^2; z and the bracket need both parts too.
    var z = b.two_product(s.hi, s.hi);
    z.lo = fma(s.hi + s.hi, s.lo, z.lo);
    const third_hi = comptime @as(f64, 1.0 / 3.0);
    const third_lo = 1.0 / 3.0 - @as(comptime_float, third_hi);
    const t = b.fast_two_sum(c(V, third_hi), fma(b.horner(z.hi, &atanh_tail), z.hi, c(V, third_lo)));
    var u = b.two_product(t.hi, z.hi);
    u.lo += fma(t.hi, z.lo, t.lo * z.hi);
    var v = b.two_product(u.hi, s.hi);
    v.lo += fma(u.hi, s.lo, u.lo * s.hi);
    const w = b.fast_two_sum(s.hi, v.hi);
    const m_lo = (w.lo + (v.lo + s.lo)) * c(V, 2.0);
    // plus k ln 2
    const k = parts.exponent;
    const ln2 = comptime e.ln2_parts(V);
    const sum = b.two_sum(k * c(V, ln2[0]), w.hi + w.hi);
    const k_lo = b.two_product(k, c(V, ln2[1]));
    const top = b.two_sum(sum.hi, k_lo.hi);
    return b.fast_two_sum(top.hi, top.lo + (sum.lo + (m_lo + k_lo.lo)));
}

/// a^y for finite a > 0.
inline fn power_f64(a: anytype, y: @TypeOf(a)) @TypeOf(a) {
    const V = @TypeOf(a);
    const log_a = log_double(a);
    // A bounded exponent gives the same inf, 0 or 1 and keeps the exact product finite.
    const yc = b.max_const(b.min_const(y, 0x1p900), -0x1p900);
    const p = b.two_product(yc, log_a.hi);
    const lo = fma(yc, log_a.lo, p.lo);
    const sum = p.hi + lo;
    const tail = b.select(@abs(sum) < c(V, 1000.0), (p.hi - sum) + lo, c(V, 0.0));
    return e.exp_double(sum, tail);
}
/// The same for f32, whose 24 bits leave room for one f64 product.
inline fn power_f32(a: anytype, y: @TypeOf(a)) @TypeOf(a) {
    const V = @TypeOf(a);
    const W = b.With(V, f64);
    const parts = l.split_normal(@as(W, @floatCast(a)));
    const f = parts.mantissa - c(W, 1.0);
    const log2_a = fma(b.horner(f, &log2_quotient), f, parts.exponent);
    // An infinite exponent must give 1 for a = 1.
    const yc = b.max_const(b.min_const(@as(W, @floatCast(y)), 1e300), -1e300);
    const p = b.max_const(b.min_const(yc * log2_a, 200.0), -200.0);
    const n = b.round_times(p, 1.0);
    const r = b.horner(p - n.value, &exp2_f64) * n.pow2();
    return @floatCast(r);
}

pub inline fn pow(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    const V = @TypeOf(x);
    const zero = c(V, 0.0);
    const one = c(V, 1.0);
    const inf = b.infinity(V);
    const nan = b.not_a_number(V);
    const a = @abs(x);
    const edge = b.either(a == zero, a == inf);
    const base = b.select(edge, one, a);
    var r = if (comptime b.is_f64(V)) power_f64(base, y) else power_f32(base, y);
    // 0 and inf go to 0 or inf with the sign of y alone
    const up = (y > zero) == (a == inf);
    r = b.select(edge, b.select(up, inf, zero), r);
    const whole = @trunc(y) == y;
    const half = y * c(V, 0.5);
    const odd = b.both(whole, @trunc(half) != half);
    r = b.select(b.both(odd, b.sign_bit(x)), -r, r);
    r = b.select(b.both(b.both(x < zero, a != inf), b.not(whole)), nan, r);
    r = b.select(b.either(b.is_nan(x), b.is_nan(y)), nan, r);
    return b.select(b.either(y == zero, x == one), one, r);
}
