//! Complex elementwise math on Complex(T), T a float or a vector of floats. Exceptional values follow C's Annex G.
//! Products, quotients and sums are formed in T; the transcendental functions of f32 work in f64, which leaves them
//! neither overflow nor cancellation to look after.
const std = @import("std");
const b = @import("vmath_base.zig");
const complex = @import("../core/complex.zig");
const real_exp = @import("vmath_exp.zig");
const real_log = @import("vmath_log.zig");
const trig = @import("vmath_trig.zig");
const Complex = complex.Complex;
const c = b.c;
const select = b.select;

inline fn make(comptime Z: type, re: Z.Real, im: Z.Real) Z {
    return .{ .re = re, .im = im };
}
fn Wide(comptime Z: type) type {
    return Complex(b.With(Z.Real, f64));
}
inline fn widen(z: anytype) Wide(@TypeOf(z)) {
    return .{ .re = @floatCast(z.re), .im = @floatCast(z.im) };
}
inline fn narrow(comptime Z: type, z: Wide(Z)) Z {
    return .{ .re = @floatCast(z.re), .im = @floatCast(z.im) };
}
/// f on f64 numbers, whatever z is made of.
pub inline fn in_f64(comptime f: anytype, z: anytype) @TypeOf(z) {
    const Z = @TypeOf(z);
    return if (comptime b.is_f64(Z.Real)) f(z) else narrow(Z, f(widen(z)));
}
inline fn is_finite(x: anytype) b.Mask(@TypeOf(x)) {
    return @abs(x) < b.infinity(@TypeOf(x));
}

pub inline fn add(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    return make(@TypeOf(x), x.re + y.re, x.im + y.im);
}
pub inline fn sub(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    return make(@TypeOf(x), x.re - y.re, x.im - y.im);
}
/// The plain four products, as torch has it: inf times a complex number may give NaN.
pub inline fn mul(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    return make(@TypeOf(x), x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
}
/// Smith's quotient: the divisor's larger part is taken out first.
pub inline fn div(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    const Z = @TypeOf(x);
    const V = Z.Real;
    const zero = c(V, 0.0);
    const real_larger = @abs(y.re) >= @abs(y.im);
    const big = select(real_larger, y.re, y.im);
    const small = select(real_larger, y.im, y.re);
    const ratio = small / big;
    const s = c(V, 1.0) / b.fma(small, ratio, big);
    const p = select(real_larger, x.re, x.im);
    const q = select(real_larger, x.im, x.re);
    // (a + bi) / (c + di): with |d| > |c| the imaginary part is that of the other order.
    const im = b.fma(select(real_larger, -p, p), ratio, select(real_larger, q, -q)) * s;
    const by_zero = b.both(y.re == zero, y.im == zero);
    return make(
        Z,
        select(by_zero, x.re / zero, b.fma(q, ratio, p) * s),
        select(by_zero, x.im / zero, im),
    );
}
pub inline fn reciprocal(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x).Real;
    return div(make(@TypeOf(x), c(V, 1.0), c(V, 0.0)), x);
}
pub inline fn rsqrt(x: anytype) @TypeOf(x) {
    return reciprocal(sqrt(x));
}

/// |z| without overflow; inf if either part is, even beside a NaN.
pub inline fn abs(z: anytype) @TypeOf(z).Real {
    const V = @TypeOf(z).Real;
    if (comptime !b.is_f64(V)) {
        const w = widen(z);
        return finish_abs(z, @floatCast(@sqrt(w.re * w.re + w.im * w.im)));
    }
    const s = scaled_squares(z);
    return finish_abs(z, @sqrt(s.sum) * s.back);
}
inline fn finish_abs(z: anytype, r: @TypeOf(z).Real) @TypeOf(z).Real {
    const V = @TypeOf(z).Real;
    const inf = b.infinity(V);
    return select(b.either(@abs(z.re) == inf, @abs(z.im) == inf), inf, r);
}
fn Scaled(comptime V: type) type {
    return struct { sum: V, back: V, exponent: V };
}
/// re^2 + im^2 = sum * back^2 with sum in [1, 8) and back = 2^exponent; 0 for 0. f64 only.
inline fn scaled_squares(z: anytype) Scaled(@TypeOf(z).Real) {
    const V = @TypeOf(z).Real;
    const ax = @abs(z.re);
    const ay = @abs(z.im);
    // Denormals are lifted, the largest numbers lowered, so that 2^-k is always a normal number.
    const top = select(ax > ay, ax, ay);
    const tiny = top < c(V, 0x1p-900);
    const huge = top > c(V, 0x1p900);
    const lift = select(tiny, c(V, 0x1p200), select(huge, c(V, 0x1p-200), c(V, 1.0)));
    const unlift = select(tiny, c(V, 0x1p-200), select(huge, c(V, 0x1p200), c(V, 1.0)));
    const k = b.shift_right(b.as_int(top * lift), 52) -% b.ci(V, 1023);
    const safe = select(top > c(V, 0.0), b.pow2(V, b.ci(V, 0) -% k), c(V, 1.0));
    const x = ax * lift * safe;
    const y = ay * lift * safe;
    const k_float = real_log.small_int_to_float(V, k);
    const shift = select(tiny, c(V, -200.0), select(huge, c(V, 200.0), c(V, 0.0)));
    // Two factors bring the root back, as their product may be out of range.
    const back = select(top > c(V, 0.0), b.pow2(V, k), c(V, 1.0)) * unlift;
    return .{ .sum = b.fma(x, x, y * y), .back = back, .exponent = k_float + shift };
}

pub inline fn exp(z: anytype) @TypeOf(z) {
    return in_f64(exp_f64, z);
}
fn exp_f64(z: anytype) @TypeOf(z) {
    const Z = @TypeOf(z);
    const V = Z.Real;
    const zero = c(V, 0.0);
    const inf = b.infinity(V);
    // Half the exponent twice, so that e^re may overflow while the product does not.
    const far = b.both(@abs(z.re) > c(V, 700.0), is_finite(z.re));
    const e = real_exp.exp(select(far, z.re * c(V, 0.5), z.re));
    const again = select(far, e, c(V, 1.0));
    var re = trig.cos(z.im) * e * again;
    var im = trig.sin(z.im) * e * again;
    const odd_angle = b.not(is_finite(z.im));
    re = select(b.both(odd_angle, z.re == -inf), zero, re);
    im = select(b.both(odd_angle, z.re == -inf), b.copysign(zero, z.im), im);
    re = select(b.both(odd_angle, z.re == inf), inf, re);
    return make(Z, re, select(z.im == zero, z.im, im));
}

pub inline fn log(z: anytype) @TypeOf(z) {
    return in_f64(log_f64, z);
}
fn log_f64(z: anytype) @TypeOf(z) {
    const Z = @TypeOf(z);
    return make(Z, log_abs(z), trig.atan2(z.im, z.re));
}
/// log(1 + z). Near 0 the modulus comes from |1 + z|^2 - 1, which 1 + z would round away.
pub inline fn log1p(z: anytype) @TypeOf(z) {
    const V = @TypeOf(z).Real;
    const one = c(V, 1.0);
    const nan = b.not_a_number(V);
    const r = in_f64(log1p_f64, z);
    // torch corrects log(1 + z) by the ratio of z and (1 + z) - 1 where they differ: infinities do not survive that.
    const rounds = b.both(b.not(is_finite(z.im)), (z.re + one) - one != z.re);
    const lost = b.either(rounds, b.either(b.is_nan(z.re), b.is_nan(z.im)));
    return make(@TypeOf(z), select(lost, nan, r.re), select(lost, nan, r.im));
}
fn log1p_f64(z: anytype) @TypeOf(z) {
    const V = @TypeOf(z).Real;
    const half = c(V, 0.5);
    const far = log_f64(make(@TypeOf(z), z.re + c(V, 1.0), z.im));
    const excess = z.re * (z.re + c(V, 2.0)) + z.im * z.im;
    // Where that underflows the real part itself is the answer, -0 too.
    const near = select(excess == c(V, 0.0), z.re, half * real_log.log1p(excess));
    return make(@TypeOf(z), select(b.both(@abs(z.re) < half, @abs(z.im) < half), near, far.re), far.im);
}
inline fn log_abs(z: anytype) @TypeOf(z).Real {
    const V = @TypeOf(z).Real;
    const ax = @abs(z.re);
    const ay = @abs(z.im);
    const top = select(ax > ay, ax, ay);
    const low = select(ax > ay, ay, ax);
    const half = c(V, 0.5);
    const ln2 = comptime real_exp.ln2_parts(V);
    const s = scaled_squares(z);
    var r = b.fma(s.exponent, c(V, ln2[0]), b.fma(s.exponent, c(V, ln2[1]), half * real_log.log(s.sum)));
    // Near the unit circle the squares nearly cancel against 1: they are kept in two parts.
    const near = b.both(top > half, top < c(V, 1.5));
    const p = b.two_product(top, top);
    const q = b.two_product(low, low);
    const sum = b.two_sum(p.hi - c(V, 1.0), q.hi);
    r = select(near, half * real_log.log1p(sum.hi + (sum.lo + p.lo + q.lo)), r);
    r = select(top == c(V, 0.0), -b.infinity(V), r);
    r = select(b.either(b.is_nan(z.re), b.is_nan(z.im)), b.not_a_number(V), r);
    const inf = b.infinity(V);
    return select(b.either(ax == inf, ay == inf), inf, r);
}

pub inline fn sqrt(z: anytype) @TypeOf(z) {
    return in_f64(sqrt_f64, z);
}
fn sqrt_f64(z: anytype) @TypeOf(z) {
    const Z = @TypeOf(z);
    const V = Z.Real;
    const zero = c(V, 0.0);
    const inf = b.infinity(V);
    // A power of four in front keeps |z| + |re| in range and denormals exact.
    const a = select(@abs(z.re) > @abs(z.im), @abs(z.re), @abs(z.im));
    const huge = a > c(V, 0x1p1000);
    const tiny = a < c(V, 0x1p-900);
    const factor = select(huge, c(V, 0x1p-4), select(tiny, c(V, 0x1p200), c(V, 1.0)));
    const root = select(huge, c(V, 0x1p2), select(tiny, c(V, 0x1p-100), c(V, 1.0)));
    const w = make(Z, z.re * factor, z.im * factor);
    const t = @sqrt((@abs(w.re) + abs(w)) * c(V, 0.5));
    const u = w.im / (t + t);
    const right = b.not(b.sign_bit(z.re));
    var re = select(right, t, @abs(u)) * root;
    var im = select(right, u, b.copysign(t, z.im)) * root;
    const is_zero = b.both(z.re == zero, z.im == zero);
    re = select(is_zero, zero, re);
    im = select(is_zero, z.im, im);
    const inf_im = @abs(z.im) == inf;
    const left_nan = b.both(z.re == -inf, b.is_nan(z.im));
    re = select(inf_im, inf, select(left_nan, b.not_a_number(V), re));
    im = select(inf_im, z.im, select(left_nan, inf, im));
    return make(Z, re, im);
}

fn Hyperbolic(comptime V: type) type {
    return struct { sinh: V, cosh: V, factor: V };
}
/// sinh and cosh without overflow: both are to be multiplied by factor. f64.
inline fn hyperbolic(x: anytype) Hyperbolic(@TypeOf(x)) {
    const V = @TypeOf(x);
    const half = c(V, 0.5);
    const one = c(V, 1.0);
    const a = @abs(x);
    const far = b.both(a > c(V, 700.0), a < b.infinity(V));
    const e = real_exp.expm1(select(far, a * half, a));
    const near_sinh = half * (e + e / (e + one));
    const near_cosh = one + half * e * (e / (e + one));
    const inf = a == b.infinity(V);
    const s = select(far, half * e, select(inf, a, near_sinh));
    const ch = select(far, half * e, select(inf, a, near_cosh));
    return .{ .sinh = b.copysign(s, x), .cosh = ch, .factor = select(far, e, one) };
}
/// t * h * f, where a zero on one side wins over inf or NaN on the other.
inline fn product(t: anytype, h: @TypeOf(t), f: @TypeOf(t)) @TypeOf(t) {
    const V = @TypeOf(t);
    const zero = c(V, 0.0);
    const r = select(t == zero, b.xor_sign(t, h), t * h * f);
    return select(b.both(h == zero, b.is_nan(t)), h, r);
}
pub inline fn sin(z: anytype) @TypeOf(z) {
    return in_f64(sin_f64, z);
}
fn sin_f64(z: anytype) @TypeOf(z) {
    const Z = @TypeOf(z);
    const V = Z.Real;
    const h = hyperbolic(z.im);
    const im = product(trig.cos(z.re), h.sinh, h.factor);
    const pole = b.both(@abs(z.im) == b.infinity(V), b.not(is_finite(z.re)));
    return make(Z, product(trig.sin(z.re), h.cosh, h.factor), select(pole, b.infinity(V), im));
}
pub inline fn cos(z: anytype) @TypeOf(z) {
    return in_f64(cos_f64, z);
}
fn cos_f64(z: anytype) @TypeOf(z) {
    const Z = @TypeOf(z);
    const V = Z.Real;
    const h = hyperbolic(z.im);
    const re = product(trig.cos(z.re), h.cosh, h.factor);
    const pole = b.both(@abs(z.im) == b.infinity(V), b.not(is_finite(z.re)));
    const im = -product(trig.sin(z.re), h.sinh, h.factor);
    // A zero beside NaN has the sign of a real part that is zero.
    const zero = c(V, 0.0);
    const lone = b.both(b.is_nan(re), im == zero);
    return make(Z, select(pole, b.infinity(V), re), select(lone, select(z.re == zero, z.re, zero), im));
}

pub inline fn tanh(z: anytype) @TypeOf(z) {
    return in_f64(tanh_f64, z);
}
fn tanh_f64(z: anytype) @TypeOf(z) {
    const Z = @TypeOf(z);
    const V = Z.Real;
    const zero = c(V, 0.0);
    const one = c(V, 1.0);
    const s = trig.sin(z.im);
    const k = trig.cos(z.im);
    // tanh(x + iy) = (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y)
    const a = b.max_const(b.min_const(z.re, 22.0), -22.0);
    const h = hyperbolic(a);
    const d = b.fma(h.sinh, h.sinh, k * k);
    const far = @abs(z.re) > c(V, 22.0);
    var re = select(far, b.copysign(one, z.re), h.sinh * h.cosh / d);
    var im = select(far, c(V, 4.0) * s * k * real_exp.exp(c(V, -2.0) * @abs(z.re)), s * k / d);
    const odd_angle = b.not(is_finite(z.im));
    im = select(b.both(odd_angle, @abs(z.re) == b.infinity(V)), b.copysign(zero, z.im), im);
    re = select(b.both(odd_angle, b.both(far, is_finite(z.re))), b.not_a_number(V), re);
    re = select(b.both(odd_angle, z.re == zero), z.re, re);
    return make(Z, re, select(z.im == zero, z.im, im));
}

/// exp(z) - 1, exact for small z too.
pub inline fn expm1(z: anytype) @TypeOf(z) {
    const half = trig.sin(z.im * 0.5);
    const grown = real_exp.expm1(z.re);
    // A real number stays one, whatever its size.
    if (z.im == 0) return .{ .re = grown, .im = z.im };
    return .{
        .re = grown * trig.cos(z.im) - 2 * half * half,
        .im = real_exp.exp(z.re) * trig.sin(z.im),
    };
}

/// sin(pi z) / (pi z), and 1 at 0.
pub inline fn sinc(z: anytype) @TypeOf(z) {
    if (z.re == 0 and z.im == 0) return .{ .re = 1, .im = 0 };
    const turned: @TypeOf(z) = .{ .re = z.re * std.math.pi, .im = z.im * std.math.pi };
    return div(sin(turned), turned);
}

/// z / |z|, and 0 at 0.
pub inline fn sign(z: anytype) @TypeOf(z) {
    const size = abs(z);
    if (size == 0) return .{ .re = 0, .im = 0 };
    return .{ .re = z.re / size, .im = z.im / size };
}

/// log(exp(x) + exp(y)): the one with the larger real part is taken out, of equal ones the first. Where both are
/// infinitely small the phase is of no consequence; a NaN anywhere makes both parts NaN.
pub inline fn logaddexp(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    const ordered = x.re < y.re;
    const small = if (ordered) x else y;
    const large = if (ordered) y else x;
    const nan = b.not_a_number(@TypeOf(x).Real);
    if (b.is_nan(x.re) or b.is_nan(x.im) or b.is_nan(y.re) or b.is_nan(y.im)) return .{ .re = nan, .im = nan };
    if (std.math.isInf(small.re) and small.re == large.re) {
        if (small.re < 0) return small;
        return log(add(exp(small), exp(large)));
    }
    return add(log1p(exp(sub(small, large))), large);
}

/// 1 / (1 + e^-z)
pub inline fn sigmoid(z: anytype) @TypeOf(z) {
    return in_f64(sigmoid_f64, z);
}
fn sigmoid_f64(z: anytype) @TypeOf(z) {
    const Z = @TypeOf(z);
    const e = exp_f64(make(Z, -z.re, -z.im));
    return reciprocal(make(Z, c(Z.Real, 1.0) + e.re, e.im));
}
/// e^(y log x)
pub inline fn pow(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    const Z = @TypeOf(x);
    if (comptime !b.is_f64(Z.Real)) return narrow(Z, pow_f64(widen(x), widen(y)));
    return pow_f64(x, y);
}
fn pow_f64(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    const l = log_f64(x);
    const p = mul(y, l);
    const lost = b.both(b.is_nan(p.re), b.is_nan(p.im));
    if (!b.any(lost)) return exp_f64(p);
    const q = mul_infinite(y, l);
    return exp_f64(make(@TypeOf(x), select(lost, q.re, p.re), select(lost, q.im, p.im)));
}
/// The product by C's rule for the case that the plain one is NaN in both parts: an infinite factor still makes it
/// infinite, and so does one of the four products that overflows.
fn mul_infinite(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    const Z = @TypeOf(x);
    const V = Z.Real;
    const inf = b.infinity(V);
    const x_inf = b.either(@abs(x.re) == inf, @abs(x.im) == inf);
    const y_inf = b.either(@abs(y.re) == inf, @abs(y.im) == inf);
    const products = [4]V{ x.re * y.re, x.im * y.im, x.re * y.im, x.im * y.re };
    var overflow = @abs(products[0]) == inf;
    inline for (products[1..]) |z| overflow = b.either(overflow, @abs(z) == inf);
    const x_other = b.either(y_inf, overflow);
    const y_other = b.either(x_inf, overflow);
    const u = make(Z, boxed(x.re, x_inf, x_other), boxed(x.im, x_inf, x_other));
    const v = make(Z, boxed(y.re, y_inf, y_other), boxed(y.im, y_inf, y_other));
    const p = mul(u, v);
    const known = b.either(b.either(x_inf, y_inf), overflow);
    const nan = b.not_a_number(V);
    return make(Z, select(known, inf * p.re, nan), select(known, inf * p.im, nan));
}
/// A part of a factor: 1 or 0 with its sign if this factor is infinite; a NaN is 0 if anything is.
inline fn boxed(x: anytype, self_inf: b.Mask(@TypeOf(x)), other_inf: b.Mask(@TypeOf(x))) @TypeOf(x) {
    const V = @TypeOf(x);
    const unit = b.copysign(select(@abs(x) == b.infinity(V), c(V, 1.0), c(V, 0.0)), x);
    const r = select(self_inf, unit, x);
    return select(b.both(b.is_nan(x), b.either(self_inf, other_inf)), b.copysign(c(V, 0.0), x), r);
}
