//! Integer arithmetic with Python's and C's rules, free of undefined behaviour.
const std = @import("std");

inline fn is_signed(comptime T: type) bool {
    return @typeInfo(T).int.signedness == .signed;
}

/// Division by -1 of the smallest value wraps, as the hardware's result is kept by C compilers.
inline fn quotient(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    if (comptime is_signed(@TypeOf(a))) if (b == -1) return 0 -% a;
    return @divTrunc(a, b);
}

pub inline fn trunc_divide(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    return quotient(a, b);
}

pub inline fn floor_divide(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    const q = quotient(a, b);
    if (comptime !is_signed(@TypeOf(a))) return q;
    return if ((a < 0) != (b < 0) and q *% b != a) q - 1 else q;
}

pub inline fn fmod(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    if (comptime is_signed(@TypeOf(a))) if (b == -1) return 0;
    return @rem(a, b);
}

pub inline fn remainder(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    const r = fmod(a, b);
    if (comptime !is_signed(@TypeOf(a))) return r;
    return if (r != 0 and (r < 0) != (b < 0)) r +% b else r;
}

/// The same for vectors of at most 32 bits. Their quotients in floats of twice as many bits, cut off, are exact: a
/// quotient that is no whole number differs from the next one by more than the rounding can be.
pub const vectors = struct {
    fn Floats(comptime V: type) type {
        const v = @typeInfo(V).vector;
        return @Vector(v.len, if (@bitSizeOf(v.child) == 32) f64 else f32);
    }

    pub inline fn trunc_divide(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const V = @TypeOf(a);
        const x: Floats(V) = @floatFromInt(a);
        const y: Floats(V) = @floatFromInt(b);
        if (comptime !is_signed(@typeInfo(V).vector.child)) return @intFromFloat(@trunc(x / y));
        // The smallest value by -1 is one more than the greatest, and wraps to itself.
        const limit: Floats(V) = @splat(std.math.maxInt(@typeInfo(V).vector.child));
        const q = x / y;
        const wraps = q > limit;
        const safe: V = @intFromFloat(@select(@typeInfo(Floats(V)).vector.child, wraps, limit, q));
        return @select(@typeInfo(V).vector.child, wraps, a, safe);
    }

    pub inline fn fmod(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        return a -% vectors.trunc_divide(a, b) *% b;
    }

    /// Where the remainder and the divisor have different signs.
    inline fn crosses(r: anytype, b: @TypeOf(r)) @Vector(@typeInfo(@TypeOf(r)).vector.len, bool) {
        const zero: @TypeOf(r) = @splat(0);
        return (r != zero) & ((r ^ b) < zero);
    }

    pub inline fn floor_divide(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const V = @TypeOf(a);
        const q = vectors.trunc_divide(a, b);
        if (comptime !is_signed(@typeInfo(V).vector.child)) return q;
        return @select(@typeInfo(V).vector.child, crosses(a -% q *% b, b), q -% @as(V, @splat(1)), q);
    }

    pub inline fn remainder(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const V = @TypeOf(a);
        const r = vectors.fmod(a, b);
        if (comptime !is_signed(@typeInfo(V).vector.child)) return r;
        return @select(@typeInfo(V).vector.child, crosses(r, b), r +% b, r);
    }
};

/// Wraps as repeated multiplication does; a negative power is the reciprocal rounded to zero.
pub inline fn pow(base: anytype, exponent: @TypeOf(base)) @TypeOf(base) {
    const T = @TypeOf(base);
    if (comptime is_signed(T)) {
        if (exponent < 0) {
            if (base == 1) return 1;
            if (base == -1) return if (exponent & 1 == 0) 1 else -1;
            return 0;
        }
    }
    var result: T = 1;
    var b = base;
    var e = exponent;
    while (e > 0) : (e >>= 1) {
        if (e & 1 == 1) result *%= b;
        b *%= b;
    }
    return result;
}

test "division follows Python and C" {
    const expect = std.testing.expectEqual;
    try expect(@as(i32, -4), floor_divide(@as(i32, -7), 2));
    try expect(@as(i32, -3), trunc_divide(@as(i32, -7), 2));
    try expect(@as(i32, 1), remainder(@as(i32, -7), 2));
    try expect(@as(i32, -1), fmod(@as(i32, -7), 2));
    try expect(@as(i32, std.math.minInt(i32)), floor_divide(@as(i32, std.math.minInt(i32)), -1));
    try expect(@as(i64, 0), pow(@as(i64, 2), -1));
}

test "vectors divide as scalars do" {
    inline for (.{ u8, i8 }) |T| {
        for (0..256) |x| for (1..256) |y| {
            try divides_alike(T, @bitCast(@as(u8, @intCast(x))), @bitCast(@as(u8, @intCast(y))));
        };
    }
    const Edge = struct {
        fn all(comptime T: type) [12]T {
            const low = std.math.minInt(T);
            const high = std.math.maxInt(T);
            return .{ 0, 1, -1, 2, -2, 3, -7, low, low + 1, high, high - 1, @divTrunc(high, 3) };
        }
    };
    inline for (.{ i16, i32 }) |T| {
        for (Edge.all(T)) |x| for (Edge.all(T)) |y| if (y != 0) try divides_alike(T, x, y);
    }
}

fn divides_alike(comptime T: type, a: T, b: T) !void {
    const V = @Vector(4, T);
    inline for (.{ "trunc_divide", "floor_divide", "fmod", "remainder" }) |name| {
        const many: [4]T = @field(vectors, name)(@as(V, @splat(a)), @as(V, @splat(b)));
        try std.testing.expectEqual(@field(@This(), name)(a, b), many[0]);
    }
}
