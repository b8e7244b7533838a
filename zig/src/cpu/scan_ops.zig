//! What running totals and extremes go on with, on processors and GPUs, scalars and vectors.
const std = @import("std");
const abi = @import("abi");
const cm = @import("vmath_complex.zig");
const dt = @import("../core/dtype.zig");
const vm = @import("vmath.zig");

const Compute = abi.Compute;

pub const Kind = enum { sum, product, exponentials };

/// What changes no total, as a real number.
pub fn neutral(comptime kind: Kind) comptime_float {
    return switch (kind) {
        .sum => 0,
        .product => 1,
        .exponentials => -std.math.inf(f64),
    };
}

/// The total of `a` and of `b`, which comes later.
pub inline fn step(comptime kind: Kind, comptime c: Compute, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    const complex = comptime dt.is_complex(dt.Computed(c));
    if (comptime kind == .exponentials) return powers(complex, a, b);
    const product = kind == .product;
    if (comptime complex) {
        if (product) return .{ .re = a.re * b.re - a.im * b.im, .im = a.re * b.im + a.im * b.re };
        return .{ .re = a.re + b.re, .im = a.im + b.im };
    }
    if (comptime @typeInfo(dt.Computed(c)) == .float) return if (product) a * b else a + b;
    return if (product) a *% b else a +% b;
}

/// log(e^a + e^b); of complex numbers the new one is taken out first where both are equal.
inline fn powers(comptime complex: bool, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    if (complex) return cm.logaddexp(b, a);
    const low = if (a < b or a != a) a else b;
    const high = if (a < b or a != a) b else a;
    if (low == high and std.math.isInf(low)) return b;
    return if (low != low) low else vm.log1p(vm.exp(low - high)) + high;
}

/// Later elements take the place of equal ones, and a NaN that of everything.
pub inline fn beats(comptime largest: bool, x: anytype, best: @TypeOf(x)) bool {
    return (if (largest) x >= best else x <= best) or (@typeInfo(@TypeOf(x)) == .float and x != x);
}
