//! Loads and stores.
const std = @import("std");
const access = @import("access.zig");
const machine = @import("machine.zig");
const memory = @import("memory.zig");
const types = @import("types.zig");
const Form = access.Form;
const Handler = machine.Handler;
const Ins = machine.Ins;
const Vec = machine.Vec;
const Warp = machine.Warp;

const places: Vec(u64) = std.simd.iota(u64, machine.lanes);

/// The registers of a load or store, one for each element.
fn register(w: *Warp, i: *const Ins, form: Form, n: usize) u32 {
    if (form.many) return w.kernel().extras[i.e + n];
    return switch (n) {
        0 => i.d,
        1 => i.b,
        2 => i.c,
        else => i.e,
    };
}

fn in_a_row(at: Vec(u64), bytes: u64) bool {
    const wanted = @as(Vec(u64), @splat(at[0])) +% places * @as(Vec(u64), @splat(bytes));
    return @reduce(.And, at == wanted);
}

/// One element of device memory as wide as its register: the frequent case.
fn load_global(comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const at = access.addresses(w, i, @bitCast(i.x));
            const bytes = @sizeOf(T);
            if (!access.all_global(w, mask, at, bytes)) return load(w, i, mask);
            const to = w.lane(T, i.d);
            if (mask == machine.full and in_a_row(at, bytes)) {
                const from = memory.host(at[0]);
                @memcpy(@as([*]u8, @ptrCast(to))[0 .. machine.lanes * bytes], from[0 .. machine.lanes * bytes]);
                return;
            }
            const each: [machine.lanes]u64 = at;
            var left = mask;
            while (left != 0) : (left &= left - 1) {
                const l = @ctz(left);
                to[l] = @as(*const T, @ptrCast(@alignCast(memory.host(each[l])))).*;
            }
        }
    }.run;
}

fn store_global(comptime T: type) Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const at = access.addresses(w, i, @bitCast(i.x));
            const bytes = @sizeOf(T);
            if (!access.all_global(w, mask, at, bytes)) return store(w, i, mask);
            const from = w.lane(T, i.d);
            if (mask == machine.full and in_a_row(at, bytes)) {
                const to = memory.host(at[0]);
                @memcpy(to[0 .. machine.lanes * bytes], @as([*]const u8, @ptrCast(from))[0 .. machine.lanes * bytes]);
                return;
            }
            const each: [machine.lanes]u64 = at;
            var left = mask;
            while (left != 0) : (left &= left - 1) {
                const l = @ctz(left);
                @as(*T, @ptrCast(@alignCast(memory.host(each[l])))).* = from[l];
            }
        }
    }.run;
}

fn read(from: [*]const u8, form: Form) u64 {
    var raw: u64 = 0;
    @memcpy(std.mem.asBytes(&raw)[0..form.bytes], from[0..form.bytes]);
    if (!form.is_signed) return raw;
    const shift: u6 = @intCast(64 - @as(u32, form.bytes) * 8);
    return @bitCast(@as(i64, @bitCast(raw << shift)) >> shift);
}

fn put_lane(w: *Warp, width: u8, at: u32, l: u32, value: u64) void {
    switch (width) {
        2 => w.lane(u16, at)[l] = @truncate(value),
        4 => w.lane(u32, at)[l] = @truncate(value),
        else => w.lane(u64, at)[l] = value,
    }
}

fn get_lane(w: *Warp, width: u8, at: u32, l: u32) u64 {
    return switch (width) {
        2 => w.lane(u16, at)[l],
        4 => w.lane(u32, at)[l],
        else => w.lane(u64, at)[l],
    };
}

/// Any load, lane by lane.
pub fn load(w: *Warp, i: *const Ins, mask: u32) void {
    const form: Form = @bitCast(i.x);
    const each: [machine.lanes]u64 = access.addresses(w, i, form);
    const whole = @as(u32, form.bytes) * form.count;
    var left = mask;
    while (left != 0) : (left &= left - 1) {
        const l: u32 = @ctz(left);
        const from = access.resolve(w, i, form.space, l, each[l], whole, false) orelse return;
        if (!form.ordered) if (access.shared_offset(form.space, each[l])) |o| {
            access.note_shared(w, i, l, o, whole, false);
        };
        for (0..form.count) |n| {
            const to = register(w, i, form, n);
            if (to != machine.never) put_lane(w, form.width, to, l, read(from + n * form.bytes, form));
        }
    }
}

/// Any store, lane by lane.
pub fn store(w: *Warp, i: *const Ins, mask: u32) void {
    const form: Form = @bitCast(i.x);
    const each: [machine.lanes]u64 = access.addresses(w, i, form);
    const whole = @as(u32, form.bytes) * form.count;
    var left = mask;
    while (left != 0) : (left &= left - 1) {
        const l: u32 = @ctz(left);
        const to = access.resolve(w, i, form.space, l, each[l], whole, true) orelse return;
        if (!form.ordered) if (access.shared_offset(form.space, each[l])) |o| {
            access.note_shared(w, i, l, o, whole, true);
            w.products.hide(w.block.epoch);
        };
        for (0..form.count) |n| {
            const value = get_lane(w, form.width, register(w, i, form, n), l);
            @memcpy((to + n * form.bytes)[0..form.bytes], std.mem.asBytes(&value)[0..form.bytes]);
        }
    }
}

/// A kernel's parameter at a place that is known: `imm`.
pub fn load_param(w: *Warp, i: *const Ins, mask: u32) void {
    const form: Form = @bitCast(i.x);
    const from = w.block.launch.params.ptr + i.imm;
    for (0..form.count) |n| {
        const value = read(from + n * form.bytes, form);
        const to = register(w, i, form, n);
        switch (form.width) {
            2 => w.put(u16, to, mask, @splat(@truncate(value))),
            4 => w.put(u32, to, mask, @splat(@truncate(value))),
            else => w.put(u64, to, mask, @splat(value)),
        }
    }
}

/// Copies bytes within each lane's local memory, as calls hand over their parameters: from `imm` to `a`, `x` bytes.
pub fn copy_local(w: *Warp, i: *const Ins, mask: u32) void {
    var left = mask;
    while (left != 0) : (left &= left - 1) {
        const room = access.local_of(w, @ctz(left));
        const from = i.imm - machine.first_offset;
        const to = i.a - machine.first_offset;
        @memmove(room[to..][0..i.x], room[from..][0..i.x]);
    }
}

pub fn pick(comptime writes: bool, form: Form) Handler {
    const slow = if (writes) &store else &load;
    if (form.space != .global and form.space != .generic) return slow;
    if (form.count != 1 or form.bytes != form.width) return slow;
    return switch (form.bytes) {
        2 => if (writes) store_global(u16) else load_global(u16),
        4 => if (writes) store_global(u32) else load_global(u32),
        8 => if (writes) store_global(u64) else load_global(u64),
        else => slow,
    };
}
