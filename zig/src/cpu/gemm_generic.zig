//! Matrix multiplication for the other element types: integers (wrapping), complex numbers (extern struct { re, im }),
//! and 16-bit floats, which are computed in f32 and rounded once. C is cut into blocks of a fixed size, one task
//! each, so results do not depend on the number of threads.

const std = @import("std");
const cfg = @import("cfg");
const builtin = @import("builtin");
const parallel = @import("../core/parallel.zig");
const kernels = @import("gemm_kernel.zig");
const gemm = @import("gemm.zig").gemm;
const Problem = @import("gemm_plan.zig").Problem;
const at = kernels.at;
const span = kernels.span;
const mul_add = kernels.mul_add;

/// Multiply-adds worth handing to another thread.
const task_work = 32 * 1024;

fn is_complex(comptime T: type) bool {
    return @typeInfo(T) == .@"struct";
}

/// Arithmetic on single elements.
fn Scalar(comptime T: type) type {
    return struct {
        const zero: T = if (is_complex(T)) .{ .re = 0, .im = 0 } else 0;
        const one: T = if (is_complex(T)) .{ .re = 1, .im = 0 } else 1;

        inline fn equal(x: T, y: T) bool {
            return if (comptime is_complex(T)) x.re == y.re and x.im == y.im else x == y;
        }
        inline fn add(x: T, y: T) T {
            return if (comptime is_complex(T)) .{ .re = x.re + y.re, .im = x.im + y.im } else x +% y;
        }
        inline fn mul(x: T, y: T) T {
            if (comptime !is_complex(T)) return x *% y;
            return .{ .re = x.re * y.re - x.im * y.im, .im = x.re * y.im + x.im * y.re };
        }
        /// alpha * x + beta * y, where beta = 0 drops y, whatever it is.
        inline fn blend(alpha: T, x: T, beta: T, y: T) T {
            const scaled = if (equal(alpha, one)) x else mul(alpha, x);
            if (equal(beta, zero)) return scaled;
            return add(scaled, if (equal(beta, one)) y else mul(beta, y));
        }
    };
}

fn Block(comptime T: type) type {
    const Real = if (is_complex(T)) @FieldType(T, "re") else T;
    const planes = if (is_complex(T)) 2 else 1;
    const lanes = cfg.lanes * 4 / @sizeOf(Real);
    const V = @Vector(lanes, Real);
    const rows = if (cfg.lanes == 16 or builtin.cpu.arch == .aarch64) 12 else 6;
    const ops = Scalar(T);
    return struct {
        const kc_most = 256;
        const mc_most = 16 * rows;
        const nc_most = 256;
        const packed_a_size = mc_most * kc_most * planes;
        const packed_b_size = nc_most * kc_most * planes;
        comptime {
            std.debug.assert(nc_most % lanes == 0);
        }

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

        fn run(s: *const Self, begin: usize, end: usize) void {
            const across = (s.n - 1) / nc_most + 1;
            const lease = parallel.Scratch.acquire((packed_a_size + packed_b_size) * @sizeOf(Real));
            defer if (lease) |*l| l.release();
            for (begin..end) |t| {
                const i = t / across * mc_most;
                const j = t % across * nc_most;
                const h = @min(mc_most, s.m - i);
                const w = @min(nc_most, s.n - j);
                const l = lease orelse {
                    s.plain(i, j, h, w);
                    continue;
                };
                const buffer = l.slice(Real, packed_a_size + packed_b_size).ptr;
                s.do_block(i, j, h, w, buffer, buffer + packed_b_size);
            }
        }

        fn do_block(s: *const Self, i: usize, j: usize, h: usize, w: usize, pb: [*]Real, pa: [*]Real) void {
            var q: usize = 0;
            while (q < s.k) : (q += kc_most) {
                const kc = @min(kc_most, s.k - q);
                pack(at(s.b, span(q, s.rsb) + span(j, s.csb)), s.csb, s.rsb, w, kc, lanes, pb);
                pack(at(s.a, span(i, s.rsa) + span(q, s.csa)), s.rsa, s.csa, h, kc, rows, pa);
                const beta = if (q == 0) s.beta else ops.one;
                var y: usize = 0;
                while (y < w) : (y += lanes) {
                    var x: usize = 0;
                    while (x < h) : (x += rows) {
                        const c = at(s.c, span(i + x, s.rsc) + span(j + y, s.csc));
                        const a = pa + x * kc * planes;
                        s.tile(kc, a, pb + y * kc * planes, c, @min(rows, h - x), @min(lanes, w - y), beta);
                    }
                }
            }
        }

        /// Groups of `group` elements along the outer direction, for each k: all real parts, then all imaginary ones.
        /// The last group is filled up with zeros.
        fn pack(
            in: [*]const T,
            outer: isize,
            inner: isize,
            count: usize,
            kc: usize,
            comptime group: usize,
            out: [*]Real,
        ) void {
            var to = out;
            var first: usize = 0;
            while (first < count) : (first += group) {
                const some = @min(group, count - first);
                for (0..kc) |k| {
                    const from = at(in, span(first, outer) + span(k, inner));
                    for (0..some) |i| {
                        const x = at(from, span(i, outer))[0];
                        to[i] = if (comptime is_complex(T)) x.re else x;
                        if (comptime is_complex(T)) to[group + i] = x.im;
                    }
                    for (some..group) |i| {
                        to[i] = 0;
                        if (comptime is_complex(T)) to[group + i] = 0;
                    }
                    to += group * planes;
                }
            }
        }

        fn tile(
            s: *const Self,
            kc: usize,
            a: [*]const Real,
            b: [*]const Real,
            c: [*]T,
            h: usize,
            w: usize,
            beta: T,
        ) void {
            var acc: [rows][planes]V = @splat(@splat(@splat(0)));
            for (0..kc) |k| {
                const pa = a + k * rows * planes;
                const pb = b + k * lanes * planes;
                if (comptime is_complex(T)) complex_step(pa, pb, &acc) else {
                    const bv: V = pb[0..lanes].*;
                    inline for (0..rows) |r| acc[r][0] +%= @as(V, @splat(pa[r])) *% bv;
                }
            }
            var sums: [rows][planes][lanes]Real = undefined;
            inline for (0..rows) |r| inline for (0..planes) |u| {
                sums[r][u] = acc[r][u];
            };
            for (0..h) |r| for (0..w) |y| {
                const p = at(c, span(r, s.rsc) + span(y, s.csc));
                const re = sums[r][0][y];
                const sum: T = if (comptime is_complex(T)) .{ .re = re, .im = sums[r][1][y] } else re;
                p[0] = ops.blend(s.alpha, sum, beta, p[0]);
            };
        }

        inline fn complex_step(pa: [*]const Real, pb: [*]const Real, acc: *[rows][planes]V) void {
            const b_re: V = pb[0..lanes].*;
            const b_im: V = pb[lanes..][0..lanes].*;
            inline for (0..rows) |r| {
                const a_re: V = @splat(pa[r]);
                const a_im: V = @splat(pa[rows + r]);
                acc[r][0] = mul_add(-a_im, b_im, mul_add(a_re, b_re, acc[r][0]));
                acc[r][1] = mul_add(a_im, b_re, mul_add(a_re, b_im, acc[r][1]));
            }
        }

        /// No memory to pack into.
        fn plain(s: *const Self, i: usize, j: usize, h: usize, w: usize) void {
            for (i..i + h) |x| for (j..j + w) |y| {
                var sum = ops.zero;
                for (0..s.k) |k| {
                    const l = at(s.a, span(x, s.rsa) + span(k, s.csa))[0];
                    const r = at(s.b, span(k, s.rsb) + span(y, s.csb))[0];
                    sum = ops.add(sum, ops.mul(l, r));
                }
                const p = at(s.c, span(x, s.rsc) + span(y, s.csc));
                p[0] = ops.blend(s.alpha, sum, s.beta, p[0]);
            };
        }
    };
}

/// C = beta * C + alpha * A * B like `gemm`, for integer types and complex numbers.
pub fn gemm_generic(
    comptime T: type,
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
) void {
    if (m == 0 or n == 0) return;
    const B = Block(T);
    // No products to add: the loops then only scale C.
    const inner = if (Scalar(T).equal(alpha, Scalar(T).zero)) 0 else k;
    const s: B = .{
        .m = m,
        .n = n,
        .k = inner,
        .alpha = alpha,
        .a = a,
        .rsa = rsa,
        .csa = csa,
        .b = b,
        .rsb = rsb,
        .csb = csb,
        .beta = beta,
        .c = c,
        .rsc = rsc,
        .csc = csc,
    };
    if (inner == 0) return s.plain(0, 0, m, n);
    const tasks = ((m - 1) / B.mc_most + 1) * ((n - 1) / B.nc_most + 1);
    parallel.parallel_for(tasks, @max(1, task_work *| tasks / (m *| n *| k)), &s, B.run);
}

/// 16-bit floats. `Convert` has `load(u16) f32` and `store(f32) u16`; each block of C is summed in f32 over all of k.
fn Half(comptime Convert: type) type {
    return struct {
        const block = 256;
        const k_most = 512;
        const buffer_size = 2 * block * k_most + block * block;

        m: usize,
        n: usize,
        k: usize,
        alpha: f32,
        a: [*]const u16,
        rsa: isize,
        csa: isize,
        b: [*]const u16,
        rsb: isize,
        csb: isize,
        beta: f32,
        c: [*]u16,
        rsc: isize,
        csc: isize,

        const Self = @This();

        fn run(s: *const Self, begin: usize, end: usize) void {
            const across = (s.n - 1) / block + 1;
            const lease = parallel.Scratch.acquire(buffer_size * @sizeOf(f32));
            defer if (lease) |*l| l.release();
            for (begin..end) |t| {
                const i = t / across * block;
                const j = t % across * block;
                const h = @min(block, s.m - i);
                const w = @min(block, s.n - j);
                if (lease) |*l| s.do_block(i, j, h, w, l.slice(f32, buffer_size).ptr) else s.plain(i, j, h, w);
            }
        }

        fn do_block(s: *const Self, i: usize, j: usize, h: usize, w: usize, buffer: [*]f32) void {
            const fa = buffer;
            const fb = fa + block * k_most;
            const sums = fb + block * k_most;
            var q: usize = 0;
            while (q < s.k) : (q += k_most) {
                const kc = @min(k_most, s.k - q);
                var p: Problem(f32) = .by_rows(h, w, kc, fa, fb, sums);
                p.rsa, p.csa = widen(at(s.a, span(i, s.rsa) + span(q, s.csa)), s.rsa, s.csa, h, kc, fa);
                p.rsb, p.csb = widen(at(s.b, span(q, s.rsb) + span(j, s.csb)), s.rsb, s.csb, kc, w, fb);
                if (q > 0) p.beta = 1;
                gemm(f32, p);
            }
            for (0..h) |x| {
                const row = at(s.c, span(i + x, s.rsc) + span(j, s.csc));
                for (0..w) |y| s.put(at(row, span(y, s.csc)), sums[x * w + y]);
            }
        }

        inline fn put(s: *const Self, p: [*]u16, sum: f32) void {
            const x = s.alpha * sum;
            p[0] = Convert.store(if (s.beta == 0) x else x + s.beta * Convert.load(p[0]));
        }

        /// Copies a matrix as f32, by columns if that is how it lies, and returns the copy's strides.
        fn widen(in: [*]const u16, rs: isize, cs: isize, h: usize, w: usize, out: [*]f32) [2]isize {
            if (rs == 1 and cs != 1) {
                const swapped = widen(in, cs, rs, w, h, out);
                return .{ swapped[1], swapped[0] };
            }
            for (0..h) |x| {
                const row = at(in, span(x, rs));
                const to = out + x * w;
                if (cs == 1) {
                    for (0..w) |y| to[y] = Convert.load(row[y]);
                } else for (0..w) |y| {
                    to[y] = Convert.load(at(row, span(y, cs))[0]);
                }
            }
            return .{ @intCast(w), 1 };
        }

        /// No memory to convert into.
        fn plain(s: *const Self, i: usize, j: usize, h: usize, w: usize) void {
            for (i..i + h) |x| for (j..j + w) |y| {
                var sum: f32 = 0;
                for (0..s.k) |k| {
                    const l = Convert.load(at(s.a, span(x, s.rsa) + span(k, s.csa))[0]);
                    sum = mul_add(l, Convert.load(at(s.b, span(k, s.rsb) + span(y, s.csb))[0]), sum);
                }
                s.put(at(s.c, span(x, s.rsc) + span(y, s.csc)), sum);
            };
        }
    };
}

/// C = beta * C + alpha * A * B like `gemm`, for 16-bit floats kept as u16.
pub fn gemm_half(
    comptime Convert: type,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a: [*]const u16,
    rsa: isize,
    csa: isize,
    b: [*]const u16,
    rsb: isize,
    csb: isize,
    beta: f32,
    c: [*]u16,
    rsc: isize,
    csc: isize,
) void {
    if (m == 0 or n == 0) return;
    const H = Half(Convert);
    const inner = if (alpha == 0) 0 else k;
    const s: H = .{
        .m = m,
        .n = n,
        .k = inner,
        .alpha = alpha,
        .a = a,
        .rsa = rsa,
        .csa = csa,
        .b = b,
        .rsb = rsb,
        .csb = csb,
        .beta = beta,
        .c = c,
        .rsc = rsc,
        .csc = csc,
    };
    if (inner == 0) return s.plain(0, 0, m, n);
    const tasks = ((m - 1) / H.block + 1) * ((n - 1) / H.block + 1);
    parallel.parallel_for(tasks, @max(1, task_work *| tasks / (m *| n *| k)), &s, H.run);
}

const testing = std.testing;

const Bf16 = struct {
    inline fn load(x: u16) f32 {
        return @bitCast(@as(u32, x) << 16);
    }
    inline fn store(x: f32) u16 {
        if (std.math.isNan(x)) return 0x7fc0;
        const bits: u32 = @bitCast(x);
        return @intCast((bits +% 0x7fff +% (bits >> 16 & 1)) >> 16);
    }
};

fn random_element(comptime T: type, r: std.Random) T {
    if (comptime !is_complex(T)) return r.int(T);
    return .{ .re = @floatFromInt(r.intRangeAtMost(i8, -4, 4)), .im = @floatFromInt(r.int(i4)) };
}

fn check_exact(comptime T: type, r: std.Random, m: usize, n: usize, k: usize, alpha: T, beta: T) !void {
    const gpa = testing.allocator;
    const ops = Scalar(T);
    const a = try gpa.alloc(T, 2 * m * k);
    defer gpa.free(a);
    const b = try gpa.alloc(T, k * n);
    defer gpa.free(b);
    const c = try gpa.alloc(T, m * n);
    defer gpa.free(c);
    const want = try gpa.alloc(T, m * n);
    defer gpa.free(want);
    for (a) |*x| x.* = random_element(T, r);
    for (b) |*x| x.* = random_element(T, r);
    for (c) |*x| x.* = random_element(T, r);
    // A has every other column of a wider matrix, B is stored by columns.
    for (0..m) |i| for (0..n) |j| {
        var sum = ops.zero;
        for (0..k) |q| sum = ops.add(sum, ops.mul(a[2 * (i * k + q)], b[j * k + q]));
        want[i * n + j] = ops.add(ops.mul(alpha, sum), ops.mul(beta, c[i * n + j]));
    };
    const ki: isize, const ni: isize = .{ @intCast(k), @intCast(n) };
    gemm_generic(T, m, n, k, alpha, a.ptr, 2 * ki, 2, b.ptr, 1, ki, beta, c.ptr, ni, 1);
    try testing.expectEqualSlices(T, want, c);
}

test "integers and complex numbers, exactly" {
    const c64 = extern struct { re: f32, im: f32 };
    const c128 = extern struct { re: f64, im: f64 };
    var rng: std.Random.DefaultPrng = .init(5);
    const r = rng.random();
    const shapes = [_][3]usize{
        .{ 0, 3, 3 }, .{ 3, 3, 0 }, .{ 1, 1, 1 }, .{ 7, 9, 300 }, .{ 210, 270, 33 }, .{ 13, 17, 5 },
    };
    for (shapes) |s| {
        const m, const n, const k = s;
        inline for (.{ u8, i8, i16, i32, i64 }) |T| {
            try check_exact(T, r, m, n, k, 1, 0);
            try check_exact(T, r, m, n, k, 3, 2);
            try check_exact(T, r, m, n, k, 0, 1);
        }
        inline for (.{ c64, c128 }) |T| {
            try check_exact(T, r, m, n, k, .{ .re = 1, .im = 0 }, .{ .re = 0, .im = 0 });
            try check_exact(T, r, m, n, k, .{ .re = 1, .im = 2 }, .{ .re = 0, .im = -1 });
        }
    }
}

test "beta = 0 does not read C" {
    const c64 = extern struct { re: f32, im: f32 };
    const nan = std.math.nan(f32);
    const a = [_]c64{.{ .re = 1, .im = 2 }} ** 4;
    var c = [_]c64{.{ .re = nan, .im = nan }} ** 4;
    gemm_generic(c64, 2, 2, 2, .{ .re = 1, .im = 0 }, &a, 2, 1, &a, 2, 1, .{ .re = 0, .im = 0 }, &c, 2, 1);
    for (c) |x| try testing.expectEqual(c64{ .re = -6, .im = 8 }, x);
    var h = [_]u16{0x7fc0} ** 4;
    const one = [_]u16{0x3f80} ** 4;
    gemm_half(Bf16, 2, 2, 2, 1, &one, 2, 1, &one, 2, 1, 0, &h, 2, 1);
    for (h) |x| try testing.expectEqual(0x4000, x);
    gemm_half(Bf16, 2, 2, 0, 1, &one, 2, 1, &one, 2, 1, 0, &h, 2, 1);
    for (h) |x| try testing.expectEqual(0, x);
}

test "bfloat16 sums are rounded once" {
    const gpa = testing.allocator;
    var rng: std.Random.DefaultPrng = .init(6);
    const r = rng.random();
    for ([_][3]usize{ .{ 5, 6, 700 }, .{ 300, 270, 40 }, .{ 1, 33, 64 } }) |s| {
        const m, const n, const k = s;
        const a = try gpa.alloc(u16, m * k);
        defer gpa.free(a);
        const b = try gpa.alloc(u16, k * n);
        defer gpa.free(b);
        const c = try gpa.alloc(u16, m * n);
        defer gpa.free(c);
        // Small integers: the f32 sums are exact.
        for (a) |*x| x.* = Bf16.store(@floatFromInt(r.intRangeAtMost(i32, -8, 8)));
        for (b) |*x| x.* = Bf16.store(@floatFromInt(r.intRangeAtMost(i32, -8, 8)));
        @memset(c, Bf16.store(3));
        const mi: isize, const ni: isize = .{ @intCast(m), @intCast(n) };
        gemm_half(Bf16, m, n, k, 0.5, a.ptr, 1, mi, b.ptr, ni, 1, 2, c.ptr, ni, 1);
        for (0..m) |i| for (0..n) |j| {
            var sum: f32 = 0;
            for (0..k) |q| sum += Bf16.load(a[i + q * m]) * Bf16.load(b[q * n + j]);
            try testing.expectEqual(Bf16.store(0.5 * sum + 6), c[i * n + j]);
        };
    }
}
