//! Threads that join what each of them has: those of a warp, or of a block of 256. What all get is what the first has,
//! whatever the order of the others.
const thread = @import("thread.zig");

pub const Team = enum {
    warp,
    block,

    pub fn size(t: Team) u32 {
        return if (t == .warp) thread.warp else threads;
    }
};

pub const threads = 256;
const warps = threads / thread.warp;

/// `x.join(y)` of all threads' values, in an order that is always the same. All of them call it.
pub inline fn joined(comptime team: Team, x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    var s = x;
    inline for (.{ 1, 2, 4, 8, 16 }) |mask| s = s.join(thread.exchanged(s, mask));
    s = thread.from_lane(s, 0);
    if (team == .warp) return s;
    const Shared = struct {
        var of_warps: [warps]V addrspace(.shared) = undefined;
    };
    if (thread.lane() == 0) Shared.of_warps[thread.index() / thread.warp] = s;
    thread.barrier();
    s = Shared.of_warps[0];
    inline for (1..warps) |w| s = s.join(Shared.of_warps[w]);
    thread.barrier();
    return s;
}

/// Two sums.
pub fn Pair(comptime T: type) type {
    return struct {
        a: T = 0,
        b: T = 0,

        pub inline fn join(x: @This(), y: @This()) @This() {
            return .{ .a = x.a + y.a, .b = x.b + y.b };
        }
    };
}

/// How many numbers, their mean, and the sum of their squared distances from it.
pub fn Moments(comptime T: type) type {
    return struct {
        const Self = @This();

        n: T = 0,
        mean: T = 0,
        m2: T = 0,

        pub inline fn join(x: Self, y: Self) Self {
            const n = x.n + y.n;
            const share = if (n == 0) 0 else y.n / n;
            const delta = y.mean - x.mean;
            return .{
                .n = n,
                .mean = if (x.n == 0) y.mean else x.mean + delta * share,
                .m2 = x.m2 + y.m2 + if (x.n == 0 or y.n == 0) 0 else delta * delta * x.n * share,
            };
        }

        /// Of the first `count` numbers; others are 0.
        pub inline fn of(x: anytype, count: u32) Self {
            const n: T = @floatFromInt(count);
            var sum: T = 0;
            inline for (x) |v| sum += v;
            const mean = sum / n;
            var m2: T = 0;
            inline for (x, 0..) |v, u| m2 += if (u < count) (v - mean) * (v - mean) else 0;
            return .{ .n = n, .mean = mean, .m2 = m2 };
        }
    };
}
