//! Element types: what each dtype and compute type is in memory, and the conversions between them.
const std = @import("std");
const half = @import("half.zig");
const complex = @import("complex.zig");
const abi = @import("abi");

pub const DType = abi.DType;
pub const Compute = abi.Compute;
pub const Complex = complex.Complex;

/// How an element of a dtype lies in memory (half-precision kinds as their bits).
pub fn Stored(comptime d: DType) type {
    return switch (d) {
        .bool, .uint8, .float8_e4m3fn, .float8_e5m2 => u8,
        .int8 => i8,
        .int16 => i16,
        .int32 => i32,
        .int64 => i64,
        .uint16, .float16, .bfloat16 => u16,
        .uint32 => u32,
        .uint64 => u64,
        .float32 => f32,
        .float64 => f64,
        .complex64 => Complex(f32),
        .complex128 => Complex(f64),
    };
}

/// The type that a kernel computes in.
pub fn Computed(comptime c: Compute) type {
    return switch (c) {
        .f32 => f32,
        .f64 => f64,
        .i32 => i32,
        .i64 => i64,
        .u64 => u64,
        .b8 => u8,
        .c64 => Complex(f32),
        .c128 => Complex(f64),
    };
}

pub fn size_of(d: DType) usize {
    return switch (d) {
        inline else => |x| @sizeOf(Stored(x)),
    };
}

pub fn is_complex(comptime T: type) bool {
    return T == Complex(f32) or T == Complex(f64);
}

/// True when the bytes of the dtype are the compute type's own, so that no conversion is needed.
pub fn is_native(comptime d: DType, comptime c: Compute) bool {
    return switch (c) {
        .f32 => d == .float32,
        .f64 => d == .float64,
        .i32 => d == .int32,
        .i64 => d == .int64,
        .u64 => d == .uint64,
        .b8 => d == .bool,
        .c64 => d == .complex64,
        .c128 => d == .complex128,
    };
}

pub fn native_dtype(comptime c: Compute) DType {
    return switch (c) {
        .f32 => .float32,
        .f64 => .float64,
        .i32 => .int32,
        .i64 => .int64,
        .u64 => .uint64,
        .b8 => .bool,
        .c64 => .complex64,
        .c128 => .complex128,
    };
}

/// One element, from memory to the compute type.
pub inline fn load(comptime d: DType, comptime c: Compute, x: Stored(d)) Computed(c) {
    return switch (d) {
        .bool => cast(c, @as(u8, if (x != 0) 1 else 0)),
        .float16 => cast(c, half.f16_to_f32(@as(f16, @bitCast(x)))),
        .bfloat16 => cast(c, half.bf16_to_f32(x)),
        .float8_e4m3fn => cast(c, half.float8_e4m3fn_to_f32(x)),
        .float8_e5m2 => cast(c, half.float8_e5m2_to_f32(x)),
        else => cast(c, x),
    };
}

/// One element, from the compute type to memory.
pub inline fn store(comptime d: DType, comptime c: Compute, x: Computed(c)) Stored(d) {
    return switch (d) {
        .bool => if (comptime is_complex(Computed(c))) @intFromBool(x.re != 0 or x.im != 0) else @intFromBool(x != 0),
        .float16 => @as(u16, @bitCast(half.f32_to_f16(real(f32, x)))),
        .bfloat16 => half.f32_to_bf16(real(f32, x)),
        .float8_e4m3fn => half.f32_to_float8_e4m3fn(real(f32, x)),
        .float8_e5m2 => half.f32_to_float8_e5m2(real(f32, x)),
        .float32 => real(f32, x),
        .float64 => real(f64, x),
        .complex64 => to_complex(f32, x),
        .complex128 => to_complex(f64, x),
        else => integer(Stored(d), x),
    };
}

/// Any stored number to a compute type.
pub inline fn cast(comptime c: Compute, x: anytype) Computed(c) {
    return switch (c) {
        .f32 => real(f32, x),
        .f64 => real(f64, x),
        .i32 => integer(i32, x),
        .i64 => integer(i64, x),
        .u64 => integer(u64, x),
        .b8 => if (comptime is_complex(@TypeOf(x))) @intFromBool(x.re != 0 or x.im != 0) else @intFromBool(x != 0),
        .c64 => to_complex(f32, x),
        .c128 => to_complex(f64, x),
    };
}

/// Real part as a float.
pub inline fn real(comptime F: type, x: anytype) F {
    const T = @TypeOf(x);
    if (comptime is_complex(T)) return @floatCast(x.re);
    if (comptime @typeInfo(T) == .float) return @floatCast(x);
    return @floatFromInt(x);
}

pub inline fn to_complex(comptime F: type, x: anytype) Complex(F) {
    if (comptime is_complex(@TypeOf(x))) return .{ .re = @floatCast(x.re), .im = @floatCast(x.im) };
    return .{ .re = real(F, x), .im = 0 };
}

/// Integer conversion as C does it on x86: floats truncate through int64 (out of range and NaN give the
/// smallest value), integers keep their low bits.
pub inline fn integer(comptime I: type, x: anytype) I {
    const T = @TypeOf(x);
    if (comptime is_complex(T)) return integer(I, x.re);
    if (comptime @typeInfo(T) == .float) {
        if (I == i32) return saturate(i32, x);
        if (I == u64) {
            const big = 9223372036854775808.0;
            if (x >= big) {
                if (x >= 2 * big) return 0;
                return @as(u64, @bitCast(saturate(i64, x - big))) ^ (1 << 63);
            }
        }
        return truncate(I, saturate(i64, x));
    }
    return truncate(I, x);
}

inline fn saturate(comptime I: type, x: anytype) I {
    const limit: @TypeOf(x) = if (I == i32) 2147483648.0 else 9223372036854775808.0;
    if (!(x >= -limit and x < limit)) return std.math.minInt(I);
    return @intFromFloat(x);
}

inline fn truncate(comptime I: type, x: anytype) I {
    const T = @TypeOf(x);
    const from = @typeInfo(T).int;
    const to = @typeInfo(I).int;
    if (to.bits == from.bits) return @bitCast(x);
    if (to.bits > from.bits) {
        const Wide = std.meta.Int(from.signedness, to.bits);
        return @bitCast(@as(Wide, x));
    }
    const Narrow = std.meta.Int(.unsigned, to.bits);
    const Raw = std.meta.Int(.unsigned, from.bits);
    return @bitCast(@as(Narrow, @truncate(@as(Raw, @bitCast(x)))));
}
