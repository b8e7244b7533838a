//! Floating-point arithmetic: fast vectors for what rounds to nearest, one lane at a time for every other form.
const std = @import("std");
const half = @import("half.zig");
const machine = @import("machine.zig");
const types = @import("types.zig");
const Handler = machine.Handler;
const Ins = machine.Ins;
const Rounding = types.Rounding;
const Ty = types.Ty;
const Vec = machine.Vec;
const Warp = machine.Warp;

pub const Op = enum {
    add,
    sub,
    mul,
    div,
    fma,
    sqrt,
    rcp,
    rsqrt,
    min,
    max,
    abs,
    neg,
    ex2,
    lg2,
    sin,
    cos,
    tanh,
    copysign,
};

/// How an instruction rounds and what it does to special values; packed into its `x`.
pub const Form = packed struct(u32) {
    rounding: Rounding = .nearest,
    flush: bool = false,
    saturate: bool = false,
    /// `.NaN`: a NaN operand makes the result one.
    nan: bool = false,
    relu: bool = false,
    _: u25 = 0,

    pub fn plain(f: Form) bool {
        return @as(u32, @bitCast(f)) == 0;
    }
};

/// Float32 results that are NaN have these bits.
fn canonical(comptime T: type, v: Vec(T)) Vec(T) {
    if (T == f64) return v;
    return @select(T, v == v, v, @as(Vec(T), @splat(@bitCast(@as(u32, 0x7FFF_FFFF)))));
}

fn Bits(comptime T: type) type {
    return std.meta.Int(.unsigned, @bitSizeOf(T));
}

fn sign_bit(comptime T: type) Bits(T) {
    return @as(Bits(T), 1) << (@bitSizeOf(T) - 1);
}

/// The lesser or greater of two, -0 below +0, a number rather than NaN.
fn extreme(comptime T: type, comptime least: bool, a: Vec(T), b: Vec(T)) Vec(T) {
    const U = Bits(T);
    const ab: Vec(U) = @bitCast(a);
    const bb: Vec(U) = @bitCast(b);
    const tie: Vec(T) = @bitCast(if (least) ab | bb else ab & bb);
    var r = @select(T, if (least) a < b else a > b, a, b);
    r = @select(T, a == b, tie, r);
    return canonical(T, @select(T, b != b, a, r));
}

fn fast(comptime op: Op, comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const a = w.vec(T, i.a).*;
            const U = Bits(T);
            const one: Vec(T) = @splat(1);
            const result: Vec(T) = switch (op) {
                .add => canonical(T, a + w.vec(T, i.b).*),
                .sub => canonical(T, a - w.vec(T, i.b).*),
                .mul => canonical(T, a * w.vec(T, i.b).*),
                .div => canonical(T, a / w.vec(T, i.b).*),
                .fma => canonical(T, @mulAdd(Vec(T), a, w.vec(T, i.b).*, w.vec(T, i.c).*)),
                .sqrt => canonical(T, @sqrt(a)),
                .rcp => canonical(T, one / a),
                .min => extreme(T, true, a, w.vec(T, i.b).*),
                .max => extreme(T, false, a, w.vec(T, i.b).*),
                .abs => @bitCast(w.vec(U, i.a).* & @as(Vec(U), @splat(~sign_bit(T)))),
                .neg => @bitCast(w.vec(U, i.a).* ^ @as(Vec(U), @splat(sign_bit(T)))),
                .copysign => @bitCast((w.vec(U, i.a).* & @as(Vec(U), @splat(sign_bit(T)))) |
                    (w.vec(U, i.b).* & @as(Vec(U), @splat(~sign_bit(T))))),
                else => @compileError("no vector form"),
            };
            w.put(T, i.d, mask, result);
        }
    }.run;
}

/// A float function that has no exact result.
fn approximate(op: Op, x: f64) f64 {
    return switch (op) {
        .ex2 => std.math.exp2(x),
        .lg2 => if (x < 0) std.math.nan(f64) else std.math.log2(x),
        .sin => @sin(x),
        .cos => @cos(x),
        .tanh => std.math.tanh(x),
        .rsqrt => 1 / @sqrt(x),
        else => unreachable,
    };
}

fn exact(comptime W: type, op: Op, a: W, b: W, c: W) half.Exact(W) {
    return switch (op) {
        .add => half.add(W, a, b),
        .sub => half.add(W, a, -b),
        .mul => half.mul(W, a, b),
        .div => half.div(W, a, b),
        .fma => half.fma(W, a, b, c),
        .sqrt => half.sqrt(W, a),
        .rcp => half.div(W, 1, a),
        else => .{ .value = @floatCast(approximate(op, @floatCast(a))) },
    };
}

fn one_extreme(op: Op, a: f64, b: f64, form: Form) f64 {
    if (a != a or b != b) {
        if (form.nan or (a != a and b != b)) return std.math.nan(f64);
        return if (a != a) b else a;
    }
    if (a == 0 and b == 0) {
        const negative = std.math.signbit(a);
        const zero_below = if (negative) a else b;
        const zero_above = if (negative) b else a;
        return if (op == .min) zero_below else zero_above;
    }
    return if ((op == .min) == (a < b)) a else b;
}

fn clamped(x: f64) f64 {
    return if (x > 0) @min(x, 1) else 0;
}

fn lane32(op: Op, x: f32, y: f32, z: f32, form: Form) f32 {
    const a = if (form.flush) half.flush(x) else x;
    const b = if (form.flush) half.flush(y) else y;
    const c = if (form.flush) half.flush(z) else z;
    var r: f32 = switch (op) {
        .abs => @abs(a),
        .neg => -a,
        .copysign => std.math.copysign(y, x),
        .min, .max => @floatCast(one_extreme(op, a, b, form)),
        else => half.round(f64, f32, exact(f64, op, a, b, c), form.rounding),
    };
    if (r == 0 and op == .add or op == .sub or op == .fma) r = zero_sum(op, r, a, b, c, form);
    if (form.flush) r = half.flush(r);
    if (form.saturate) r = if (r > 0) @min(r, 1) else 0;
    if (r != r) return @bitCast(@as(u32, 0x7FFF_FFFF));
    return r;
}

/// An exact sum of zero is -0 when rounding down, unless both parts are +0.
fn zero_sum(op: Op, r: f32, a: f32, b: f32, c: f32, form: Form) f32 {
    if (r != 0 or form.rounding != .down) return r;
    const x: f64 = if (op == .fma) @as(f64, a) * b else a;
    const y: f64 = if (op == .fma) c else if (op == .sub) -b else b;
    if (x + y != 0) return r;
    return if (std.math.signbit(x) or std.math.signbit(y)) -0.0 else 0;
}

fn upper(x: f64) f64 {
    return @bitCast(@as(u64, @bitCast(x)) & 0xFFFF_FFFF_0000_0000);
}

fn lane64(op: Op, a: f64, b: f64, c: f64, form: Form) f64 {
    switch (op) {
        .min, .max => return one_extreme(op, a, b, form),
        .abs => return @abs(a),
        .neg => return -a,
        .copysign => return std.math.copysign(b, a),
        .rsqrt => return 1 / @sqrt(a),
        // Only the approximation flushes: it reads and gives the upper half of a number.
        .rcp => if (form.flush) return upper(1 / upper(a)),
        else => {},
    }
    const r = half.round(f128, f64, exact(f128, op, a, b, c), form.rounding);
    if (r == 0 and form.rounding == .down and (op == .add or op == .sub)) {
        const y = if (op == .sub) -b else b;
        if (a + y == 0 and (std.math.signbit(a) or std.math.signbit(y))) return -0.0;
    }
    return r;
}

fn lane16(comptime ty: Ty, op: Op, a: u16, b: u16, c: u16, form: Form) u16 {
    switch (op) {
        .abs => return a & 0x7FFF,
        .neg => return a ^ 0x8000,
        .copysign => return (a & 0x8000) | (b & 0x7FFF),
        else => {},
    }
    var x: f64 = half.widen(ty, a);
    var y: f64 = half.widen(ty, b);
    var z: f64 = half.widen(ty, c);
    if (form.flush) for ([_]*f64{ &x, &y, &z }) |v| {
        const tiny: f64 = if (ty == .f16) 0x1p-14 else 0x1p-126;
        if (@abs(v.*) < tiny) v.* = std.math.copysign(@as(f64, 0), v.*);
    };
    var made: half.Exact(f64) = switch (op) {
        .min, .max => .{ .value = one_extreme(op, x, y, form) },
        else => exact(f64, op, x, y, z),
    };
    const inside = made.value > 0 and made.value < 1;
    if (form.saturate) made = .{ .value = clamped(made.value), .rest = if (inside) made.rest else 0 };
    if (form.relu and made.value < 0) made = .{ .value = 0 };
    var r = half.narrow(ty, made, form.rounding);
    if (form.flush and ty == .f16 and r & 0x7C00 == 0) r &= 0x8000;
    return r;
}

fn slow(comptime op: Op, comptime ty: Ty) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const form: Form = @bitCast(i.x);
            const part: Ty = if (ty == .f16x2) .f16 else if (ty == .bf16x2) .bf16 else ty;
            const U = std.meta.Int(.unsigned, ty.bytes() * 8);
            var r: [machine.lanes]U = undefined;
            const three = op == .fma;
            for (0..machine.lanes) |l| {
                if (mask >> @intCast(l) & 1 == 0) continue;
                const a = w.lane(U, i.a)[l];
                const b = w.lane(U, i.b)[l];
                const c: U = if (three) w.lane(U, i.c)[l] else 0;
                r[l] = switch (ty) {
                    .f32 => @bitCast(lane32(op, @bitCast(a), @bitCast(b), @bitCast(c), form)),
                    .f64 => @bitCast(lane64(op, @bitCast(a), @bitCast(b), @bitCast(c), form)),
                    .f16, .bf16 => lane16(part, op, a, b, c, form),
                    else => pair: {
                        const low = lane16(part, op, @truncate(a), @truncate(b), @truncate(c), form);
                        const high = lane16(part, op, @intCast(a >> 16), @intCast(b >> 16), @intCast(c >> 16), form);
                        break :pair @as(u32, high) << 16 | low;
                    },
                };
            }
            w.put(U, i.d, mask, r);
        }
    }.run;
}

pub fn pick(op: Op, ty: Ty, form: Form) ?Handler {
    const vector = form.plain() and (ty == .f32 or ty == .f64);
    switch (op) {
        inline .ex2, .lg2, .sin, .cos, .tanh, .rsqrt => |o| return switch (ty) {
            inline .f16, .f16x2, .bf16, .bf16x2, .f32, .f64 => |t| slow(o, t),
            else => null,
        },
        inline else => |o| {
            if (vector) return if (ty == .f32) fast(o, f32) else fast(o, f64);
            return switch (ty) {
                inline .f16, .f16x2, .bf16, .bf16x2, .f32, .f64 => |t| slow(o, t),
                else => null,
            };
        },
    }
}

pub const Class = enum { finite, infinite, number, notanumber, normal, subnormal };

fn classify(comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            var r: u32 = 0;
            for (w.lane(T, i.a), 0..) |x, l| {
                const yes = switch (@as(Class, @enumFromInt(i.x))) {
                    .finite => std.math.isFinite(x),
                    .infinite => std.math.isInf(x),
                    .number => x == x,
                    .notanumber => x != x,
                    .normal => std.math.isNormal(x),
                    .subnormal => x != 0 and std.math.isFinite(x) and !std.math.isNormal(x),
                };
                r |= @as(u32, @intFromBool(yes)) << @intCast(l);
            }
            w.put_pred(i.d, mask, r);
        }
    }.run;
}

pub fn pick_class(ty: Ty) ?Handler {
    return if (ty == .f32) classify(f32) else if (ty == .f64) classify(f64) else null;
}
