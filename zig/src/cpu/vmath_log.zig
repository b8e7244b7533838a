//! Logarithm family: log, log1p, and pow, for f32 and f64, scalar or vector.
const std = @import("std");
const b = @import("vmath_base.zig");
const e = @import("vmath_exp.zig");
const c = b.c;
const ci = b.ci;
const fma = b.fma;

/// (log(1 + f) - f + f^2/2) / f^3 on [sqrt(1/2) - 1, sqrt(2) - 1].
const log_f32 = [_]comptime_float{
    0.0674662129336, -0.116760315479, 0.118883691229,  -0.124055445703, 0.142195212798,
    -0.166679971464, 0.200021200751,  -0.250000095929, 0.333333125861,
};
/// (2 atanh(s) - 2s) / s^3 in z = s^2, |s| <= (sqrt(2) - 1) / (sqrt(2) + 1).
const atanh_f64 = [_]comptime_float{
    0.14793551898546250862, 0.15314331417095579348, 0.18183551351794576541, 0.22222198872636866795,
    0.28571428738798858362, 0.39999999999435395101, 0.66666666666667300627,
};
const sqrt_half = 0.70710678118654752440;

pub fn Split(comptime V: type) type {
    return struct { exponent: V, mantissa: V };
}
/// x = m 2^k with m in [sqrt(1/2), sqrt(2)), for normal x > 0.
pub inline fn split_normal(x: anytype) Split(@TypeOf(x)) {
    const V = @TypeOf(x);
    const I = b.Int(V);
    const bits = comptime @as(b.Element(I), @bitCast(@as(b.Element(V), sqrt_half)));
    const k = b.shift_right(b.as_int(x) -% ci(V, bits), b.mantissa_bits(V));
    const m: V = @bitCast(b.as_int(x) -% b.shift_left(k, b.mantissa_bits(V)));
    return .{ .exponent = small_int_to_float(V, k), .mantissa = m };
}
/// k as a float, |k| < 2^20. Done by bits for f64, where older x86 has no such instruction.
pub inline fn small_int_to_float(comptime V: type, k: b.Int(V)) V {
    if (comptime !b.is_f64(V)) return @floatFromInt(k);
    const magic = comptime b.round_magic(V);
    const bits = comptime @as(i64, @bitCast(@as(f64, magic)));
    return @as(V, @bitCast(k +% ci(V, bits))) - c(V, magic);
}
/// The same for any x > 0 (denormals too); with AVX-512 0 gives k = -inf, inf gives inf, x < 0 gives NaN.
pub inline fn split_positive(x: anytype) Split(@TypeOf(x)) {
    const V = @TypeOf(x);
    if (comptime b.fits_avx512(V)) {
        const m = b.get_mantissa(x);
        const k = b.get_exponent(x);
        const two_sqrt_half = comptime @as(b.Element(V), sqrt_half) * 2;
        const big = m >= c(V, two_sqrt_half);
        return .{
            .exponent = b.select(big, k + c(V, 1.0), k),
            .mantissa = b.select(big, m * c(V, 0.5), m),
        };
    }
    const tiny = x < c(V, std.math.floatMin(b.Element(V)));
    const up = if (comptime b.is_f64(V)) 54 else 25;
    const s = split_normal(b.select(tiny, x * c(V, @as(comptime_float, 1 << up)), x));
    return .{ .exponent = s.exponent - b.select(tiny, c(V, up), c(V, 0.0)), .mantissa = s.mantissa };
}
/// k ln 2 + log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1].
pub inline fn log_of_parts(k: anytype, f: @TypeOf(k)) @TypeOf(k) {
    const V = @TypeOf(k);
    const ln2 = comptime e.ln2_parts(V);
    if (comptime b.is_f64(V)) {
        const s = f / (f + c(V, 2.0));
        const z = s * s;
        const half = c(V, 0.5) * f * f;
        // 2s = f - s f and s f = f^2/2 - s f^2/2: the large part of the sum stays the exact f.
        const r = fma(s, half + z * b.horner(z, &atanh_f64), k * c(V, ln2[1]));
        return fma(k, c(V, ln2[0]), f - (half - r));
    }
    const q = fma(b.horner(f, &log_f32), f, c(V, -0.5));
    return fma(k, c(V, ln2[0]), f + fma(q, f * f, k * c(V, ln2[1])));
}
pub inline fn log(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    if (comptime b.fits_avx512(V)) {
        // The hardware's exponent and mantissa carry 0, inf and x < 0 through the formula.
        const s = split_positive(x);
        const r = log_of_parts(s.exponent, s.mantissa - c(V, 1.0));
        return r;
    }
    const T = b.Element(V);
    const ordinary = b.both(x >= c(V, std.math.floatMin(T)), x <= c(V, std.math.floatMax(T)));
    if (b.any(b.not(ordinary))) return log_special(x);
    const s = split_normal(x);
    return log_of_parts(s.exponent, s.mantissa - c(V, 1.0));
}
/// The whole domain; apart, so that vectors of ordinary numbers do not pay for it.
fn log_special(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const s = split_positive(x);
    var r = log_of_parts(s.exponent, s.mantissa - c(V, 1.0));
    r = b.select(x == c(V, 0.0), -b.infinity(V), r);
    r = b.select(x < c(V, 0.0), b.not_a_number(V), r);
    return b.select(x < b.infinity(V), r, x);
}

/// The exponent is counted apart: logarithms of powers of two are exact.
pub inline fn log2(x: anytype) @TypeOf(x) {
    return log_to(x, .{ 1.0, 0.0 }, 1.44269504088896340736);
}
/// log10(2) in two parts, of which the first times an exponent is exact.
pub inline fn log10(x: anytype) @TypeOf(x) {
    const hi = if (comptime b.is_f64(@TypeOf(x))) 0x1.34413509f78p-2 else 0x1.344p-2;
    return log_to(x, .{ hi, 0.30102999566398119521373889472449302676818988 - hi }, 0.43429448190325182765);
}
/// x = m 2^k: k times the logarithm of two, in two parts, and log(m) times the factor.
inline fn log_to(x: anytype, comptime two: [2]comptime_float, comptime factor: comptime_float) @TypeOf(x) {
    const V = @TypeOf(x);
    const s = split_positive(x);
    const m = log_of_parts(c(V, 0.0), s.mantissa - c(V, 1.0)) * c(V, factor);
    const low = if (two[1] == 0.0) m else fma(s.exponent, c(V, two[1]), m);
    var r = fma(s.exponent, c(V, two[0]), low);
    if (comptime b.fits_avx512(V)) return r;
    r = b.select(x == c(V, 0.0), -b.infinity(V), r);
    r = b.select(x < c(V, 0.0), b.not_a_number(V), r);
    return b.select(x < b.infinity(V), r, x);
}

/// log(1 + x): with 2^-k from the exponent of 1 + x, f = 2^-k (1 + x) - 1 is formed from x with one rounding.
pub inline fn log1p(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const I = b.Int(V);
    const one = c(V, 1.0);
    const bits = comptime @as(b.Element(I), @bitCast(@as(b.Element(V), sqrt_half)));
    const k = b.shift_right(b.as_int(x + one) -% ci(V, bits), b.mantissa_bits(V));
    // Two factors, as 2^-k may be denormal.
    const s = b.pow2(V, ci(V, 2) -% k) * c(V, 0.25);
    const f = fma(x, s, s - one);
    var r = log_of_parts(small_int_to_float(V, k), f);
    r = b.select(x == -one, -b.infinity(V), r);
    r = b.select(x < -one, b.not_a_number(V), r);
    r = b.select(x < b.infinity(V), r, x);
    return b.select(@abs(x) < c(V, 1e-30), x, r);
}
