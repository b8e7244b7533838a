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
        /// Rows in the tallest tile of one vector, where A is read in place: fewer sums would wait for themselves.
        const rows_of_one = @max(rows, 12);
        /// Inner dimension of a packed block: a strip of A and a panel of B (kc x columns) stay close to the
        /// processor while they are used.
        pub const kc = (if (cfg.lanes == 16) 512 else 256) * 4 / @sizeOf(T);
        /// Rows of A packed in one round: mc x kc should fit in half of a second-level cache.
        pub const mc = if (cfg.lanes == 16) 48 * rows else 36 * rows;

        pub inline fn load(p: [*]const T) V {
            return @as(*align(@alignOf(T)) const V, @ptrCast(p)).*;
        }
        pub inline fn store(p: [*]T, v: V) void {
            @as(*align(@alignOf(T)) V, @ptrCast(p)).* = v;
        }

        /// What all tiles of one block have in common. C = beta * D + alpha * (A * B); beta = 0 never reads D.
        pub const Shared = struct {
            k: usize,
            /// Strides of A; unused by kernels for packed strips.
            rsa: isize = 0,
            csa: isize = 0,
            /// Elements from one row of B to the next; a row's columns are contiguous.
            ldb: isize,
            rsc: isize,
            csc: isize,
            rsd: isize,
            csd: isize,
            alpha: T,
            beta: T,
        };
        /// Computes the tile at `c` and stores its columns [lo, hi).
        pub const Kernel =
            *const fn (*const Shared, a: [*]const T, b: [*]const T, c: [*]T, d: [*]const T, lo: usize, hi: usize) void;

        /// Half a vector serves tiles of few columns: processors that work on 512 bits in two halves, or store parts
        /// of a vector slowly, gain half of their time.
        const half = lanes / 2;
        const has_half = cfg.lanes == 16;

        /// The kernel for a tile of `h` rows and `nv` vectors of which columns up to `hi` are stored, A given as a
        /// packed strip of that height or by strides.
        pub fn kernel(packed_a: bool, h: usize, nv: usize, hi: usize) Kernel {
            if (has_half and hi <= half) return if (packed_a) packed_halves[h - 1] else direct_halves[h - 1];
            return if (packed_a) packed_kernels[nv - 1][h - 1] else direct_kernels[nv - 1][h - 1];
        }
        const packed_kernels = [vectors][]const Kernel{ &column(true, rows, lanes, 1), &column(true, rows, lanes, 2) };
        const direct_kernels =
            [vectors][]const Kernel{ &column(false, rows_of_one, lanes, 1), &column(false, rows, lanes, 2) };
        const packed_halves = column(true, rows, half, 1);
        const direct_halves = column(false, rows_of_one, half, 1);

        fn column(
            comptime packed_a: bool,
            comptime tallest: usize,
            comptime width: usize,
            comptime nv: usize,
        ) [tallest]Kernel {
            var t: [tallest]Kernel = undefined;
            for (0..tallest) |r| t[r] = Shape(T, r + 1, width, nv).kernel(packed_a);
            return t;
        }

        /// Rows in the tallest tile of `nv` vectors where A is read in place.
        pub fn tallest_direct(nv: usize) usize {
            return if (nv == 1) rows_of_one else rows;
        }
    };
}

/// A register tile of `h` rows, each of `nv` vectors of `width` elements.
fn Shape(comptime T: type, comptime h: usize, comptime width: usize, comptime nv: usize) type {
    const tile = Tile(T);
    const Shared = tile.Shared;
    return struct {
        const V = @Vector(width, T);
        const Sums = [h][nv]V;

        inline fn load(comptime n: usize, p: [*]const T) @Vector(n, T) {
            return @as(*align(@alignOf(T)) const @Vector(n, T), @ptrCast(p)).*;
        }
        inline fn store(comptime n: usize, p: [*]T, v: @Vector(n, T)) void {
            @as(*align(@alignOf(T)) @Vector(n, T), @ptrCast(p)).* = v;
        }

        fn kernel(comptime packed_a: bool) tile.Kernel {
            return struct {
                fn run(
                    s: *const Shared,
                    a: [*]const T,
                    b: [*]const T,
                    c: [*]T,
                    d: [*]const T,
                    lo: usize,
                    hi: usize,
                ) void {
                    var acc: Sums = @splat(@splat(@splat(0)));
                    accumulate(packed_a, s, a, b, c, &acc);
                    const whole = s.csc == 1 and lo == 0 and hi == nv * width;
                    if (whole and (s.beta == 0 or s.csd == 1)) {
                        store_rows(false, s, &acc, c, d);
                    } else if (whole and s.csd == 0) {
                        store_rows(true, s, &acc, c, d);
                    } else store_part(s, &acc, c, d, lo, hi);
                }
            }.run;
        }

        /// A row that is written soon. A fresh result lies far from the processor, and its rows would hold up A and B
        /// if they were asked for in one go: they are spread over the steps.
        inline fn prefetch_row(c: [*]T) void {
            const step = comptime @max(1, 64 / @sizeOf(V));
            comptime var u = 0;
            inline while (u < nv) : (u += step) @prefetch(c + u * width, .{ .rw = .write, .locality = 3 });
        }

        inline fn accumulate(
            comptime packed_a: bool,
            s: *const Shared,
            a: [*]const T,
            b: [*]const T,
            c: [*]T,
            acc: *Sums,
        ) void {
            const ldb = s.ldb;
            const rsa = s.rsa;
            const csa = s.csa;
            var pa = a;
            var starts = far_rows(a, rsa);
            var pb = b;
            const steps = (s.k - 1) / h + 1;
            var left = s.k;
            var row: usize = 0;
            while (left > 0) : (row += 1) {
                // Where strips follow each other down a panel, the next one's: memory takes longer than a strip.
                prefetch_row(at(c, span(if (packed_a) row else row + h, s.rsc)));
                const now = @min(left, steps);
                left -= now;
                for (0..now) |_| {
                    var bv: [nv]V = undefined;
                    inline for (0..nv) |u| bv[u] = load(width, pb + u * width);
                    if (cfg.lanes == 16 and packed_a) inline for (0..nv) |u| {
                        @prefetch(at(pb, 8 *% ldb) + u * width, .{ .locality = 3 });
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
        inline fn far_rows(a: [*]const T, rsa: isize) [(h + 3) / 4][*]const T {
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

        /// Whole rows; D's are contiguous or, with `repeats`, one element each.
        inline fn store_rows(comptime repeats: bool, s: *const Shared, acc: *Sums, c: [*]T, d: [*]const T) void {
            const beta: V = @splat(s.beta);
            const rsc = s.rsc;
            const rsd = s.rsd;
            if (s.alpha != 1) {
                const alpha: V = @splat(s.alpha);
                inline for (acc) |*sums| inline for (sums) |*x| {
                    x.* *= alpha;
                };
            }
            if (!repeats and s.beta == 0) {
                inline for (0..h) |r| inline for (0..nv) |u| {
                    store(width, at(c, span(r, rsc)) + u * width, acc[r][u]);
                };
            } else inline for (0..h) |r| inline for (0..nv) |u| {
                const row = at(d, span(r, rsd));
                const y: V = if (repeats) @splat(row[0]) else load(width, row + u * width);
                store(width, at(c, span(r, rsc)) + u * width, mul_add(beta, y, acc[r][u]));
            };
        }

        inline fn store_part(s: *const Shared, acc: *Sums, c: [*]T, d: [*]const T, lo: usize, hi: usize) void {
            var spilled: [h * nv * width]T = undefined;
            const t: [*]T = &spilled;
            inline for (0..h) |r| inline for (0..nv) |u| {
                store(width, t + (r * nv + u) * width, acc[r][u]);
            };
            Spilled(T).put(s, t, h, nv * width, c, d, lo, hi);
        }
    };
}

/// Stores columns of a tile that lies in memory, `h` rows of `w` elements, with the same roundings as the vector form.
fn Spilled(comptime T: type) type {
    const tile = Tile(T);
    const Shared = tile.Shared;
    return struct {
        fn put(s: *const Shared, t: [*]const T, h: usize, w: usize, c: [*]T, d: [*]const T, lo: usize, hi: usize) void {
            if (s.csc == 1 and (s.csd == 1 or s.beta == 0)) {
                comptime var n: usize = tile.lanes;
                inline while (n >= 1) : (n /= 2) if (hi - lo >= n) return both_ends(n, s, t, h, w, c, d, lo, hi);
            }
            for (0..h) |r| for (lo..hi) |q| {
                const x = s.alpha * t[r * w + q];
                const from = at(d, span(r, s.rsd) + span(q, s.csd));
                at(c, span(r, s.rsc) + span(q, s.csc))[0] = if (s.beta == 0) x else mul_add(s.beta, from[0], x);
            };
        }

        /// Contiguous rows of n to 2n columns: the first n and the last n.
        fn both_ends(
            comptime n: usize,
            s: *const Shared,
            t: [*]const T,
            h: usize,
            w: usize,
            c: [*]T,
            d: [*]const T,
            lo: usize,
            hi: usize,
        ) void {
            const V = @Vector(n, T);
            const alpha: V = @splat(s.alpha);
            const beta: V = @splat(s.beta);
            for (0..h) |r| {
                const to = at(c, span(r, s.rsc));
                // D may be C: all of it is read before anything is stored.
                var x: [2]V = undefined;
                inline for ([2]usize{ lo, hi - n }, &x) |q, *v| {
                    v.* = alpha * @as(*align(@alignOf(T)) const V, @ptrCast(t + r * w + q)).*;
                    if (s.beta != 0) {
                        const from = at(d, span(r, s.rsd)) + q;
                        v.* = mul_add(beta, @as(*align(@alignOf(T)) const V, @ptrCast(from)).*, v.*);
                    }
                }
                inline for ([2]usize{ lo, hi - n }, x) |q, v| @as(*align(@alignOf(T)) V, @ptrCast(to + q)).* = v;
            }
        }
    };
}
