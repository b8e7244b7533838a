//! Remainders and floor division of floats by the rules of C, Python and torch, scalar or vector.
const std = @import("std");
const b = @import("vmath_base.zig");
const c = b.c;

/// C's fmod: exact, with the sign of x.
pub inline fn fmod(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    const V = @TypeOf(x);
    // With a quotient of few digits x - q y is exact, and q is at most one too large.
    const q = @trunc(x / y);
    const p = b.two_product(q, y);
    const r0 = if (comptime b.has_fma) @mulAdd(V, -q, y, x) else (x - p.hi) - p.lo;
    const overshot = b.both(r0 != c(V, 0.0), b.sign_bit(r0) != b.sign_bit(x));
    const r = b.copysign(b.select(overshot, r0 + b.xor_sign(@abs(y), x), r0), x);
    const limit = if (comptime b.is_f64(V)) 0x1p50 else 0x1p21;
    // Without the fused form the product's low part must not underflow.
    const floor_y: comptime_float = if (b.has_fma) 0.0 else if (b.is_f64(V)) 1e-280 else 1e-25;
    var easy = b.both(@abs(q) < c(V, limit), @abs(y) < b.infinity(V));
    if (comptime !b.has_fma) easy = b.both(easy, @abs(y) > c(V, floor_y));
    if (!b.any(b.not(easy))) return r;
    if (comptime !b.is_vector(V)) return fmod_bits(V, x, y);
    return patch(V, x, y, r, easy);
}
noinline fn patch(comptime V: type, x: V, y: V, r: V, easy: b.Mask(V)) V {
    const n = b.lanes(V);
    const T = b.Element(V);
    const xs: [n]T = x;
    const ys: [n]T = y;
    const done: [n]bool = easy;
    var out: [n]T = r;
    for (&out, xs, ys, done) |*o, xi, yi, ok| {
        if (!ok) o.* = fmod_bits(T, xi, yi);
    }
    return out;
}
/// Long division on the bits, for quotients and operands of any size.
fn fmod_bits(comptime T: type, x: T, y: T) T {
    if (x - x != 0 or y != y or y == 0) return std.math.nan(T);
    if (@abs(y) > @abs(x)) return x;
    const m = b.mantissa_bits(T);
    const U = std.meta.Int(.unsigned, @bitSizeOf(T));
    const ux: U = @bitCast(@abs(x));
    const uy: U = @bitCast(@abs(y));
    const hidden = @as(u64, 1) << m;
    var ex: i32 = @intCast(ux >> m);
    var ey: i32 = @intCast(uy >> m);
    var mx: u64 = ux & (hidden - 1);
    var my: u64 = uy & (hidden - 1);
    if (ex == 0) ex = 1 else mx |= hidden;
    if (ey == 0) ey = 1 else my |= hidden;
    mx %= my;
    while (ex > ey) {
        const step: u6 = @intCast(@min(ex - ey, 63 - m));
        mx = (mx << step) % my;
        ex -= step;
    }
    if (mx == 0) return b.copysign(@as(T, 0), x);
    // Normalise, down to the denormal exponent at most.
    while (mx < hidden and ex > 1) {
        mx <<= 1;
        ex -= 1;
    }
    const exponent: u64 = if (mx < hidden) 0 else @intCast(ex);
    const bits: U = @intCast((mx & (hidden - 1)) | (exponent << m));
    return b.copysign(@as(T, @bitCast(bits)), x);
}

/// Python's %: the sign of the divisor.
pub inline fn remainder(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    const V = @TypeOf(x);
    const zero = c(V, 0.0);
    const m = fmod(x, y);
    const wrong_side = b.both(m != zero, (y < zero) != (m < zero));
    return b.select(wrong_side, m + y, m);
}

/// Python's // with torch's results for zero divisors.
pub inline fn floor_divide(x: anytype, y: @TypeOf(x)) @TypeOf(x) {
    const V = @TypeOf(x);
    const zero = c(V, 0.0);
    const one = c(V, 1.0);
    const quotient = x / y;
    const m = fmod(x, y);
    var d = (x - m) / y;
    d = b.select(b.both(m != zero, (y < zero) != (m < zero)), d - one, d);
    // d is whole up to rounding
    var f = @floor(d);
    f = b.select(d - f > c(V, 0.5), f + one, f);
    f = b.select(d == zero, b.copysign(zero, quotient), f);
    return b.select(y == zero, quotient, f);
}
