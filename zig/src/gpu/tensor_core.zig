//! Products by the matrix units of GPUs from capability 8.0 on, of 16-bit floats, and of float32 rounded to tf32 where
//! that is allowed: sums in f32, rounded once. Eight warps have 2 by 4 parts of a square tile. Slices, 64 bytes a row,
//! come to shared memory by asynchronous copies of 16 bytes, two slices ahead of the one that is multiplied: then one
//! barrier a slice is enough. A slice lies as its factor lies; where that is across what the units want, the load of a
//! fragment turns it. Pieces of 16 bytes are exchanged within their row by bits of the row's number: what a warp reads
//! at once is then in different banks.
const std = @import("std");
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

const stages = 3;

fn Tiles(comptime kind: args.Kind, comptime side: u32) type {
    const size = kind.size();
    const Bits = std.meta.Int(.unsigned, 8 * size);
    const depth = kind.reads().depth;
    // Elements of 16 bytes, and terms of one product of the units: two of those.
    const wide = kind.reads().wide;
    const terms = 2 * wide;
    const slice_bytes = side * depth * size;
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
            // Of a piece's first element. A warp reads eight rows of pieces, or four rows of eight elements.
            if (along == .inner) return outer * (depth * size) + ((k / wide ^ outer / 2 % 4) * 16);
            return k * (side * size) + ((outer / wide ^ (if (size == 2) k % 8 else k % 4 * 2)) * 16);
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
                        warp.copy_async(to + s.to[u], if (count > 0) s.at[u] else f.data, count * size);
                    } else by_element(f, along, s.at[u], to + s.to[u], count);
                    s.at[u] = moved(s.at[u], f.inner, depth);
                }
            }

            inline fn by_element(f: *const args.Factor, comptime along: Along, at: u64, to: u32, count: u32) void {
                const step = if (along == .inner) f.inner else f.outer;
                var words: [4]u32 = @splat(0);
                const in_word = 4 / size;
                inline for (0..wide) |i| {
                    if (i < count) {
                        const x = @as(Pointer(Bits), @ptrFromInt(moved(at, step, i)))[0];
                        words[i / in_word] |= @as(u32, x) << (i % in_word * 16);
                    }
                }
                warp.store_16(to, words);
            }
        };

        /// Fragments of the left factor for a product's terms from `k` on: the upper and the lower 8 rows of the first
        /// half of the terms, then of the second.
        inline fn left_fragment(comptime along: Along, base: u32, row: u32, k: u32) [4]u32 {
            const lane = thread.lane();
            if (along == .inner) {
                return rounded(warp.load(false, base + place(along, row + lane % 16, k + lane / 16 * wide)));
            }
            if (size == 4) return scattered(base, .{ 0, 8, 0, 8 }, .{ 0, 0, 4, 4 }, row, k);
            return warp.load(true, base + place(along, row + lane / 8 % 2 * 8, k + lane % 8 + lane / 16 * 8));
        }

        /// Of the right factor, for two times 8 columns: the first half of the terms, and the second.
        inline fn right_fragment(comptime along: Along, base: u32, column: u32, k: u32) [4]u32 {
            const lane = thread.lane();
            if (along == .inner) {
                const outer = column + lane % 8 + lane / 16 * 8;
                return rounded(warp.load(false, base + place(along, outer, k + lane / 8 % 2 * wide)));
            }
            if (size == 4) return scattered(base, .{ 0, 0, 8, 8 }, .{ 0, 4, 0, 4 }, column, k);
            return warp.load(true, base + place(along, column + lane / 16 * 8, k + lane % 16));
        }

        /// What no load of fragments turns, element by element.
        inline fn scattered(base: u32, outers: [4]u32, inners: [4]u32, first: u32, k: u32) [4]u32 {
            const lane = thread.lane();
            var r: [4]u32 = undefined;
            inline for (&r, outers, inners) |*x, o, i| {
                const outer = first + o + lane / 4;
                x.* = warp.load_4(base + place(.outer, outer, k + i + lane % 4) + outer % wide * size);
            }
            return rounded(r);
        }

        inline fn rounded(r: [4]u32) [4]u32 {
            if (kind != .tf32) return r;
            var x: [4]u32 = undefined;
            inline for (&x, r) |*to, from| to.* = warp.to_tf32(from);
            return x;
        }

        inline fn multiply(comptime la: Along, comptime lb: Along, sums: *Sums, base: u32, row: u32, column: u32) void {
            inline for (0..depth / terms) |step| {
                const k: u32 = step * terms;
                var b: [across / 2][4]u32 = undefined;
                inline for (&b, 0..) |*x, j| {
                    x.* = right_fragment(lb, base + slice_bytes, column + @as(u32, j) * 16, k);
                }
                inline for (0..high) |i| {
                    const a = left_fragment(la, base, row + @as(u32, i) * 16, k);
                    inline for (0..across) |j| {
                        const right = b[j / 2][j % 2 * 2 ..][0..2];
                        sums[i][j] = warp.multiply_add(kind, a, right.*, sums[i][j]);
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
    for (std.enums.values(args.Kind)) |kind| {
        const name = "tensor_core_" ++ @tagName(kind);
        export_kernel(&Tiles(kind, args.tensor_sides[0]).run, name ++ "_large", Product);
        export_kernel(&Tiles(kind, args.tensor_sides[1]).run, name ++ "_small", Product);
    }
}
