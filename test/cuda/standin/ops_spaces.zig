//! Questions about addresses, and clocks.
const std = @import("std");
const access = @import("access.zig");
const machine = @import("machine.zig");
const memory = @import("memory.zig");
const now = @import("lock.zig").now;
const Clock = @import("operands.zig").Clock;
const Ins = machine.Ins;
const Warp = machine.Warp;

/// Whether addresses lie in the window at `imm`; 0 stands for device memory.
pub fn is_in(w: *Warp, i: *const Ins, mask: u32) void {
    var r: u32 = 0;
    for (w.lane(u64, i.a), 0..) |at, l| {
        const yes = if (i.imm == 0) at >= memory.tag else access.in_window(at, i.imm) != null;
        r |= @as(u32, @intFromBool(yes)) << @intCast(l);
    }
    w.put_pred(i.d, mask, r);
}

fn clock(comptime which: Clock) machine.Handler {
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            const t = now();
            switch (which) {
                .clock64, .globaltimer => w.put(u64, i.d, mask, @splat(t)),
                .clock, .globaltimer_lo => w.put(u32, i.d, mask, @splat(@truncate(t))),
                .clock_hi, .globaltimer_hi => w.put(u32, i.d, mask, @splat(@truncate(t >> 32))),
            }
        }
    }.run;
}

pub fn pick_clock(which: Clock) machine.Handler {
    return switch (which) {
        inline else => |c| clock(c),
    };
}
