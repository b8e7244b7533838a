//! Activations, and their gradients: a gradient times the slope at the input. Each body is written once for scalars,
//! vectors and GPUs; numbers that shape a function are attributes.
const abi = @import("abi");
const cm = @import("vmath_complex.zig");
const dt = @import("../core/dtype.zig");
const pw = @import("pointwise.zig");
const vm = @import("vmath.zig");

const Compute = abi.Compute;
const Params = pw.Params;

/// sqrt(2 / pi), and what the cube weighs in the approximation of the normal distribution by tanh.
const beta: f64 = 0.79788456080286535588;
const kappa: f64 = 0.044715;
/// The density of the normal distribution at zero.
const density: f64 = 0.39894228040143267794;

inline fn k(like: anytype, comptime x: f64) @TypeOf(like) {
    return pw.constant(@TypeOf(like), x);
}

inline fn is_complex(comptime c: Compute) bool {
    return comptime dt.is_complex(dt.Computed(c));
}

/// What a function of one real number and its attributes needs besides: `apply` takes them in that order.
fn Unary(comptime Body: type, comptime is_long: bool) type {
    return struct {
        pub const arity = 1;
        pub const computes = pw.floats;
        pub const heavy = is_long;
        pub inline fn apply(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
            return Body.at(c, p, x);
        }
    };
}

/// The gradient g times the slope at x.
fn Slope(comptime Body: type, comptime is_long: bool) type {
    return struct {
        pub const arity = 2;
        pub const computes = pw.floats;
        pub const heavy = is_long;
        pub inline fn apply(comptime c: Compute, p: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
            return Body.slope(c, p, g, x);
        }
    };
}

const Gelu = struct {
    inline fn at(comptime _: Compute, _: Params, x: anytype) @TypeOf(x) {
        return x * vm.normal_below(x);
    }
    inline fn slope(comptime _: Compute, _: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        return g * (vm.normal_below(x) + x * (k(x, density) * vm.exp(x * x * k(x, -0.5))));
    }
};

const GeluTanh = struct {
    inline fn bent(x: anytype) @TypeOf(x) {
        return vm.tanh(k(x, beta) * (x + k(x, kappa) * x * x * x));
    }
    inline fn at(comptime _: Compute, _: Params, x: anytype) @TypeOf(x) {
        return k(x, 0.5) * x * (k(x, 1) + bent(x));
    }
    inline fn slope(comptime _: Compute, _: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        const t = bent(x);
        const inner = k(x, beta) * (k(x, 1) + k(x, 3 * kappa) * x * x);
        return g * (k(x, 0.5) * (k(x, 1) + t) + k(x, 0.5) * x * (k(x, 1) - t * t) * inner);
    }
};

const Mish = struct {
    inline fn bent(x: anytype) @TypeOf(x) {
        return vm.tanh(vm.log1p(vm.exp(x)));
    }
    inline fn at(comptime _: Compute, _: Params, x: anytype) @TypeOf(x) {
        return x * bent(x);
    }
    inline fn slope(comptime _: Compute, _: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        const t = bent(x);
        return g * (t + x * vm.sigmoid(x) * (k(x, 1) - t * t));
    }
};

/// log(1 + exp(beta x)) / beta, attribute 0; the input itself where beta x is above attribute 1.
const Softplus = struct {
    inline fn at(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        const b = p.value(c, @TypeOf(x), 0);
        return pw.select(x * b > p.value(c, @TypeOf(x), 1), x, vm.log1p(vm.exp(x * b)) / b);
    }
    inline fn slope(comptime c: Compute, p: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        const b = p.value(c, @TypeOf(x), 0);
        const z = vm.exp(x * b);
        return pw.select(x * b > p.value(c, @TypeOf(x), 1), g, g * z / (z + k(x, 1)));
    }
};

/// expm1(x) below zero; attributes: alpha, a scale of both sides, one of the input.
const Elu = struct {
    inline fn at(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        const V = @TypeOf(x);
        const scale = p.value(c, V, 1);
        const below = vm.expm1(x * p.value(c, V, 2)) * (p.value(c, V, 0) * scale);
        return pw.select(x < k(x, 0), below, x * scale);
    }
    inline fn slope(comptime c: Compute, p: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        const V = @TypeOf(x);
        const scale = p.value(c, V, 1);
        const inner = p.value(c, V, 2);
        const below = g * inner * (p.value(c, V, 0) * scale) * vm.exp(x * inner);
        return pw.select(x <= k(x, 0), below, g * scale);
    }
};

/// The same slope where x is the result.
const EluResult = struct {
    inline fn slope(comptime c: Compute, p: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        const V = @TypeOf(x);
        const scale = p.value(c, V, 1);
        const below = g * p.value(c, V, 2) * (x + p.value(c, V, 0) * scale);
        return pw.select(x <= k(x, 0), below, g * scale);
    }
};

/// x + 3 between 0 and 6; NaN stays.
inline fn six(x: anytype) @TypeOf(x) {
    const y = x + k(x, 3);
    const low = pw.select(y < k(x, 0), k(x, 0), y);
    return pw.select(low > k(x, 6), k(x, 6), low);
}

const Hardswish = struct {
    inline fn at(comptime _: Compute, _: Params, x: anytype) @TypeOf(x) {
        return x * six(x) / k(x, 6);
    }
    inline fn slope(comptime _: Compute, _: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        const middle = pw.select(x < k(x, 3), g * (x / k(x, 3) + k(x, 0.5)), g);
        return pw.select(x <= k(x, -3), k(x, 0), middle);
    }
};

const Hardsigmoid = struct {
    inline fn at(comptime _: Compute, _: Params, x: anytype) @TypeOf(x) {
        return six(x) / k(x, 6);
    }
    inline fn slope(comptime _: Compute, _: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        return pw.select(@abs(x) < k(x, 3), g * k(x, 1.0 / 6.0), k(x, 0));
    }
};

/// A gradient where x lies between attributes 0 and 1.
const Hardtanh = struct {
    inline fn slope(comptime c: Compute, p: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        const low = pw.select(x <= p.value(c, @TypeOf(x), 0), k(x, 0), g);
        return pw.select(x >= p.value(c, @TypeOf(x), 1), k(x, 0), low);
    }
};

const LeakyRelu = struct {
    inline fn at(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        return pw.select(x > k(x, 0), x, x * p.value(c, @TypeOf(x), 0));
    }
    inline fn slope(comptime c: Compute, p: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        return pw.select(x > k(x, 0), g, g * p.value(c, @TypeOf(x), 0));
    }
};

const LogSigmoid = struct {
    inline fn at(comptime _: Compute, _: Params, x: anytype) @TypeOf(x) {
        return vm.log_sigmoid(x);
    }
    inline fn slope(comptime _: Compute, _: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        const z = vm.exp(-@abs(x));
        const part = z / (k(x, 1) + z);
        return g * pw.select(x < k(x, 0), k(x, 1) - part, part);
    }
};

const Hardshrink = struct {
    inline fn at(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        return pw.select(@abs(x) <= p.value(c, @TypeOf(x), 0), k(x, 0), x);
    }
    inline fn slope(comptime c: Compute, p: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        return pw.select(@abs(x) <= p.value(c, @TypeOf(x), 0), k(x, 0), g);
    }
};

const Softshrink = struct {
    inline fn at(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        const lambd = p.value(c, @TypeOf(x), 0);
        // NaN stays, and zeros keep their sign.
        const below = pw.select(x < -lambd, x + lambd, x * k(x, 0));
        return pw.select(x > lambd, x - lambd, below);
    }
};

pub const gelu = Unary(Gelu, true);
pub const gelu_tanh = Unary(GeluTanh, true);
pub const mish = Unary(Mish, true);
pub const softplus = Unary(Softplus, true);
pub const elu = Unary(Elu, true);
pub const hardswish = Unary(Hardswish, false);
pub const hardsigmoid = Unary(Hardsigmoid, false);
pub const leaky_relu = Unary(LeakyRelu, false);
pub const log_sigmoid = Unary(LogSigmoid, true);
pub const hardshrink = Unary(Hardshrink, false);
pub const softshrink = Unary(Softshrink, false);

pub const gelu_backward = Slope(Gelu, true);
pub const gelu_tanh_backward = Slope(GeluTanh, true);
pub const mish_backward = Slope(Mish, true);
pub const softplus_backward = Slope(Softplus, true);
pub const elu_backward = Slope(Elu, true);
pub const elu_result_backward = Slope(EluResult, false);
pub const hardswish_backward = Slope(Hardswish, false);
pub const hardsigmoid_backward = Slope(Hardsigmoid, false);
pub const hardtanh_backward = Slope(Hardtanh, false);
pub const leaky_relu_backward = Slope(LeakyRelu, false);
pub const log_sigmoid_backward = Slope(LogSigmoid, true);
pub const hardshrink_backward = Slope(Hardshrink, false);

/// x / (1 + exp(-x)), of complex numbers too.
pub const silu = struct {
    pub const arity = 1;
    pub const computes = pw.inexact;
    pub const heavy = true;
    pub inline fn apply(comptime c: Compute, _: Params, x: anytype) @TypeOf(x) {
        if (comptime is_complex(c)) return cm.mul(x, cm.sigmoid(x));
        return x / (k(x, 1) + vm.exp(-x));
    }
};

pub const silu_backward = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        const s = vm.sigmoid(x);
        return g * s * (k(x, 1) + x * (k(x, 1) - s));
    }
};

/// Attribute 1 where x is not above attribute 0.
pub const threshold = struct {
    pub const arity = 1;
    pub const computes = pw.all_real;
    pub inline fn apply(comptime c: Compute, p: Params, x: anytype) @TypeOf(x) {
        return pw.select(x <= p.value(c, @TypeOf(x), 0), p.value(c, @TypeOf(x), 1), x);
    }
};

/// A gradient where x is above attribute 0, or no number.
pub const threshold_backward = struct {
    pub const arity = 2;
    pub const computes = pw.all_real;
    pub inline fn apply(comptime c: Compute, p: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        return pw.select(x <= p.value(c, @TypeOf(x), 0), pw.constant(@TypeOf(x), 0), g);
    }
};

/// x, or w x where that is not above zero.
pub const prelu = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub inline fn apply(comptime _: Compute, _: Params, x: anytype, w: @TypeOf(x)) @TypeOf(x) {
        return pw.select(x > k(x, 0), x, w * x);
    }
};

/// The gradient g of that for x, beside its weight.
pub const prelu_input_backward = struct {
    pub const arity = 3;
    pub const computes = pw.floats;
    pub inline fn apply(comptime _: Compute, _: Params, g: anytype, x: @TypeOf(g), w: @TypeOf(g)) @TypeOf(g) {
        return pw.select(x > k(x, 0), g, w * g);
    }
};

/// And for the weight.
pub const prelu_weight_backward = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub inline fn apply(comptime _: Compute, _: Params, g: anytype, x: @TypeOf(g)) @TypeOf(g) {
        return pw.select(x > k(x, 0), k(x, 0), x * g);
    }
};

/// a sigmoid(b).
pub const glu = struct {
    pub const arity = 2;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        return a * vm.sigmoid(b);
    }
};

/// The gradient g of that for b.
pub const glu_gate_backward = struct {
    pub const arity = 3;
    pub const computes = pw.floats;
    pub const heavy = true;
    pub inline fn apply(comptime _: Compute, _: Params, g: anytype, a: @TypeOf(g), b: @TypeOf(g)) @TypeOf(g) {
        const s = vm.sigmoid(b);
        return (k(a, 1) - s) * s * g * a;
    }
};
