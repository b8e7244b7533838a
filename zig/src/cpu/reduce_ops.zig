//! What reductions combine elements with, on processors and GPUs, scalars and vectors. An operator is a struct with
//! `computes`, `cascades` (rounding makes the order matter), `identity(c, T)` and `combine(c, a, b)`; one with `map`
//! combines what that gives for each element. `common`: GPUs have more code, for speed, in more dtypes.
const std = @import("std");
const abi = @import("abi");
const dt = @import("../core/dtype.zig");

const Compute = abi.Compute;

pub const sum = struct {
    pub const computes = [_]Compute{ .f32, .f64, .i64, .c64, .c128 };
    pub const cascades = true;
    pub const common = true;
    pub const adds = true;
    pub fn identity(comptime c: Compute, comptime T: type) T {
        return if (comptime dt.is_complex(dt.Computed(c))) .{ .re = 0, .im = 0 } else 0;
    }
    pub inline fn combine(comptime c: Compute, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime dt.is_complex(dt.Computed(c))) return .{ .re = a.re + b.re, .im = a.im + b.im };
        return if (c == .i64) a +% b else a + b;
    }
};

/// What norms and `nansum` add up, or compare, of real floats.
fn Mapped(comptime Op: type, comptime f: anytype) type {
    return struct {
        pub const computes = [_]Compute{ .f32, .f64 };
        pub const cascades = Op.cascades;
        pub const common = Op.common;
        pub const identity = Op.identity;
        pub const combine = Op.combine;
        pub inline fn map(x: anytype) @TypeOf(x) {
            return f(x);
        }
    };
}

inline fn of(comptime T: type, comptime x: comptime_float) T {
    return if (@typeInfo(T) == .vector) @splat(x) else x;
}
inline fn size(x: anytype) @TypeOf(x) {
    return @abs(x);
}
inline fn square(x: anytype) @TypeOf(x) {
    return x * x;
}
inline fn presence(x: anytype) @TypeOf(x) {
    const T = @TypeOf(x);
    return choose(T, x == of(T, 0), of(T, 0), of(T, 1));
}
inline fn unless_nan(x: anytype) @TypeOf(x) {
    const T = @TypeOf(x);
    return choose(T, x == x, x, of(T, 0));
}

pub const sum_sizes = Mapped(sum, size);
pub const sum_squares = Mapped(sum, square);
pub const sum_presences = Mapped(sum, presence);
pub const sum_numbers = Mapped(sum, unless_nan);
pub const max_size = Mapped(Extremum(true), size);
pub const min_size = Mapped(Extremum(false), size);

pub const prod = struct {
    pub const computes = [_]Compute{ .f32, .f64, .i64, .c64, .c128 };
    pub const cascades = false;
    pub const common = false;
    pub fn identity(comptime c: Compute, comptime T: type) T {
        return if (comptime dt.is_complex(dt.Computed(c))) .{ .re = 1, .im = 0 } else 1;
    }
    pub inline fn combine(comptime c: Compute, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime dt.is_complex(dt.Computed(c))) {
            return .{ .re = a.re * b.re - a.im * b.im, .im = a.re * b.im + a.im * b.re };
        }
        return if (c == .i64) a *% b else a * b;
    }
};

pub const max = Extremum(true);
pub const min = Extremum(false);

/// NaN wins over every number. On bytes (bool) these are "any" and "all".
fn Extremum(comptime largest: bool) type {
    return struct {
        pub const computes = [_]Compute{ .f32, .f64, .i32, .i64, .u64, .b8 };
        pub const cascades = false;
        pub const common = true;
        pub fn identity(comptime c: Compute, comptime T: type) T {
            if (@typeInfo(T) == .float) return if (largest) -std.math.inf(T) else std.math.inf(T);
            if (c == .b8) return @intFromBool(!largest);
            return if (largest) std.math.minInt(T) else std.math.maxInt(T);
        }
        pub inline fn combine(comptime c: Compute, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
            const T = @TypeOf(a);
            const wins = if (largest) a > b else a < b;
            if (@typeInfo(dt.Computed(c)) != .float) return choose(T, wins, a, b);
            // The comparison fails for a NaN on either side: b's is taken by it, a's must be kept.
            return choose(T, a != a, a, choose(T, wins, a, b));
        }
        /// On bytes (bool) nothing that follows can change such a value.
        pub const final = largest;
        /// Integers of few bytes are compared as they are.
        pub const short = true;
    };
}

inline fn choose(comptime T: type, condition: anytype, a: T, b: T) T {
    if (@typeInfo(T) != .vector) return if (condition) a else b;
    return @select(@typeInfo(T).vector.child, condition, a, b);
}

/// Whether `x`, which comes later, takes the place of the extreme `y`: the first NaN wins.
pub inline fn beats(comptime largest: bool, x: anytype, y: @TypeOf(x)) bool {
    const wins = if (largest) x > y else x < y;
    if (@typeInfo(@TypeOf(x)) != .float) return wins;
    // Every comparison with a NaN fails. Bits, as `or` would be a branch.
    const greater = if (largest) !(x <= y) else !(x >= y);
    return @intFromBool(greater) & @intFromBool(y == y) != 0;
}
