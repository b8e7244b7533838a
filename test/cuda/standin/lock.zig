//! A lock for short work, on every system alike, and the clock.
const std = @import("std");

pub const Lock = struct {
    taken: std.atomic.Value(bool) = .init(false),

    pub fn lock(l: *Lock) void {
        var spins: u32 = 0;
        while (l.taken.swap(true, .acquire)) : (spins += 1) {
            if (spins < 100) std.atomic.spinLoopHint() else std.Thread.yield() catch {};
        }
    }

    pub fn unlock(l: *Lock) void {
        l.taken.store(false, .release);
    }
};

/// Nanoseconds of a clock that never goes back.
pub fn now() u64 {
    var t: std.c.timespec = undefined;
    if (std.c.clock_gettime(.MONOTONIC, &t) != 0) return 0;
    return @as(u64, @intCast(t.sec)) * std.time.ns_per_s + @as(u64, @intCast(t.nsec));
}
