//! The innermost part of matrix multiplication: register tiles. A tile of C stays in vector registers while the
//! inner dimension runs; each element is summed in order of k whatever the tile's size, so how C is cut into tiles
//! (and so the number of threads) never changes a result.

const std = @import("std");
const builtin = @import("builtin");
const cfg = @import("cfg");

const has_fma = switch (builtin.cpu.arch) {
    .x86_64 => std.Target.x86.featureSetHas(builtin.cpu.features, .fma),
    else => true,
};

/// x * y + z: one rounding where the processor has it in hardware, two where it has not (never a libm call).
pub inline fn mul_add(x: anytype, y: @TypeOf(x), z: @TypeOf(x)) @TypeOf(x) {
    return if (comptime has_fma) @mulAdd(@TypeOf(x), x, y, z) else x * y + z;
}

/// A pointer moved by a signed number of elements.
pub inline fn at(p: anytype, offset: isize) @TypeOf(p) {
    return p + @as(usize, @bitCast(offset));
}

/// index * stride, for an index that lies inside a matrix.
pub inline fn span(index: usize, stride: isize) isize {
    return @as(isize, @intCast(index)) * stride;
}

pub fn Tile(comptime T: type) type {
    return struct {
        pub const lanes = cfg.lanes * 4 / @sizeOf(T);
        pub const V = @Vector(lanes, T);
        /// Vectors and columns in the widest tile.
        pub const vectors = 2;
        pub const columns = vectors * lanes;
        /// Rows in the tallest tile: rows * vectors accumulators, with room for one row of B and a broadcast of A.
        pub const rows = if (cfg.lanes == 16) 14 else if (builtin.cpu.arch == .aarch64) 12 else 6;
        /// Inner dimension of a packed block: a strip of A and a panel of B (kc x columns) stay close to the
        /// processor while they are used.
        pub const kc = (if (cfg.lanes == 16) 512 else 256) * 4 / @sizeOf(T);
        /// Rows of A packed in one round: mc x kc should fit in half of a second-level cache.
        pub const mc = if (cfg.lanes == 16) 48 * rows else 24 * rows;

        pub inline fn load(p: [*]const T) V {
            return @as(*align(@alignOf(T)) const V, @ptrCast(p)).*;
        }
        pub inline fn store(p: [*]T, v: V) void {
            @as(*align(@alignOf(T)) V, @ptrCast(p)).* = v;
        }

        /// What all tiles of one block have in common. C = beta * C + alpha * (A * B); beta = 0 never reads C.
        pub const Shared = struct {
            k: usize,
            /// Strides of A; unused by kernels for packed strips.
            rsa: isize = 0,
            csa: isize = 0,
            /// Elements from one row of B to the next; a row's columns are contiguous.
            ldb: isize,
            rsc: isize,
            csc: isize,
            alpha: T,
            beta: T,
        };
        /// Computes the tile at `c` and stores its columns [lo, hi).
        pub const Kernel = *const fn (*const Shared, a: [*]const T, b: [*]const T, c: [*]T, lo: usize, hi: usize) void;

        /// The kernel for a tile of `h` rows and `nv` vectors, A given as a packed strip of that height or by strides.
        pub fn kernel(packed_a: bool, h: usize, nv: usize) Kernel {
            return if (packed_a) packed_kernels[nv - 1][h - 1] else direct_kernels[nv - 1][h - 1];
        }
        const packed_kernels = table(true);
        const direct_kernels = table(false);

        fn table(comptime packed_a: bool) [vectors][rows]Kernel {
            var t: [vectors][rows]Kernel = undefined;
            for (0..vectors) |u| for (0..rows) |r| {
                t[u][r] = make(packed_a, r + 1, u + 1);
            };
            return t;
        }

        fn make(comptime packed_a: bool, comptime h: usize, comptime nv: usize) Kernel {
            return struct {
                fn run(s: *const Shared, a: [*]const T, b: [*]const T, c: [*]T, lo: usize, hi: usize) void {
                    var acc: [h][nv]V = @splat(@splat(@splat(0)));
                    accumulate(packed_a, h, nv, s, a, b, c, &acc);
                    if (s.csc == 1 and lo == 0 and hi == nv * lanes) {
                        store_rows(h, nv, s, &acc, c);
                    } else store_part(h, nv, s, &acc, c, lo, hi);
                }
            }.run;
        }

        /// A row of the tile. A fresh result lies far from the processor, and its rows would hold up A and B if they
        /// were asked for in one go: they are spread over the steps.
        inline fn prefetch_row(comptime nv: usize, c: [*]T) void {
            const step = comptime @max(1, 64 / @sizeOf(V));
            comptime var u = 0;
            inline while (u < nv) : (u += step) @prefetch(c + u * lanes, .{ .rw = .write, .locality = 3 });
        }

        inline fn accumulate(
            comptime packed_a: bool,
            comptime h: usize,
            comptime nv: usize,
            s: *const Shared,
            a: [*]const T,
            b: [*]const T,
            c: [*]T,
            acc: *[h][nv]V,
        ) void {
            const ldb = s.ldb;
            const rsa = s.rsa;
            const csa = s.csa;
            var pa = a;
            var starts = far_rows(h, a, rsa);
            var pb = b;
            const steps = (s.k - 1) / h + 1;
            var left = s.k;
            var row: usize = 0;
            while (left > 0) : (row += 1) {
                prefetch_row(nv, at(c, span(row, s.rsc)));
                const now = @min(left, steps);
                left -= now;
                for (0..now) |_| {
                    var bv: [nv]V = undefined;
                    inline for (0..nv) |u| bv[u] = load(pb + u * lanes);
                    if (cfg.lanes == 16 and packed_a) inline for (0..nv) |u| {
                        @prefetch(at(pb, 8 *% ldb) + u * lanes, .{ .locality = 3 });
                    };
                    if (cfg.lanes == 16 and packed_a) inline for (0..(h * @sizeOf(T) - 1) / 64 + 1) |u| {
                        @prefetch(pa + 8 * h + u * 64 / @sizeOf(T), .{ .locality = 3 });
                    };
                    inline for (0..h) |r| {
                        const av: V = @splat(if (packed_a) pa[r] else at(starts[r / 4], span(r % 4, rsa))[0]);
                        inline for (0..nv) |u| acc[r][u] = mul_add(av, bv[u], acc[r][u]);
                    }
                    if (packed_a) pa += h else inline for (&starts) |*p| {
                        p.* = opaque_address(at(p.*, csa));
                    }
                    pb = at(pb, ldb);
                }
            }
        }

        /// Every fourth row of A.
        inline fn far_rows(comptime h: usize, a: [*]const T, rsa: isize) [(h + 3) / 4][*]const T {
            var starts: [(h + 3) / 4][*]const T = undefined;
            inline for (&starts, 0..) |*p, g| p.* = opaque_address(at(a, span(4 * g, rsa)));
            return starts;
        }

        /// An address of which the compiler knows nothing. It would keep one for each row, more than there are
        /// registers, or add up each from the last one's, so that a step waits for fourteen additions in a row.
        inline fn opaque_address(p: [*]const T) [*]const T {
            return asm volatile (""
                : [out] "=r" (-> [*]const T),
                : [in] "0" (p),
            );
        }

        inline fn store_rows(comptime h: usize, comptime nv: usize, s: *const Shared, acc: *[h][nv]V, c: [*]T) void {
            const alpha: V = @splat(s.alpha);
            const beta: V = @splat(s.beta);
            const rsc = s.rsc;
            if (s.beta == 0) {
                inline for (0..h) |r| inline for (0..nv) |u| {
                    store(at(c, span(r, rsc)) + u * lanes, alpha * acc[r][u]);
                };
            } else inline for (0..h) |r| inline for (0..nv) |u| {
                const p = at(c, span(r, rsc)) + u * lanes;
                store(p, mul_add(beta, load(p), alpha * acc[r][u]));
            };
        }

        inline fn store_part(
            comptime h: usize,
            comptime nv: usize,
            s: *const Shared,
            acc: *[h][nv]V,
            c: [*]T,
            lo: usize,
            hi: usize,
        ) void {
            var spilled: [h * nv * lanes]T = undefined;
            inline for (0..h) |r| inline for (0..nv) |u| {
                store(@as([*]T, &spilled) + (r * nv + u) * lanes, acc[r][u]);
            };
            store_spilled(s, &spilled, h, nv * lanes, c, lo, hi);
        }

        /// Element by element, with the same roundings as the vector form.
        fn store_spilled(s: *const Shared, t: [*]const T, h: usize, w: usize, c: [*]T, lo: usize, hi: usize) void {
            for (0..h) |r| for (lo..hi) |q| {
                const p = at(c, span(r, s.rsc) + span(q, s.csc));
                const x = s.alpha * t[r * w + q];
                p[0] = if (s.beta == 0) x else mul_add(s.beta, p[0], x);
            };
        }
    };
}
