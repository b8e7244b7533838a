//! The logarithm of the gamma function and its derivatives, for f32 and f64, scalar or vector.
const std = @import("std");
const b = @import("vmath_base.zig");
const l = @import("vmath_log.zig");
const power = @import("vmath_pow.zig");
const trig = @import("vmath_trig.zig");
const c = b.c;
const fma = b.fma;

// lgamma(2 + z) / z on |z| <= 1/2, highest power first.
const near_two_f32 = [_]comptime_float{
    0.000113472819946, -0.000253817095673, 0.000506517142952, -0.00118586003450, 0.00289079532156,
    -0.00738617415563, 0.0205807994715,    -0.0673522814721,  0.322467033469,    0.422784335000,
};
const near_two_f64 = [_]comptime_float{
    2.7475390051909663921e-7,   -5.8112777689212461977e-7,  9.2428522251622767419e-7,   -1.9743106888421067444e-6,
    4.3828545383846667716e-6,   -9.4562885151017191737e-6,  0.000020506019701747618598, -0.000044923727564247652589,
    0.000099457616921571331318, -0.00022315497746292723170, 0.00050966951965266727797,  -0.0011927539009983086944,
    0.0028905103308659009277,   -0.0073855510289355447000,  0.020580808427783379755,    -0.067352301053195638653,
    0.32246703342411322004,     0.42278433509846713560,
};

/// B(2k) / (2k (2k - 1)) and B(2k) / 2k, highest first: the series for large arguments, in 1 / x^2.
const stirling = [_]comptime_float{
    -3617.0 / 122400.0, 1.0 / 156.0,  -691.0 / 360360.0, 1.0 / 1188.0,
    -1.0 / 1680.0,      1.0 / 1260.0, -1.0 / 360.0,      1.0 / 12.0,
};
const digamma_series = [_]comptime_float{
    1.0 / 12.0, -691.0 / 32760.0, 1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0, -1.0 / 120.0, 1.0 / 12.0,
};
/// B(2k), highest first.
const trigamma_series = [_]comptime_float{
    -3617.0 / 510.0, 7.0 / 6.0, -691.0 / 2730.0, 5.0 / 66.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 1.0 / 6.0,
};
const half_log_two_pi = 0.91893853320467274178;
const pi = std.math.pi;

fn terms(comptime V: type, comptime all: []const comptime_float) []const comptime_float {
    return if (b.is_f64(V)) all else all[all.len - 4 ..];
}
/// pi times the distance to the nearest whole number.
inline fn turn(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const whole = c(V, if (b.is_f64(V)) 0x1p52 else 0x1p23);
    const size = @abs(x);
    const near = b.select(size < whole, (size + whole) - whole, size);
    return (x - b.copysign(near, x)) * c(V, pi);
}
/// log |gamma(x)| for x > 0.
inline fn positive(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const one = c(V, 1.0);
    const bound = if (comptime b.is_f64(V)) 8.5 else 4.5;
    // Down to [3/2, 5/2) by factors, or up by x (x + 1): z is what is left beyond 2, without a rounding.
    var z = x - c(V, 2.0);
    var factors = one;
    var y = b.min_const(x, bound);
    inline for (0..if (b.is_f64(V)) 6 else 2) |_| {
        const above = y >= c(V, 2.5);
        y = b.select(above, y - one, y);
        factors = b.select(above, factors * y, factors);
    }
    z = b.select(x >= c(V, 2.5), y - c(V, 2.0), z);
    const low = x < c(V, 1.5);
    const lowest = x < c(V, 0.5);
    z = b.select(low, x - one, z);
    z = b.select(lowest, x, z);
    const up = b.select(lowest, x * (x + one), x);
    const core = z * b.horner(z, if (comptime b.is_f64(V)) &near_two_f64 else &near_two_f32);
    const change = l.log(b.select(low, up, factors));
    const small = core + b.select(low, -change, change);
    const large = x >= c(V, bound);
    if (!b.any(large)) return small;
    const r = one / x;
    const tail = r * b.horner(r * r, comptime terms(V, &stirling));
    // x (log x - 1) is finite where x log x is not.
    const sum = fma(x, l.log(x) - one, fma(c(V, -0.5), l.log(x), c(V, half_log_two_pi) + tail));
    const far = b.select(x == b.infinity(V), x, sum);
    return b.select(large, far, small);
}
pub inline fn lgamma(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const a = @abs(x);
    const y = positive(a);
    const negative = x < c(V, 0.0);
    var r = y;
    if (b.any(negative)) {
        // gamma(x) gamma(-x) = -pi / (x sin(pi x))
        const other = c(V, @log(pi)) - l.log(a) - l.log(@abs(trig.sin(turn(x)))) - y;
        r = b.select(negative, other, y);
        r = b.select(b.both(negative, @trunc(x) == x), b.infinity(V), r);
    }
    return b.select(a == c(V, 0.0), b.infinity(V), r);
}

/// The derivative of lgamma.
pub inline fn digamma(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const one = c(V, 1.0);
    const negative = x < c(V, 0.0);
    var y = b.select(negative, one - x, x);
    const bound = if (comptime b.is_f64(V)) 10.0 else 6.0;
    var below = c(V, 0.0);
    inline for (0..if (b.is_f64(V)) 10 else 6) |_| {
        const small = y < c(V, bound);
        below += b.select(small, one / y, c(V, 0.0));
        y = b.select(small, y + one, y);
    }
    const r = one / y;
    const series = r * r * b.horner(r * r, comptime terms(V, &digamma_series));
    var p = (l.log(y) - fma(c(V, 0.5), r, series)) - below;
    if (b.any(negative)) {
        const at = turn(x);
        p = b.select(negative, p - c(V, pi) * trig.cos(at) / trig.sin(at), p);
        p = b.select(b.both(negative, @trunc(x) == x), b.not_a_number(V), p);
    }
    return b.select(x == c(V, 0.0), b.copysign(b.infinity(V), -x), p);
}

/// B(2k) / (2k)!, first to last.
const zeta_series = [_]comptime_float{
    1.0 / 12.0,                          -1.0 / 720.0,                  1.0 / 30240.0,
    -1.0 / 1209600.0,                    1.0 / 47900160.0,              -691.0 / 1307674368000.0,
    1.0 / 74724249600.0,                 -3617.0 / 10670622842880000.0, 43867.0 / 5109094217170944000.0,
    -174611.0 / 802857662698291200000.0,
};
/// The sum of (q + k)^-s over all k from 0, for q > 0 and s > 1: nine terms, and Euler's and Maclaurin's series.
noinline fn zeta_positive(s: anytype, q: @TypeOf(s)) @TypeOf(s) {
    const V = @TypeOf(s);
    const one = c(V, 1.0);
    var sum = c(V, 0.0);
    var a = q;
    // One loop, not nine copies of a long function.
    for (0..9) |_| {
        sum += power.pow(a, -s);
        a += one;
    }
    const last = power.pow(a, -s);
    const r = one / a;
    const square = r * r;
    var factor = s * r;
    var tail = c(V, 0.0);
    var at = s + one;
    inline for (zeta_series) |k| {
        tail = fma(factor, c(V, k), tail);
        factor = factor * at * (at + one) * square;
        at += c(V, 2.0);
    }
    // An infinite term would meet a zero.
    const rest = fma(last, c(V, 0.5) + tail, last * a / (s - one));
    return b.select(sum == b.infinity(V), sum, sum + rest);
}
/// The same sum for any q, with a whole s, as in torch not a number for infinite ones. The terms of a negative q are
/// those of two positive ones.
pub inline fn zeta(s: anytype, q: @TypeOf(s)) @TypeOf(s) {
    const V = @TypeOf(s);
    const one = c(V, 1.0);
    const negative = q <= c(V, 0.0);
    const whole = @floor(q);
    const start = b.select(negative, b.select(q == whole, one, q - whole), q);
    var r = zeta_positive(s, start);
    if (b.any(negative)) {
        const even = @floor(s * c(V, 0.5)) * c(V, 2.0) == s;
        const nearest = zeta_positive(s, b.select(negative, one - start, one));
        const mirrored = nearest - zeta_positive(s, b.select(negative, one - q, one));
        r = b.select(negative, b.select(even, r + mirrored, r - mirrored), r);
        r = b.select(b.both(negative, q == whole), b.infinity(V), r);
    }
    return r;
}

/// The derivative of digamma, below a half by reflection: at a pole the rounded product with pi leaves it finite, as in
/// torch.
pub inline fn trigamma(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const one = c(V, 1.0);
    const low = x < c(V, 0.5);
    var y = b.select(low, one - x, x);
    const bound = if (comptime b.is_f64(V)) 12.0 else 6.0;
    var below = c(V, 0.0);
    inline for (0..if (b.is_f64(V)) 12 else 6) |_| {
        const small = y < c(V, bound);
        below += b.select(small, one / (y * y), c(V, 0.0));
        y = b.select(small, y + one, y);
    }
    const q = one / y;
    const series = q * b.horner(q * q, comptime terms(V, &trigamma_series));
    var r = fma(q, fma(q, c(V, 0.5) + series, one), below);
    if (b.any(low)) {
        const leg = trig.sin(c(V, pi) * x);
        r = b.select(low, c(V, pi * pi) / (leg * leg) - r, r);
    }
    return r;
}

const testing = std.testing;
test "the gamma function's logarithm and derivatives at known places" {
    inline for (.{ f32, f64 }) |T| {
        const close = if (T == f32) 1e-6 else 2e-15;
        const gammas = [_][2]T{
            .{ 1, 0 },
            .{ 2, 0 },
            .{ 0.5, 0.5723649429247001 },
            .{ 3.75, 1.4868155785934172 },
            .{ 8, 8.525161361065415 },
            .{ -0.5, 1.2655121234846454 },
            .{ 100, 359.1342053695754 },
        };
        for (gammas) |k| {
            const v: [4]T = lgamma(@as(@Vector(4, T), @splat(k[0])));
            try testing.expectApproxEqAbs(k[1], v[2], close * @max(1, @abs(k[1])));
        }
        const derived = [_][2]T{
            .{ 1, -0.5772156649015329 },
            .{ 10, 2.251752589066721 },
            .{ -0.5, 0.03648997397857652 },
            .{ 0.25, -4.227453533376265 },
        };
        for (derived) |k| try testing.expectApproxEqAbs(k[1], digamma(k[0]), 4 * close);
        const sums = [_][3]T{
            .{ 2, 1, 1.6449340668482264 },   .{ 3, 0.5, 8.41439832211716 }, .{ 4, -0.5, 32.23484850566707 },
            .{ 3, -1.5, 0.118102025820864 },
        };
        for ([_][2]T{
            .{ 1, 1.6449340668482264 },
            .{ -0.5, 8.934802200544679 },
            .{ 10, 0.10516633568168575 },
            .{ 1e30, 1e-30 },
        }) |k| try testing.expectApproxEqRel(k[1], trigamma(k[0]), 8 * close);
        try testing.expect(trigamma(@as(T, -1)) > 1e15 and std.math.isFinite(trigamma(@as(T, -1))));
        try testing.expect(std.math.isNan(trigamma(-std.math.inf(T))));
        for (sums) |k| try testing.expectApproxEqRel(k[2], zeta(k[0], k[1]), 8 * close);
        try testing.expectEqual(std.math.inf(T), lgamma(@as(T, -3)));
        try testing.expect(std.math.isNan(digamma(@as(T, -3))));
        try testing.expectEqual(-std.math.inf(T), digamma(@as(T, 0)));
    }
}
