//! What the ways of multiplying matrices have in common: the problem, and how it is cut up.

const std = @import("std");
const kernels = @import("gemm_kernel.zig");
const at = kernels.at;
const span = kernels.span;

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
        /// What beta multiplies: C itself, or a matrix beside it whose rows or columns may repeat.
        d: [*]const T,
        rsd: isize,
        csd: isize,
        c: [*]T,
        rsc: isize,
        csc: isize,

        const Self = @This();

        /// C = A * B for matrices by rows without gaps.
        pub fn by_rows(m: usize, n: usize, k: usize, a: [*]const T, b: [*]const T, c: [*]T) Self {
            const rows: isize, const inner: isize = .{ @intCast(n), @intCast(k) };
            return .{
                .m = m,
                .n = n,
                .k = k,
                .alpha = 1,
                .a = a,
                .rsa = inner,
                .csa = 1,
                .b = b,
                .rsb = rows,
                .csb = 1,
                .beta = 0,
                .d = c,
                .rsd = rows,
                .csd = 1,
                .c = c,
                .rsc = rows,
                .csc = 1,
            };
        }

        /// The same product read the other way round: C' = B' * A'.
        pub fn transposed(p: Self) Self {
            var t = p;
            t.m, t.n = .{ p.n, p.m };
            t.a, t.rsa, t.csa = .{ p.b, p.csb, p.rsb };
            t.b, t.rsb, t.csb = .{ p.a, p.csa, p.rsa };
            t.rsc, t.csc = .{ p.csc, p.rsc };
            t.rsd, t.csd = .{ p.csd, p.rsd };
            return t;
        }

        /// C takes what beta multiplies, for ways that add to what is there.
        pub fn begun(p: Self) Self {
            if (p.beta == 0 or p.in_place()) return p;
            for (0..p.m) |i| for (0..p.n) |j| {
                at(p.c, span(i, p.rsc) + span(j, p.csc))[0] = at(p.d, span(i, p.rsd) + span(j, p.csd))[0];
            };
            var t = p;
            t.d, t.rsd, t.csd = .{ p.c, p.rsc, p.csc };
            return t;
        }

        pub fn in_place(p: *const Self) bool {
            return p.d == @as([*]const T, p.c);
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
