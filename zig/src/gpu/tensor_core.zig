//! Products of 16-bit floats by the matrix units of GPUs from capability 8.0 on: sums in f32, rounded once. Eight warps
//! have 2 by 4 parts of a square tile. Slices of 32 terms come to shared memory by asynchronous copies of 16 bytes, two
//! slices ahead of the one that is multiplied, so that one barrier a slice is enough. A slice lies as its factor lies;
//! where that is across what the units want, the load of a fragment turns it. Pieces of 16 bytes are exchanged within
//! their row by bits of the row's number: the eight rows of a fragment's tile are then in different banks.
const std = @import("std");
const abi = @import("abi");
const args = @import("matmul_args.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const matmul = @import("matmul.zig");
const elements = @import("matmul_elements.zig");
const moved = elements.moved;
const Pointer = @import("element.zig").Pointer;
const thread = @import("thread.zig");
const warp = @import("warp_matrix.zig");

const Along = args.Along;
const Product = args.Product;

const depth = args.tensor_depth;
const stages = 3;
/// Elements of 16 bytes.
const wide = args.tensor_wide;

fn Tiles(comptime dtype: abi.DType, comptime side: u32) type {
    const slice_bytes = side * depth * 2;
    const pieces = side * depth / wide / args.threads;
    // Fragments of 16 rows and of 8 columns that a warp has.
    const high = side / 2 / 16;
    const across = side / 4 / 8;
    const Sums = [high][across][4]f32;
    // A row of results in shared memory, as far apart as makes the least conflicts.
    const staged_row = side / 4 + 4;

    return struct {
        var shared: [stages][2][slice_bytes]u8 align(128) addrspace(.shared) = undefined;

        comptime {
            std.debug.assert(8 * 16 * staged_row * 4 <= stages * 2 * slice_bytes);
        }

        inline fn place(comptime along: Along, outer: u32, k: u32) u32 {
            // Of the first element of a piece.
            if (along == .inner) return outer * (depth * 2) + ((k / wide ^ outer / 2 % 4) * 16);
            return k * (side * 2) + ((outer / wide ^ k % 8) * 16);
        }

        /// Brings a thread's pieces of a factor.
        const Carrier = struct {
            at: [pieces]u64,
            left: [pieces]i32,
            k: [pieces]i32,
            to: [pieces]u32,

            inline fn of(
                comptime along: Along,
                f: *const args.Factor,
                first: u32,
                count: u32,
                batch: u32,
                term: u32,
            ) Carrier {
                var r: Carrier = undefined;
                inline for (0..pieces) |u| {
                    const q = thread.index() + @as(u32, u) * args.threads;
                    const in_row = if (along == .inner) depth / wide else side / wide;
                    const outer = if (along == .inner) q / in_row else q % in_row * wide;
                    const inner = if (along == .inner) q % in_row * wide else q / in_row;
                    const start = moved(moved(f.data, f.batch, batch), f.outer, first + outer);
                    r.at[u] = moved(start, f.inner, term + inner);
                    r.left[u] = @as(i32, @intCast(count)) - @as(i32, @intCast(first + outer));
                    r.k[u] = @intCast(inner);
                    r.to[u] = place(along, outer, inner);
                }
                return r;
            }

            /// Starts the copies of the next slice; zeros where the factor ends.
            inline fn fetch(s: *Carrier, comptime along: Along, f: *const args.Factor, to: u32, k: i32) void {
                inline for (0..pieces) |u| {
                    const inner = k - s.k[u];
                    const some = if (along == .inner)
                        (if (s.left[u] > 0) inner else 0)
                    else
                        (if (inner > 0) s.left[u] else 0);
                    const count: u32 = @intCast(@max(0, @min(some, wide)));
                    if (f.whole != 0) {
                        warp.copy_async(to + s.to[u], if (count > 0) s.at[u] else f.data, count * 2);
                    } else by_element(f, along, s.at[u], to + s.to[u], count);
                    s.at[u] = moved(s.at[u], f.inner, depth);
                }
            }

            inline fn by_element(f: *const args.Factor, comptime along: Along, at: u64, to: u32, count: u32) void {
                const step = if (along == .inner) f.inner else f.outer;
                var words: [wide / 2]u32 = @splat(0);
                inline for (0..wide) |i| {
                    if (i < count) {
                        const x = @as(Pointer(u16), @ptrFromInt(moved(at, step, i)))[0];
                        words[i / 2] |= @as(u32, x) << (i % 2 * 16);
                    }
                }
                warp.store_16(to, words);
            }
        };

        /// Fragments of the left factor for 16 terms from `k` on.
        inline fn left_fragment(comptime along: Along, base: u32, row: u32, k: u32) [4]u32 {
            const lane = thread.lane();
            if (along == .inner) return warp.load(false, base + place(along, row + lane % 16, k + lane / 16 * 8));
            return warp.load(true, base + place(along, row + lane / 8 % 2 * 8, k + lane % 8 + lane / 16 * 8));
        }

        /// Of the right factor, for two times 8 columns.
        inline fn right_fragment(comptime along: Along, base: u32, column: u32, k: u32) [4]u32 {
            const lane = thread.lane();
            if (along == .inner) {
                return warp.load(false, base + place(along, column + lane % 8 + lane / 16 * 8, k + lane / 8 % 2 * 8));
            }
            return warp.load(true, base + place(along, column + lane / 16 * 8, k + lane % 16));
        }

        inline fn multiply(comptime la: Along, comptime lb: Along, sums: *Sums, base: u32, row: u32, column: u32) void {
            inline for (0..depth / 16) |step| {
                const k: u32 = step * 16;
                var b: [across / 2][4]u32 = undefined;
                inline for (&b, 0..) |*x, j| {
                    x.* = right_fragment(lb, base + slice_bytes, column + @as(u32, j) * 16, k);
                }
                inline for (0..high) |i| {
                    const a = left_fragment(la, base, row + @as(u32, i) * 16, k);
                    inline for (0..across) |j| {
                        const right = b[j / 2][j % 2 * 2 ..][0..2];
                        sums[i][j] = warp.multiply_add(dtype, a, right.*, sums[i][j]);
                    }
                }
            }
        }

        inline fn sum(comptime la: Along, comptime lb: Along, a: *const Product, sums: *Sums, spot: matmul.Spot) void {
            const z = thread.block_z();
            const batch = z / a.splits;
            const first = z % a.splits * a.k_each;
            var left: i32 = @intCast(@min(a.k_each, a.k - first));
            var from_a: Carrier = .of(la, &a.a, spot.row * side, a.m, batch, first);
            var from_b: Carrier = .of(lb, &a.b, spot.column * side, a.n, batch, first);
            const base = warp.address(&shared);
            const w = thread.index() / thread.warp;
            var ahead = left;
            inline for (0..stages - 1) |s| {
                const to = base + @as(u32, s) * 2 * slice_bytes;
                from_a.fetch(la, &a.a, to, ahead);
                from_b.fetch(lb, &a.b, to + slice_bytes, ahead);
                warp.commit();
                ahead -= depth;
            }
            var now: u32 = 0;
            var next: u32 = stages - 1;
            while (left > 0) : (left -= depth) {
                warp.wait(stages - 2);
                thread.barrier();
                if (ahead > 0) {
                    from_a.fetch(la, &a.a, base + next * 2 * slice_bytes, ahead);
                    from_b.fetch(lb, &a.b, base + next * 2 * slice_bytes + slice_bytes, ahead);
                }
                warp.commit();
                ahead -= depth;
                multiply(la, lb, sums, base + now * 2 * slice_bytes, w / 4 * (side / 2), w % 4 * (side / 4));
                now = if (now == stages - 1) 0 else now + 1;
                next = if (next == stages - 1) 0 else next + 1;
            }
            warp.wait(0);
            thread.barrier();
        }

        fn run(a: *const Product) callconv(.kernel) void {
            @setEvalBranchQuota(100_000);
            const spot: matmul.Spot = .of(a, thread.block());
            var sums: Sums = @splat(@splat(@splat(0)));
            if (a.a.along == .inner) {
                if (a.b.along == .inner) sum(.inner, .inner, a, &sums, spot) else sum(.inner, .outer, a, &sums, spot);
            } else {
                if (a.b.along == .inner) sum(.outer, .inner, a, &sums, spot) else sum(.outer, .outer, a, &sums, spot);
            }
            finish(a, &sums, spot);
        }

        /// Through shared memory 16 rows of each warp at a time, so that neighbouring lanes write neighbours.
        inline fn finish(a: *const Product, sums: *const Sums, spot: matmul.Spot) void {
            const w = thread.index() / thread.warp;
            const lane = thread.lane();
            const staged = @as(*addrspace(.shared) [8][16][staged_row]f32, @ptrCast(&shared));
            const mine = &staged[w];
            const in_row = side / 4 / 4;
            const z = thread.block_z();
            for (0..high) |i| {
                inline for (0..high) |which| {
                    if (i == which) inline for (0..across) |j| {
                        inline for (0..2) |half| {
                            const to = &mine[lane / 4 + @as(u32, half) * 8][@as(u32, j) * 8 + lane % 4 * 2];
                            const pair = @Vector(2, f32){ sums[which][j][half * 2], sums[which][j][half * 2 + 1] };
                            @as(*addrspace(.shared) @Vector(2, f32), @ptrCast(@alignCast(to))).* = pair;
                        }
                    };
                }
                thread.barrier();
                for (0..16 * in_row / thread.warp) |u| {
                    const v = lane + @as(u32, @intCast(u)) * thread.warp;
                    const r = v / in_row;
                    const q = v % in_row * 4;
                    const row = spot.row * side + w / 4 * (side / 2) + @as(u32, @intCast(i)) * 16 + r;
                    const column = spot.column * side + w % 4 * (side / 4) + q;
                    if (row >= a.m or column >= a.n) continue;
                    const from: *addrspace(.shared) const @Vector(4, f32) = @ptrCast(@alignCast(&mine[r][q]));
                    elements.Output(.f32, 4).write(a, from.*, row, column, z);
                }
                thread.barrier();
            }
        }
    };
}

pub fn exports() void {
    for ([_]abi.DType{ .bfloat16, .float16 }) |d| {
        const name = "tensor_core_" ++ @tagName(d);
        export_kernel(&Tiles(d, args.tensor_sides[0]).run, name ++ "_large", Product);
        export_kernel(&Tiles(d, args.tensor_sides[1]).run, name ++ "_small", Product);
    }
}
