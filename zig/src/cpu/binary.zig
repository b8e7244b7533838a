//! Pointwise kernels of two inputs. Each body is written once for scalars and vectors.
const std = @import("std");
const abi = @import("abi");
const cm = @import("vmath_complex.zig");
const dt = @import("../core/dtype.zig");
const integer = @import("integer.zig");
const pairs = @import("binary_pairs.zig");
const pw = @import("pointwise.zig");
const ternary = @import("ternary.zig");
const vm = @import("vmath.zig");

const Compute = abi.Compute;
const Params = pw.Params;

inline fn cx(comptime c: Compute) bool {
    return comptime dt.is_complex(dt.Computed(c));
}

inline fn is_float(comptime c: Compute) bool {
    return c == .f32 or c == .f64;
}

pub const add = struct {
    pub const arity = 2;
    pub const computes = pw.everything;
    pub inline fn apply(comptime c: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime cx(c)) return .{ .re = a.re + b.re, .im = a.im + b.im };
        if (comptime is_float(c)) return a + b;
        if (c == .b8) return a | b;
        return a +% b;
    }
};

/// a + alpha * b, alpha in attribute 0.
pub const add_alpha = struct {
    pub const arity = 2;
    pub const computes = pw.everything;
    pub inline fn apply(comptime c: Compute, p: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const k = p.value(c, @TypeOf(a), 0);
        if (comptime cx(c)) {
            const s = cm.mul(k, b);
            return .{ .re = a.re + s.re, .im = a.im + s.im };
        }
        if (comptime is_float(c)) return vm.fma(k, b, a);
        if (c == .b8) return a | (k & b);
        return a +% k *% b;
    }
};

pub const sub = struct {
    pub const arity = 2;
    pub const computes = pw.all_numbers;
    pub inline fn apply(comptime c: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime cx(c)) return .{ .re = a.re - b.re, .im = a.im - b.im };
        return if (comptime is_float(c)) a - b else a -% b;
    }
};

pub const mul = struct {
    pub const arity = 2;
    pub const computes = pw.everything;
    pub inline fn apply(comptime c: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime cx(c)) return cm.mul(a, b);
        if (comptime is_float(c)) return a * b;
        if (c == .b8) return a & b;
        return a *% b;
    }
};

/// True division.
pub const div = struct {
    pub const arity = 2;
    pub const computes = pw.inexact;
    pub inline fn apply(comptime c: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        return if (comptime cx(c)) cm.div(a, b) else a / b;
    }
};

/// Rounds towards minus infinity (Python's //).
pub const floor_divide = Division("floor_divide");
/// Rounds towards zero.
pub const trunc_divide = Division("trunc_divide");
/// Python's %: the result has the divisor's sign.
pub const remainder = Division("remainder");
/// C's %: the result has the dividend's sign.
pub const fmod = Division("fmod");

fn Division(comptime name: []const u8) type {
    return struct {
        pub const arity = 2;
        pub const computes = pw.all_real;
        pub const heavy = true;
        pub fn lanes(comptime c: Compute) usize {
            return if (is_float(c) or c == .i32) pw.vector_lanes(c) else 1;
        }
        pub fn short(comptime d: abi.DType) bool {
            return d != .bfloat16;
        }
        /// An integer divisor of zero must be found before any division runs.
        pub fn divides(comptime c: Compute) bool {
            return !is_float(c);
        }
        pub inline fn apply(comptime c: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
            if (comptime @typeInfo(@TypeOf(a)) == .vector and !is_float(c)) return @field(integer.vectors, name)(a, b);
            if (comptime !is_float(c)) return @field(integer, name)(a, b);
            if (comptime std.mem.eql(u8, name, "trunc_divide")) return @trunc(a / b);
            return @field(vm, name)(a, b);
        }
    };
}

pub const pow = struct {
    pub const arity = 2;
    pub const heavy = true;
    pub const computes = pw.all_numbers;
    pub fn lanes(comptime c: Compute) usize {
        return if (is_float(c)) pw.vector_lanes(c) else 1;
    }
    pub inline fn apply(comptime c: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime cx(c)) return cm.pow(a, b);
        return if (comptime is_float(c)) vm.pow(a, b) else integer.pow(a, b);
    }
};

pub const maximum = Extremum(true);
pub const minimum = Extremum(false);

fn Extremum(comptime larger: bool) type {
    return struct {
        pub const arity = 2;
        pub const computes = pw.all_real ++ [_]Compute{.b8};
        pub inline fn apply(comptime c: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
            if (comptime is_float(c)) return if (larger) vm.maximum(a, b) else vm.minimum(a, b);
            return if (larger) pw.select(a > b, a, b) else pw.select(a < b, a, b);
        }
    };
}

const Order = enum { eq, ne, lt, le, gt, ge };

fn Comparison(comptime order: Order) type {
    const ordered = order != .eq and order != .ne;
    return struct {
        pub const arity = 2;
        pub const computes = if (ordered) pw.all_real ++ [_]Compute{.b8} else pw.everything;
        pub fn Out(comptime _: Compute) Compute {
            return .b8;
        }
        pub inline fn apply(comptime c: Compute, _: Params, a: anytype, b: @TypeOf(a)) pw.Truths(@TypeOf(a)) {
            if (comptime cx(c)) {
                const same = a.re == b.re and a.im == b.im;
                return @intFromBool(if (order == .eq) same else !same);
            }
            return pw.bytes_of(switch (order) {
                .eq => a == b,
                .ne => a != b,
                .lt => a < b,
                .le => a <= b,
                .gt => a > b,
                .ge => a >= b,
            });
        }
    };
}

pub const eq = Comparison(.eq);
pub const ne = Comparison(.ne);
pub const lt = Comparison(.lt);
pub const le = Comparison(.le);
pub const gt = Comparison(.gt);
pub const ge = Comparison(.ge);

const Logic = enum { both, either, one };

fn Logical(comptime logic: Logic) type {
    return struct {
        pub const arity = 2;
        pub const computes = pw.everything;
        pub fn Out(comptime _: Compute) Compute {
            return .b8;
        }
        pub inline fn apply(comptime c: Compute, _: Params, a: anytype, b: @TypeOf(a)) pw.Truths(@TypeOf(a)) {
            const x = truth(c, a);
            const y = truth(c, b);
            return switch (logic) {
                .both => x & y,
                .either => x | y,
                .one => x ^ y,
            };
        }
        inline fn truth(comptime c: Compute, a: anytype) pw.Truths(@TypeOf(a)) {
            if (comptime cx(c)) return @intFromBool(a.re != 0 or a.im != 0);
            return pw.bytes_of(a != pw.constant(@TypeOf(a), 0));
        }
    };
}

pub const logical_and = Logical(.both);
pub const logical_or = Logical(.either);
pub const logical_xor = Logical(.one);

pub const bitwise_and = struct {
    pub const arity = 2;
    pub const computes = pw.integers ++ [_]Compute{.b8};
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        return a & b;
    }
};

/// Bits moved up; none are left where there are as many places as bits, or less than none.
pub const shift_left = struct {
    pub const arity = 2;
    pub const computes = pw.integers;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const fits = in_range(b);
        return pw.select(fits, a << places(b, fits), pw.constant(@TypeOf(a), 0));
    }
};

/// Bits moved down; beyond the last place it is the sign that is left.
pub const shift_right = struct {
    pub const arity = 2;
    pub const computes = pw.integers;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const fits = in_range(b);
        const last = pw.constant(@TypeOf(a), bits_of(@TypeOf(a)) - 1);
        const sign = a >> places(last, in_range(last));
        return pw.select(fits, a >> places(b, fits), if (comptime is_unsigned(@TypeOf(a))) a -% a else sign);
    }
};

fn Element(comptime V: type) type {
    return if (@typeInfo(V) == .vector) @typeInfo(V).vector.child else V;
}

fn bits_of(comptime V: type) comptime_int {
    return @bitSizeOf(Element(V));
}

fn is_unsigned(comptime V: type) bool {
    return @typeInfo(Element(V)).int.signedness == .unsigned;
}

/// Whether numbers of places are those of bits that there are.
inline fn in_range(b: anytype) @TypeOf(b < b) {
    const top = pw.constant(@TypeOf(b), bits_of(@TypeOf(b)));
    if (comptime is_unsigned(@TypeOf(b))) return b < top;
    const low = b >= pw.constant(@TypeOf(b), 0);
    return if (@typeInfo(@TypeOf(b)) == .vector) @select(bool, low, b < top, low) else low and b < top;
}

/// As what Zig shifts by; 0 where the number is not in range.
inline fn places(b: anytype, fits: anytype) Places(@TypeOf(b)) {
    return @intCast(pw.select(fits, b, b -% b) & pw.constant(@TypeOf(b), bits_of(@TypeOf(b)) - 1));
}

fn Places(comptime V: type) type {
    const P = std.math.Log2Int(Element(V));
    return if (@typeInfo(V) == .vector) @Vector(@typeInfo(V).vector.len, P) else P;
}

pub const bitwise_or = struct {
    pub const arity = 2;
    pub const computes = bitwise_and.computes;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        return a | b;
    }
};

pub const bitwise_xor = struct {
    pub const arity = 2;
    pub const computes = bitwise_and.computes;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        return a ^ b;
    }
};

pub const tanh_backward = pairs.tanh_backward;
pub const sigmoid_backward = pairs.sigmoid_backward;
pub const threshold_backward = pairs.threshold_backward;
pub const hypot = pairs.hypot;
pub const nextafter = pairs.nextafter;
pub const heaviside = pairs.heaviside;
pub const fmax = pairs.fmax;
pub const fmin = pairs.fmin;
pub const gcd = pairs.gcd;
pub const lcm = pairs.lcm;
pub const ldexp = pairs.ldexp;

pub const atan2 = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        return vm.atan2(a, b);
    }
};

pub const copysign = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        return vm.copysign(a, b);
    }
    pub inline fn bits(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const sign = pw.constant(@TypeOf(a), 0x8000);
        return (a & ~sign) | (b & sign);
    }
};

/// The logarithm of a sum of two powers, of e and of 2: the larger one is taken out.
pub const logaddexp = struct {
    pub const arity = 2;
    pub const computes = pw.inexact;
    pub const heavy = true;
    pub inline fn apply(comptime c: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime cx(c)) return cm.logaddexp(a, b);
        return vm.maximum(a, b) + same_infinity(a, b, vm.log1p(vm.exp(-@abs(a - b))));
    }
};

pub const logaddexp2 = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const ln2 = pw.constant(@TypeOf(a), @log(2.0));
        return vm.maximum(a, b) + same_infinity(a, b, vm.log1p(vm.exp(-@abs(a - b) * ln2)) / ln2);
    }
};

/// a log(b), and 0 where a is 0, whatever the logarithm is; NaN where b is.
pub const xlogy = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const zero = pw.constant(@TypeOf(a), 0);
        const product = pw.select(a == zero, zero, a * vm.log(b));
        return pw.select(b != b, b, product);
    }
};

/// Nothing is added to an infinity that both are: their distance is no number.
inline fn same_infinity(a: anytype, b: @TypeOf(a), more: @TypeOf(a)) @TypeOf(a) {
    const zero = pw.constant(@TypeOf(a), 0);
    const endless = pw.select(a == b, @abs(a), zero) == pw.constant(@TypeOf(a), std.math.inf(f64));
    return pw.select(endless, zero, more);
}

/// As the ternary kernel, with one weight: attribute 0.
pub const lerp = struct {
    pub const arity = 2;
    pub const computes = pw.inexact;
    pub inline fn apply(comptime c: Compute, p: Params, s: anytype, e: @TypeOf(s)) @TypeOf(s) {
        return ternary.lerp.between(c, s, e, p.value(c, @TypeOf(s), 0));
    }
};

/// The losses of a distance: squares below attribute 0, the distance itself beyond.
pub const smooth_l1 = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub inline fn apply(comptime c: Compute, p: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const beta = p.value(c, @TypeOf(a), 0);
        const half = pw.constant(@TypeOf(a), 0.5);
        const z = @abs(a - b);
        return pw.select(z < beta, half * z * z / beta, z - half * beta);
    }
};

/// What a probability costs where the truth is another, or the same: its logarithm, at least -100.
pub const bce = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, x: anytype, t: @TypeOf(x)) @TypeOf(x) {
        const least = pw.constant(@TypeOf(x), -100);
        const one = pw.constant(@TypeOf(x), 1);
        const loss = (t - one) * vm.maximum(vm.log1p(-x), least) - t * vm.maximum(vm.log(x), least);
        // No number tells of a truth beyond its bounds, too.
        const zero = pw.constant(@TypeOf(x), 0);
        return pw.select(t * (one - t) >= zero, loss, pw.constant(@TypeOf(x), std.math.nan(f32)));
    }
};

/// The same of the sigmoid of a number.
pub const bce_logits = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, x: anytype, t: @TypeOf(x)) @TypeOf(x) {
        const one = pw.constant(@TypeOf(x), 1);
        return (one - t) * x - vm.log_sigmoid(x);
    }
};

pub const huber = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub inline fn apply(comptime c: Compute, p: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        const delta = p.value(c, @TypeOf(a), 0);
        const half = pw.constant(@TypeOf(a), 0.5);
        const z = @abs(a - b);
        return pw.select(z <= delta, half * z * z, delta * (z - half * delta));
    }
};

/// log(1 + exp(-x * truth)), the truth being 1 or -1.
pub const soft_margin = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, x: anytype, t: @TypeOf(x)) @TypeOf(x) {
        return vm.log1p(vm.exp(-x * t));
    }
};
