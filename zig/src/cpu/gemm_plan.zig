//! What the ways of multiplying matrices have in common: the problem, and how it is cut up.

const std = @import("std");

/// Multiply-adds worth handing to another thread.
pub const task_work = 128 * 1024;

pub fn Problem(comptime T: type) type {
    return struct {
        m: usize,
        n: usize,
        k: usize,
        alpha: T,
        a: [*]const T,
        rsa: isize,
        csa: isize,
        b: [*]const T,
        rsb: isize,
        csb: isize,
        beta: T,
        c: [*]T,
        rsc: isize,
        csc: isize,

        const Self = @This();

        /// The same product read the other way round: C' = B' * A'.
        pub fn transposed(p: Self) Self {
            var t = p;
            t.m, t.n = .{ p.n, p.m };
            t.a, t.rsa, t.csa = .{ p.b, p.csb, p.rsb };
            t.b, t.rsb, t.csb = .{ p.a, p.csa, p.rsa };
            t.rsc, t.csc = .{ p.csc, p.rsc };
            return t;
        }

        pub fn work(p: *const Self) usize {
            return p.m *| p.n *| p.k;
        }
    };
}

/// Rows of strip s when m rows are shared out evenly over `strips`.
pub const Strips = struct {
    count: usize,
    base: usize,
    extra: usize,

    pub fn of(m: usize, tallest: usize) Strips {
        const count = (m - 1) / tallest + 1;
        return .{ .count = count, .base = m / count, .extra = m % count };
    }
    pub inline fn start(s: Strips, i: usize) usize {
        return i * s.base + @min(i, s.extra);
    }
    pub inline fn height(s: Strips, i: usize) usize {
        return s.base + @intFromBool(i < s.extra);
    }
};

/// The inner dimension in equal steps of at most `most`.
pub fn k_step(k: usize, most: usize) usize {
    const steps = (k - 1) / most + 1;
    return @min(k, std.mem.alignForward(usize, (k - 1) / steps + 1, 8));
}
