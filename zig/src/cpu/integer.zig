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
