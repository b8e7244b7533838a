//! How the factors of a product for matrix units come to shared memory: in slices of the sum, by asynchronous copies of
//! 16 bytes, two slices ahead of the one that is multiplied: then one barrier a slice is enough. A slice lies as its
//! factor lies. Pieces of 16 bytes are exchanged within their row by bits of the row's number: what a warp reads at
//! once is then in different banks.
const std = @import("std");
const args = @import("matmul_args.zig");
const matmul = @import("matmul.zig");
const moved = @import("matmul_elements.zig").moved;
const Pointer = @import("element.zig").Pointer;
const thread = @import("thread.zig");
const warp = @import("warp_matrix.zig");

const Along = args.Along;
const Product = args.Product;

const stages = args.tensor_stages;

/// Of both factors of a square tile.
pub fn Slices(comptime kind: args.Kind, comptime side: u32) type {
    const size = kind.size();
    const Bits = std.meta.Int(.unsigned, 8 * size);
    const depth = kind.reads().depth;
    // Elements of 16 bytes.
    const wide = kind.reads().wide;
    const pieces = side * depth / wide / args.threads;

    return struct {
        pub const bytes = side * depth * size;

        /// Of a piece's first element.
        pub inline fn place(comptime along: Along, outer: u32, k: u32) u32 {
            const exchanged = switch (along) {
                // A warp reads eight rows of pieces; of doubles every other row.
                .inner => if (size == 8) outer / 2 % 2 * 4 else outer / 2 % 4,
                // And here as many rows of eight elements, or four rows; of doubles every other one.
                .outer => if (size == 8) k / 2 % 4 * 2 else if (size == 2) k % 8 else k % 4 * 2,
            };
            if (along == .inner) return outer * (depth * size) + (k / wide ^ exchanged) * 16;
            return k * (side * size) + (outer / wide ^ exchanged) * 16;
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
                if (size == 8) {
                    inline for (0..wide) |i| {
                        const from = if (i < count) moved(at, step, i) else f.data;
                        warp.copy_async_8(to + @as(u32, i) * size, from, if (i < count) size else 0);
                    }
                    return;
                }
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

        /// Has `work` multiply one slice after the other, each at an address in the shared memory from `base` on.
        pub inline fn each(
            comptime la: Along,
            comptime lb: Along,
            a: *const Product,
            base: u32,
            spot: matmul.Spot,
            work: anytype,
        ) void {
            const z = thread.block_z();
            const batch = z / a.splits;
            const first = z % a.splits * a.k_each;
            var left: i32 = @intCast(@min(a.k_each, a.k - first));
            var from_a: Carrier = .of(la, &a.a, spot.row * side, a.m, batch, first);
            var from_b: Carrier = .of(lb, &a.b, spot.column * side, a.n, batch, first);
            var ahead = left;
            inline for (0..stages - 1) |s| {
                const to = base + @as(u32, s) * 2 * bytes;
                from_a.fetch(la, &a.a, to, ahead);
                from_b.fetch(lb, &a.b, to + bytes, ahead);
                warp.commit();
                ahead -= depth;
            }
            var now: u32 = 0;
            var next: u32 = stages - 1;
            while (left > 0) : (left -= depth) {
                warp.wait(stages - 2);
                thread.barrier();
                if (ahead > 0) {
                    from_a.fetch(la, &a.a, base + next * 2 * bytes, ahead);
                    from_b.fetch(lb, &a.b, base + next * 2 * bytes + bytes, ahead);
                }
                warp.commit();
                ahead -= depth;
                work.multiply(la, lb, base + now * 2 * bytes);
                now = if (now == stages - 1) 0 else now + 1;
                next = if (next == stages - 1) 0 else next + 1;
            }
            warp.wait(0);
            thread.barrier();
        }

        /// The same, as the factors lie.
        pub inline fn all(a: *const Product, base: u32, spot: matmul.Spot, work: anytype) void {
            if (a.a.along == .inner) {
                if (a.b.along == .inner) each(.inner, .inner, a, base, spot, work) //
                else each(.inner, .outer, a, base, spot, work);
            } else {
                if (a.b.along == .inner) each(.outer, .inner, a, base, spot, work) //
                else each(.outer, .outer, a, base, spot, work);
            }
        }
    };
}
