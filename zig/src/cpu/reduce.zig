//! Reductions of values: sum, prod, max, min over any dimensions of any layout. Float sums are pairwise over blocks.
//! An operator is a struct with `computes`, `cascades`, `identity(c, T)` and `combine(c, a, b)`; reduce_inner.zig makes
//! its loops, reduce_driver.zig runs them. An operator with `map` combines what that gives for each element.
//!
//! Operand 0 has size one where operand 1 is reduced. Attribute 0: divide the results by attribute 1.
const std = @import("std");
const abi = @import("abi");
const dt = @import("../core/dtype.zig");
const driver = @import("reduce_driver.zig");
const fr = @import("../core/frame.zig");
const inner = @import("reduce_inner.zig");

const Compute = abi.Compute;

pub const arg_max = @import("reduce_arg.zig").arg_max;
pub const arg_min = @import("reduce_arg.zig").arg_min;
pub const moments = @import("reduce_moments.zig").moments;
pub const isclose = @import("reduce_close.zig").isclose;
pub const equal = @import("reduce_close.zig").equal;

const Sum = struct {
    pub const computes = [_]Compute{ .f32, .f64, .i64, .c64, .c128 };
    pub const cascades = true;
    pub const adds = true;
    pub fn identity(comptime c: Compute, comptime T: type) T {
        return if (comptime dt.is_complex(dt.Computed(c))) .{ .re = 0, .im = 0 } else 0;
    }
    pub inline fn combine(comptime c: Compute, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime dt.is_complex(dt.Computed(c))) return .{ .re = a.re + b.re, .im = a.im + b.im };
        return if (c == .i64) a +% b else a + b;
    }
};

pub const sum = kernel(Sum);

/// What norms and `nansum` add up, or compare, of real floats.
fn Mapped(comptime Op: type, comptime f: anytype) type {
    return struct {
        pub const computes = [_]Compute{ .f32, .f64 };
        pub const cascades = Op.cascades;
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

pub const sum_sizes = kernel(Mapped(Sum, size));
pub const sum_squares = kernel(Mapped(Sum, square));
pub const sum_presences = kernel(Mapped(Sum, presence));
pub const sum_numbers = kernel(Mapped(Sum, unless_nan));
pub const max_size = kernel(Mapped(Extremum(true), size));
pub const min_size = kernel(Mapped(Extremum(false), size));

pub const prod = kernel(struct {
    pub const computes = [_]Compute{ .f32, .f64, .i64, .c64, .c128 };
    pub const cascades = false;
    pub fn identity(comptime c: Compute, comptime T: type) T {
        return if (comptime dt.is_complex(dt.Computed(c))) .{ .re = 1, .im = 0 } else 1;
    }
    pub inline fn combine(comptime c: Compute, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime dt.is_complex(dt.Computed(c))) {
            return .{ .re = a.re * b.re - a.im * b.im, .im = a.re * b.im + a.im * b.re };
        }
        return if (c == .i64) a *% b else a * b;
    }
});

pub const max = kernel(Extremum(true));
pub const min = kernel(Extremum(false));

/// NaN wins over every number. On bytes (bool) these are "any" and "all".
fn Extremum(comptime largest: bool) type {
    return struct {
        pub const computes = [_]Compute{ .f32, .f64, .i32, .i64, .u64, .b8 };
        pub const cascades = false;
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

fn kernel(comptime Op: type) fn (*fr.Frame) abi.Status {
    return struct {
        const loops = inner.loops(Op);
        fn call(f: *fr.Frame) abi.Status {
            return driver.run(&loops, f);
        }
    }.call;
}
