//! Products of a few contiguous rows with many contiguous columns, as of activations with the weights of a layer: tiles
//! of dot products, both operands read where they lie. Every element is summed in an order that depends on k alone.

const std = @import("std");
const builtin = @import("builtin");
const cfg = @import("cfg");
const parallel = @import("../core/parallel.zig");
const kernels = @import("gemm_kernel.zig");
const plan = @import("gemm_plan.zig");
const at = kernels.at;
const span = kernels.span;
const mul_add = kernels.mul_add;
const Problem = plan.Problem;
const Strips = plan.Strips;

/// Columns of a tile: their sums lie side by side in the end.
const wide = 4;
/// Rows of the tallest tile: its sums, the vectors of its columns and one of a row fill the registers.
const tall = if (cfg.lanes == 16 or builtin.cpu.arch == .aarch64) 6 else if (cfg.lanes == 8) 3 else 2;

/// Whether this takes less than packed panels. Rows of A and columns of B have to be contiguous.
pub fn suits(comptime T: type, p: *const Problem(T)) bool {
    if (p.csa != 1 or p.rsb != 1 or p.csb == 1 or p.k < 8 * kernels.Tile(T).lanes) return false;
    if (p.m <= few_rows / @sizeOf(T)) return p.n >= 4 * p.m;
    // Panels come from memory no faster than the processor waits for it, tiles ask for what they need next.
    return p.m <= most_rows and p.n *| p.k >= far / @sizeOf(T) and p.m * p.k <= near / @sizeOf(T);
}

/// Bytes of a column of A that a packed panel would leave half empty.
const few_rows = 64;
const most_rows = 64;
/// Bytes that all groups of columns find in a second-level cache, and those that it never holds.
const near = 256 * 1024;
const far = 512 * 1024;

fn Inner(comptime T: type) type {
    const lanes = kernels.Tile(T).lanes;
    const V = kernels.Tile(T).V;
    const Sums = @Vector(wide, T);
    const load = kernels.Tile(T).load;
    return struct {
        p: *const Problem(T),
        strips: Strips,

        const Self = @This();
        /// What comes from memory next, of which the processor sees too late that it is read in order: so many bytes
        /// from an address on are asked for with each step, since memory gives no more than that.
        const Ahead = struct {
            at: usize,
            step: usize,
            part_size: usize,

            const line = 64;
            const lines = @max(1, wide * lanes * @sizeOf(T) / line);

            fn of(s: *const Self, column: usize) Ahead {
                const p = s.p;
                const gap = p.csb - @as(isize, @intCast(p.k));
                const first = @intFromPtr(at(p.b, span(column, p.csb)));
                // Columns that lie apart are other lines.
                const apart = gap < 0 or gap > line;
                if (apart or column + 2 * wide > p.n) return .{ .at = first, .step = 0, .part_size = 0 };
                const size = wide * @as(usize, @intCast(p.csb)) * @sizeOf(T);
                const part_size = size / s.strips.count;
                return .{ .at = first + size, .step = part_size / (p.k / lanes), .part_size = part_size };
            }

            fn part(a: Ahead, i: usize) Ahead {
                return .{ .at = a.at + i * a.part_size, .step = a.step, .part_size = a.part_size };
            }

            inline fn fetch(a: *Ahead) void {
                inline for (0..lines) |i| {
                    @prefetch(@as([*]const u8, @ptrFromInt(a.at + i * line)), .{ .rw = .read, .locality = 2 });
                }
                a.at += a.step;
            }
        };
        const Kernel = *const fn (*const Problem(T), row: usize, column: usize, ahead: Ahead) void;
        const whole = kernels_of(wide);
        const single = kernels_of(1);

        fn kernels_of(comptime w: usize) [tall]Kernel {
            var t: [tall]Kernel = undefined;
            for (&t, 1..) |*kernel, h| kernel.* = Tile(h, w).run;
            return t;
        }

        /// Groups of columns: all rows meet a group while it lies close to the processor, and ask for the next one.
        fn run(s: *const Self, begin: usize, end: usize) void {
            const p = s.p;
            for (begin..end) |g| {
                const column = g * wide;
                const w = @min(wide, p.n - column);
                const next: Ahead = .of(s, column);
                for (0..s.strips.count) |i| {
                    const row = s.strips.start(i);
                    const h = s.strips.height(i);
                    const ahead = next.part(i);
                    if (w == wide) {
                        whole[h - 1](p, row, column, ahead);
                    } else for (column..p.n) |j| single[h - 1](p, row, j, ahead);
                }
            }
        }

        fn Tile(comptime h: usize, comptime w: usize) type {
            return struct {
                const Acc = [h][w]V;

                fn run(p: *const Problem(T), row: usize, column: usize, next: Ahead) void {
                    var ahead = next;
                    const a = at(p.a, span(row, p.rsa));
                    const b = at(p.b, span(column, p.csb));
                    var acc: Acc = @splat(@splat(@splat(0)));
                    var q: usize = 0;
                    while (q + lanes <= p.k) : (q += lanes) {
                        ahead.fetch();
                        step(p, a + q, b + q, 0, &acc);
                    }
                    // The last vector ends with the rows, and what it has of the one before does not count again.
                    if (q < p.k) step(p, a + p.k - lanes, b + p.k - lanes, q + lanes - p.k, &acc);
                    const c = at(p.c, span(row, p.rsc) + span(column, p.csc));
                    const d = at(p.d, span(row, p.rsd) + span(column, p.csd));
                    inline for (0..h) |r| put(p, sums(acc[r]), at(c, span(r, p.rsc)), at(d, span(r, p.rsd)));
                }

                inline fn step(p: *const Problem(T), a: [*]const T, b: [*]const T, done: usize, acc: *Acc) void {
                    // Few registers are left: the rows' vectors stay, as there are fewer of them.
                    var rows: [h]V = undefined;
                    inline for (0..h) |r| rows[r] = load_from(at(a, span(r, p.rsa)), done);
                    inline for (0..w) |j| {
                        const column = load_from(at(b, span(j, p.csb)), done);
                        inline for (0..h) |r| acc[r][j] = mul_add(rows[r], column, acc[r][j]);
                    }
                }

                inline fn put(p: *const Problem(T), sum: Sums, c: [*]T, d: [*]const T) void {
                    const x = sum * @as(Sums, @splat(p.alpha));
                    if (w == wide and p.csc == 1 and (p.beta == 0 or p.csd == 1)) {
                        const from: *align(@alignOf(T)) const Sums = @ptrCast(d);
                        const to: *align(@alignOf(T)) Sums = @ptrCast(c);
                        to.* = if (p.beta == 0) x else mul_add(@as(Sums, @splat(p.beta)), from.*, x);
                    } else inline for (0..w) |j| {
                        const to = at(c, span(j, p.csc));
                        to[0] = if (p.beta == 0) x[j] else mul_add(p.beta, at(d, span(j, p.csd))[0], x[j]);
                    }
                }
            };
        }

        /// A vector, without its first elements.
        inline fn load_from(x: [*]const T, first: usize) V {
            const v = load(x);
            if (first == 0) return v;
            const places = std.simd.iota(u8, lanes) >= @as(@Vector(lanes, u8), @splat(@intCast(first)));
            return @select(T, places, v, @as(V, @splat(0)));
        }

        /// The sum of each vector.
        inline fn sums(vectors: anytype) Sums {
            var four: [wide]Sums = @splat(@splat(0));
            inline for (vectors, 0..) |v, j| four[j] = folded(v);
            return turned(four);
        }

        /// As many partial sums as a tile has columns.
        fn folded(v: anytype) Sums {
            const n = @typeInfo(@TypeOf(v)).vector.len;
            if (n == wide) return v;
            if (n < wide) return std.simd.join(v, @as(@Vector(wide - n, T), @splat(0)));
            const low = std.simd.extract(v, 0, n / 2);
            const high = std.simd.extract(v, n / 2, n / 2);
            return folded(low + high);
        }

        /// Element j is the sum of vector j.
        inline fn turned(v: [wide]Sums) Sums {
            const a = pairs(v[0], v[1]);
            const b = pairs(v[2], v[3]);
            const low = @shuffle(T, a, b, [4]i32{ 0, 2, ~@as(i32, 0), ~@as(i32, 2) });
            const high = @shuffle(T, a, b, [4]i32{ 1, 3, ~@as(i32, 1), ~@as(i32, 3) });
            return low + high;
        }

        /// x0 + x1, x2 + x3, y0 + y1, y2 + y3.
        inline fn pairs(x: Sums, y: Sums) Sums {
            const even = @shuffle(T, x, y, [4]i32{ 0, 2, ~@as(i32, 0), ~@as(i32, 2) });
            const odd = @shuffle(T, x, y, [4]i32{ 1, 3, ~@as(i32, 1), ~@as(i32, 3) });
            return even + odd;
        }
    };
}

/// C = beta * D + alpha * A * B where the rows of A and the columns of B are contiguous.
pub fn inner(comptime T: type, p: *const Problem(T)) void {
    const s: Inner(T) = .{ .p = p, .strips = .of(p.m, tall) };
    const groups = (p.n - 1) / wide + 1;
    const task = @max(1, p.m * wide * p.k);
    parallel.parallel_for(groups, @max(1, plan.task_work / task), &s, Inner(T).run);
}
