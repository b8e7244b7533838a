//! Relatives of the elementary functions: other bases, tan, the inverse circular and the hyperbolic functions. For f32
//! those without a formula of their own work in f64, which leaves a single rounding.
const std = @import("std");
const b = @import("vmath_base.zig");
const e = @import("vmath_exp.zig");
const l = @import("vmath_log.zig");
const trig = @import("vmath_trig.zig");
const c = b.c;
const select = b.select;

/// f on f64 numbers, whatever x is made of.
inline fn in_f64(comptime f: anytype, x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    if (comptime b.is_f64(V)) return f(x);
    return @floatCast(f(@as(b.With(V, f64), @floatCast(x))));
}

pub inline fn rsqrt(x: anytype) @TypeOf(x) {
    return c(@TypeOf(x), 1.0) / @sqrt(x);
}
pub inline fn exp2(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const wide = comptime b.is_f64(V);
    const y = b.max_const(b.min_const(x, if (wide) 1025.0 else 129.0), if (wide) -1080.0 else -152.0);
    const n = b.round_times(y, 1.0);
    return b.scale(e.exp_reduced((y - n.value) * c(V, 0.69314718055994530942)), n);
}
/// Exact for powers of two.
pub inline fn log2(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const inf = b.infinity(V);
    const s = l.split_positive(x);
    const m = l.log_of_parts(c(V, 0.0), s.mantissa - c(V, 1.0));
    // 1 / ln 2 in two parts
    const hi = if (comptime b.is_f64(V)) 1.4426950408889634 else 1.442695;
    var r = s.exponent + b.fma(m, c(V, hi), m * c(V, 1.44269504088896340736 - hi));
    r = select(x == c(V, 0.0), -inf, r);
    r = select(x < c(V, 0.0), b.not_a_number(V), r);
    return select(x < inf, r, x);
}
fn log10_f64(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const y = l.log(x);
    const r = b.fma(y, c(V, 0.4342944819032518), y * c(V, 1.0983196502167651e-17));
    return select(@abs(y) == b.infinity(V), y, r);
}
pub inline fn log10(x: anytype) @TypeOf(x) {
    return in_f64(log10_f64, x);
}
fn tan_f64(x: anytype) @TypeOf(x) {
    return trig.sin(x) / trig.cos(x);
}
pub inline fn tan(x: anytype) @TypeOf(x) {
    return in_f64(tan_f64, x);
}
pub inline fn atan(x: anytype) @TypeOf(x) {
    return trig.atan2(x, c(@TypeOf(x), 1.0));
}
inline fn cathetus(x: anytype) @TypeOf(x) {
    const one = c(@TypeOf(x), 1.0);
    return @sqrt((one - x) * (one + x));
}
fn asin_f64(x: anytype) @TypeOf(x) {
    return trig.atan2(x, cathetus(x));
}
pub inline fn asin(x: anytype) @TypeOf(x) {
    return in_f64(asin_f64, x);
}
fn acos_f64(x: anytype) @TypeOf(x) {
    return trig.atan2(cathetus(x), x);
}
pub inline fn acos(x: anytype) @TypeOf(x) {
    return in_f64(acos_f64, x);
}

/// Above this e^|x| is formed from two factors, and e^-|x| no longer counts.
const far_limit = 700.0;
fn sinh_f64(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const half = c(V, 0.5);
    const a = @abs(x);
    const far = a > c(V, far_limit);
    const m = e.expm1(select(far, a * half, a));
    const near = half * (m + m / (m + c(V, 1.0)));
    return b.copysign(select(far, (half * m) * m, near), x);
}
pub inline fn sinh(x: anytype) @TypeOf(x) {
    return in_f64(sinh_f64, x);
}
fn cosh_f64(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const half = c(V, 0.5);
    const a = @abs(x);
    const far = a > c(V, far_limit);
    const y = e.exp(select(far, a * half, a));
    return select(far, (half * y) * y, half * y + half / y);
}
pub inline fn cosh(x: anytype) @TypeOf(x) {
    return in_f64(cosh_f64, x);
}
fn asinh_f64(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const one = c(V, 1.0);
    const a = @abs(x);
    const far = a > c(V, 1e9);
    const z = select(far, one, a);
    const near = l.log1p(z + z * z / (one + @sqrt(z * z + one)));
    const r = select(far, l.log(select(far, a, one)) + c(V, 0.69314718055994530942), near);
    return select(b.is_nan(x), x, b.copysign(r, x));
}
pub inline fn asinh(x: anytype) @TypeOf(x) {
    return in_f64(asinh_f64, x);
}
fn acosh_f64(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const one = c(V, 1.0);
    const far = x > c(V, 1e9);
    const t = select(far, one, x - one);
    const near = l.log1p(t + @sqrt(t * (t + c(V, 2.0))));
    const r = select(far, l.log(select(far, x, one)) + c(V, 0.69314718055994530942), near);
    return select(x >= one, r, b.not_a_number(V));
}
pub inline fn acosh(x: anytype) @TypeOf(x) {
    return in_f64(acosh_f64, x);
}
fn atanh_f64(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const a = @abs(x);
    return b.copysign(c(V, 0.5) * l.log1p((a + a) / (c(V, 1.0) - a)), x);
}
pub inline fn atanh(x: anytype) @TypeOf(x) {
    return in_f64(atanh_f64, x);
}
