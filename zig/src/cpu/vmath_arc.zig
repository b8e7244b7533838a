//! Inverse trigonometric functions, hyperbolic functions and their inverses, for f32 and f64, scalar or vector.
const std = @import("std");
const b = @import("vmath_base.zig");
const e = @import("vmath_exp.zig");
const l = @import("vmath_log.zig");
const trig = @import("vmath_trig.zig");
const c = b.c;
const fma = b.fma;

const ln2 = 0.69314718055994530942;

/// sqrt(1 - x^2), exact where x is near 1.
inline fn other_leg(x: anytype) @TypeOf(x) {
    const one = c(@TypeOf(x), 1.0);
    return @sqrt((one - x) * (one + x));
}
pub inline fn asin(x: anytype) @TypeOf(x) {
    return trig.atan2(x, other_leg(x));
}
pub inline fn acos(x: anytype) @TypeOf(x) {
    return trig.atan2(other_leg(x), x);
}
pub inline fn atan(x: anytype) @TypeOf(x) {
    return trig.atan2(x, c(@TypeOf(x), 1.0));
}

/// e^|x| / 2, which overflows later than e^|x| does.
inline fn half_exp(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const parts = comptime e.ln2_parts(V);
    // Beyond the bound the result is infinite; an infinite argument would leave no number in the tail.
    const a = b.min_const(@abs(x), if (comptime b.is_f64(V)) 720.0 else 100.0);
    const s = b.two_sum(a, c(V, -parts[0]));
    return e.exp_double(s.hi, s.lo - c(V, parts[1]));
}
/// sinh(x) / x - 1 in powers of x^2 for |x| <= 1: reciprocals of odd factorials.
fn odd_factorials(comptime V: type) []const comptime_float {
    comptime {
        const n = if (b.is_f64(V)) 9 else 5;
        var out: [n]comptime_float = undefined;
        var factorial: comptime_float = 1;
        for (0..n) |i| {
            factorial *= (2 * i + 2) * (2 * i + 3);
            out[n - 1 - i] = 1.0 / factorial;
        }
        const fixed = out;
        return &fixed;
    }
}
pub inline fn sinh(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const z = x * x;
    const near = fma(b.horner(z, odd_factorials(V)) * z, x, x);
    const w = half_exp(x);
    const far = b.copysign(w - c(V, 0.25) / w, x);
    return b.select(@abs(x) <= c(V, 1.0), near, far);
}
pub inline fn cosh(x: anytype) @TypeOf(x) {
    const w = half_exp(x);
    return w + c(@TypeOf(x), 0.25) / w;
}

/// From here on x and sqrt(x^2 + 1) are one, and x^2 need not be formed.
inline fn large(comptime V: type) comptime_float {
    return if (b.is_f64(V)) 0x1p60 else 0x1p30;
}
/// log(1 + grown), or log(2 x) of a large x.
inline fn log_of_sum(x: anytype, grown: @TypeOf(x)) @TypeOf(x) {
    const V = @TypeOf(x);
    const big = x > c(V, large(V));
    return l.log1p(b.select(big, x, grown)) + b.select(big, c(V, ln2), c(V, 0.0));
}
pub inline fn asinh(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const one = c(V, 1.0);
    const a = @abs(x);
    const z = a * a;
    return b.copysign(log_of_sum(a, a + z / (one + @sqrt(one + z))), x);
}
pub inline fn acosh(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const t = x - c(V, 1.0);
    const r = log_of_sum(x, t + @sqrt(t * (t + c(V, 2.0))));
    return b.select(x < c(V, 1.0), b.not_a_number(V), r);
}
pub inline fn atanh(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const a = @abs(x);
    return b.copysign(c(V, 0.5) * l.log1p((a + a) / (c(V, 1.0) - a)), x);
}

/// The length of (x, y), without overflow; infinite if either is, even beside a NaN.
pub inline fn hypot(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    const V = @TypeOf(x);
    const inf = b.infinity(V);
    const ax = @abs(x);
    const ay = @abs(y);
    const endless = b.either(ax == inf, ay == inf);
    if (comptime !b.is_f64(V)) {
        const W = b.With(V, f64);
        const wx: W = @floatCast(x);
        const wy: W = @floatCast(y);
        return b.select(endless, inf, @as(V, @floatCast(@sqrt(wx * wx + wy * wy))));
    }
    const top = b.select(ax > ay, ax, ay);
    const tiny = top < c(V, 0x1p-500);
    const huge = top > c(V, 0x1p500);
    const scale = b.select(tiny, c(V, 0x1p600), b.select(huge, c(V, 0x1p-600), c(V, 1.0)));
    const back = b.select(tiny, c(V, 0x1p-600), b.select(huge, c(V, 0x1p600), c(V, 1.0)));
    const u = ax * scale;
    const v = ay * scale;
    return b.select(endless, inf, @sqrt(fma(u, u, v * v)) * back);
}

const testing = std.testing;
test "inverse and hyperbolic functions against the standard library" {
    const math = std.math;
    inline for (.{ f32, f64 }) |T| {
        const plain = [_]T{ 0, -0.0, 1, -1, 0.3, -0.3, 0.99, 1e-20, 5.5, -7.25, 20, -86, 89.2, 12345.678 };
        const ends = [_]T{ math.inf(T), -math.inf(T), math.nan(T), math.floatMax(T), math.floatTrueMin(T) };
        const xs = plain ++ ends;
        for (xs) |x| {
            const w: f64 = x;
            const pairs = [_][2]f64{
                .{ asin(x), math.asin(w) },   .{ acos(x), math.acos(w) },   .{ atan(x), math.atan(w) },
                .{ sinh(x), math.sinh(w) },   .{ cosh(x), math.cosh(w) },   .{ asinh(x), math.asinh(w) },
                .{ acosh(x), math.acosh(w) }, .{ atanh(x), math.atanh(w) }, .{ trig.tan(x), @tan(w) },
            };
            for (pairs) |pair| {
                if (math.isNan(pair[1])) {
                    try testing.expect(math.isNan(pair[0]));
                    continue;
                }
                const wanted: f64 = @as(T, @floatCast(pair[1]));
                if (math.isInf(wanted)) {
                    try testing.expectEqual(wanted, pair[0]);
                } else {
                    const most = 4 * math.floatEps(T) * @abs(wanted) + math.floatTrueMin(T);
                    try testing.expectApproxEqAbs(wanted, pair[0], most);
                }
            }
        }
    }
    try testing.expectEqual(math.inf(f64), hypot(@as(f64, math.nan(f64)), -math.inf(f64)));
    try testing.expectEqual(@as(f64, 5e300), hypot(@as(f64, 3e300), 4e300));
    try testing.expectEqual(@as(f64, 5e-310), hypot(@as(f64, 3e-310), 4e-310));
}
