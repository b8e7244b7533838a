//! What the lanes of a warp do together. All lanes that a mask names must come; those that come first wait.
const std = @import("std");
const control = @import("ops_control.zig");
const faults = @import("faults.zig");
const machine = @import("machine.zig");
const int = @import("ops_int.zig");
const types = @import("types.zig");
const Handler = machine.Handler;
const Ins = machine.Ins;
const Ty = types.Ty;
const Warp = machine.Warp;

/// What a lane gets that reads one which is not there: undefined on a device, recognisable here.
const nobody: u32 = 0xCDCD_CDCD;

pub const Shuffle = enum { up, down, bfly, idx };
pub const Vote = enum { all, any, uni, ballot };
pub const Reduce = enum { add, min, max, @"and", @"or", xor };

/// The mask that the lanes name, once all of them are there; null while they wait, or after a fault.
fn members(w: *Warp, i: *const Ins, mask: u32) ?u32 {
    const named = w.lane(u32, i.c)[@ctz(mask)];
    if (mask & ~named != 0) {
        faults.raise(w, i, mask & ~named, faults.illegal_instruction, "a lane is not in its mask 0x{x}", .{named});
        return null;
    }
    return if (control.together(w, mask, named)) named else null;
}

pub fn sync(w: *Warp, i: *const Ins, mask: u32) void {
    _ = members(w, i, mask);
}

fn shuffle(comptime mode: Shuffle) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            _ = members(w, i, mask) orelse return;
            const places = w.kernel().extras[i.x..][0..3];
            const from = w.vec(u32, i.a).*;
            const values: [machine.lanes]u32 = from;
            var r: [machine.lanes]u32 = undefined;
            var found: u32 = 0;
            for (0..machine.lanes) |n| {
                const lane: u32 = @intCast(n);
                const b = w.lane(u32, places[0])[n] & 31;
                const c = w.lane(u32, places[1])[n];
                const segment = (c >> 8) & 31;
                const clamp = c & 31;
                const last = (lane & segment) | (clamp & ~segment & 31);
                const first = lane & segment;
                const j: i32 = switch (mode) {
                    .up => @as(i32, @intCast(lane)) - @as(i32, @intCast(b)),
                    .down => @intCast(lane + b),
                    .bfly => @intCast(lane ^ b),
                    .idx => @intCast(first | (b & ~segment & 31)),
                };
                const inside = if (mode == .up) j >= @as(i32, @intCast(last)) else j <= @as(i32, @intCast(last));
                const k: u32 = if (inside) @intCast(j) else lane;
                r[n] = if (mask >> @intCast(k) & 1 == 1) values[k] else nobody;
                found |= @as(u32, @intFromBool(inside)) << @intCast(n);
            }
            w.put(u32, i.d, mask, r);
            if (places[2] != machine.never) w.put_pred(places[2], mask, found);
        }
    }.run;
}

pub fn pick_shuffle(mode: Shuffle) Handler {
    return switch (mode) {
        inline else => |m| shuffle(m),
    };
}

fn vote(comptime mode: Vote) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            _ = members(w, i, mask) orelse return;
            const yes = w.pred(i.a).* & mask;
            const r = switch (mode) {
                .ballot => return w.put(u32, i.d, mask, @splat(yes)),
                .all => yes == mask,
                .any => yes != 0,
                .uni => yes == 0 or yes == mask,
            };
            w.put_pred(i.d, mask, if (r) machine.full else 0);
        }
    }.run;
}

pub fn pick_vote(mode: Vote) Handler {
    return switch (mode) {
        inline else => |m| vote(m),
    };
}

fn match(comptime all: bool, comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            _ = members(w, i, mask) orelse return;
            const values: [machine.lanes]T = w.vec(T, i.a).*;
            var r: [machine.lanes]u32 = @splat(0);
            for (values, &r) |v, *to| {
                to.* = machine.bits(w.vec(T, i.a).* == @as(machine.Vec(T), @splat(v))) & mask;
            }
            if (!all) return w.put(u32, i.d, mask, r);
            const same = r[@ctz(mask)] == mask;
            w.put(u32, i.d, mask, @splat(if (same) mask else 0));
            if (i.e != machine.never) w.put_pred(i.e, mask, if (same) machine.full else 0);
        }
    }.run;
}

pub fn pick_match(all: bool, ty: Ty) Handler {
    if (ty == .b64) return if (all) match(true, u64) else match(false, u64);
    return if (all) match(true, u32) else match(false, u32);
}

/// The lanes that run with this one just now.
pub fn active_mask(w: *Warp, i: *const Ins, mask: u32) void {
    w.put(u32, i.d, mask, @splat(mask));
}

fn reduce(comptime op: Reduce, comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            _ = members(w, i, mask) orelse return;
            const values = w.lane(T, i.a);
            var r = values[@ctz(mask)];
            var left = mask & (mask - 1);
            while (left != 0) : (left &= left - 1) {
                const v = values[@ctz(left)];
                r = switch (op) {
                    .add => r +% v,
                    .min => @min(r, v),
                    .max => @max(r, v),
                    .@"and" => r & v,
                    .@"or" => r | v,
                    .xor => r ^ v,
                };
            }
            w.put(T, i.d, mask, @splat(r));
        }
    }.run;
}

pub fn pick_reduce(op: Reduce, ty: Ty) ?Handler {
    return switch (op) {
        inline .add, .min, .max => |o| switch (ty) {
            .u32 => reduce(o, u32),
            .s32 => reduce(o, i32),
            else => null,
        },
        inline else => |o| if (ty == .b32) reduce(o, u32) else null,
    };
}

/// Lets other warps go on.
pub fn sleep(w: *Warp, i: *const Ins, mask: u32) void {
    _ = .{ i, mask };
    w.quantum = 0;
    w.limit = 0;
}
