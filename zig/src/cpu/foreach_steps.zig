//! What the steps of optimisers do to one element, or to a vector of them: the operators of PyTorch's plain loop over
//! parameters, in its order, so that each rounds as it does there.
const std = @import("std");
const builtin = @import("builtin");
const abi = @import("abi");
const abi_foreach = @import("abi_foreach");
const fr = @import("../core/frame.zig");
const half = @import("../core/half.zig");
const vm = @import("vmath.zig");

/// What an operator's result is rounded to before the next one reads it.
pub const Rounding = enum { none, bf16, f16 };

inline fn round(comptime r: Rounding, x: anytype) @TypeOf(x) {
    return switch (r) {
        .none => x,
        .bf16 => half.bf16_to_f32(half.f32_to_bf16(x)),
        .f16 => half.f16_to_f32(half.f32_to_f16(x)),
    };
}

inline fn number(comptime V: type, x: f64) V {
    if (@typeInfo(V) != .vector) return @floatCast(x);
    return @splat(@floatCast(x));
}

/// A number that is added, or a factor of what is: those PyTorch rounds to the dtype, others it does not.
inline fn added(comptime r: Rounding, comptime V: type, x: f64) V {
    return round(r, number(V, x));
}

/// The C library's, as Python's `**`; on GPUs our own.
fn pow(x: f64, y: f64) f64 {
    const c = struct {
        extern "c" fn pow(f64, f64) f64;
    };
    return if (builtin.link_libc) c.pow(x, y) else vm.pow(x, y);
}

/// Attributes, and what follows for one member from how many steps it has taken.
pub const Numbers = struct { attrs: *const [32]f64, facts: [2]f64 };

/// start + weight * (end - start), for one weight: from the nearer end.
inline fn lerp(s: anytype, e: @TypeOf(s), weight: f64) @TypeOf(s) {
    const V = @TypeOf(s);
    const w = number(V, weight);
    const near = @abs(weight) < 0.5;
    return vm.fma(if (near) w else w - number(V, 1), e - s, if (near) s else e);
}

/// The gradient with its sign, and the share of the parameter that a penalty on its square adds.
inline fn gradient(comptime r: Rounding, p: anytype, g: @TypeOf(p), maximize: bool, decay: f64) @TypeOf(p) {
    const V = @TypeOf(p);
    const signed = if (maximize) -g else g;
    return if (decay != 0) round(r, vm.fma(added(r, V, decay), p, signed)) else signed;
}

inline fn square_average(comptime r: Rounding, v: anytype, g: @TypeOf(v), decay: f64) @TypeOf(v) {
    const V = @TypeOf(v);
    return round(r, vm.fma(number(V, 1 - decay) * g, g, round(r, v * number(V, decay))));
}

/// Parameter, gradient, averages of gradients and of their squares, and the greatest of the latter.
pub fn Adam(comptime amsgrad: bool) type {
    const A = abi_foreach.AdamAttr;
    return struct {
        pub const streams = if (amsgrad) 5 else 4;
        pub const steps = true;

        pub fn facts(attrs: *const [32]f64, step: f64) [2]f64 {
            const first = 1 - pow(attrs[A.beta1], step);
            const second = 1 - pow(attrs[A.beta2], step);
            return .{ -(attrs[A.lr] / first), pow(second, 0.5) };
        }

        pub inline fn apply(comptime r: Rounding, n: Numbers, x: anytype) void {
            const V = @TypeOf(x[0]);
            const a = n.attrs;
            const decay = a[A.weight_decay];
            const decoupled = a[A.decoupled] != 0;
            var p = x[0];
            const g = gradient(r, p, x[1], a[A.maximize] != 0, if (decoupled) 0 else decay);
            if (decoupled and decay != 0) p = round(r, p * number(V, 1 - a[A.lr] * decay));
            const m = round(r, lerp(x[2], g, 1 - a[A.beta1]));
            const v = square_average(r, x[3], g, a[A.beta2]);
            var most = v;
            if (amsgrad) {
                most = vm.maximum(x[4], v);
                x[4] = most;
            }
            const root = round(r, round(r, @sqrt(most)) / number(V, n.facts[1]));
            const below = round(r, root + added(r, V, a[A.eps]));
            x[0] = round(r, p + number(V, n.facts[0]) * m / below);
            x[2] = m;
            x[3] = v;
        }
    };
}

/// Where the momentum of a step comes from: there is none, it begins with the gradient, or it goes on.
pub const Momentum = enum { none, first, later };

/// Parameter, gradient, momentum.
pub fn Sgd(comptime momentum: Momentum) type {
    const A = abi_foreach.SgdAttr;
    return struct {
        pub const streams = if (momentum == .none) 2 else 3;
        pub const steps = false;

        pub inline fn apply(comptime r: Rounding, n: Numbers, x: anytype) void {
            const V = @TypeOf(x[0]);
            const a = n.attrs;
            const factor = number(V, a[A.momentum]);
            var g = gradient(r, x[0], x[1], a[A.maximize] != 0, a[A.weight_decay]);
            if (momentum != .none) {
                var buffer = g;
                if (momentum == .later) {
                    buffer = round(r, vm.fma(added(r, V, 1 - a[A.dampening]), g, round(r, x[2] * factor)));
                }
                x[2] = buffer;
                g = if (a[A.nesterov] != 0) round(r, vm.fma(added(r, V, a[A.momentum]), buffer, g)) else buffer;
            }
            x[0] = round(r, vm.fma(added(r, V, -a[A.lr]), g, x[0]));
        }
    };
}

/// Parameter, gradient, sum of squares.
pub const Adagrad = struct {
    const A = abi_foreach.AdagradAttr;
    pub const streams = 3;
    pub const steps = true;

    pub fn facts(attrs: *const [32]f64, step: f64) [2]f64 {
        return .{ -(attrs[A.lr] / (1 + (step - 1) * attrs[A.lr_decay])), 0 };
    }

    pub inline fn apply(comptime r: Rounding, n: Numbers, x: anytype) void {
        const V = @TypeOf(x[0]);
        const a = n.attrs;
        const g = gradient(r, x[0], x[1], a[A.maximize] != 0, a[A.weight_decay]);
        const sum = round(r, vm.fma(g, g, x[2]));
        const below = round(r, round(r, @sqrt(sum)) + added(r, V, a[A.eps]));
        x[0] = round(r, x[0] + number(V, n.facts[0]) * g / below);
        x[2] = sum;
    }
};

/// Parameter, gradient, average of squares; then momentum and the average of gradients, where there are any.
pub fn Rmsprop(comptime momentum: bool, comptime centered: bool) type {
    const A = abi_foreach.RmspropAttr;
    const average = if (momentum) 4 else 3;
    return struct {
        pub const streams = 3 + @as(usize, @intFromBool(momentum)) + @intFromBool(centered);
        pub const steps = true;

        pub fn facts(_: *const [32]f64, _: f64) [2]f64 {
            return .{ 0, 0 };
        }

        pub inline fn apply(comptime r: Rounding, n: Numbers, x: anytype) void {
            const V = @TypeOf(x[0]);
            const a = n.attrs;
            const g = gradient(r, x[0], x[1], a[A.maximize] != 0, a[A.weight_decay]);
            const squares = square_average(r, x[2], g, a[A.alpha]);
            x[2] = squares;
            var spread = squares;
            if (centered) {
                const mean = round(r, lerp(x[average], g, 1 - a[A.alpha]));
                x[average] = mean;
                spread = round(r, vm.fma(-mean, mean, squares));
            }
            const below = round(r, round(r, @sqrt(spread)) + added(r, V, a[A.eps]));
            if (momentum) {
                const buffer = round(r, round(r, x[3] * number(V, a[A.momentum])) + g / below);
                x[3] = buffer;
                x[0] = round(r, vm.fma(added(r, V, -a[A.lr]), buffer, x[0]));
            } else {
                x[0] = round(r, x[0] + number(V, -a[A.lr]) * g / below);
            }
        }
    };
}

/// Every element times a number.
pub const Scale = struct {
    pub const streams = 1;
    pub const steps = false;

    pub inline fn apply(comptime r: Rounding, n: Numbers, x: anytype) void {
        x[0] = round(r, x[0] * number(@TypeOf(x[0]), n.attrs[abi_foreach.ScaleAttr.factor]));
    }
};

/// The kernels, with what each computes by its attributes, and what that is called on GPUs.
pub const kernels = .{
    .{
        .name = "adam",
        .variants = &[_][]const u8{ "plain", "greatest", "count" },
        .bodies = .{ Adam(false), Adam(true) },
    },
    .{
        .name = "sgd",
        .variants = &[_][]const u8{ "plain", "first", "later" },
        .bodies = .{ Sgd(.none), Sgd(.first), Sgd(.later) },
    },
    .{ .name = "adagrad", .variants = &[_][]const u8{ "plain", "count" }, .bodies = .{Adagrad} },
    .{
        .name = "rmsprop",
        .variants = &[_][]const u8{ "plain", "centered", "momentum", "both", "count" },
        .bodies = .{ Rmsprop(false, false), Rmsprop(false, true), Rmsprop(true, false), Rmsprop(true, true) },
    },
    .{ .name = "scale", .variants = &[_][]const u8{"plain"}, .bodies = .{Scale} },
};

/// Which of a kernel's bodies the attributes ask for.
pub fn body_of(comptime name: []const u8, attrs: *const [32]f64) usize {
    if (comptime std.mem.eql(u8, name, "adam")) return @intFromBool(attrs[abi_foreach.AdamAttr.amsgrad] != 0);
    if (comptime std.mem.eql(u8, name, "sgd")) {
        if (attrs[abi_foreach.SgdAttr.first] != 0) return 1;
        return if (attrs[abi_foreach.SgdAttr.momentum] != 0) 2 else 0;
    }
    if (comptime std.mem.eql(u8, name, "rmsprop")) {
        const centered: usize = @intFromBool(attrs[abi_foreach.RmspropAttr.centered] != 0);
        return centered + if (attrs[abi_foreach.RmspropAttr.momentum] > 0) @as(usize, 2) else 0;
    }
    return 0;
}
