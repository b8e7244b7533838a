//! Device code of matrix products: a block computes a square tile of the result, in registers. Both factors pass
//! through shared memory in slices of the sum, in two buffers: the next slice is on its way while this one is
//! multiplied, and one barrier for each is enough. With 8 by 8 results a thread each number from shared memory is used
//! eight times, more than it costs to read; with 128 registers at most two blocks run on a processor, and one computes
//! while the other waits at its barrier.
const std = @import("std");
const abi = @import("abi");
const args = @import("matmul_args.zig");
const dt = @import("../core/dtype.zig");
const elements = @import("matmul_elements.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const thread = @import("thread.zig");

const Compute = abi.Compute;
const One = elements.One;
const Product = args.Product;
const moved = elements.moved;

/// The tile of a block. Blocks that run at the same time take a square of tiles, and share what lies in the cache.
pub const Spot = struct {
    row: u32,
    column: u32,

    pub inline fn of(a: *const Product, block: u32) Spot {
        const band = 8;
        const whole = band * a.tile_columns;
        const first = block / whole * band;
        const rows = @min(band, a.tile_rows - first);
        const inside = block % whole;
        return .{ .row = first + inside % rows, .column = inside / rows };
    }
};

fn Tiles(comptime c: Compute, comptime groups: u32) type {
    const A = elements.Arithmetic(c);
    const T = A.T;
    const shape: args.Shape = .of(@sizeOf(T), groups);
    const wide = shape.wide;
    const side = shape.side();
    const depth = shape.depth();
    // One piece more in a row: pieces that are stored across rows then go to different banks.
    const stride = side + wide;
    const mine = groups * wide;
    const P = elements.Pieces(c);
    const Piece = P.Piece;
    const Slice = [depth][stride]T;
    const Values = P.Values;

    return struct {
        var slices: [2][2]Slice align(16) addrspace(.shared) = undefined;

        inline fn piece(at: *addrspace(.shared) T) *addrspace(.shared) Piece {
            return @ptrCast(@alignCast(at));
        }

        /// How a thread brings its pieces of a factor from memory to shared memory.
        const Carrier = struct {
            at: u64,
            /// Elements of the factor from this thread's first on, outwards.
            left: i32,
            outer: u32,
            k: u32,

            inline fn of(f: *const args.Factor, first: u32, count: u32, batch: u32, k: u32) Carrier {
                const t = thread.index();
                const pieces = if (f.along == .inner) depth / wide else side / wide;
                const across = t / pieces;
                const inside = t % pieces * wide;
                const outer = if (f.along == .inner) across else inside;
                const inner = if (f.along == .inner) inside else across;
                const start = moved(moved(f.data, f.batch, batch), f.outer, first + outer);
                return .{
                    .at = moved(start, f.inner, k + inner),
                    .left = @as(i32, @intCast(count)) - @as(i32, @intCast(first + outer)),
                    .outer = outer,
                    .k = inner,
                };
            }

            /// The next piece; zeros where the factor ends. `k` of the sum are left.
            inline fn fetch(s: *Carrier, f: *const args.Factor, k: i32) Values {
                const inner = k - @as(i32, @intCast(s.k));
                const count = if (f.along == .inner)
                    (if (s.left > 0) inner else 0)
                else
                    (if (inner > 0) s.left else 0);
                const from = s.at;
                s.at +%= @bitCast(f.ahead);
                return P.read(f.whole, f.dtype, from, f.next, count);
            }

            inline fn put(
                s: *const Carrier,
                f: *const args.Factor,
                to: *addrspace(.shared) Slice,
                x: *const Values,
            ) void {
                if (f.along == .inner) {
                    inline for (x, 0..) |v, i| to[s.k + i][s.outer] = v;
                } else piece(&to[s.k][s.outer]).* = P.pack(x);
            }
        };

        /// The part of a tile's rows and columns that is a thread's: a warp has 4 by 8 of the 16 by 16.
        inline fn row_of(t: u32) u32 {
            return t / 64 * 4 + t % 32 / 8;
        }
        inline fn column_of(t: u32) u32 {
            return t / 32 % 2 * 8 + t % 8;
        }

        inline fn fragment(row: *addrspace(.shared) [stride]T, at: u32) [mine]T {
            var r: [mine]T = undefined;
            inline for (0..groups) |g| r[g * wide ..][0..wide].* = P.unpack(piece(&row[(16 * g + at) * wide]).*);
            return r;
        }

        fn run(a: *const Product) callconv(.kernel) void {
            @setEvalBranchQuota(100_000);
            const t = thread.index();
            const spot: Spot = .of(a, thread.block());
            const z = thread.block_z();
            const batch = z / a.splits;
            const first = z % a.splits * a.k_each;
            var left: i32 = @intCast(@min(a.k_each, a.k - first));
            var from_a: Carrier = .of(&a.a, spot.row * side, a.m, batch, first);
            var from_b: Carrier = .of(&a.b, spot.column * side, a.n, batch, first);
            var sums: [mine][mine]T = @splat(@splat(A.zero));
            const row = row_of(t);
            const column = column_of(t);

            from_a.put(&a.a, &slices[0][0], &from_a.fetch(&a.a, left));
            from_b.put(&a.b, &slices[0][1], &from_b.fetch(&a.b, left));
            thread.barrier();
            var now: u32 = 0;
            while (left > 0) {
                left -= depth;
                const next_a = from_a.fetch(&a.a, left);
                const next_b = from_b.fetch(&a.b, left);
                inline for (0..depth) |k| {
                    const x = fragment(&slices[now][0][k], row);
                    const y = fragment(&slices[now][1][k], column);
                    inline for (0..mine) |i| inline for (0..mine) |j| {
                        sums[i][j] = A.multiply_add(x[i], y[j], sums[i][j]);
                    };
                }
                now ^= 1;
                from_a.put(&a.a, &slices[now][0], &next_a);
                from_b.put(&a.b, &slices[now][1], &next_b);
                thread.barrier();
            }
            finish(a, &sums, row, column, spot, z);
        }

        /// Through shared memory a row of all threads at a time, so that the result is written in whole rows.
        inline fn finish(a: *const Product, sums: *[mine][mine]T, row: u32, column: u32, spot: Spot, z: u32) void {
            const staged: *addrspace(.shared) [16][side]T = @ptrCast(&slices);
            for (0..mine) |i| {
                inline for (0..mine) |which| {
                    if (i == which) inline for (0..groups) |g| {
                        const at = &staged[row][(16 * g + column) * wide];
                        piece(at).* = P.pack(sums[which][g * wide ..][0..wide]);
                    };
                }
                thread.barrier();
                const above = @as(u32, @intCast(i)) / wide * 16;
                for (0..groups) |u| {
                    const v = thread.index() + @as(u32, @intCast(u)) * args.threads;
                    const r = v / (side / wide);
                    const q = v % (side / wide) * wide;
                    const to_row = spot.row * side + (above + r) * wide + @as(u32, @intCast(i)) % wide;
                    const to_column = spot.column * side + q;
                    if (to_row >= a.m or to_column >= a.n) continue;
                    elements.Output(c, wide).write(a, P.unpack(piece(&staged[r][q]).*), to_row, to_column, z);
                }
                thread.barrier();
            }
        }
    };
}

/// Adds up the results of those that shared a sum, `a` of the arguments, always in one order.
fn Combine(comptime c: Compute) type {
    const A = elements.Arithmetic(c);
    return struct {
        fn run(a: *const Product) callconv(.kernel) void {
            const i = thread.block() * thread.threads() + thread.index();
            const z = thread.block_z();
            if (i >= a.m * a.n) return;
            var from = moved(moved(a.a.data, a.a.batch, z), @sizeOf(A.T), i);
            var sum = A.zero;
            for (0..a.splits) |_| {
                sum = A.add(sum, One(c).load(a.a.dtype, from));
                from +%= @bitCast(a.a.inner);
            }
            const row = i / a.n;
            const column = i % a.n;
            const d = moved(moved(moved(a.d.data, a.d.batch, z), a.d.row, row), a.d.column, column);
            const starts = a.starts != 0;
            const x = A.blend(a, sum, starts, if (starts) One(c).load(a.d.dtype, d) else A.zero);
            const to = moved(moved(moved(a.c.data, a.c.batch, z), a.c.row, row), a.c.column, column);
            One(c).store(a.c.dtype, to, x);
        }
    };
}

pub const computes = [_]Compute{ .f32, .f64, .i32, .i64, .c64, .c128 };

pub fn exports() void {
    for (computes) |c| {
        const name = "matmul_gemm_" ++ @tagName(c);
        export_kernel(&Tiles(c, 2).run, name ++ "_large", Product);
        export_kernel(&Tiles(c, 1).run, name ++ "_small", Product);
        export_kernel(&Combine(c).run, name ++ "_combine", Product);
        export_kernel(&@import("matmul_vector.zig").Vector(c).run, name ++ "_vector", Product);
    }
}
