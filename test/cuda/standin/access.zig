//! Addresses of kernels: which host memory they stand for, and whether they may be used.
const std = @import("std");
const faults = @import("faults.zig");
const machine = @import("machine.zig");
const memory = @import("memory.zig");
const pinned = @import("api_memory.zig");
const report = @import("report.zig");
const settings = @import("settings.zig");
const types = @import("types.zig");
const Ins = machine.Ins;
const Space = types.Space;
const Vec = machine.Vec;
const Warp = machine.Warp;

/// Packed into an instruction's `x`: how it uses memory.
pub const Form = packed struct(u32) {
    space: Space = .generic,
    /// Bytes of one element in memory and of one lane in its register.
    bytes: u8 = 4,
    width: u8 = 4,
    count: u4 = 1,
    is_signed: bool = false,
    /// The address register has 32 bits.
    short_address: bool = false,
    /// Ordered or atomic: no race with others.
    ordered: bool = false,
    /// Operands beyond four stand among the extras, from the place in `e` on.
    many: bool = false,
    _: u5 = 0,
};

pub inline fn addresses(w: *Warp, i: *const Ins, form: Form) Vec(u64) {
    const offset: Vec(u64) = @splat(i.imm);
    if (form.short_address) return @as(Vec(u64), @intCast(w.vec(u32, i.a).*)) +% offset;
    return w.vec(u64, i.a).* +% offset;
}

/// Whether all lanes' accesses lie in one live allocation of device memory, and are aligned.
pub inline fn all_global(w: *Warp, mask: u32, at: Vec(u64), bytes: u64) bool {
    const on = machine.bools(mask);
    const low = @reduce(.Min, @select(u64, on, at, @as(Vec(u64), @splat(std.math.maxInt(u64)))));
    const zero: Vec(u64) = @splat(0);
    const high = @reduce(.Max, @select(u64, on, at, zero));
    if (@reduce(.Or, @select(u64, on, at, zero)) & (bytes - 1) != 0) return false;
    const seen = &w.seen[w.pc & 15];
    if (low >= seen.low and high +% bytes <= seen.high) return true;
    return look_up(seen, low, high, bytes);
}

fn look_up(seen: *memory.Range, low: u64, high: u64, bytes: u64) bool {
    const a = memory.find(low) orelse return false;
    if (a.read_only) return false;
    seen.* = .{ .low = a.base, .high = a.base + a.size };
    return high +% bytes <= seen.high;
}

/// The host memory of one lane's access, or null after a fault.
pub fn resolve(w: *Warp, i: *const Ins, space: Space, l: u32, at: u64, bytes: u32, comptime write: bool) ?[*]u8 {
    const verb = if (write) "write" else "read";
    if (at % bytes != 0) {
        faults.access(w, i, l, at, bytes, verb, @tagName(space));
        return null;
    }
    const found = place(w, space, l, at, bytes, write);
    if (found == null) faults.access(w, i, l, at, bytes, verb, @tagName(space));
    return found;
}

fn within(room: []u8, offset: u64, bytes: u32) ?[*]u8 {
    const from = std.math.sub(u64, offset, machine.first_offset) catch return null;
    if (from > room.len or bytes > room.len - from) return null;
    return room.ptr + from;
}

fn place(w: *Warp, space: Space, l: u32, at: u64, bytes: u32, comptime write: bool) ?[*]u8 {
    switch (space) {
        .shared => return within(w.block.shared, at, bytes),
        .local => return within(local_of(w, l), at, bytes),
        .param => {
            const params = w.block.launch.params;
            if (write or at > params.len or bytes > params.len - at) return null;
            return @constCast(params.ptr) + at;
        },
        .global, .constant => {
            if (at < memory.tag) return pinned.pinned_at(at, bytes);
            const a = memory.find(at) orelse return null;
            if (bytes > a.size -| (at - a.base) or (write and a.read_only)) return null;
            return memory.host(at);
        },
        .generic => {
            if (at >= memory.tag) return place(w, .global, l, at, bytes, write);
            if (in_window(at, machine.shared_window)) |o| return place(w, .shared, l, o, bytes, write);
            if (in_window(at, machine.local_window)) |o| return place(w, .local, l, o, bytes, write);
            if (in_window(at, machine.param_window)) |o| return place(w, .param, l, o, bytes, write);
            return pinned.pinned_at(at, bytes);
        },
    }
}

pub fn in_window(at: u64, window: u64) ?u64 {
    return if (at >= window and at - window < machine.window_bytes) at - window else null;
}

pub fn local_of(w: *Warp, l: u32) []u8 {
    const each = w.local.len / machine.lanes;
    return w.local[l * each ..][0..each];
}

/// Remembers who touched shared memory, and tells when two warps did with no barrier between.
pub fn note_shared(w: *Warp, i: *const Ins, l: u32, offset: u64, bytes: u32, comptime write: bool) void {
    const b = w.block;
    const me: u16 = @intCast(w.index + 1);
    var word = offset / 4;
    const end = (offset + bytes + 3) / 4;
    while (word < end and word < b.shadow.len) : (word += 1) {
        const s = &b.shadow[word];
        const other_wrote = s.write_epoch == b.epoch and s.writer != me;
        const other_read = s.read_epoch == b.epoch and s.reader != me;
        if (other_wrote or (write and other_read)) race(w, i, l, offset, if (other_wrote) "wrote" else "read", s.*);
        if (write) {
            s.write_epoch = b.epoch;
            s.writer = me;
        } else {
            s.reader = if (other_read) machine.many_readers else me;
            s.read_epoch = b.epoch;
        }
    }
}

fn race(w: *Warp, i: *const Ins, l: u32, offset: u64, verb: []const u8, s: machine.Shadow) void {
    report.count("races", 1);
    const other = if (verb[0] == 'w') s.writer else s.reader;
    const words = "race: warp {d} {s} byte {d} of shared memory, and no barrier stands between";
    const code = if (settings.current.race_faults) faults.launch_failed else 0;
    faults.tell(w, i, @as(u32, 1) << @intCast(l), code, words, .{ other -% 1, verb, offset });
}

/// Offset into the block's shared memory of a lane's address, if it lies there at all.
pub fn shared_offset(space: Space, at: u64) ?u64 {
    const o = switch (space) {
        .shared => at,
        .generic => in_window(at, machine.shared_window) orelse return null,
        else => return null,
    };
    return o -% machine.first_offset;
}
