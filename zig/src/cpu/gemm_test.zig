//! Matrix products of random shapes, strides and factors against plain loops.

const std = @import("std");
const gemm = @import("gemm.zig");
const testing = std.testing;
const Problem = gemm.Problem(f32);

comptime {
    // The pool lives in the library's root; a test program has to bring it along.
    _ = @import("../core/threads.zig");
}

const Matrix = struct {
    rows: usize,
    cols: usize,
    rs: isize,
    cs: isize,
    /// Elements before the one at (0, 0), for negative strides.
    origin: usize,
    size: usize,

    /// A random layout: by rows, by columns, padded, spread out, reversed, or (not for results) repeated.
    fn random(r: std.Random, rows: usize, cols: usize, repeat: bool) Matrix {
        const pad = r.uintLessThan(usize, 3) * r.uintLessThan(usize, 5);
        const step = if (r.uintLessThan(u32, 4) == 0) r.intRangeAtMost(usize, 2, 3) else 1;
        var rs: isize = @intCast(if (r.boolean()) step * cols + pad else 0);
        var cs: isize = @intCast(step);
        if (rs == 0) {
            cs = @intCast(step * rows + pad);
            rs = @intCast(step);
        }
        if (repeat and r.uintLessThan(u32, 8) == 0) rs = 0;
        if (repeat and r.uintLessThan(u32, 8) == 0) cs = 0;
        const reach_r: usize = (rows -| 1) * @as(usize, @intCast(rs));
        const reach_c: usize = (cols -| 1) * @as(usize, @intCast(cs));
        var origin: usize = 0;
        if (r.uintLessThan(u32, 8) == 0) {
            origin += reach_r;
            rs = -rs;
        }
        if (r.uintLessThan(u32, 8) == 0) {
            origin += reach_c;
            cs = -cs;
        }
        return .{ .rows = rows, .cols = cols, .rs = rs, .cs = cs, .origin = origin, .size = reach_r + reach_c + 1 };
    }

    fn index(m: Matrix, i: usize, j: usize) usize {
        const off = @as(isize, @intCast(i)) * m.rs + @as(isize, @intCast(j)) * m.cs;
        return @intCast(@as(isize, @intCast(m.origin)) + off);
    }
};

fn random_factor(comptime T: type, r: std.Random) T {
    return ([_]T{ 0, 1, 1, -1, 0.5, 2.25 })[r.uintLessThan(usize, 6)];
}

fn random_dim(r: std.Random) usize {
    return switch (r.uintLessThan(u32, 8)) {
        0 => 0,
        1 => 1,
        2, 3 => r.intRangeAtMost(usize, 2, 9),
        4, 5 => r.intRangeAtMost(usize, 10, 40),
        6 => r.intRangeAtMost(usize, 41, 120),
        else => r.intRangeAtMost(usize, 121, 260),
    };
}

/// One product; the elements of C's buffer that are not C must keep their value.
fn check(comptime T: type, r: std.Random, m: usize, n: usize, k: usize) !void {
    return check_laid(T, r, m, n, k, .random(r, m, k, true), .random(r, k, n, true));
}

fn check_laid(comptime T: type, r: std.Random, m: usize, n: usize, k: usize, ma: Matrix, mb: Matrix) !void {
    const gpa = testing.allocator;
    const mc: Matrix = .random(r, m, n, false);
    const a = try gpa.alloc(T, ma.size);
    defer gpa.free(a);
    const b = try gpa.alloc(T, mb.size);
    defer gpa.free(b);
    const c = try gpa.alloc(T, mc.size);
    defer gpa.free(c);
    const want = try gpa.alloc(T, mc.size);
    defer gpa.free(want);
    // What beta multiplies: C itself, or another matrix, which may repeat rows and columns.
    var more: std.Random.DefaultPrng = .init((m * 1000 + n) * 1000 + k);
    const s = more.random();
    const beside = s.boolean();
    const md: Matrix = if (beside) .random(s, m, n, true) else mc;
    const d = try gpa.alloc(T, md.size);
    defer gpa.free(d);
    const alpha = random_factor(T, r);
    const beta = random_factor(T, r);
    for (a) |*x| x.* = r.float(T) * 2 - 1;
    for (b) |*x| x.* = r.float(T) * 2 - 1;
    for (c) |*x| x.* = if (beta == 0) std.math.nan(T) else r.float(T) * 2 - 1;
    if (alpha == 0) @memset(a, std.math.nan(T));
    @memcpy(want, c);
    if (beside) for (d) |*x| {
        x.* = if (beta == 0) std.math.nan(T) else s.float(T) * 2 - 1;
    };
    for (0..m) |i| for (0..n) |j| {
        var sum: f64 = 0;
        if (alpha != 0) for (0..k) |q| {
            sum += @as(f64, a[ma.index(i, q)]) * b[mb.index(q, j)];
        };
        const w = &want[mc.index(i, j)];
        const start = if (beside) d[md.index(i, j)] else w.*;
        w.* = @floatCast(alpha * sum + if (beta == 0) 0 else beta * @as(f64, start));
    };
    gemm.gemm(T, .{
        .m = m,
        .n = n,
        .k = k,
        .alpha = alpha,
        .a = a.ptr + ma.origin,
        .rsa = ma.rs,
        .csa = ma.cs,
        .b = b.ptr + mb.origin,
        .rsb = mb.rs,
        .csb = mb.cs,
        .beta = beta,
        .d = if (beside) d.ptr + md.origin else c.ptr + mc.origin,
        .rsd = md.rs,
        .csd = md.cs,
        .c = c.ptr + mc.origin,
        .rsc = mc.rs,
        .csc = mc.cs,
    });
    const tolerance = std.math.floatEps(T) * @as(T, @floatFromInt(4 * k + 16));
    for (c, want) |x, w| {
        if (std.math.isNan(w) and std.math.isNan(x)) continue;
        if (!(@abs(x - w) <= tolerance)) {
            std.debug.print("{d}x{d}x{d} alpha {d} beta {d} beside {}: ", .{ m, n, k, alpha, beta, beside });
            std.debug.print("{any} {any} {any} {any}\n", .{ ma, mb, mc, md });
            try testing.expectApproxEqAbs(w, x, tolerance);
        }
    }
}

fn dense(m: usize, n: usize, k: usize, alpha: f32, a: [*]const f32, b: [*]const f32, beta: f32, c: [*]f32) Problem {
    var p: Problem = .by_rows(m, n, k, a, b, c);
    p.alpha, p.beta = .{ alpha, beta };
    return p;
}

test "random products" {
    var rng: std.Random.DefaultPrng = .init(1);
    const r = rng.random();
    for (0..600) |_| {
        try check(f32, r, random_dim(r), random_dim(r), random_dim(r));
        try check(f64, r, random_dim(r), random_dim(r), random_dim(r));
    }
}

test "long and thin, and more than one block in each direction" {
    var rng: std.Random.DefaultPrng = .init(2);
    const r = rng.random();
    const shapes = [_][3]usize{
        .{ 3, 700, 900 },    .{ 700, 5, 900 }, .{ 20, 600, 30 },  .{ 2, 2, 20000 },
        .{ 1, 900, 700 },    .{ 900, 1, 700 }, .{ 1, 1, 100001 }, .{ 300, 3400, 20 },
        .{ 270, 300, 1000 }, .{ 3, 90, 500 },  .{ 77, 4, 300 },   .{ 8, 60, 200 },
        .{ 800, 1600, 40 },
    };
    for (shapes) |s| {
        try check(f32, r, s[0], s[1], s[2]);
        try check(f64, r, s[0], s[1], s[2]);
    }
}

test "a few long rows against long columns" {
    var rng: std.Random.DefaultPrng = .init(5);
    const r = rng.random();
    for (0..400) |i| {
        const m, const n, const k = .{ 2 + i % 8, 40 + i % 5, 150 + i % 9 };
        const gap = i % 3;
        const left: isize, const right: isize = .{ @intCast(k + gap), @intCast(k + 2 - gap) };
        const a: Matrix = .{ .rows = m, .cols = k, .rs = left, .cs = 1, .origin = 0, .size = m * (k + gap) };
        const b: Matrix = .{ .rows = k, .cols = n, .rs = 1, .cs = right, .origin = 0, .size = n * (k + 2 - gap) };
        try check_laid(f32, r, m, n, k, a, b);
        try check_laid(f64, r, m, n, k, a, b);
    }
}

test "results do not depend on the number of threads" {
    const threads = @import("../core/threads.zig");
    defer threads.set_num_threads(0);
    const gpa = testing.allocator;
    var rng: std.Random.DefaultPrng = .init(3);
    const r = rng.random();
    const shapes = [_][3]usize{
        .{ 300, 310, 500 }, .{ 100, 100, 100 }, .{ 5, 900, 400 }, .{ 700, 33, 600 },
        .{ 2000, 1, 300 },  .{ 1, 2000, 300 },  .{ 9, 999, 17 },
    };
    for (shapes) |s| {
        const m, const n, const k = s;
        const a = try gpa.alloc(f32, m * k);
        defer gpa.free(a);
        const b = try gpa.alloc(f32, k * n);
        defer gpa.free(b);
        const c = try gpa.alloc(f32, 2 * m * n);
        defer gpa.free(c);
        for (a) |*x| x.* = r.floatNorm(f32);
        for (b) |*x| x.* = r.floatNorm(f32);
        for ([_]u32{ 1, 5 }, 0..) |t, i| {
            threads.set_num_threads(t);
            gemm.gemm(f32, dense(m, n, k, 1.5, a.ptr, b.ptr, 0, c.ptr + i * m * n));
        }
        try testing.expectEqualSlices(f32, c[0 .. m * n], c[m * n ..]);
    }
}

test "batches, with a repeated operand and with beta" {
    const gpa = testing.allocator;
    var rng: std.Random.DefaultPrng = .init(4);
    const r = rng.random();
    const shapes = [_][4]usize{
        .{ 40, 7, 9, 5 }, .{ 3, 130, 140, 150 }, .{ 300, 1, 4, 8 }, .{ 0, 4, 4, 4 }, .{ 9, 16, 16, 0 },
    };
    for (shapes) |s| {
        const batch, const m, const n, const k = s;
        const a = try gpa.alloc(f32, batch * m * k);
        defer gpa.free(a);
        const b = try gpa.alloc(f32, k * n);
        defer gpa.free(b);
        const c = try gpa.alloc(f32, 2 * batch * m * n);
        defer gpa.free(c);
        for (a) |*x| x.* = r.floatNorm(f32);
        for (b) |*x| x.* = r.floatNorm(f32);
        for (c) |*x| x.* = 3;
        const one, const all = .{ c[0 .. batch * m * n], c[batch * m * n ..] };
        const mk: isize, const mn: isize = .{ @intCast(m * k), @intCast(m * n) };
        for (0..batch) |i| gemm.gemm(f32, dense(m, n, k, 1, a.ptr + i * m * k, b.ptr, 0.5, one.ptr + i * m * n));
        const p = dense(m, n, k, 1, a.ptr, b.ptr, 0.5, all.ptr);
        gemm.gemm_batched(f32, batch, p, .{ mk, 0, mn, mn });
        try testing.expectEqualSlices(f32, one, all);
        // One row beside them that all start from gives what its copies in their places give.
        const row = try gpa.alloc(f32, batch * n);
        defer gpa.free(row);
        for (row) |*x| x.* = r.floatNorm(f32);
        for (one, 0..) |*x, i| x.* = row[i / (m * n) * n + i % n];
        const ni: isize = @intCast(n);
        gemm.gemm_batched(f32, batch, dense(m, n, k, 1, a.ptr, b.ptr, 0.5, one.ptr), .{ mk, 0, mn, mn });
        var q = p;
        q.d, q.rsd = .{ row.ptr, 0 };
        gemm.gemm_batched(f32, batch, q, .{ mk, 0, mn, ni });
        try testing.expectEqualSlices(f32, one, all);
    }
}
