//! Elementwise math for f32 and f64, scalar or @Vector: the one set of formulas behind the CPU kernels of every
//! instruction set and the GPU kernels. Nothing here calls the C library.
const std = @import("std");
const base = @import("vmath_base.zig");
const exponential = @import("vmath_exp.zig");
const logarithm = @import("vmath_log.zig");
const power = @import("vmath_pow.zig");
const trig = @import("vmath_trig.zig");
const division = @import("vmath_div.zig");
const error_function = @import("vmath_erf.zig");
const gamma = @import("vmath_gamma.zig");
const arc = @import("vmath_arc.zig");
const c = base.c;

pub const has_fma = base.has_fma;
pub const fma = base.fma;
pub const exp = exponential.exp;
pub const exp_short = exponential.exp_short;
pub const exp_short_below = exponential.exp_short_below;
pub const exp2 = exponential.exp2;
pub const expm1 = exponential.expm1;
pub const tanh = exponential.tanh;
pub const sigmoid = exponential.sigmoid;
pub const log = logarithm.log;
pub const log1p = logarithm.log1p;
pub const log2 = logarithm.log2;
pub const log10 = logarithm.log10;
pub const pow = power.pow;
pub const sin = trig.sin;
pub const cos = trig.cos;
pub const tan = trig.tan;
pub const atan2 = trig.atan2;
pub const asin = arc.asin;
pub const acos = arc.acos;
pub const atan = arc.atan;
pub const sinh = arc.sinh;
pub const cosh = arc.cosh;
pub const asinh = arc.asinh;
pub const acosh = arc.acosh;
pub const atanh = arc.atanh;
pub const hypot = arc.hypot;
pub const fmod = division.fmod;
pub const remainder = division.remainder;
pub const floor_divide = division.floor_divide;
pub const copysign = base.copysign;
pub const erf = error_function.erf;
pub const erfc = error_function.erfc;
pub const erfinv = error_function.erfinv;
pub const normal_below = error_function.normal_below;
pub const lgamma = gamma.lgamma;
pub const digamma = gamma.digamma;
pub const trigamma = gamma.trigamma;
pub const zeta = gamma.zeta;

/// sin(pi x) / (pi x), and 1 at 0.
pub inline fn sinc(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const turned = x * c(V, std.math.pi);
    return base.select(x == c(V, 0.0), c(V, 1.0), sin(turned) / turned);
}

/// log(1 / (1 + exp(-x)))
pub inline fn log_sigmoid(x: anytype) @TypeOf(x) {
    const zero = c(@TypeOf(x), 0.0);
    return base.select(x > zero, zero, x) - log1p(exp(-@abs(x)));
}

pub inline fn reciprocal(x: anytype) @TypeOf(x) {
    return c(@TypeOf(x), 1.0) / x;
}
pub inline fn rsqrt(x: anytype) @TypeOf(x) {
    return c(@TypeOf(x), 1.0) / @sqrt(x);
}
pub inline fn sqrt(x: anytype) @TypeOf(x) {
    return @sqrt(x);
}
pub inline fn floor(x: anytype) @TypeOf(x) {
    return @floor(x);
}
pub inline fn ceil(x: anytype) @TypeOf(x) {
    return @ceil(x);
}
pub inline fn trunc(x: anytype) @TypeOf(x) {
    return @trunc(x);
}
/// To the nearest whole number, the even one of two: below 2^mantissa a sum with that number has no fraction.
pub inline fn round(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const whole = c(V, if (base.is_f64(V)) 0x1p52 else 0x1p23);
    const size = @abs(x);
    return base.copysign(base.select(size < whole, (size + whole) - whole, size), x);
}
pub inline fn frac(x: anytype) @TypeOf(x) {
    return x - @trunc(x);
}
/// The larger; NaN if either is.
pub inline fn maximum(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    return base.select(base.either(x > y, x != x), x, y);
}
/// The smaller; NaN if either is.
pub inline fn minimum(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    return base.select(base.either(x < y, x != x), x, y);
}

test {
    _ = arc;
    _ = error_function;
    _ = gamma;
}

const testing = std.testing;
/// Both a vector's lanes and scalars, within some units in the last place of the C library's f64 result.
fn expect_close(comptime f: anytype, comptime reference: anytype, comptime T: type, xs: []const T, ulps: f64) !void {
    for (xs) |x| {
        const exact: f64 = reference(@as(f64, x));
        const v: [4]T = f(@as(@Vector(4, T), @splat(x)));
        const one: [1]T = f(@as(@Vector(1, T), @splat(x)));
        for ([_]T{ f(x), one[0], v[0], v[3] }) |y| {
            if (std.math.isNan(exact)) {
                try testing.expect(std.math.isNan(y));
            } else if (std.math.isInf(exact)) {
                try testing.expectEqual(@as(T, @floatCast(exact)), y);
            } else {
                const tolerance = ulps * std.math.floatEps(T) * @abs(exact) + std.math.floatTrueMin(T);
                try testing.expect(@abs(@as(f64, y) - exact) <= tolerance);
            }
        }
    }
}
fn Functions(comptime f: anytype) type {
    return struct {
        fn call(x: anytype) @TypeOf(x) {
            return f(x);
        }
    };
}
test "elementary functions against the standard library" {
    const math = std.math;
    inline for (.{ f32, f64 }) |T| {
        const edges = [_]T{ math.inf(T), -math.inf(T), math.nan(T), math.floatTrueMin(T), math.floatMin(T) };
        const plain = [_]T{ 0, -0.0, 1, -1, 0.3, -0.3, 1e-20, 5.5, -7.25, 20, -86, 100, 12345.678, -3e7 };
        const xs = plain ++ edges ++ [_]T{ math.floatMax(T), -math.floatMax(T) };
        const R = struct {
            fn sin(x: f64) f64 {
                return @sin(x);
            }
            fn cos(x: f64) f64 {
                return @cos(x);
            }
            fn logistic(x: f64) f64 {
                return 1.0 / (1.0 + @exp(-x));
            }
        };
        if (T == f64) {
            try expect_close(Functions(exp).call, math_exp, T, &xs, 2.5);
            try expect_close(Functions(expm1).call, math.expm1, T, &xs, 2.5);
        }
        try expect_close(Functions(tanh).call, math.tanh, T, &xs, 3);
        try expect_close(Functions(log).call, math_log, T, &xs, 2.5);
        try expect_close(Functions(log1p).call, math.log1p, T, &xs, 2.5);
        try expect_close(Functions(sin).call, R.sin, T, &xs, 2.5);
        try expect_close(Functions(cos).call, R.cos, T, &xs, 2.5);
        try expect_close(Functions(sigmoid).call, R.logistic, T, xs[0..10], 3);
    }
}
fn math_exp(x: f64) f64 {
    return @exp(x);
}
fn math_log(x: f64) f64 {
    return if (x < 0) std.math.nan(f64) else @log(x);
}
test "the largest arguments of sin are reduced exactly" {
    try testing.expectApproxEqAbs(@as(f64, 0.004961954789184062), sin(@as(f64, std.math.floatMax(f64))), 1e-16);
    try testing.expectApproxEqAbs(@as(f32, -0.5218765), sin(@as(f32, std.math.floatMax(f32))), 1e-7);
}
test "pow follows C for exceptional pairs" {
    const inf = std.math.inf(f64);
    const nan = std.math.nan(f64);
    const cases = [_][3]f64{
        .{ 0, 0, 1 },        .{ nan, 0, 1 },    .{ 1, nan, 1 },      .{ -0.0, -3, -inf }, .{ -0.0, -2, inf },
        .{ -0.0, 3, -0.0 },  .{ -1, inf, 1 },   .{ 0.5, inf, 0 },    .{ 0.5, -inf, inf }, .{ -inf, 3, -inf },
        .{ -inf, -3, -0.0 }, .{ -2, 3, -8 },    .{ -2, 0.5, nan },   .{ inf, -1, 0 },     .{ -inf, 0.5, inf },
        .{ 2, 1e308, inf },  .{ 2, -1e308, 0 }, .{ -2, 1025, -inf }, .{ nan, 1, nan },
    };
    inline for (.{ f32, f64 }) |T| for (cases) |k| {
        const y = pow(@as(T, @floatCast(k[0])), @as(T, @floatCast(k[1])));
        if (std.math.isNan(k[2])) {
            try testing.expect(std.math.isNan(y));
        } else {
            try testing.expectEqual(@as(T, @floatCast(k[2])), y);
            try testing.expectEqual(std.math.signbit(k[2]), std.math.signbit(y));
        }
    };
}
test "division family" {
    try testing.expectEqual(@as(f32, 2), remainder(@as(f32, -7), 3));
    try testing.expectEqual(@as(f32, -1), fmod(@as(f32, -7), 3));
    try testing.expectEqual(@as(f32, -3), floor_divide(@as(f32, -7), 3));
    try testing.expectEqual(std.math.inf(f32), floor_divide(@as(f32, 1), 0));
    try testing.expectEqual(@as(f64, 1), fmod(@as(f64, 1e300), 7));
    try testing.expect(std.math.isNan(fmod(@as(f64, 1), 0)));
    try testing.expect(std.math.isNan(maximum(@as(f32, 1), std.math.nan(f32))));
}
