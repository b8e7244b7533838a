//! The short floats (float16, bfloat16, float8) and their conversions, and float to integer casts; scalar or vector.
const std = @import("std");
const builtin = @import("builtin");

pub const BFloat16 = extern struct { bits: u16 };
pub const Float8E4M3 = extern struct { bits: u8 };
pub const Float8E5M2 = extern struct { bits: u8 };

/// Whether f16 <-> f32 is an instruction; elsewhere @floatCast would be a library call per lane.
const has_f16c = switch (builtin.cpu.arch) {
    .x86_64 => std.Target.x86.featureSetHas(builtin.cpu.features, .f16c),
    .aarch64, .nvptx64 => true,
    else => false,
};

fn With(comptime V: type, comptime E: type) type {
    return if (@typeInfo(V) == .vector) @Vector(@typeInfo(V).vector.len, E) else E;
}
fn Child(comptime V: type) type {
    return if (@typeInfo(V) == .vector) @typeInfo(V).vector.child else V;
}
inline fn k(comptime V: type, comptime x: Child(V)) V {
    return if (@typeInfo(V) == .vector) @splat(x) else x;
}
inline fn pick(m: anytype, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    const V = @TypeOf(a);
    return if (@typeInfo(V) == .vector) @select(Child(V), m, a, b) else (if (m) a else b);
}
inline fn amount(comptime V: type, comptime n: comptime_int) With(V, std.math.Log2Int(Child(V))) {
    return k(With(V, std.math.Log2Int(Child(V))), n);
}

/// Layout of a short float below f32. `has_inf` false: only all ones is NaN, and everything too large becomes the
/// largest number.
const Format = struct { mantissa: comptime_int, exponent: comptime_int, has_inf: bool };
const half_format: Format = .{ .mantissa = 10, .exponent = 5, .has_inf = true };
const e4m3_format: Format = .{ .mantissa = 3, .exponent = 4, .has_inf = false };
const e5m2_format: Format = .{ .mantissa = 2, .exponent = 5, .has_inf = true };

/// f32 bits to the short format, to nearest even, with the carry running into the exponent.
inline fn encode(comptime f: Format, x: anytype) With(@TypeOf(x), u32) {
    const V = @TypeOf(x);
    const U = With(V, u32);
    const drop = 23 - f.mantissa;
    const bias = (1 << (f.exponent - 1)) - 1;
    const bits: U = @bitCast(x);
    const sign = (bits & k(U, 0x80000000)) >> amount(U, 31 - f.mantissa - f.exponent);
    const a = bits & k(U, 0x7fffffff);
    const odd = (a >> amount(U, drop)) & k(U, 1);
    const normal = (a +% odd +% k(U, (1 << (drop - 1)) - 1) -% k(U, (127 - bias) << 23)) >> amount(U, drop);
    // A denormal result: adding a power of two whose last bit is the format's smallest step rounds there.
    const magic: f32 = @bitCast(@as(u32, (127 + 23 - (bias - 1) - f.mantissa) << 23));
    const shifted: V = @as(V, @bitCast(a)) + k(V, magic);
    const small = @as(U, @bitCast(shifted)) -% k(U, @bitCast(magic));
    const top: u32 = (1 << (f.mantissa + f.exponent)) - 1;
    const inf_code: u32 = ((1 << f.exponent) - 1) << f.mantissa;
    const nan_code: u32 = if (f.has_inf) inf_code | (1 << (f.mantissa - 1)) else top;
    const over_code: u32 = if (f.has_inf) inf_code else top - 1;
    // From here on the result is known: the power of two after the last exponent, or without inf the largest number,
    // two mantissa steps below it.
    const after_last: u32 = (127 - bias + (1 << f.exponent) - @as(u32, @intFromBool(f.has_inf))) << 23;
    const first_over: u32 = if (f.has_inf) after_last else after_last - (2 << drop);
    var r = pick(a < k(U, (127 - bias + 1) << 23), small, normal);
    r = pick(a >= k(U, first_over), k(U, over_code), r);
    r = pick(a > k(U, 0x7f800000), k(U, nan_code), r);
    return r | sign;
}
inline fn decode(comptime f: Format, comptime V: type, bits: With(V, u32)) V {
    const U = With(V, u32);
    const bias = (1 << (f.exponent - 1)) - 1;
    const sign = (bits & k(U, 1 << (f.mantissa + f.exponent))) << amount(U, 31 - f.mantissa - f.exponent);
    const a = bits & k(U, (1 << (f.mantissa + f.exponent)) - 1);
    // Placed at f32's position the exponent is off by the difference of the biases; denormals come out right too.
    const factor: f32 = @bitCast(@as(u32, (127 + 127 - bias) << 23));
    const scaled = @as(V, @bitCast(a << amount(U, 23 - f.mantissa))) * k(V, factor);
    var r: U = @bitCast(scaled);
    if (f.has_inf) {
        const special = a >= k(U, ((1 << f.exponent) - 1) << f.mantissa);
        // What a NaN carries stays; its exponent, all ones, is part of the wider one.
        r = pick(special, k(U, 0x7f800000) | (a << amount(U, 23 - f.mantissa)), r);
    } else {
        r = pick(a == k(U, (1 << (f.mantissa + f.exponent)) - 1), k(U, 0x7fc00000), r);
    }
    return @bitCast(r | sign);
}

/// bfloat16 bits to f32.
pub inline fn bf16_to_f32(bits: anytype) With(@TypeOf(bits), f32) {
    const U = With(@TypeOf(bits), u32);
    return @bitCast(@as(U, bits) << amount(U, 16));
}
/// f32 to bfloat16 bits, to nearest even; a NaN stays a (quiet) NaN.
pub inline fn f32_to_bf16(x: anytype) With(@TypeOf(x), u16) {
    const U = With(@TypeOf(x), u32);
    const bits: U = @bitCast(x);
    const odd = (bits >> amount(U, 16)) & k(U, 1);
    const rounded = (bits +% odd +% k(U, 0x7fff)) >> amount(U, 16);
    const nan = (bits >> amount(U, 16)) | k(U, 0x40);
    return @truncate(pick(x != x, nan, rounded));
}
pub inline fn f16_to_f32(x: anytype) With(@TypeOf(x), f32) {
    const V = @TypeOf(x);
    if (comptime has_f16c) return @floatCast(x);
    return decode(half_format, With(V, f32), @as(With(V, u16), @bitCast(x)));
}
pub inline fn f32_to_f16(x: anytype) With(@TypeOf(x), f16) {
    const V = @TypeOf(x);
    if (comptime has_f16c) return @floatCast(x);
    return @bitCast(@as(With(V, u16), @truncate(encode(half_format, x))));
}
/// f64 straight to f16 would round once; torch rounds to f32 first, and so does this.
pub inline fn f64_to_f16(x: anytype) With(@TypeOf(x), f16) {
    return f32_to_f16(@as(With(@TypeOf(x), f32), @floatCast(x)));
}
pub inline fn float8_e4m3fn_to_f32(bits: anytype) With(@TypeOf(bits), f32) {
    return decode(e4m3_format, With(@TypeOf(bits), f32), bits);
}
/// Too large (and inf) becomes the largest number, 448.
pub inline fn f32_to_float8_e4m3fn(x: anytype) With(@TypeOf(x), u8) {
    return @truncate(encode(e4m3_format, x));
}
pub inline fn float8_e5m2_to_f32(bits: anytype) With(@TypeOf(bits), f32) {
    return decode(e5m2_format, With(@TypeOf(bits), f32), bits);
}
/// Too large becomes inf.
pub inline fn f32_to_float8_e5m2(x: anytype) With(@TypeOf(x), u8) {
    return @truncate(encode(e5m2_format, x));
}

/// One element of any float type from f32: the rounding every kernel and the random fills store with.
pub inline fn store_f32(comptime T: type, x: f32) T {
    return switch (T) {
        f32 => x,
        f64 => x,
        f16 => f32_to_f16(x),
        BFloat16 => .{ .bits = f32_to_bf16(x) },
        Float8E4M3 => .{ .bits = f32_to_float8_e4m3fn(x) },
        Float8E5M2 => .{ .bits = f32_to_float8_e5m2(x) },
        else => @compileError("not a float type: " ++ @typeName(T)),
    };
}
pub inline fn load_f32(comptime T: type, x: T) f32 {
    return switch (T) {
        f32 => x,
        f64 => @floatCast(x),
        f16 => f16_to_f32(x),
        BFloat16 => bf16_to_f32(x.bits),
        Float8E4M3 => float8_e4m3fn_to_f32(x.bits),
        Float8E5M2 => float8_e5m2_to_f32(x.bits),
        else => @compileError("not a float type: " ++ @typeName(T)),
    };
}

/// x truncated to I as x86's conversions do it: NaN and everything out of range gives the smallest i32 or i64;
/// i8, i16 and u16 are the low bits of that i32, u8 and u32 of the i64; u64 has its whole range.
pub inline fn float_to_int(comptime I: type, x: anytype) With(@TypeOf(x), I) {
    const V = @TypeOf(x);
    const bits = @bitSizeOf(I);
    const W = if ((bits < 32 and I != u8) or I == i32) i32 else i64;
    if (I == u64) {
        // Above the signed range the value still fits, up to 2^64; then it is 0.
        const U = With(V, u64);
        const upper = x >= k(V, 0x1p63);
        const low: U = @bitCast(to_signed(i64, pick(upper, x - k(V, 0x1p63), x)));
        const high = pick(x < k(V, 0x1p64), low ^ k(U, 1 << 63), k(U, 0));
        return pick(upper, high, low);
    }
    const wide = to_signed(W, x);
    if (I == W) return wide;
    const N = With(V, std.meta.Int(.signed, bits));
    const narrow: N = @truncate(wide);
    return @bitCast(narrow);
}
inline fn to_signed(comptime W: type, x: anytype) With(@TypeOf(x), W) {
    const V = @TypeOf(x);
    const R = With(V, W);
    const limit: Child(V) = if (W == i32) 0x1p31 else 0x1p63;
    // For f64 to i32 also the numbers whose truncation is still -2^31 are in range; they give the same result.
    const above = x >= k(V, -limit);
    const below = x < k(V, limit);
    const fits = if (@typeInfo(V) == .vector) above & below else above and below;
    const safe = pick(fits, x, k(V, 0));
    return pick(fits, @as(R, @intFromFloat(safe)), k(R, std.math.minInt(W)));
}

test "short floats round to nearest even and keep the exceptional values" {
    const inf = std.math.inf(f32);
    try std.testing.expectEqual(@as(u16, 0x3f80), f32_to_bf16(@as(f32, 1.00390625)));
    try std.testing.expectEqual(@as(u16, 0x3f82), f32_to_bf16(@as(f32, 1.01171875)));
    try std.testing.expect(std.math.isNan(bf16_to_f32(f32_to_bf16(std.math.nan(f32)))));
    const x: @Vector(8, f32) = .{ 448, 464, 465, 480, -448, 0x1p-9, 0x1p-10, inf };
    const e4: [8]u8 = f32_to_float8_e4m3fn(x);
    try std.testing.expectEqual([8]u8{ 0x7e, 0x7e, 0x7e, 0x7e, 0xfe, 1, 0, 0x7e }, e4);
    const y: @Vector(4, f32) = .{ 57344, 61439, 61440, -inf };
    try std.testing.expectEqual([4]u8{ 0x7b, 0x7b, 0x7c, 0xfc }, @as([4]u8, f32_to_float8_e5m2(y)));
    for (0..256) |i| {
        const v = float8_e4m3fn_to_f32(@as(u8, @intCast(i)));
        if (v == v) try std.testing.expectEqual(@as(u8, @intCast(i)), f32_to_float8_e4m3fn(v));
    }
    for (0..65536) |i| {
        const h: f16 = @bitCast(@as(u16, @intCast(i)));
        const wide = f16_to_f32(h);
        if (h != h) continue;
        try std.testing.expectEqual(@as(f32, h), wide);
        try std.testing.expectEqual(@as(u16, @intCast(i)), @as(u16, @bitCast(f32_to_f16(wide))));
        try std.testing.expectEqual(@as(u16, @intCast(i)), @as(u16, @truncate(encode(half_format, wide))));
    }
}
test "floats to integers as x86 converts them" {
    const nan = std.math.nan(f32);
    const x: @Vector(4, f32) = .{ -1.9, 300.5, 3e9, nan };
    const min32 = std.math.minInt(i32);
    try std.testing.expectEqual([4]i32{ -1, 300, min32, min32 }, @as([4]i32, float_to_int(i32, x)));
    try std.testing.expectEqual([4]u8{ 255, 44, 0, 0 }, @as([4]u8, float_to_int(u8, x)));
    try std.testing.expectEqual([4]i16{ -1, 300, 0, 0 }, @as([4]i16, float_to_int(i16, x)));
    try std.testing.expectEqual(@as(i64, std.math.minInt(i64)), float_to_int(i64, @as(f64, 1e19)));
    try std.testing.expectEqual(@as(u64, 10000000000000000000), float_to_int(u64, @as(f64, 1e19)));
    try std.testing.expectEqual(@as(u64, 0), float_to_int(u64, std.math.inf(f64)));
}
