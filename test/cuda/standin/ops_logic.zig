//! Predicates: comparisons, logic on them, and choices by them.
const std = @import("std");
const machine = @import("machine.zig");
const half = @import("half.zig");
const int = @import("ops_int.zig");
const types = @import("types.zig");
const Compare = types.Compare;
const Handler = machine.Handler;
const Ins = machine.Ins;
const Ty = types.Ty;
const Vec = machine.Vec;
const Warp = machine.Warp;

pub const Combine = enum { none, @"and", @"or", xor };
/// Bits of an instruction's `x`: the kind of combination, whether its predicate is negated, whether inputs are flushed.
pub const combine_mask: u32 = 3;
pub const negate_flag: u32 = 4;
pub const flush_flag: u32 = 8;

fn compare(comptime T: type, comptime how: Compare, a: Vec(T), b: Vec(T)) u32 {
    if (@typeInfo(T) == .int) return machine.bits(switch (how) {
        .eq, .equ => a == b,
        .ne, .neu => a != b,
        .lt, .lo, .ltu => a < b,
        .le, .ls, .leu => a <= b,
        .gt, .hi, .gtu => a > b,
        else => a >= b,
    });
    const unordered = machine.bits(a != a) | machine.bits(b != b);
    return switch (how) {
        .eq => machine.bits(a == b),
        .ne => machine.bits(a != b) & ~unordered,
        .lt, .lo => machine.bits(a < b),
        .le, .ls => machine.bits(a <= b),
        .gt, .hi => machine.bits(a > b),
        .ge, .hs => machine.bits(a >= b),
        .equ => machine.bits(a == b) | unordered,
        .neu => machine.bits(a != b) | unordered,
        .ltu => machine.bits(a < b) | unordered,
        .leu => machine.bits(a <= b) | unordered,
        .gtu => machine.bits(a > b) | unordered,
        .geu => machine.bits(a >= b) | unordered,
        .num => ~unordered,
        .nan => unordered,
    };
}

fn combined(w: *Warp, i: *const Ins, first: u32) u32 {
    if (i.x & combine_mask == 0) return first;
    const other = w.pred(i.c).* ^ (if (i.x & negate_flag != 0) machine.full else 0);
    return switch (@as(Combine, @enumFromInt(i.x & combine_mask))) {
        .none => first,
        .@"and" => first & other,
        .@"or" => first | other,
        .xor => first ^ other,
    };
}

/// One lane's number as a float; half-sized types arrive as bits.
fn operand(comptime ty: Ty, w: *Warp, at: u32, flush: bool) Vec(Operand(ty)) {
    if (ty == .f16 or ty == .bf16) {
        var r: [machine.lanes]f32 = undefined;
        for (&r, w.lane(u16, at)) |*to, x| to.* = half.widen(ty, x);
        return r;
    }
    const v = w.vec(Operand(ty), at).*;
    if (ty != .f32 or !flush) return v;
    var r: [machine.lanes]f32 = v;
    for (&r) |*x| x.* = half.flush(x.*);
    return r;
}

fn Operand(comptime ty: Ty) type {
    return switch (ty) {
        .f16, .bf16, .f32 => f32,
        .f64 => f64,
        else => int.Native(ty),
    };
}

/// Writes the comparison to `d`, and its complement to `e` unless that is `never`.
fn setp(comptime ty: Ty, comptime how: Compare) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const flush = i.x & flush_flag != 0;
            const first = compare(Operand(ty), how, operand(ty, w, i.a, flush), operand(ty, w, i.b, flush));
            const second = ~first;
            const yes = combined(w, i, first);
            const no = combined(w, i, second);
            w.put_pred(i.d, mask, yes);
            if (i.e != machine.never) w.put_pred(i.e, mask, no);
        }
    }.run;
}

/// Pairs of halves: the lower ones' comparison to `d`, the upper ones' to `e`.
fn setp_pair(comptime ty: Ty, comptime how: Compare) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            inline for (.{ 0, 16 }) |shift| {
                const found = compare(f32, how, part(w, i.a, shift), part(w, i.b, shift));
                const to = if (shift == 0) i.d else i.e;
                if (to != machine.never) w.put_pred(to, mask, combined(w, i, found));
            }
        }

        fn part(w: *Warp, at: u32, comptime shift: u5) Vec(f32) {
            var r: [machine.lanes]f32 = undefined;
            for (&r, w.lane(u32, at)) |*to, x| to.* = half.widen(ty, @truncate(x >> shift));
            return r;
        }
    }.run;
}

pub fn pick_setp(ty: Ty, how: Compare) ?Handler {
    return switch (ty) {
        inline .f16x2, .bf16x2 => |t| switch (how) {
            .lo, .ls, .hi, .hs => null,
            inline else => |h| setp_pair(if (t == .f16x2) .f16 else .bf16, h),
        },
        inline .f16, .bf16, .f32, .f64 => |t| switch (how) {
            .lo, .ls, .hi, .hs => null,
            inline else => |h| setp(t, h),
        },
        inline .b16, .u16, .s16, .b32, .u32, .s32, .b64, .u64, .s64 => |t| switch (how) {
            .eq, .ne => if (how == .eq) setp(same(t), .eq) else setp(same(t), .ne),
            inline .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs => |h| pick: {
                if (t == .b16 or t == .b32 or t == .b64) break :pick null;
                const unsigned_only = h == .lo or h == .ls or h == .hi or h == .hs;
                if (unsigned_only and t.is_signed()) break :pick null;
                break :pick setp(t, switch (h) {
                    .lo => .lt,
                    .ls => .le,
                    .hi => .gt,
                    .hs => .ge,
                    else => h,
                });
            },
            else => null,
        },
        else => null,
    };
}

fn same(comptime ty: Ty) Ty {
    return switch (ty) {
        .b16, .s16 => .u16,
        .b32, .s32 => .u32,
        .b64, .s64 => .u64,
        else => ty,
    };
}

fn select(comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const chosen = machine.bools(w.pred(i.c).*);
            w.put(T, i.d, mask, @select(T, chosen, w.vec(T, i.a).*, w.vec(T, i.b).*));
        }
    }.run;
}

pub fn pick_select(width: u32) Handler {
    return switch (width) {
        2 => select(u16),
        4 => select(u32),
        else => select(u64),
    };
}

/// `slct`: a where c is not negative, else b.
fn choose(comptime T: type, comptime C: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const c = w.vec(C, i.c).*;
            const chosen = c >= @as(Vec(C), @splat(0));
            w.put(T, i.d, mask, @select(T, chosen, w.vec(T, i.a).*, w.vec(T, i.b).*));
        }
    }.run;
}

pub fn pick_choose(width: u32, by: Ty) ?Handler {
    if (by != .s32 and by != .f32) return null;
    const float = by == .f32;
    return switch (width) {
        2 => if (float) choose(u16, f32) else choose(u16, i32),
        4 => if (float) choose(u32, f32) else choose(u32, i32),
        else => if (float) choose(u64, f32) else choose(u64, i32),
    };
}

/// `set`: all ones or 1.0 for true, in 16 or 32 bits; the predicate stands in `a`.
fn spread(comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const yes: Vec(T) = @splat(@truncate(i.imm));
            const no: Vec(T) = @splat(0);
            w.put(T, i.d, mask, @select(T, machine.bools(w.pred(i.a).*), yes, no));
        }
    }.run;
}

pub const spread16 = spread(u16);
pub const spread32 = spread(u32);

pub const Logic = enum { @"and", @"or", xor, not, mov };

fn logic(comptime op: Logic) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const a = w.pred(i.a).*;
            const b = w.pred(i.b).*;
            w.put_pred(i.d, mask, switch (op) {
                .@"and" => a & b,
                .@"or" => a | b,
                .xor => a ^ b,
                .not => ~a,
                .mov => a,
            });
        }
    }.run;
}

pub fn pick_logic(op: Logic) Handler {
    return switch (op) {
        inline else => |o| logic(o),
    };
}
