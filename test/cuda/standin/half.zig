//! Rounding: exact results to a narrower type in every mode, halves and bfloat16, flushed denormals.
const std = @import("std");
const types = @import("types.zig");
const Rounding = types.Rounding;
const Ty = types.Ty;

pub fn widen(comptime ty: Ty, bits: u16) f32 {
    return if (ty == .f16) @floatCast(@as(f16, @bitCast(bits))) else @bitCast(@as(u32, bits) << 16);
}

/// Denormal numbers become zeros of their sign.
pub fn flush(x: f32) f32 {
    const b: u32 = @bitCast(x);
    return if (b & 0x7F80_0000 == 0) @bitCast(b & 0x8000_0000) else x;
}

/// A wide value and the sign of what it lacks to the exact one.
pub fn Exact(comptime W: type) type {
    return struct { value: W, rest: i2 = 0 };
}

fn sign_of(x: anytype) i2 {
    return if (x > 0) 1 else if (x < 0) -1 else 0;
}

pub fn add(comptime W: type, a: W, b: W) Exact(W) {
    const s = a + b;
    if (!std.math.isFinite(s)) return .{ .value = s };
    const t = s - a;
    return .{ .value = s, .rest = sign_of((a - (s - t)) + (b - t)) };
}

/// The product must be exact in W.
pub fn fma(comptime W: type, a: W, b: W, c: W) Exact(W) {
    return add(W, a * b, c);
}

pub fn mul(comptime W: type, a: W, b: W) Exact(W) {
    return .{ .value = a * b };
}

pub fn div(comptime W: type, a: W, b: W) Exact(W) {
    const q = a / b;
    if (!std.math.isFinite(q) or !std.math.isFinite(b) or q == 0) return .{ .value = q };
    const r = sign_of(@mulAdd(W, -q, b, a));
    return .{ .value = q, .rest = if (b < 0) -r else r };
}

pub fn sqrt(comptime W: type, a: W) Exact(W) {
    const q = @sqrt(a);
    if (!std.math.isFinite(q) or q == 0) return .{ .value = q };
    return .{ .value = q, .rest = sign_of(@mulAdd(W, -q, q, a)) };
}

fn Bits(comptime T: type) type {
    return std.meta.Int(.unsigned, @bitSizeOf(T));
}

/// The neighbour with an odd last bit where the value is not exact: rounding it again gives what rounding once would.
fn odd(comptime W: type, e: Exact(W)) W {
    if (e.rest == 0) return e.value;
    const b: Bits(W) = @bitCast(e.value);
    if (b & 1 == 1) return e.value;
    const outwards = (e.rest > 0) == (e.value > 0);
    return @bitCast(if (outwards) b + 1 else b - 1);
}

fn away_from_zero(comptime T: type, x: T) T {
    return @bitCast(@as(Bits(T), @bitCast(x)) + 1);
}

fn toward_zero(comptime T: type, x: T) T {
    return @bitCast(@as(Bits(T), @bitCast(x)) - 1);
}

fn step_up(comptime T: type, x: T) T {
    if (x == 0) return @bitCast(@as(Bits(T), 1));
    return if (x > 0) away_from_zero(T, x) else toward_zero(T, x);
}

fn step_down(comptime T: type, x: T) T {
    return -step_up(T, -x);
}

/// Rounds to one of Zig's float types.
pub fn round(comptime W: type, comptime T: type, e: Exact(W), how: Rounding) T {
    const v = odd(W, e);
    const y: T = @floatCast(v);
    if (how == .nearest or v != v) return y;
    const back: W = y;
    if (back == v) return y;
    return switch (how) {
        .nearest, .away => y,
        .up => if (back < v) step_up(T, y) else y,
        .down => if (back > v) step_down(T, y) else y,
        .zero => if (v > 0) (if (back > v) step_down(T, y) else y) else if (back < v) step_up(T, y) else y,
    };
}

pub const nan16: u16 = 0x7FFF;

/// Rounds to the bits of a half or a bfloat16; every NaN is the canonical one.
pub fn narrow(comptime ty: Ty, e: Exact(f64), how: Rounding) u16 {
    if (e.value != e.value) return nan16;
    if (ty == .f16) return @bitCast(round(f64, f16, e, how));
    var short = round(f64, f32, e, .zero);
    if (@as(f64, short) != e.value or e.rest != 0) {
        short = @bitCast(@as(u32, @bitCast(short)) | 1);
    }
    const b: u32 = @bitCast(short);
    const top = b >> 16;
    const low = b & 0xFFFF;
    if (b & 0x7FFF_FFFF == 0x7F80_0000) return @intCast(top);
    const grows = switch (how) {
        .nearest => low > 0x8000 or (low == 0x8000 and top & 1 == 1),
        .away => low >= 0x8000,
        .zero => false,
        .up => low != 0 and b >> 31 == 0,
        .down => low != 0 and b >> 31 == 1,
    };
    return @intCast(top + @intFromBool(grows));
}

/// A float32 with the ten fraction bits of tf32.
pub fn tf32(x: f32, how: Rounding) f32 {
    if (x != x) return @bitCast(@as(u32, 0x7FFF_FFFF));
    const b: u32 = @bitCast(x);
    if (b & 0x7FFF_FFFF == 0x7F80_0000) return x;
    const low = b & 0x1FFF;
    const grows = switch (how) {
        .away => low >= 0x1000,
        .nearest => low > 0x1000 or (low == 0x1000 and b & 0x2000 != 0),
        else => false,
    };
    return @bitCast((b & ~@as(u32, 0x1FFF)) + (if (grows) @as(u32, 0x2000) else 0));
}
