//! Copies from device to shared memory that a kernel starts and waits for later. They happen at the wait, as late as
//! they may, so that a kernel which does not wait does not see them.
const std = @import("std");
const access = @import("access.zig");
const machine = @import("machine.zig");
const Ins = machine.Ins;
const Warp = machine.Warp;

const gpa = std.heap.c_allocator;

pub const Copy = struct { lane: u5, group: u32, to: [*]u8, from: [*]const u8, bytes: u8, zeros: u8 };

/// From `b` (+ `imm`) to shared `a` (+ `e`), `x` bytes; those from `c` on, when it is given, are zeros.
pub fn start(w: *Warp, i: *const Ins, mask: u32) void {
    const bytes = i.x & 0xFF;
    const short = i.x & 0x100 != 0;
    var left = mask;
    while (left != 0) : (left &= left - 1) {
        const l: u5 = @intCast(@ctz(left));
        const target = (if (short) w.lane(u32, i.a)[l] else w.lane(u64, i.a)[l]) +% i.e;
        const source = w.lane(u64, i.b)[l] +% i.imm;
        const to = access.resolve(w, i, .shared, l, target, bytes, true) orelse return;
        const wanted = if (i.c == 0) bytes else @min(bytes, w.lane(u32, i.c)[l]);
        var from: [*]const u8 = to;
        if (wanted > 0) from = access.resolve(w, i, .global, l, source, bytes, false) orelse return;
        if (access.shared_offset(.shared, target)) |o| access.note_shared(w, i, l, o, bytes, true);
        const copy: Copy = .{
            .lane = l,
            .group = w.copy_groups[l],
            .to = to,
            .from = from,
            .bytes = @intCast(wanted),
            .zeros = @intCast(bytes - wanted),
        };
        w.copies.append(gpa, copy) catch finish(copy);
    }
}

fn finish(c: Copy) void {
    @memcpy(c.to[0..c.bytes], c.from[0..c.bytes]);
    @memset(c.to[c.bytes..][0..c.zeros], 0);
}

pub fn commit(w: *Warp, i: *const Ins, mask: u32) void {
    _ = i;
    var left = mask;
    while (left != 0) : (left &= left - 1) w.copy_groups[@ctz(left)] += 1;
}

/// Waits until at most `imm` of the newest groups are under way; for all copies when `x` is set.
pub fn wait(w: *Warp, i: *const Ins, mask: u32) void {
    var kept: usize = 0;
    for (w.copies.items) |c| {
        const mine = mask >> c.lane & 1 == 1;
        const old = i.x != 0 or c.group + i.imm < w.copy_groups[c.lane];
        if (mine and old) {
            finish(c);
            w.products.hide(w.block.epoch);
        } else {
            w.copies.items[kept] = c;
            kept += 1;
        }
    }
    w.copies.items.len = kept;
}

/// Forgets what nobody waited for when a block ends.
pub fn drop(w: *Warp) void {
    if (w.copies.items.len > 0) w.copies.items.len = 0;
}

pub fn release(w: *Warp) void {
    w.copies.deinit(gpa);
}
