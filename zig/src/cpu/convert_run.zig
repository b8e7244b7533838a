//! The conversions of runs of elements, between memory of any dtype and buffers of a compute type. Runs without gaps
//! go by vectors; every lane gives what `dt.load` and `dt.store` give for one element.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const dt = @import("../core/dtype.zig");
const half = @import("../core/half.zig");

const Compute = abi.Compute;
const DType = abi.DType;

pub fn Run(comptime c: Compute) type {
    return *const fn (dst: [*]align(1) dt.Computed(c), src: [*]const u8, stride: isize, n: usize) callconv(.c) void;
}

/// Lanes of a conversion: first as many as fill a register on the narrower side (or four on the wider one), then, for
/// what is left, as fill one on the wider side.
fn lanes_of(comptime d: DType, comptime c: Compute) []const usize {
    const sizes = [_]usize{ @sizeOf(dt.Stored(d)), @sizeOf(dt.Computed(c)) };
    const least = 4 * @as(usize, cfg.lanes) / @max(sizes[0], sizes[1]);
    const ratio = @min(4, @max(sizes[0], sizes[1]) / @min(sizes[0], sizes[1]));
    return if (ratio == 1) &.{least} else &.{ ratio * least, least };
}

fn has_vectors(comptime d: DType, comptime c: Compute) bool {
    return !dt.is_complex(dt.Stored(d)) and !dt.is_complex(dt.Computed(c));
}

pub fn load_run(comptime d: DType, comptime c: Compute) Run(c) {
    const S = dt.Stored(d);
    const T = dt.Computed(c);
    return struct {
        fn run(dst: [*]align(1) T, bytes: [*]const u8, stride: isize, n: usize) callconv(.c) void {
            const src: [*]align(1) const S = @ptrCast(bytes);
            if (stride == 1) {
                var i: usize = 0;
                if (comptime has_vectors(d, c)) inline for (comptime lanes_of(d, c)) |lanes| {
                    while (i + lanes <= n) : (i += lanes) {
                        const x = @as(*align(1) const @Vector(lanes, S), @ptrCast(src + i)).*;
                        @as(*align(1) @Vector(lanes, T), @ptrCast(dst + i)).* = cast(T, c == .b8, value(d, x));
                    }
                };
                while (i < n) : (i += 1) dst[i] = dt.load(d, c, src[i]);
            } else if (stride == 0) {
                const x = dt.load(d, c, src[0]);
                for (0..n) |i| dst[i] = x;
            } else {
                var at: isize = 0;
                for (0..n) |i| {
                    dst[i] = dt.load(d, c, @as([*]align(1) const S, @ptrFromInt(address(src, at)))[0]);
                    at += stride;
                }
            }
        }
    }.run;
}

pub fn store_run(comptime d: DType, comptime c: Compute) Run(c) {
    const S = dt.Stored(d);
    const T = dt.Computed(c);
    return struct {
        fn run(src: [*]align(1) T, bytes: [*]const u8, stride: isize, n: usize) callconv(.c) void {
            const dst: [*]align(1) S = @ptrCast(@constCast(bytes));
            if (stride == 1) {
                var i: usize = 0;
                if (comptime has_vectors(d, c)) inline for (comptime lanes_of(d, c)) |lanes| {
                    while (i + lanes <= n) : (i += lanes) {
                        const x = @as(*align(1) const @Vector(lanes, T), @ptrCast(src + i)).*;
                        @as(*align(1) @Vector(lanes, S), @ptrCast(dst + i)).* = stored(d, x);
                    }
                };
                while (i < n) : (i += 1) dst[i] = dt.store(d, c, src[i]);
            } else {
                var at: isize = 0;
                for (0..n) |i| {
                    @as([*]align(1) S, @ptrFromInt(address(dst, at)))[0] = dt.store(d, c, src[i]);
                    at += stride;
                }
            }
        }
    }.run;
}

inline fn address(p: anytype, elements: isize) usize {
    const size = @sizeOf(@typeInfo(@TypeOf(p)).pointer.child);
    return @intFromPtr(p) +% @as(usize, @bitCast(elements * size));
}

fn With(comptime V: type, comptime T: type) type {
    return @Vector(@typeInfo(V).vector.len, T);
}

fn Child(comptime V: type) type {
    return @typeInfo(V).vector.child;
}

/// The numbers that stored elements stand for.
inline fn value(comptime d: DType, x: anytype) With(@TypeOf(x), switch (d) {
    .float16, .bfloat16, .float8_e4m3fn, .float8_e5m2 => f32,
    else => dt.Stored(d),
}) {
    return switch (d) {
        .bool => @intFromBool(x != @as(@TypeOf(x), @splat(0))),
        .float16 => half.f16_to_f32(@as(With(@TypeOf(x), f16), @bitCast(x))),
        .bfloat16 => half.bf16_to_f32(x),
        .float8_e4m3fn => half.float8_e4m3fn_to_f32(x),
        .float8_e5m2 => half.float8_e5m2_to_f32(x),
        else => x,
    };
}

/// Elements as they are stored, from the values of a compute type.
inline fn stored(comptime d: DType, x: anytype) With(@TypeOf(x), dt.Stored(d)) {
    return switch (d) {
        .float16 => @bitCast(half.f32_to_f16(cast(f32, false, x))),
        .bfloat16 => half.f32_to_bf16(cast(f32, false, x)),
        .float8_e4m3fn => half.f32_to_float8_e4m3fn(cast(f32, false, x)),
        .float8_e5m2 => half.f32_to_float8_e5m2(cast(f32, false, x)),
        else => cast(dt.Stored(d), d == .bool, x),
    };
}

/// Numbers of one type to another, or to 0 and 1.
inline fn cast(comptime T: type, comptime truth: bool, x: anytype) With(@TypeOf(x), T) {
    const V = @TypeOf(x);
    if (truth) return @intFromBool(x != @as(V, @splat(0)));
    if (Child(V) == T) return x;
    const from_float = @typeInfo(Child(V)) == .float;
    if (@typeInfo(T) == .float) return if (from_float) @floatCast(x) else @floatFromInt(x);
    if (from_float) return to_integers(T, x);
    const from = @typeInfo(Child(V)).int;
    const bits = @typeInfo(T).int.bits;
    if (bits == from.bits) return @bitCast(x);
    if (bits > from.bits) return @bitCast(@as(With(V, std.meta.Int(from.signedness, bits)), x));
    const raw: With(V, std.meta.Int(.unsigned, from.bits)) = @bitCast(x);
    return @bitCast(@as(With(V, std.meta.Int(.unsigned, bits)), @truncate(raw)));
}

/// As `dt.integer`: through i32 for i32, through i64 for all others.
inline fn to_integers(comptime T: type, x: anytype) With(@TypeOf(x), T) {
    if (T == i32 or T == i64 or T == u64) return half.float_to_int(T, x);
    return cast(T, false, half.float_to_int(i64, x));
}
