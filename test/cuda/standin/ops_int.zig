//! Whole-number arithmetic, logic, shifts and bit fields.
const std = @import("std");
const machine = @import("machine.zig");
const types = @import("types.zig");
const Handler = machine.Handler;
const Ins = machine.Ins;
const Ty = types.Ty;
const Vec = machine.Vec;
const Warp = machine.Warp;

pub const Binary = enum { add, sub, mul, mul_hi, mul_wide, div, rem, min, max, @"and", @"or", xor, shl, shr };
pub const Unary = enum { neg, abs, not, popc, clz, brev, bfind, bfind_shift, cnot, copy };
pub const Ternary = enum { mad, mad_hi, mad_wide, sad };

/// The Zig type of a whole-number type; same-sized types share code where the sign does not matter.
pub fn Native(comptime ty: Ty) type {
    return switch (ty) {
        .s8 => i8,
        .b8, .u8 => u8,
        .s16 => i16,
        .s32 => i32,
        .s64 => i64,
        .b16, .u16, .f16, .bf16 => u16,
        .b64, .u64, .f64 => u64,
        else => u32,
    };
}

fn Wide(comptime T: type) type {
    const info = @typeInfo(T).int;
    return std.meta.Int(info.signedness, info.bits * 2);
}

fn signed(comptime T: type) bool {
    return @typeInfo(T).int.signedness == .signed;
}

fn Unsigned(comptime T: type) type {
    return std.meta.Int(.unsigned, @bitSizeOf(T));
}

pub fn divide(comptime T: type, x: T, y: T) T {
    if (y == 0) return @bitCast(~@as(Unsigned(T), 0));
    if (signed(T) and y == -1) return 0 -% x;
    return @divTrunc(x, y);
}

pub fn remainder(comptime T: type, x: T, y: T) T {
    if (y == 0) return x;
    if (signed(T) and y == -1) return 0;
    return @rem(x, y);
}

/// Shifts by as many bits as the type has, or more, push every bit out.
fn shift_left(comptime T: type, x: T, by: u32) T {
    return if (by >= @bitSizeOf(T)) 0 else x << @intCast(by);
}

fn shift_right(comptime T: type, x: T, by: u32) T {
    if (by < @bitSizeOf(T)) return x >> @intCast(by);
    return if (signed(T)) x >> (@bitSizeOf(T) - 1) else 0;
}

fn binary(comptime op: Binary, comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const a = w.vec(T, i.a).*;
            switch (op) {
                .add => w.put(T, i.d, mask, a +% w.vec(T, i.b).*),
                .sub => w.put(T, i.d, mask, a -% w.vec(T, i.b).*),
                .mul => w.put(T, i.d, mask, a *% w.vec(T, i.b).*),
                .min => w.put(T, i.d, mask, @min(a, w.vec(T, i.b).*)),
                .max => w.put(T, i.d, mask, @max(a, w.vec(T, i.b).*)),
                .@"and" => w.put(T, i.d, mask, a & w.vec(T, i.b).*),
                .@"or" => w.put(T, i.d, mask, a | w.vec(T, i.b).*),
                .xor => w.put(T, i.d, mask, a ^ w.vec(T, i.b).*),
                .mul_wide => {
                    const W = Wide(T);
                    const x: Vec(W) = @intCast(a);
                    const y: Vec(W) = @intCast(w.vec(T, i.b).*);
                    w.put(W, i.d, mask, x *% y);
                },
                .mul_hi, .div, .rem => {
                    const b = w.lane(T, i.b);
                    var r: [machine.lanes]T = undefined;
                    for (&r, w.lane(T, i.a), b) |*to, x, y| to.* = switch (op) {
                        .mul_hi => @intCast((@as(Wide(T), x) * @as(Wide(T), y)) >> @bitSizeOf(T)),
                        .div => divide(T, x, y),
                        else => remainder(T, x, y),
                    };
                    w.put(T, i.d, mask, r);
                },
                .shl, .shr => {
                    const by = w.lane(u32, i.b);
                    var r: [machine.lanes]T = undefined;
                    for (&r, w.lane(T, i.a), by) |*to, x, n| {
                        to.* = if (op == .shl) shift_left(T, x, n) else shift_right(T, x, n);
                    }
                    w.put(T, i.d, mask, r);
                },
            }
        }
    }.run;
}

fn sign_matters(comptime op: Binary) bool {
    return switch (op) {
        .mul_hi, .mul_wide, .div, .rem, .min, .max, .shr => true,
        else => false,
    };
}

pub fn pick_binary(op: Binary, ty: Ty) ?Handler {
    return switch (op) {
        inline else => |o| switch (ty) {
            inline .b16, .u16, .s16, .b32, .u32, .s32, .b64, .u64, .s64 => |t| pick: {
                const T = Native(t);
                if (o == .mul_wide and @bitSizeOf(T) == 64) break :pick null;
                break :pick binary(o, if (sign_matters(o)) T else Unsigned(T));
            },
            else => null,
        },
    };
}

fn unary(comptime op: Unary, comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const a = w.vec(T, i.a).*;
            const zero: Vec(T) = @splat(0);
            switch (op) {
                .copy => w.put(T, i.d, mask, a),
                .neg => w.put(T, i.d, mask, zero -% a),
                .not => w.put(T, i.d, mask, ~a),
                .cnot => w.put(T, i.d, mask, @select(T, a == zero, @as(Vec(T), @splat(1)), zero)),
                .abs => w.put(T, i.d, mask, if (signed(T)) @select(T, a < zero, zero -% a, a) else a),
                .brev => w.put(T, i.d, mask, @bitReverse(a)),
                .popc => w.put(u32, i.d, mask, @as(Vec(u32), @intCast(@popCount(a)))),
                .clz => w.put(u32, i.d, mask, @as(Vec(u32), @intCast(@clz(a)))),
                .bfind, .bfind_shift => {
                    var r: [machine.lanes]u32 = undefined;
                    for (&r, w.lane(T, i.a)) |*to, x| {
                        const v: Unsigned(T) = @bitCast(if (signed(T) and x < 0) ~x else x);
                        const above: u32 = @clz(v);
                        const place = @as(u32, @bitSizeOf(T) - 1) -% above;
                        to.* = if (v == 0) machine.never else if (op == .bfind_shift) above else place;
                    }
                    w.put(u32, i.d, mask, r);
                },
            }
        }
    }.run;
}

pub fn pick_unary(op: Unary, ty: Ty) ?Handler {
    return switch (op) {
        inline else => |o| switch (ty) {
            inline .b16, .u16, .s16, .b32, .u32, .s32, .b64, .u64, .s64 => |t| pick: {
                const T = Native(t);
                const sign = o == .abs or o == .bfind or o == .bfind_shift;
                break :pick unary(o, if (sign) T else Unsigned(T));
            },
            else => null,
        },
    };
}

fn ternary(comptime op: Ternary, comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const a = w.vec(T, i.a).*;
            const b = w.vec(T, i.b).*;
            switch (op) {
                .mad => w.put(T, i.d, mask, a *% b +% w.vec(T, i.c).*),
                .sad => {
                    const U = Unsigned(T);
                    const low: Vec(U) = @bitCast(@min(a, b));
                    const high: Vec(U) = @bitCast(@max(a, b));
                    w.put(U, i.d, mask, (high -% low) +% w.vec(U, i.c).*);
                },
                .mad_wide => {
                    const W = Wide(T);
                    const product = @as(Vec(W), @intCast(a)) *% @as(Vec(W), @intCast(b));
                    w.put(W, i.d, mask, product +% w.vec(W, i.c).*);
                },
                .mad_hi => {
                    var r: [machine.lanes]T = undefined;
                    for (&r, w.lane(T, i.a), w.lane(T, i.b), w.lane(T, i.c)) |*to, x, y, z| {
                        to.* = @as(T, @intCast((@as(Wide(T), x) * @as(Wide(T), y)) >> @bitSizeOf(T))) +% z;
                    }
                    w.put(T, i.d, mask, r);
                },
            }
        }
    }.run;
}

pub fn pick_ternary(op: Ternary, ty: Ty) ?Handler {
    return switch (op) {
        inline else => |o| switch (ty) {
            inline .u16, .s16, .u32, .s32, .u64, .s64 => |t| pick: {
                const T = Native(t);
                if (o == .mad_wide and @bitSizeOf(T) == 64) break :pick null;
                break :pick ternary(o, if (o == .mad) Unsigned(T) else T);
            },
            else => null,
        },
    };
}

/// x + y + carry in, for `add.cc` and its like: what it gives, and the carry out. Subtraction adds the complement.
fn with_carry(comptime T: type, x: T, y: T, carry: u1) struct { T, u1 } {
    const first = @addWithOverflow(x, y);
    const second = @addWithOverflow(first[0], @as(T, carry));
    return .{ second[0], first[1] | second[1] };
}

pub const Carried = enum { add, sub, mad_lo, mad_hi };
pub const carry_in: u32 = 1;
pub const carry_out: u32 = 2;

/// `x` of the instruction says whether the carry is read and whether it is written.
fn carried(comptime op: Carried, comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            var r: [machine.lanes]T = undefined;
            var carry: u32 = 0;
            const c = w.lane(T, if (op == .mad_lo or op == .mad_hi) i.c else i.b);
            for (0..machine.lanes) |l| {
                const x = w.lane(T, i.a)[l];
                const y = w.lane(T, i.b)[l];
                const in: u1 = if (i.x & carry_in == 0) 0 else @truncate(w.carry >> @intCast(l));
                const product = @as(Wide(T), x) * @as(Wide(T), y);
                const made = switch (op) {
                    .add => with_carry(T, x, y, in),
                    // The flag is a borrow: what is subtracted grows by it.
                    .sub => with_carry(T, x, ~y, ~in),
                    .mad_lo => with_carry(T, @truncate(product), c[l], in),
                    .mad_hi => with_carry(T, @intCast(product >> @bitSizeOf(T)), c[l], in),
                };
                r[l] = made[0];
                const out = if (op == .sub) ~made[1] else made[1];
                carry |= @as(u32, out) << @intCast(l);
            }
            w.put(T, i.d, mask, r);
            if (i.x & carry_out != 0) w.carry = (w.carry & ~mask) | (carry & mask);
        }
    }.run;
}

pub fn pick_carried(op: Carried, ty: Ty) ?Handler {
    return switch (op) {
        inline else => |o| switch (ty) {
            .b32, .u32, .s32 => if (o == .mad_hi and ty == .s32) null else carried(o, u32),
            .b64, .u64, .s64 => if (o == .mad_hi and ty == .s64) null else carried(o, u64),
            else => null,
        },
    };
}

pub const Field = enum { bfe, bfi, shf_l, shf_r, prmt, lop3, bmsk };

fn extract(comptime T: type, x: T, from: u32, length: u32) T {
    const size = @bitSizeOf(T);
    const U = Unsigned(T);
    const start = from & 0xFF;
    const count = length & 0xFF;
    if (count == 0) return 0;
    // Bits above the number's own repeat its sign; a field that begins beyond it holds nothing but that.
    const sign_place = @min(start + count - 1, size - 1);
    const sign = signed(T) and (@as(U, @bitCast(x)) >> @intCast(sign_place)) & 1 == 1;
    const shifted: U = if (start >= size) 0 else @as(U, @bitCast(x)) >> @intCast(start);
    const held: u32 = if (start >= size) 0 else @min(count, size - start);
    const low: U = if (held >= size) ~@as(U, 0) else (@as(U, 1) << @intCast(held)) - 1;
    return @bitCast(if (sign) shifted | ~low else shifted & low);
}

fn insert(comptime T: type, from: T, into: T, start0: u32, length: u32) T {
    const size = @bitSizeOf(T);
    const start = start0 & 0xFF;
    const count = length & 0xFF;
    if (start >= size or count == 0) return into;
    const low: T = if (count >= size) ~@as(T, 0) else (@as(T, 1) << @intCast(count)) - 1;
    const where = low << @intCast(start);
    return (into & ~where) | ((from << @intCast(start)) & where);
}

fn field(comptime op: Field, comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            var r: [machine.lanes]T = undefined;
            for (0..machine.lanes) |l| {
                const a = w.lane(T, i.a)[l];
                r[l] = switch (op) {
                    .bfe => extract(T, a, w.lane(u32, i.b)[l], w.lane(u32, i.c)[l]),
                    .bfi => insert(T, a, w.lane(T, i.b)[l], w.lane(u32, i.c)[l], w.lane(u32, i.e)[l]),
                    .shf_l, .shf_r => funnel(op, a, w.lane(u32, i.b)[l], w.lane(u32, i.c)[l], i.x != 0),
                    .prmt => permute(a, w.lane(u32, i.b)[l], w.lane(u32, i.c)[l], i.x),
                    .lop3 => lookup(a, w.lane(u32, i.b)[l], w.lane(u32, i.c)[l], @truncate(i.imm)),
                    .bmsk => ones(a, w.lane(u32, i.b)[l], i.x != 0),
                };
            }
            w.put(T, i.d, mask, r);
        }
    }.run;
}

/// `count` ones from bit `start` on; `clamp` limits both to 32, otherwise their low five bits count.
fn ones(start0: u32, count0: u32, clamp: bool) u32 {
    const start = if (clamp) @min(start0, 32) else start0 & 31;
    const count = if (clamp) @min(count0, 32) else count0 & 31;
    const low: u64 = (@as(u64, 1) << @intCast(count)) - 1;
    return @truncate(low << @intCast(start));
}

fn funnel(comptime op: Field, low: u32, high: u32, by: u32, clamp: bool) u32 {
    const n: u6 = @intCast(if (clamp) @min(by, 32) else by & 31);
    const both = @as(u64, high) << 32 | low;
    return if (op == .shf_l) @truncate((both << n) >> 32) else @truncate(both >> n);
}

/// `mode` 0 is the plain form; the others are f4e, b4e, rc8, ecl, ecr, rc16.
fn permute(a: u32, b: u32, selector: u32, mode: u32) u32 {
    const both = @as(u64, b) << 32 | a;
    var r: u32 = 0;
    for (0..4) |n| {
        const k: u32 = @intCast(n);
        const s = selector & 3;
        const from: u32 = switch (mode) {
            0 => (selector >> @intCast(4 * k)) & 15,
            1 => (s + k) & 7,
            2 => (s -% k) & 7,
            3 => s,
            4 => @max(s, k),
            5 => @min(s, k),
            else => (s & 1) * 2 + (k & 1),
        };
        var byte: u8 = @truncate(both >> @intCast(8 * (from & 7)));
        if (from & 8 != 0) byte = if (byte & 0x80 != 0) 0xFF else 0;
        r |= @as(u32, byte) << @intCast(8 * k);
    }
    return r;
}

fn lookup(a: u32, b: u32, c: u32, table: u8) u32 {
    var r: u32 = 0;
    for (0..8) |n| {
        if (table >> @intCast(n) & 1 == 0) continue;
        const x = if (n & 4 != 0) a else ~a;
        const y = if (n & 2 != 0) b else ~b;
        const z = if (n & 1 != 0) c else ~c;
        r |= x & y & z;
    }
    return r;
}

pub fn pick_field(op: Field, ty: Ty) ?Handler {
    return switch (op) {
        .bfe => switch (ty) {
            inline .u32, .s32, .u64, .s64 => |t| field(.bfe, Native(t)),
            else => null,
        },
        .bfi => switch (ty) {
            .b32 => field(.bfi, u32),
            .b64 => field(.bfi, u64),
            else => null,
        },
        inline else => |o| if (ty == .b32) field(o, u32) else null,
    };
}

fn saturated(comptime subtract: bool) fn (*Warp, *const Ins, u32) void {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const a = w.vec(i32, i.a).*;
            const b = w.vec(i32, i.b).*;
            w.put(i32, i.d, mask, if (subtract) a -| b else a +| b);
        }
    }.run;
}

pub const saturated_add = saturated(false);
pub const saturated_sub = saturated(true);
