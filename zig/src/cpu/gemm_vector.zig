//! Matrix times vector and dot products for f32 and f64. Every element of the result is summed in an order that
//! depends only on the shape.

const std = @import("std");
const parallel = @import("../core/parallel.zig");
const kernels = @import("gemm_kernel.zig");
const at = kernels.at;
const span = kernels.span;
const mul_add = kernels.mul_add;

/// Multiply-adds worth handing to another thread.
const task_work = 64 * 1024;
/// Elements of a matrix that may be read crosswise at no cost.
const cached = 8 * 1024;

fn Gemv(comptime T: type) type {
    const tile = kernels.Tile(T);
    const lanes = tile.lanes;
    const V = tile.V;
    return struct {
        m: usize,
        k: usize,
        alpha: T,
        a: [*]const T,
        rsa: isize,
        csa: isize,
        x: [*]const T,
        incx: isize,
        beta: T,
        y: [*]T,
        incy: isize,

        const Self = @This();

        inline fn finish(s: *const Self, i: usize, sum: T) void {
            const p = at(s.y, span(i, s.incy));
            const v = s.alpha * sum;
            p[0] = if (s.beta == 0) v else mul_add(s.beta, p[0], v);
        }

        /// Rows contiguous: dot products with x, which must be contiguous.
        fn by_rows(s: *const Self, begin: usize, end: usize) void {
            var i = begin;
            while (i + 4 <= end) : (i += 4) s.dot_rows(4, 2, i);
            while (i < end) : (i += 1) s.dot_rows(1, 2, i);
        }

        inline fn dot_rows(s: *const Self, comptime h: usize, comptime nv: usize, i: usize) void {
            const a = at(s.a, span(i, s.rsa));
            const x = s.x;
            var acc: [h][nv]V = @splat(@splat(@splat(0)));
            var j: usize = 0;
            while (j + nv * lanes <= s.k) : (j += nv * lanes) inline for (0..nv) |u| {
                const xv = tile.load(x + j + u * lanes);
                inline for (0..h) |r| {
                    acc[r][u] = mul_add(tile.load(at(a, span(r, s.rsa)) + j + u * lanes), xv, acc[r][u]);
                }
            };
            inline for (0..h) |r| {
                var total = acc[r][0];
                inline for (1..nv) |u| total += acc[r][u];
                var sum: T = @reduce(.Add, total);
                for (j..s.k) |q| sum = mul_add(at(a, span(r, s.rsa))[q], x[q], sum);
                s.finish(i + r, sum);
            }
        }

        /// Columns contiguous: blocks of rows, to which eight columns at a time are added.
        fn by_columns(s: *const Self, begin: usize, end: usize) void {
            const block = 2048 / @sizeOf(T) * 4;
            var sums: [block]T = undefined;
            var i = begin;
            while (i < end) : (i += block) {
                const n = @min(block, end - i);
                @memset(sums[0..n], 0);
                var q: usize = 0;
                while (q + 8 <= s.k) : (q += 8) s.add_columns(8, &sums, i, n, q);
                while (q < s.k) : (q += 1) s.add_columns(1, &sums, i, n, q);
                for (0..n) |r| s.finish(i + r, sums[r]);
            }
        }

        inline fn add_columns(s: *const Self, comptime w: usize, sums: [*]T, i: usize, n: usize, q: usize) void {
            var xs: [w]T = undefined;
            inline for (0..w) |u| xs[u] = at(s.x, span(q + u, s.incx))[0];
            const a = at(s.a, span(q, s.csa)) + i;
            var r: usize = 0;
            while (r + lanes <= n) : (r += lanes) {
                var acc = tile.load(sums + r);
                inline for (0..w) |u| {
                    acc = mul_add(@as(V, @splat(xs[u])), tile.load(at(a, span(u, s.csa)) + r), acc);
                }
                tile.store(sums + r, acc);
            }
            while (r < n) : (r += 1) inline for (0..w) |u| {
                sums[r] = mul_add(xs[u], at(a, span(u, s.csa))[r], sums[r]);
            };
        }

        /// The same sums for operands that lie in the cache: a few vectors of rows stay in registers for all of k.
        fn by_short_columns(s: *const Self, begin: usize, end: usize) void {
            var i = begin;
            while (i + 4 * lanes <= end) : (i += 4 * lanes) s.sum_columns(4, i);
            while (i + lanes <= end) : (i += lanes) s.sum_columns(1, i);
            while (i < end) : (i += 1) {
                var sum: T = 0;
                for (0..s.k) |q| sum = mul_add(at(s.x, span(q, s.incx))[0], at(s.a, span(q, s.csa))[i], sum);
                s.finish(i, sum);
            }
        }

        inline fn sum_columns(s: *const Self, comptime nv: usize, i: usize) void {
            var acc: [nv]V = @splat(@splat(0));
            var a = s.a + i;
            var x = s.x;
            for (0..s.k) |_| {
                const xv: V = @splat(x[0]);
                inline for (0..nv) |u| acc[u] = mul_add(xv, tile.load(a + u * lanes), acc[u]);
                a = at(a, s.csa);
                x = at(x, s.incx);
            }
            if (s.beta == 0 and s.incy == 1) {
                inline for (0..nv) |u| tile.store(s.y + i + u * lanes, @as(V, @splat(s.alpha)) * acc[u]);
            } else inline for (0..nv) |u| inline for (0..lanes) |l| s.finish(i + u * lanes + l, acc[u][l]);
        }

        /// Any strides.
        fn by_elements(s: *const Self, begin: usize, end: usize) void {
            for (begin..end) |i| {
                const a = at(s.a, span(i, s.rsa));
                var sum: T = 0;
                for (0..s.k) |q| sum = mul_add(at(a, span(q, s.csa))[0], at(s.x, span(q, s.incx))[0], sum);
                s.finish(i, sum);
            }
        }

        /// One long row: eight accumulators hide the latency of the additions.
        fn dot(s: *const Self) void {
            s.dot_rows(1, 8, 0);
        }
    };
}

/// y = beta * y + alpha * A * x, A being m x k.
pub fn gemv(
    comptime T: type,
    m: usize,
    k: usize,
    alpha: T,
    a: [*]const T,
    rsa: isize,
    csa: isize,
    x: [*]const T,
    incx: isize,
    beta: T,
    y: [*]T,
    incy: isize,
) void {
    const G = Gemv(T);
    var s: G = .{
        .m = m,
        .k = k,
        .alpha = alpha,
        .a = a,
        .rsa = rsa,
        .csa = csa,
        .x = x,
        .incx = incx,
        .beta = beta,
        .y = y,
        .incy = incy,
    };
    const grain = @max(1, task_work / k);
    if (csa == 1 or k == 1) {
        if (m == 1 and incx == 1) return s.dot();
        if (incx == 1) return parallel.parallel_for(m, grain, @as(*const G, &s), G.by_rows);
        // A strided x is copied once rather than walked for every row.
        if (m >= 4) if (parallel.Scratch.acquire(k * @sizeOf(T))) |lease| {
            defer lease.release();
            const copy = lease.slice(T, k);
            for (copy, 0..) |*v, q| v.* = at(x, span(q, incx))[0];
            s.x = copy.ptr;
            s.incx = 1;
            return parallel.parallel_for(m, grain, @as(*const G, &s), G.by_rows);
        };
    }
    if (rsa == 1 and m *| k <= cached) return G.by_short_columns(&s, 0, m);
    if (rsa == 1 and m > 1) return parallel.parallel_for(m, grain, @as(*const G, &s), G.by_columns);
    parallel.parallel_for(m, grain, @as(*const G, &s), G.by_elements);
}
