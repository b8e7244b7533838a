//! Pointwise kernels of one input. Each body is written once for scalars and vectors.
const std = @import("std");
const abi = @import("abi");
const base = @import("vmath_base.zig");
const cm = @import("vmath_complex.zig");
const ca = @import("vmath_complex_arc.zig");
const dt = @import("../core/dtype.zig");
const pw = @import("pointwise.zig");
const vm = @import("vmath.zig");

const Compute = abi.Compute;
const Params = pw.Params;

inline fn cx(comptime c: Compute) bool {
    return comptime dt.is_complex(dt.Computed(c));
}

inline fn real_of(comptime c: Compute) Compute {
    return switch (c) {
        .c64 => .f32,
        .c128 => .f64,
        else => c,
    };
}

/// A function of floats with a real and a complex form.
fn Inexact(comptime name: []const u8) type {
    return struct {
        pub const arity = 1;
        pub const computes = pw.inexact;
        pub const heavy = !std.mem.eql(u8, name, "sqrt");
        pub const is_short_on_gpu = std.mem.eql(u8, name, "exp");
        /// What GPUs compute where a bfloat16 becomes one: to the same bits, in fewer steps.
        pub const of_bfloat16 = if (is_short_on_gpu) vm.exp_short else {};
        pub inline fn apply(comptime c: Compute, _: Params, x: anytype) @TypeOf(x) {
            return if (comptime cx(c)) @field(cm, name)(x) else @field(vm, name)(x);
        }
    };
}

/// A function of real floats only.
fn RealFloat(comptime name: []const u8) type {
    return struct {
        pub const arity = 1;
        pub const computes = pw.floats;
        pub inline fn apply(comptime _: Compute, _: Params, x: anytype) @TypeOf(x) {
            return @field(vm, name)(x);
        }
    };
}

pub const exp = Inexact("exp");
pub const log = Inexact("log");
pub const log1p = Inexact("log1p");
pub const sqrt = Inexact("sqrt");
pub const tanh = Inexact("tanh");
pub const sigmoid = Inexact("sigmoid");
pub const sin = Inexact("sin");
pub const cos = Inexact("cos");

/// The same, whose complex form stands in the other file.
fn Turned(comptime name: []const u8) type {
    return struct {
        pub const arity = 1;
        pub const computes = pw.inexact;
        pub const heavy = true;
        pub inline fn apply(comptime c: Compute, _: Params, x: anytype) @TypeOf(x) {
            return if (comptime cx(c)) @field(ca, name)(x) else @field(vm, name)(x);
        }
    };
}

pub const acos = Turned("acos");
pub const asin = Turned("asin");
pub const atan = Turned("atan");
pub const tan = Turned("tan");
pub const sinh = Turned("sinh");
pub const cosh = Turned("cosh");
pub const acosh = Turned("acosh");
pub const asinh = Turned("asinh");
pub const atanh = Turned("atanh");
pub const log2 = Turned("log2");
pub const log10 = Turned("log10");
pub const exp2 = Turned("exp2");

pub const abs = struct {
    pub const arity = 1;
    pub const computes = pw.all_numbers;
    pub fn Out(comptime c: Compute) Compute {
        return real_of(c);
    }
    pub inline fn bits(x: anytype) @TypeOf(x) {
        return x & pw.constant(@TypeOf(x), 0x7fff);
    }
    pub inline fn apply(
        comptime c: Compute,
        _: Params,
        x: anytype,
    ) if (cx(c)) dt.Computed(real_of(c)) else @TypeOf(x) {
        if (comptime cx(c)) return cm.abs(x);
        if (c == .u64) return x;
        if (c == .i32 or c == .i64) {
            const zero: @TypeOf(x) = if (@typeInfo(@TypeOf(x)) == .vector) @splat(0) else 0;
            return pw.select(x < zero, zero -% x, x);
        }
        return @abs(x);
    }
};

pub const neg = struct {
    pub const arity = 1;
    pub const computes = pw.all_numbers;
    pub inline fn bits(x: anytype) @TypeOf(x) {
        return x ^ pw.constant(@TypeOf(x), 0x8000);
    }
    pub inline fn apply(comptime c: Compute, _: Params, x: anytype) @TypeOf(x) {
        // torch subtracts complex numbers from zero: the negative of 0 is 0.
        if (comptime cx(c)) return .{ .re = 0 - x.re, .im = 0 - x.im };
        if (comptime c == .f32 or c == .f64) return -x;
        return pw.constant(@TypeOf(x), 0) -% x;
    }
};

/// The powers that torch multiplies and divides for.
pub const cube = struct {
    pub const arity = 1;
    pub const computes = pw.all_numbers;
    pub inline fn apply(comptime c: Compute, _: Params, x: anytype) @TypeOf(x) {
        if (comptime cx(c)) return cm.mul(cm.mul(x, x), x);
        return if (comptime c == .f32 or c == .f64) x * x * x else x *% x *% x;
    }
};

pub const reciprocal = Quick("reciprocal");
pub const rsqrt = Quick("rsqrt");

fn Quick(comptime name: []const u8) type {
    return struct {
        pub const arity = 1;
        pub const computes = pw.inexact;
        pub inline fn apply(comptime c: Compute, _: Params, x: anytype) @TypeOf(x) {
            return if (comptime cx(c)) @field(cm, name)(x) else @field(vm, name)(x);
        }
    };
}

pub const relu = struct {
    pub const arity = 1;
    pub const computes = pw.all_real;
    pub inline fn apply(comptime c: Compute, _: Params, x: anytype) @TypeOf(x) {
        if (c == .u64) return x;
        const zero = pw.constant(@TypeOf(x), 0);
        // NaN and -0 stay: only what compares as below zero becomes zero.
        return pw.select(x < zero, zero, x);
    }
};

/// Between two numbers, attributes 0 and 1, neither of them NaN; NaN stays.
pub const clamp = struct {
    pub const arity = 1;
    pub const computes = pw.all_real;
    pub inline fn apply(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        const low = p.value(c, @TypeOf(x), 0);
        const high = p.value(c, @TypeOf(x), 1);
        const m = pw.select(x < low, low, x);
        return pw.select(high < m, high, m);
    }
};

pub const isnan = struct {
    pub const arity = 1;
    pub const computes = pw.inexact;
    pub fn Out(comptime _: Compute) Compute {
        return .b8;
    }
    pub inline fn apply(comptime c: Compute, _: Params, x: anytype) pw.Truths(@TypeOf(x)) {
        if (comptime cx(c)) return @intFromBool(x.re != x.re or x.im != x.im);
        return pw.bytes_of(x != x);
    }
};

const Test = enum { infinite, finite, above, below, negative };

/// Questions of one number; infinite is what has an infinite part, finite what has two finite ones.
fn Question(comptime question: Test) type {
    return struct {
        pub const arity = 1;
        pub const computes = switch (question) {
            .infinite, .finite => pw.inexact,
            .above, .below => pw.floats,
            .negative => pw.all_real,
        };
        pub fn Out(comptime _: Compute) Compute {
            return .b8;
        }
        pub inline fn apply(comptime c: Compute, _: Params, x: anytype) pw.Truths(@TypeOf(x)) {
            if (comptime cx(c)) {
                const inf = std.math.inf(@TypeOf(x.re));
                const re = @abs(x.re);
                const im = @abs(x.im);
                return @intFromBool(if (question == .finite) re < inf and im < inf else re == inf or im == inf);
            }
            if (comptime c != .f32 and c != .f64) return pw.bytes_of(x < pw.constant(@TypeOf(x), 0));
            const inf = pw.constant(@TypeOf(x), std.math.inf(f64));
            return pw.bytes_of(switch (question) {
                .infinite => @abs(x) == inf,
                .finite => @abs(x) < inf,
                .above => x == inf,
                .below => x == -inf,
                .negative => base.sign_bit(x),
            });
        }
    };
}

pub const isinf = Question(.infinite);
pub const isfinite = Question(.finite);
pub const isposinf = Question(.above);
pub const isneginf = Question(.below);
pub const signbit = Question(.negative);

/// Attributes 0, 1 and 2 in the place of NaN, infinity and its negative.
pub const nan_to_num = struct {
    pub const arity = 1;
    pub const computes = pw.inexact;
    pub inline fn apply(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        if (comptime cx(c)) {
            const part = comptime real_of(c);
            return .{ .re = replaced(part, p, x.re), .im = replaced(part, p, x.im) };
        }
        return replaced(c, p, x);
    }
    inline fn replaced(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        const V = @TypeOf(x);
        const inf = pw.constant(V, std.math.inf(f64));
        const finite = pw.select(x == inf, p.value(c, V, 1), pw.select(x == -inf, p.value(c, V, 2), x));
        return pw.select(x == x, finite, p.value(c, V, 0));
    }
};

/// log(x / (1 - x)); of x between attribute 0 and 1 less that, where it is not negative.
pub const logit = struct {
    pub const arity = 1;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        const V = @TypeOf(x);
        const low = p.value(c, V, 0);
        const one = pw.constant(V, 1);
        const high = one - low;
        const inside = pw.select(x < low, low, pw.select(x > high, high, x));
        const z = pw.select(low < pw.constant(V, 0), x, inside);
        return vm.log(z / (one - z));
    }
};

pub const expm1 = Inexact("expm1");
pub const sinc = Inexact("sinc");
pub const erf = LongReal("erf");
pub const erfc = LongReal("erfc");
pub const erfinv = LongReal("erfinv");
pub const lgamma = LongReal("lgamma");
pub const digamma = LongReal("digamma");
pub const trigamma = LongReal("trigamma");

/// A derivative of digamma: attribute 0 is one more than its order, attribute 1 the factor of the sum of powers.
pub const polygamma = struct {
    pub const arity = 1;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        return p.value(c, @TypeOf(x), 1) * vm.zeta(p.value(c, @TypeOf(x), 0), x);
    }
};

/// A long function of real floats.
fn LongReal(comptime name: []const u8) type {
    return struct {
        pub const arity = 1;
        pub const computes = pw.floats;
        pub const heavy = true;
        pub const apply = RealFloat(name).apply;
    };
}

/// 1, 0 or -1; of a complex number its direction. A NaN has the sign 0.
pub const sign = struct {
    pub const arity = 1;
    pub const computes = pw.everything;
    pub inline fn apply(comptime c: Compute, _: Params, x: anytype) @TypeOf(x) {
        if (comptime cx(c)) return cm.sign(x);
        const zero = pw.constant(@TypeOf(x), 0);
        const one = pw.constant(@TypeOf(x), 1);
        const above = pw.select(x > zero, one, zero);
        if (c == .u64 or c == .b8) return above;
        const below = pw.select(x < zero, one, zero);
        return if (comptime c == .f32 or c == .f64) above - below else above -% below;
    }
};

pub const floor = RealFloat("floor");
pub const ceil = RealFloat("ceil");
pub const trunc = RealFloat("trunc");
/// To the nearest whole number, the even one of two.
pub const round = RealFloat("round");
pub const frac = RealFloat("frac");

/// To a power of ten, attribute 0: of its multiples where attribute 1 is set, else of its fractions.
pub const round_decimals = struct {
    pub const arity = 1;
    pub const computes = pw.floats;
    pub inline fn apply(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        const power = p.value(c, @TypeOf(x), 0);
        const multiples = p.value(c, @TypeOf(x), 1) != pw.constant(@TypeOf(x), 0);
        return pw.select(multiples, vm.round(x / power) * power, vm.round(x * power) / power);
    }
};

pub const bitwise_not = struct {
    pub const arity = 1;
    pub const computes = pw.integers ++ [_]Compute{.b8};
    pub inline fn apply(comptime c: Compute, _: Params, x: anytype) @TypeOf(x) {
        return if (c == .b8) x ^ pw.constant(@TypeOf(x), 1) else ~x;
    }
};

pub const logical_not = struct {
    pub const arity = 1;
    pub const computes = pw.everything;
    pub fn Out(comptime _: Compute) Compute {
        return .b8;
    }
    pub inline fn apply(comptime c: Compute, _: Params, x: anytype) pw.Truths(@TypeOf(x)) {
        if (comptime cx(c)) return @intFromBool(x.re == 0 and x.im == 0);
        return pw.bytes_of(x == pw.constant(@TypeOf(x), 0));
    }
};

/// The value itself: conversions between dtypes are the driver's work, so no dtype needs a loop of its own.
pub const convert = struct {
    pub const arity = 1;
    pub const computes = pw.everything;
    pub const identity = true;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, x: anytype) @TypeOf(x) {
        return x;
    }
};
