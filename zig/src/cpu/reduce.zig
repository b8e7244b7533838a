//! Reductions of values: sum, prod, max, min over any dimensions of any layout. Float sums are pairwise over blocks.
//! An operator is a struct with `computes`, `cascades`, `identity(c, T)` and `combine(c, a, b)`; reduce_inner.zig makes
//! its loops, reduce_driver.zig runs them.
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

pub const sum = kernel(struct {
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
});

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
