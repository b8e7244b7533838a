//! Inverse functions of complex numbers, and those that follow from others by a quarter turn, on Complex(T), T a float
//! or a vector of floats. Infinite arguments follow C's Annex G.
const std = @import("std");
const arc = @import("vmath_arc.zig");
const b = @import("vmath_base.zig");
const cm = @import("vmath_complex.zig");
const real_log = @import("vmath_log.zig");
const trig = @import("vmath_trig.zig");
const c = b.c;
const select = b.select;

inline fn make(comptime Z: type, re: Z.Real, im: Z.Real) Z {
    return .{ .re = re, .im = im };
}
/// i z
inline fn turned(z: anytype) @TypeOf(z) {
    return make(@TypeOf(z), -z.im, z.re);
}
/// -i z
inline fn turned_back(z: anytype) @TypeOf(z) {
    return make(@TypeOf(z), z.im, -z.re);
}

pub inline fn sinh(z: anytype) @TypeOf(z) {
    return turned_back(cm.sin(turned(z)));
}
pub inline fn cosh(z: anytype) @TypeOf(z) {
    return cm.cos(turned(z));
}
pub inline fn tan(z: anytype) @TypeOf(z) {
    return turned_back(cm.tanh(turned(z)));
}
pub inline fn asinh(z: anytype) @TypeOf(z) {
    return turned_back(asin(turned(z)));
}
pub inline fn atan(z: anytype) @TypeOf(z) {
    return turned_back(atanh(turned(z)));
}
pub inline fn asin(z: anytype) @TypeOf(z) {
    return cm.in_f64(asin_f64, z);
}
pub inline fn acos(z: anytype) @TypeOf(z) {
    return cm.in_f64(acos_f64, z);
}
pub inline fn acosh(z: anytype) @TypeOf(z) {
    return cm.in_f64(acosh_f64, z);
}
pub inline fn atanh(z: anytype) @TypeOf(z) {
    return cm.in_f64(atanh_f64, z);
}

fn Roots(comptime Z: type) type {
    return struct { less: Z, more: Z };
}
/// sqrt(1 - z) and sqrt(1 + z).
inline fn roots(z: anytype) Roots(@TypeOf(z)) {
    const Z = @TypeOf(z);
    const one = c(Z.Real, 1.0);
    return .{ .less = cm.sqrt(make(Z, one - z.re, -z.im)), .more = cm.sqrt(make(Z, one + z.re, z.im)) };
}
inline fn endless(z: anytype) b.Mask(@TypeOf(z).Real) {
    const inf = b.infinity(@TypeOf(z).Real);
    return b.either(@abs(z.re) == inf, @abs(z.im) == inf);
}
// Kahan's forms: the parts of the roots have such signs that no sum of products cancels.
fn asin_f64(z: anytype) @TypeOf(z) {
    const V = @TypeOf(z).Real;
    const r = roots(z);
    const re = trig.atan2(z.re, r.less.re * r.more.re - r.less.im * r.more.im);
    const im = arc.asinh(r.less.re * r.more.im - r.less.im * r.more.re);
    const far = endless(z);
    return make(
        @TypeOf(z),
        select(far, trig.atan2(z.re, @abs(z.im)), re),
        select(far, b.copysign(b.infinity(V), z.im), im),
    );
}
fn acos_f64(z: anytype) @TypeOf(z) {
    const V = @TypeOf(z).Real;
    const r = roots(z);
    const re = c(V, 2.0) * trig.atan2(r.less.re, r.more.re);
    const im = arc.asinh(r.more.re * r.less.im - r.more.im * r.less.re);
    const far = endless(z);
    return make(
        @TypeOf(z),
        select(far, trig.atan2(@abs(z.im), z.re), re),
        select(far, b.copysign(b.infinity(V), -z.im), im),
    );
}
fn acosh_f64(z: anytype) @TypeOf(z) {
    const Z = @TypeOf(z);
    const V = Z.Real;
    const one = c(V, 1.0);
    const less = cm.sqrt(make(Z, z.re - one, z.im));
    const more = cm.sqrt(make(Z, z.re + one, z.im));
    const re = arc.asinh(less.re * more.re + less.im * more.im);
    const im = c(V, 2.0) * trig.atan2(less.im, more.re);
    const far = endless(z);
    return make(Z, select(far, b.infinity(V), re), select(far, trig.atan2(z.im, z.re), im));
}
fn atanh_f64(z: anytype) @TypeOf(z) {
    const V = @TypeOf(z).Real;
    const one = c(V, 1.0);
    const zero = c(V, 0.0);
    const ax = @abs(z.re);
    const ay = @abs(z.im);
    // Of large numbers the reciprocal's real part counts, divided twice so that no square overflows.
    const far = b.either(ax > c(V, 0x1p100), ay > c(V, 0x1p100));
    const top = select(ax > ay, ax, ay);
    const u = ax / top;
    const v = ay / top;
    const small = u / (b.fma(u, u, v * v)) / top;
    const rest = one - ax;
    const near = c(V, 0.25) * real_log.log1p(c(V, 4.0) * ax / b.fma(rest, rest, ay * ay));
    const angle = trig.atan2(ay + ay, b.fma(rest, one + ax, -(ay * ay))) * c(V, 0.5);
    const infinite = endless(z);
    const quarter = c(V, std.math.pi / 2.0);
    const missing = b.is_nan(z.im);
    const re = select(far, select(infinite, zero, small), near);
    const im = select(far, select(missing, b.not_a_number(V), quarter), angle);
    return make(@TypeOf(z), b.copysign(re, z.re), b.copysign(im, z.im));
}

const log_of_2 = 0.69314718055994530942;
inline fn scaled(z: anytype, comptime factor: comptime_float) @TypeOf(z) {
    const k = c(@TypeOf(z).Real, factor);
    return make(@TypeOf(z), z.re * k, z.im * k);
}
pub inline fn log2(z: anytype) @TypeOf(z) {
    return cm.in_f64(log2_f64, z);
}
fn log2_f64(z: anytype) @TypeOf(z) {
    return scaled(cm.log(z), 1.0 / log_of_2);
}
pub inline fn log10(z: anytype) @TypeOf(z) {
    return cm.in_f64(log10_f64, z);
}
fn log10_f64(z: anytype) @TypeOf(z) {
    return scaled(cm.log(z), 0.43429448190325182765);
}
pub inline fn exp2(z: anytype) @TypeOf(z) {
    return cm.in_f64(exp2_f64, z);
}
fn exp2_f64(z: anytype) @TypeOf(z) {
    return cm.exp(scaled(z, log_of_2));
}
