//! Sums over the threads of a block of 256.
const thread = @import("thread.zig");

pub const threads = 256;
const warps = threads / thread.warp;

pub const Sums = struct {
    /// Of the threads before this one, and of all.
    before: u32,
    total: u32,
};

var of_warps: [warps]u32 addrspace(.shared) = undefined;

/// All threads of the block call it. What they wrote to shared memory before is seen by all afterwards.
pub inline fn sums(x: u32) Sums {
    const lane = thread.lane();
    const warp = thread.index() / thread.warp;
    var up_to = x;
    inline for (.{ 1, 2, 4, 8, 16 }) |distance| {
        const other = thread.from_before(up_to, distance);
        if (lane >= distance) up_to += other;
    }
    if (lane == thread.warp - 1) of_warps[warp] = up_to;
    thread.barrier();
    var before: u32 = up_to - x;
    var total: u32 = 0;
    inline for (0..warps) |w| {
        const n = of_warps[w];
        if (w < warp) before += n;
        total += n;
    }
    thread.barrier();
    return .{ .before = before, .total = total };
}
