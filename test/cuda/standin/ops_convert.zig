//! Conversions between all types, and moves that pack and unpack registers.
const std = @import("std");
const half = @import("half.zig");
const machine = @import("machine.zig");
const types = @import("types.zig");
const int = @import("ops_int.zig");
const Handler = machine.Handler;
const Ins = machine.Ins;
const Rounding = types.Rounding;
const Ty = types.Ty;
const Vec = machine.Vec;
const Warp = machine.Warp;

/// Packed into an instruction's `x`.
pub const Form = packed struct(u32) {
    rounding: Rounding = .nearest,
    /// Rounds to a whole number (`.rni` and its like), also between float types.
    whole: bool = false,
    flush: bool = false,
    saturate: bool = false,
    relu: bool = false,
    from: Ty = .b32,
    to: Ty = .b32,
    /// Bytes of a lane in the registers, which may be wider than the types.
    from_width: u8 = 4,
    _: u7 = 0,
};

fn integral(x: f64, how: Rounding) f64 {
    return switch (how) {
        .zero => @trunc(x),
        .down => @floor(x),
        .up => @ceil(x),
        .away => @round(x),
        .nearest => nearest: {
            const r = @round(x);
            if (@abs(x - @trunc(x)) != 0.5) break :nearest r;
            break :nearest 2 * @round(x / 2);
        },
    };
}

/// A whole number of either sign, kept in 128 bits; to type `ty` with wrapping or clamping.
fn fit(ty: Ty, v: i128, clamp: bool) u64 {
    const size: u7 = @intCast(ty.bytes() * 8);
    if (clamp) {
        const low: i128 = if (ty.is_signed()) -(@as(i128, 1) << (size - 1)) else 0;
        const high: i128 = (@as(i128, 1) << (if (ty.is_signed()) size - 1 else size)) - 1;
        return narrowed(ty, std.math.clamp(v, low, high));
    }
    return narrowed(ty, v);
}

/// The low bits, extended by the type's own sign to the register's width.
fn narrowed(ty: Ty, v: i128) u64 {
    return switch (ty) {
        .s8 => @bitCast(@as(i64, @as(i8, @truncate(v)))),
        .s16 => @bitCast(@as(i64, @as(i16, @truncate(v)))),
        .s32 => @bitCast(@as(i64, @as(i32, @truncate(v)))),
        .u8, .b8 => @as(u8, @truncate(@as(u128, @bitCast(v)))),
        .u16, .b16 => @as(u16, @truncate(@as(u128, @bitCast(v)))),
        .u32, .b32 => @as(u32, @truncate(@as(u128, @bitCast(v)))),
        else => @truncate(@as(u128, @bitCast(v))),
    };
}

fn whole_value(ty: Ty, bits: u64) i128 {
    return switch (ty) {
        .s8 => @as(i8, @bitCast(@as(u8, @truncate(bits)))),
        .s16 => @as(i16, @bitCast(@as(u16, @truncate(bits)))),
        .s32 => @as(i32, @bitCast(@as(u32, @truncate(bits)))),
        .s64 => @as(i64, @bitCast(bits)),
        .u8, .b8 => @as(u8, @truncate(bits)),
        .u16, .b16 => @as(u16, @truncate(bits)),
        .u32, .b32 => @as(u32, @truncate(bits)),
        else => bits,
    };
}

fn float_value(ty: Ty, bits: u64) f64 {
    return switch (ty) {
        .f16 => half.widen(.f16, @truncate(bits)),
        .bf16 => half.widen(.bf16, @truncate(bits)),
        .f64 => @bitCast(bits),
        else => @as(f32, @bitCast(@as(u32, @truncate(bits)))),
    };
}

fn float_bits(ty: Ty, e: half.Exact(f64), form: Form) u64 {
    const how = form.rounding;
    if (e.value != e.value and ty != .f64) return switch (ty) {
        .f16, .bf16 => half.nan16,
        else => 0x7FFF_FFFF,
    };
    return switch (ty) {
        .f16 => half.narrow(.f16, e, how),
        .bf16 => half.narrow(.bf16, e, how),
        .f64 => @bitCast(e.value),
        .tf32 => @as(u32, @bitCast(half.tf32(@floatCast(e.value), how))),
        else => single: {
            const r = half.round(f64, f32, e, how);
            break :single @as(u32, @bitCast(if (form.flush) half.flush(r) else r));
        },
    };
}

fn flushed(form: Form, x: f64) f64 {
    if (!form.flush or form.from != .f32) return x;
    return half.flush(@floatCast(x));
}

fn from_float(form: Form, bits: u64) u64 {
    var x = flushed(form, float_value(form.from, bits));
    if (form.to.is_float()) {
        if (form.whole) x = integral(x, form.rounding);
        if (form.saturate) x = if (x > 0) @min(x, 1) else 0;
        if (form.relu and x < 0) x = 0;
        var f = form;
        if (form.whole) f.rounding = .nearest;
        return float_bits(form.to, .{ .value = x }, f);
    }
    // NaN is zero, or the highest bit alone where 64 bits take part; what does not fit is the nearest that does.
    const long = form.to.bytes() == 8 or form.from == .f64;
    if (x != x) return if (long) @as(u64, 1) << @intCast(form.to.bytes() * 8 - 1) else 0;
    const r = integral(x, form.rounding);
    const limited: i128 = @intFromFloat(std.math.clamp(r, -0x1p100, 0x1p100));
    return fit(form.to, limited, true);
}

fn from_whole(form: Form, bits: u64) u64 {
    const v = whole_value(form.from, bits);
    if (!form.to.is_float()) return fit(form.to, v, form.saturate);
    // 64-bit numbers may not fit a float64's 53 bits: what they lack decides the rounding.
    const near: f64 = @floatFromInt(v);
    const rest: i128 = v - @as(i128, @intFromFloat(near));
    var e: half.Exact(f64) = .{ .value = near, .rest = if (rest > 0) 1 else if (rest < 0) -1 else 0 };
    if (form.to == .f64) e = .{ .value = half.round(f128, f64, .{ .value = @floatFromInt(v) }, form.rounding) };
    if (form.saturate and near > 1) e = .{ .value = 1 };
    if (form.saturate and near < 0) e = .{ .value = 0 };
    return float_bits(form.to, e, form);
}

fn read(w: *Warp, width: u8, at: u32, l: usize) u64 {
    return switch (width) {
        2 => w.lane(u16, at)[l],
        4 => w.lane(u32, at)[l],
        else => w.lane(u64, at)[l],
    };
}

/// Any conversion, lane by lane, to a register whose lanes have the type's own width D.
fn general(comptime D: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const form: Form = @bitCast(i.x);
            var r: [machine.lanes]D = undefined;
            for (0..machine.lanes) |l| {
                if (mask >> @intCast(l) & 1 == 0) continue;
                const bits = read(w, form.from_width, i.a, l);
                r[l] = @truncate(if (form.from.is_float()) from_float(form, bits) else from_whole(form, bits));
            }
            w.put(D, i.d, mask, r);
        }
    }.run;
}

/// The conversions of index arithmetic and of float32, which are frequent.
fn direct(comptime S: type, comptime D: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const v = w.vec(S, i.a).*;
            const from = @typeInfo(S);
            const to = @typeInfo(D);
            if (from == .int and to == .int) {
                if (@bitSizeOf(D) < @bitSizeOf(S)) return w.put(D, i.d, mask, @as(Vec(D), @truncate(v)));
                return w.put(D, i.d, mask, @as(Vec(D), @intCast(v)));
            }
            if (from == .int) return w.put(D, i.d, mask, @as(Vec(D), @floatFromInt(v)));
            const r: Vec(D) = @floatCast(v);
            if (D != f32) return w.put(D, i.d, mask, r);
            const nan: Vec(f32) = @splat(@bitCast(@as(u32, 0x7FFF_FFFF)));
            w.put(f32, i.d, mask, @select(f32, r == r, r, nan));
        }
    }.run;
}

pub fn pick(form: Form, to_width: u32) Handler {
    const bare = form.rounding == .nearest and !form.whole and !form.flush and !form.saturate and !form.relu;
    if (bare and form.from_width == form.from.width() and to_width == form.to.width()) {
        switch (form.from) {
            inline .u32, .s32, .u64, .s64, .f32 => |from| switch (form.to) {
                inline .u32, .s32, .u64, .s64, .f32, .f64 => |to| if (frequent(from, to)) |h| return h,
                else => {},
            },
            .f64 => if (form.to == .f32) return direct(f64, f32),
            else => {},
        }
    }
    return switch (to_width) {
        2 => general(u16),
        4 => general(u32),
        else => general(u64),
    };
}

fn frequent(comptime from: Ty, comptime to: Ty) ?Handler {
    if (from == .f32) return if (to == .f64) direct(f32, f64) else null;
    if (to == .f32) return if (from.bytes() == 4) direct(int.Native(from), f32) else null;
    if (to == .f64) return if (from.bytes() == 4) direct(int.Native(from), f64) else null;
    const S = int.Native(from);
    const D = std.meta.Int(@typeInfo(S).int.signedness, to.bytes() * 8);
    return direct(S, D);
}

/// Two floats to a packed pair: `a` to the upper half, `b` to the lower.
fn pair(comptime ty: Ty) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const form: Form = @bitCast(i.x);
            var r: [machine.lanes]u32 = undefined;
            for (&r, w.lane(f32, i.a), w.lane(f32, i.b)) |*to, a, b| {
                const high = one(form, a);
                to.* = @as(u32, high) << 16 | one(form, b);
            }
            w.put(u32, i.d, mask, r);
        }

        fn one(form: Form, x: f32) u16 {
            const v: f64 = if (form.relu and x < 0) 0 else x;
            return half.narrow(ty, .{ .value = v }, form.rounding);
        }
    }.run;
}

pub fn pick_pair(ty: Ty) ?Handler {
    return if (ty == .f16x2) pair(.f16) else if (ty == .bf16x2) pair(.bf16) else null;
}

/// Joins registers (whose places are extras) to a wider one, or takes one apart.
fn packing(comptime Part: type, comptime Whole: type, comptime join: bool) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const count = @sizeOf(Whole) / @sizeOf(Part);
            const places = w.kernel().extras[i.x..][0..count];
            if (join) {
                var r: Vec(Whole) = @splat(0);
                for (places, 0..) |at, n| {
                    const part: Vec(Whole) = @intCast(w.vec(Part, at).*);
                    r |= part << @splat(@intCast(n * @bitSizeOf(Part)));
                }
                return w.put(Whole, i.d, mask, r);
            }
            const whole = w.vec(Whole, i.a).*;
            for (places, 0..) |at, n| {
                if (at == machine.never) continue;
                w.put(Part, at, mask, @truncate(whole >> @splat(@intCast(n * @bitSizeOf(Part)))));
            }
        }
    }.run;
}

pub fn pick_packing(part: u32, whole: u32, join: bool) ?Handler {
    if (part == 2 and whole == 4) return if (join) packing(u16, u32, true) else packing(u16, u32, false);
    if (part == 4 and whole == 8) return if (join) packing(u32, u64, true) else packing(u32, u64, false);
    if (part == 2 and whole == 8) return if (join) packing(u16, u64, true) else packing(u16, u64, false);
    return null;
}
