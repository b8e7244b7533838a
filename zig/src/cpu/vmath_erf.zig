//! The error function, what it lacks to one, and its inverse, for f32 and f64, scalar or vector.
const std = @import("std");
const b = @import("vmath_base.zig");
const e = @import("vmath_exp.zig");
const l = @import("vmath_log.zig");
const c = b.c;
const fma = b.fma;

// `near`: erf(x) / x - 1 on |x| <= 1, in x^2. `far`: erfc(x) e^(x^2) (x + 2) from 1/2 on, in u = 1 / (x + 2), which
// `far_line` brings to [-1, 1]. Highest power first.
const near_f32 = [_]comptime_float{
    7.87587506269e-5, -0.000801686428717, 0.00518908742343, -0.0268542120106, 0.112835947152, -0.376126266667,
    0.12837916585,
};
const far_f32 = [_]comptime_float{
    -1.94260200899e-6, -1.40457930794e-5, 4.61821573368e-5, 0.000190930702437, -0.000772118931499,
    -0.00337821286934, 0.0104271489330,   0.112597579595,   0.425589287331,    0.994541049393,
};
const far_line_f32 = [2]comptime_float{ 6.25, -1.5 };
const near_f64 = [_]comptime_float{
    -7.7958988270021422416e-10,  1.3720064546777685604e-8,  -1.6208483801871705902e-7,  1.6447424703317362410e-6,
    -0.000014924736907419660338, 0.00012055294904839707917, -0.00085483259753896920806, 0.0052239776071164227321,
    -0.026866170643237770360,    0.11283791670945006266,    -0.37612638903183540438,    0.1283791670955125665,
};
const far_f64 = [_]comptime_float{
    -8.3831374679544673169e-11, 2.9544846106710176864e-11,   8.5118262332022162786e-10,   -1.0804839571896788251e-9,
    -3.5100116590937579577e-9,  1.1071392077428565422e-8,    -9.4573800039181048828e-10,  -6.0769757658828232884e-8,
    1.2251348051927269463e-7,   1.5972537572340510787e-7,    -1.0997755045925140830e-6,   6.9183541903193345177e-7,
    7.0259703004471056396e-6,   -0.000014739353658638649889, -0.000041278080440647369026, 0.00016634383848163355331,
    0.00030938018931805654906,  -0.0017973826379138492679,   -0.0047422815989088218899,   0.018274211092630105528,
    0.14096038808373205941,     0.45057259756705975724,      0.93553177555064699942,
};
const far_line_f64 = [2]comptime_float{ 5.462962962962962963, -1.1851851851851851852 };

/// x times a plus b.
inline fn on_line(x: anytype, comptime line: [2]comptime_float) @TypeOf(x) {
    const V = @TypeOf(x);
    return fma(x, c(V, line[0]), c(V, line[1]));
}
inline fn near(x: anytype) @TypeOf(x) {
    return fma(x, b.horner(x * x, if (comptime b.is_f64(@TypeOf(x))) &near_f64 else &near_f32), x);
}
/// erfc(x) for x >= 1/2, as e^(-x^2) with the exact square and a quotient that changes little.
inline fn far(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const wide = comptime b.is_f64(V);
    // At the bound the result is zero already.
    const a = b.min_const(x, if (wide) 27.5 else 10.5);
    const u = c(V, 1.0) / (a + c(V, 2.0));
    const s = on_line(u, if (wide) far_line_f64 else far_line_f32);
    const q = u * b.horner(s, if (wide) &far_f64 else &far_f32);
    const square = b.two_product(a, a);
    return q * e.exp_double(-square.hi, -square.lo);
}
pub inline fn erf(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const a = @abs(x);
    const small = a <= c(V, 1.0);
    const y = near(x);
    if (!b.any(b.not(small))) return y;
    // From the bound on it rounds to one, and what it lacks to it would become subnormal numbers, which are slow.
    const rest = far(b.min_const(a, if (comptime b.is_f64(V)) 6.0 else 4.0));
    return b.select(small, y, b.copysign(c(V, 1.0) - rest, x));
}
pub inline fn erfc(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const a = @abs(x);
    const small = a <= c(V, 0.5);
    const y = c(V, 1.0) - near(x);
    if (!b.any(b.not(small))) return y;
    const middle = far(a);
    const r = b.select(x < c(V, 0.0), c(V, 2.0) - middle, middle);
    return b.select(small, y, r);
}

// (normal_below(x) - 1/2) / x on |x| <= 5.6 as a quotient of polynomials in x^2.
const normal_over_f32 = [_]comptime_float{
    2.22971784927e-8, 6.28971520528e-6, 0.000168927715637, 0.00467734053807, 0.0339289390263, 0.398942271867,
};
const normal_under_f32 = [_]comptime_float{
    1.17964537392e-6, 7.33434256194e-5, 0.00188548353414, 0.0286774938791, 0.251713564758, 1.0,
};
const normal_bound_f32 = 31.36;

/// The share of normal numbers that lie below x, (1 + erf(x / sqrt 2)) / 2, as a sum: what is left far below zero has
/// the last digits of one.
pub inline fn normal_below(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    if (comptime b.is_f64(V)) return c(V, 0.5) * (c(V, 1.0) + erf(x * c(V, std.math.sqrt1_2)));
    const square = x * x;
    const t = b.min_const(square, normal_bound_f32);
    const inside = x * (b.horner(t, &normal_over_f32) / b.horner(t, &normal_under_f32));
    const half = c(V, 0.5);
    return half + b.select(square > c(V, normal_bound_f32), b.copysign(half, x), inside);
}

// The inverse over x, in w = -log(1 - x^2) and farther out in its root, each brought to [-1, 1] by its line.
const inner_f32 = [_]comptime_float{
    -3.40725935755e-5, 3.56078601009e-5, 0.000285724699741, -0.000845699528231, -0.000485587860298,
    0.00852927289999,  -0.0195738498715, -0.0261087054700,  0.616600697637,     1.50140936045,
};
const inner_line_f32 = [2]comptime_float{ 0.4, -1.0 };
const outer_f32 = [_]comptime_float{
    -2.86545363795e-5, 7.98737175090e-5, -1.33658793502e-5, -0.000319124792101, 0.000933171845416,
    -0.00171478554645, 0.00258014712796, -0.00387049329378, 0.00554115616031,   0.986781336665,
    3.05175710435,
};
const outer_line_f32 = [2]comptime_float{ 1.0183651863132577712, -3.2771337825156828201 };
const inner_f64 = [_]comptime_float{
    7.8017121990362521481e-10,   -8.5779669396399414678e-11, -8.6271910090143939732e-9,  9.0720759478929093421e-9,
    3.9315111576465583310e-8,    -1.0514990713371436511e-7,  -1.0412692841159635819e-8,  5.4564205722097815813e-7,
    -1.0591188098187531174e-6,   -6.8765518072549398567e-7,  7.1299397431469502642e-6,   -0.000011255653983969420404,
    -0.000015027665773117193815, 0.000093366927876240583532, -0.00011688885081250760083, -0.00026439358646646056868,
    0.0012324855702994214540,    -0.0012716922769885114472,  -0.0041373143775478949252,  0.017808361818756902425,
    -0.022604447453444732272,    -0.058922567103787596523,   0.75049432007996351337,     1.6536545626831027462,
};
const inner_line_f64 = [2]comptime_float{ 0.32, -1.0 };
const middle_f64 = [_]comptime_float{
    -6.3858464048751912348e-11,  3.9290565981829759050e-12, 9.8504713312471308541e-10,  -2.7195823537882848346e-9,
    -3.6086983146965074569e-10,  2.6703991718481455942e-8,  -9.4698459375381102476e-8,  9.2676427755231179076e-8,
    5.2646803054250130415e-7,    -2.6646983082852557645e-6, 5.1273144703487668304e-6,   2.4058391918338325066e-6,
    -0.000047391826778828646816, 0.00016966502592018016360, -0.00040063569842118247174, 0.00078830785099813528583,
    -0.0015825410894034398370,   0.0030211394363840697944,  0.75394422577062397214,     3.0838856104922206294,
};
const middle_line_f64 = [2]comptime_float{ 1.3333333333333333333, -4.3333333333333333333 };
const outer_f64 = [_]comptime_float{
    2.5306209213331488799e-11,  -6.5679916805808034964e-11, -2.5807002279948964722e-11,  3.6616218935466984448e-10,
    -1.1492280233141598062e-9,  3.0934059966406104832e-9,   -7.0434526572430495315e-9,   1.3437636040973831692e-8,
    -2.3282078858502977068e-8,  4.2917118567744661229e-8,   -1.0711453739842480725e-7,   3.8398965885964633512e-7,
    -1.6195268598148729241e-6,  6.8912634016119372378e-6,   -0.000027640591700650769020, 0.000097801980140276648885,
    -0.00024824882603055404349, -0.00024061923103281928753, 1.1112932209525202060,       4.9509348530788743130,
};
const outer_line_f64 = [2]comptime_float{ 0.90909090909090909091, -4.6363636363636363636 };

pub inline fn erfinv(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const one = c(V, 1.0);
    const w = -l.log((one - x) * (one + x));
    const wide = comptime b.is_f64(V);
    const inside = w < c(V, if (wide) 6.25 else 5.0);
    const s = on_line(w, if (wide) inner_line_f64 else inner_line_f32);
    var p = b.horner(s, if (wide) &inner_f64 else &inner_f32);
    if (b.any(b.not(inside))) {
        const r = @sqrt(w);
        p = b.select(inside, p, if (wide) b.select(
            w < c(V, 16.0),
            b.horner(on_line(r, middle_line_f64), &middle_f64),
            b.horner(on_line(r, outer_line_f64), &outer_f64),
        ) else b.horner(on_line(r, outer_line_f32), &outer_f32));
    }
    const at_end = @abs(x) == one;
    return b.select(at_end, b.copysign(b.infinity(V), x), x * p);
}

const testing = std.testing;
test "the share of normal numbers below one" {
    const cases = [_][2]f64{
        .{ 0, 0.5 },                    .{ 1, 0.8413447460685429 },     .{ -1, 0.15865525393145707 },
        .{ 2.5, 0.9937903346742238 },   .{ -3, 0.0013498980316300957 }, .{ 5.59, 0.9999999886465194 },
        .{ -6, 9.865876450377012e-10 }, .{ 1e30, 1 },
    };
    inline for (.{ f32, f64 }) |T| {
        const close = if (T == f32) 2e-7 else 3e-16;
        for (cases) |k| {
            const v: @Vector(8, T) = @splat(@floatCast(k[0]));
            try testing.expectApproxEqAbs(@as(T, @floatCast(k[1])), normal_below(v)[3], close);
        }
        try testing.expectEqual(@as(T, 0), normal_below(-std.math.inf(T)));
        try testing.expectEqual(@as(T, 1), normal_below(std.math.inf(T)));
        try testing.expect(std.math.isNan(normal_below(std.math.nan(T))));
    }
}
test "the error function and its inverse at known places" {
    const cases = [_][2]f64{
        .{ 0, 0 },                       .{ 0.5, 0.5204998778130465 }, .{ 1, 0.8427007929497149 },
        .{ 1.25, 0.9229001282564582 },   .{ 2, 0.9953222650189527 },   .{ -3, -0.9999779095030014 },
        .{ 0.01, 0.011283415555849618 },
    };
    inline for (.{ f32, f64 }) |T| {
        const close = if (T == f32) 1e-7 else 3e-16;
        for (cases) |k| {
            const x: T = @floatCast(k[0]);
            const v: [4]T = erf(@as(@Vector(4, T), @splat(x)));
            try testing.expectApproxEqAbs(@as(T, @floatCast(k[1])), v[1], close);
            try testing.expectApproxEqAbs(@as(T, @floatCast(1 - k[1])), erfc(x), 2 * close);
            if (@abs(x) <= 1) try testing.expectApproxEqAbs(x, erfinv(erf(x)), 8 * close);
        }
        try testing.expectEqual(std.math.inf(T), erfinv(@as(T, 1)));
        try testing.expect(std.math.isNan(erfinv(@as(T, 1.5))));
        try testing.expectEqual(@as(T, -1), erf(-std.math.inf(T)));
        try testing.expectEqual(@as(T, 2), erfc(-std.math.inf(T)));
        try testing.expectEqual(@as(T, 0), erfc(std.math.inf(T)));
        try testing.expect(std.math.isNan(erf(std.math.nan(T))));
    }
    try testing.expectApproxEqRel(@as(f64, 2.0884875837625448e-45), erfc(@as(f64, 10)), 1e-15);
    try testing.expectApproxEqRel(@as(f64, 3.772618913849058e-224), erfc(@as(f64, 22.6)), 1e-14);
    try testing.expectApproxEqRel(@as(f64, -4.556549801237543), erfinv(@as(f64, -1 + 0x1p-33)), 1e-15);
}
