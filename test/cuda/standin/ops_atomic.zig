//! Atomic operations, and fences.
const std = @import("std");
const access = @import("access.zig");
const half = @import("half.zig");
const int = @import("ops_int.zig");
const machine = @import("machine.zig");
const types = @import("types.zig");
const Handler = machine.Handler;
const Ins = machine.Ins;
const Ty = types.Ty;
const Warp = machine.Warp;

pub const Op = enum { add, min, max, @"and", @"or", xor, exch, cas, inc, dec };

fn halves(comptime ty: Ty, a: u16, b: u16) u16 {
    return half.narrow(ty, half.add(f64, half.widen(ty, a), half.widen(ty, b)), .nearest);
}

fn float_sum(comptime ty: Ty, old: anytype, b: @TypeOf(old)) @TypeOf(old) {
    switch (ty) {
        .f32, .f64 => {
            const F = if (ty == .f32) f32 else f64;
            const r = @as(F, @bitCast(old)) + @as(F, @bitCast(b));
            if (ty == .f32 and r != r) return 0x7FFF_FFFF;
            return @bitCast(r);
        },
        .f16, .bf16 => return halves(ty, old, b),
        else => {
            const part: Ty = if (ty == .f16x2) .f16 else .bf16;
            const low = halves(part, @truncate(old), @truncate(b));
            return @as(u32, halves(part, @intCast(old >> 16), @intCast(b >> 16))) << 16 | low;
        },
    }
}

/// What an operation leaves in memory, from what it found.
fn updated(comptime op: Op, comptime ty: Ty, old: anytype, b: @TypeOf(old), c: @TypeOf(old)) @TypeOf(old) {
    const T = int.Native(ty);
    const x: T = @bitCast(old);
    const y: T = @bitCast(b);
    return switch (op) {
        .add => if (comptime ty.is_float()) float_sum(ty, old, b) else old +% b,
        .min => @bitCast(@min(x, y)),
        .max => @bitCast(@max(x, y)),
        .@"and" => old & b,
        .@"or" => old | b,
        .xor => old ^ b,
        .exch => b,
        .cas => if (old == b) c else old,
        .inc => if (old >= b) 0 else old + 1,
        .dec => if (old == 0 or old > b) b else old - 1,
    };
}

fn handler(comptime op: Op, comptime ty: Ty) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const U = std.meta.Int(.unsigned, ty.bytes() * 8);
            const form: access.Form = @bitCast(i.x);
            const each: [machine.lanes]u64 = access.addresses(w, i, form);
            var left = mask;
            while (left != 0) : (left &= left - 1) {
                const l: u32 = @ctz(left);
                const at = access.resolve(w, i, form.space, l, each[l], @sizeOf(U), true) orelse return;
                const p: *U = @ptrCast(@alignCast(at));
                const b = w.lane(U, i.b)[l];
                const c = w.lane(U, i.c)[l];
                var old = @atomicLoad(U, p, .monotonic);
                while (@cmpxchgWeak(U, p, old, updated(op, ty, old, b, c), .seq_cst, .monotonic)) |seen| old = seen;
                if (i.d != machine.never) w.lane(U, i.d)[l] = old;
            }
        }
    }.run;
}

fn exists(op: Op, ty: Ty) bool {
    return switch (op) {
        .add => switch (ty) {
            .u32, .s32, .u64, .f16, .f16x2, .bf16, .bf16x2, .f32, .f64 => true,
            else => false,
        },
        .min, .max => ty == .u32 or ty == .s32 or ty == .u64 or ty == .s64,
        .@"and", .@"or", .xor, .exch => ty == .b32 or ty == .b64,
        .cas => ty == .b16 or ty == .b32 or ty == .b64,
        .inc, .dec => ty == .u32,
    };
}

pub fn pick(op: Op, ty: Ty) ?Handler {
    return switch (op) {
        inline else => |o| switch (ty) {
            inline else => |t| if (comptime exists(o, t)) handler(o, t) else null,
        },
    };
}

var order: u32 = 0;

/// Every access before it is seen before any after it.
pub fn fence(w: *Warp, i: *const Ins, mask: u32) void {
    _ = .{ w, i, mask };
    _ = @atomicRmw(u32, &order, .Or, 0, .seq_cst);
}
