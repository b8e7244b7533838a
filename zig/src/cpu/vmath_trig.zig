//! sin, cos, tan and atan2 for f32 and f64, scalar or vector.
const std = @import("std");
const b = @import("vmath_base.zig");
const c = b.c;
const ci = b.ci;
const fma = b.fma;

const two_over_pi = 0.63661977236758134308;
/// pi/2 in parts. With a fused multiply-add full-width parts are exact enough; without, the first ones are short so
/// that their product with the quadrant number is exact.
fn half_pi_parts(comptime V: type) []const comptime_float {
    if (b.is_f64(V)) return if (b.has_fma)
        &.{ 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110 }
    else
        &.{ 0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69 };
    return if (b.has_fma)
        &.{ 0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50 }
    else
        &.{ 0x1.92p+0, 0x1.fb4p-12, 0x1.444p-24, 0x1.68c234p-39 };
}
/// Up to here the reduction above keeps full precision; larger arguments go lane by lane through the exact one.
fn fast_limit(comptime V: type) comptime_float {
    if (b.is_f64(V)) return 1.0e6;
    return if (b.has_fma) 20000.0 else 5000.0;
}

const sin_f32 = [_]comptime_float{ 2.71756876509e-6, -0.000198392570974, 0.00833332914539, -0.166666666396 };
const cos_f32 = [_]comptime_float{ 2.44312514266e-5, -0.00138873064545, 0.0416666456613 };
const sin_f64 = [_]comptime_float{
    1.5893599183525406511e-10, -2.5050704300102104842e-8, 2.755731335765879147e-6, -0.00019841269828874823974,
    0.0083333333333212913252,  -0.16666666666666627712,
};
const cos_f64 = [_]comptime_float{
    -1.1358963955178600898e-11, 2.0875714477585146559e-9, -2.7557314327404433618e-7, 2.480158728957049548e-5,
    -0.0013888888888874636995,  0.041666666666666605494,
};

const Which = enum { sin, cos, tan };

/// sin, cos or tan of n pi/2 + r + tail.
inline fn of_reduced(comptime V: type, r: V, tail: V, n: b.Int(V), comptime which: Which) V {
    const f64_lane = comptime b.is_f64(V);
    const q = n +% ci(V, if (which == .cos) 1 else 0);
    const z = r * r;
    const s = fma(b.horner(z, if (f64_lane) &sin_f64 else &sin_f32) * z, r, tail) + r;
    // 1 - z/2 rounds; what it loses is added back.
    const half = z * c(V, 0.5);
    const w = c(V, 1.0) - half;
    const lost = (c(V, 1.0) - w) - half;
    const k = w + fma(b.horner(z, if (f64_lane) &cos_f64 else &cos_f32), z * z, lost - r * tail);
    const odd = (q & ci(V, 1)) != ci(V, 0);
    if (which == .tan) return b.select(odd, -k, s) / b.select(odd, s, k);
    const sign = b.shift_left(q & ci(V, 2), @bitSizeOf(b.Element(V)) - 2);
    return @bitCast(b.as_int(b.select(odd, k, s)) ^ sign);
}
inline fn circular(x: anytype, comptime which: Which) @TypeOf(x) {
    const V = @TypeOf(x);
    const n = b.round_times(x, two_over_pi);
    var r = x;
    inline for (comptime half_pi_parts(V)) |part| r = fma(n.value, c(V, -part), r);
    const y = of_reduced(V, r, c(V, 0.0), n.int(), which);
    const far = b.not(@abs(x) <= c(V, fast_limit(V)));
    if (!b.any(far)) return y;
    if (comptime !b.is_vector(V)) return circular_far(V, x, which);
    return patch_far(V, x, y, which);
}
noinline fn patch_far(comptime V: type, x: V, y: V, comptime which: Which) V {
    const T = b.Element(V);
    const limit: T = fast_limit(V);
    const in: [b.lanes(V)]T = x;
    var out: [b.lanes(V)]T = y;
    for (&out, in) |*o, v| {
        if (!(@abs(v) <= limit)) o.* = circular_far(T, v, which);
    }
    return out;
}
fn circular_far(comptime T: type, x: T, comptime which: Which) T {
    const wide: f64 = x;
    if (wide - wide != 0) return std.math.nan(T);
    const red = reduce_far(wide);
    return @floatCast(of_reduced(f64, red.hi, red.lo, red.quadrant, which));
}

const Quadrant = struct { hi: f64, lo: f64, quadrant: i64 };
/// The bits of 2/pi after the binary point, behind one word of zeros (the integer part).
const two_over_pi_bits = [_]u64{
    0,                  0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
};
/// x = quadrant pi/2 + hi + lo for any finite |x| >= 1, in integers: of x * 2/pi only the bits that matter modulo 4
/// and the following 126 are formed (the method of Payne and Hanek).
fn reduce_far(x: f64) Quadrant {
    const bits: u64 = @bitCast(@abs(x));
    const exponent: i32 = @as(i32, @intCast(bits >> 52)) - 1075;
    const mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    const start: u32 = @intCast(exponent - 2 + 64);
    const first = start / 64;
    const shift: u7 = @intCast(start % 64);
    var w: [3]u64 = undefined;
    for (&w, first..) |*v, i| {
        const pair = (@as(u128, two_over_pi_bits[i]) << 64) | two_over_pi_bits[i + 1];
        v.* = @truncate((pair << shift) >> 64);
    }
    const low = @as(u128, mantissa) * w[2];
    const mid = @as(u128, mantissa) * w[1] + (low >> 64);
    const top: u64 = mantissa *% w[0] +% @as(u64, @truncate(mid >> 64));
    const product = (@as(u128, top) << 64) | @as(u64, @truncate(mid));
    // Two bits of quadrant, then a fraction taken as signed: in [-1/2, 1/2).
    const fraction: i128 = @bitCast(product << 2);
    var quadrant: i64 = @intCast(product >> 126);
    if (fraction < 0) quadrant += 1;
    const magnitude = @abs(fraction);
    if (magnitude == 0) return .{ .hi = 0, .lo = 0, .quadrant = quadrant };
    const zeros: u7 = @intCast(@clz(magnitude));
    const norm = magnitude << zeros;
    const unit: f64 = @bitCast((1023 - 53 - @as(u64, zeros)) << 52);
    const hi = @as(f64, @floatFromInt(@as(u64, @truncate(norm >> 75)))) * unit;
    const lo = @as(f64, @floatFromInt(@as(u64, @truncate((norm << 53) >> 75)))) * unit * 0x1p-53;
    const p = b.two_product(hi, @as(f64, 0x1.921fb54442d18p+0));
    const tail = p.lo + (hi * 0x1.1a62633145c07p-54 + lo * 0x1.921fb54442d18p+0);
    const r = b.fast_two_sum(p.hi, tail);
    const flip = (x < 0) != (fraction < 0);
    return .{
        .hi = if (flip) -r.hi else r.hi,
        .lo = if (flip) -r.lo else r.lo,
        .quadrant = if (x < 0) -quadrant else quadrant,
    };
}

pub inline fn sin(x: anytype) @TypeOf(x) {
    const r = circular(x, .sin);
    // The formula's sum turns -0 into 0.
    return b.select(x == c(@TypeOf(x), 0.0), x, r);
}
pub inline fn cos(x: anytype) @TypeOf(x) {
    return circular(x, .cos);
}
pub inline fn tan(x: anytype) @TypeOf(x) {
    const r = circular(x, .tan);
    return b.select(x == c(@TypeOf(x), 0.0), x, r);
}

/// (atan(t)/t - 1) / t^2 in z = t^2: f32 on t <= 1, f64 on t <= tan(pi/8).
const atan_f32 = [_]comptime_float{
    -0.00186123506467, 0.0112225774385, -0.0317636935642, 0.0585603583006, -0.084397326809,
    0.109650756551,    -0.142668269383, 0.199988079881,   -0.333333086421,
};
const atan_f64 = [_]comptime_float{
    -0.018039240345318248625, 0.038193634853141124669, -0.050447761586956332878, 0.058492066466492368183,
    -0.066633022352132056244, 0.076920795207759483077, -0.090908989778235011372, 0.11111110832159558552,
    -0.14285714281348733108,  0.19999999999967771523,  -0.33333333333333263553,
};
/// pi in two parts.
fn pi_parts(comptime V: type) [2]comptime_float {
    return if (b.is_f64(V)) .{ 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53 } else .{ 0x1.921fb6p+1, -0x1.777a5cp-24 };
}

pub inline fn atan2(y: anytype, x: @TypeOf(y)) @TypeOf(y) {
    const V = @TypeOf(y);
    const zero = c(V, 0.0);
    const ax = @abs(x);
    const ay = @abs(y);
    const steep = ay > ax;
    var num = b.select(steep, ax, ay);
    var den = b.select(steep, ay, ax);
    const pi = comptime pi_parts(V);
    // 0/0 counts as 0 and inf/inf as 1.
    const degenerate = b.either(den == zero, num == b.infinity(V));
    num = b.select(degenerate, b.select(den == zero, zero, c(V, 1.0)), num);
    den = b.select(degenerate, c(V, 1.0), den);
    var offset_hi = zero;
    var offset_lo = zero;
    if (comptime b.is_f64(V)) {
        const huge = b.select(den > c(V, 1e300), c(V, 0x1p-100), c(V, 1.0));
        num *= huge;
        den *= huge;
        // atan t = pi/4 + atan((t - 1) / (t + 1)) in the upper part
        const upper = num > den * c(V, 0.41421356237309503);
        const sum = num + den;
        num = b.select(upper, num - den, num);
        den = b.select(upper, sum, den);
        offset_hi = b.select(upper, c(V, pi[0] / 4.0), zero);
        offset_lo = b.select(upper, c(V, pi[1] / 4.0), zero);
    }
    const t = num / den;
    const z = t * t;
    const p = b.horner(z, if (comptime b.is_f64(V)) &atan_f64 else &atan_f32) * z;
    var r = if (comptime b.is_f64(V)) offset_hi + (t + fma(p, t, offset_lo)) else fma(p, t, t);
    // Measured from the nearest axis: pi/2 -+ r or pi - r.
    const left = b.sign_bit(x);
    const axis_hi = b.select(steep, c(V, pi[0] / 2.0), b.select(left, c(V, pi[0]), zero));
    const axis_lo = b.select(steep, c(V, pi[1] / 2.0), b.select(left, c(V, pi[1]), zero));
    r = axis_hi + (b.select(steep != left, -r, r) + axis_lo);
    r = b.copysign(r, y);
    return b.select(b.either(b.is_nan(x), b.is_nan(y)), b.not_a_number(V), r);
}
