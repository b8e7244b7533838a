//! A lock for the short work of the allocator and the tables of kernels.
const std = @import("std");
const futex = @import("../core/futex.zig");

pub const Lock = struct {
    /// 0 free, 1 held, 2 held and waited for.
    state: futex.Word = .init(0),

    pub fn lock(l: *Lock) void {
        if (l.state.cmpxchgStrong(0, 1, .acquire, .monotonic) == null) return;
        while (l.state.swap(2, .acquire) != 0) futex.wait(&l.state, 2);
    }

    pub fn unlock(l: *Lock) void {
        if (l.state.swap(0, .release) == 2) futex.wake(&l.state, 1);
    }
};
