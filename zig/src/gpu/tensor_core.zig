//! Products by the matrix units of GPUs from capability 8.0 on, of 16-bit floats, and of float32 rounded to tf32 where
//! that is allowed: sums in f32, rounded once. Eight warps have 2 by 4 parts of a square tile. Slices, 64 bytes a row,
//! lie as their factor lies; where that is across what the units want, the load of a fragment turns it.
const std = @import("std");
const args = @import("matmul_args.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const double = @import("tensor_double.zig");
const matmul = @import("matmul.zig");
const elements = @import("matmul_elements.zig");
const slices = @import("tensor_slices.zig");
const thread = @import("thread.zig");
const warp = @import("warp_matrix.zig");

const Along = args.Along;
const Product = args.Product;

fn Tiles(comptime kind: args.Kind, comptime side: u32) type {
    const size = kind.size();
    const depth = kind.reads().depth;
    // Elements of 16 bytes, and terms of one product of the units: two of those.
    const wide = kind.reads().wide;
    const terms = 2 * wide;
    const Slice = slices.Slices(kind, side);
    const place = Slice.place;
    // Fragments of 16 rows and of 8 columns that a warp has.
    const high = side / 2 / 16;
    const across = side / 4 / 8;
    const Sums = [high][across][4]f32;
    // A row of results in shared memory, as far apart as makes the least conflicts.
    const staged_row = side / 4 + 4;

    return struct {
        const Self = @This();

        sums: Sums = @splat(@splat(@splat(0))),

        var shared: [args.tensor_stages][2][Slice.bytes]u8 align(128) addrspace(.shared) = undefined;

        comptime {
            std.debug.assert(8 * 16 * staged_row * 4 <= args.tensor_stages * 2 * Slice.bytes);
        }

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

        pub inline fn multiply(t: *Self, comptime la: Along, comptime lb: Along, base: u32) void {
            const w = thread.index() / thread.warp;
            const row = w / 4 * (side / 2);
            const column = w % 4 * (side / 4);
            inline for (0..depth / terms) |step| {
                const k: u32 = step * terms;
                var b: [across / 2][4]u32 = undefined;
                inline for (&b, 0..) |*x, j| {
                    x.* = right_fragment(lb, base + Slice.bytes, column + @as(u32, j) * 16, k);
                }
                inline for (0..high) |i| {
                    const a = left_fragment(la, base, row + @as(u32, i) * 16, k);
                    inline for (0..across) |j| {
                        const right = b[j / 2][j % 2 * 2 ..][0..2];
                        t.sums[i][j] = warp.multiply_add(kind, a, right.*, t.sums[i][j]);
                    }
                }
            }
        }

        fn run(a: *const Product) callconv(.kernel) void {
            @setEvalBranchQuota(100_000);
            const spot: matmul.Spot = .of(a, thread.block());
            var t: Self = .{};
            Slice.all(a, warp.address(&shared), spot, &t);
            finish(a, &t.sums, spot);
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
    for ([_]args.Kind{ .bfloat16, .float16, .tf32 }) |kind| {
        const name = "tensor_core_" ++ @tagName(kind);
        export_kernel(&Tiles(kind, args.tensor_sides[0]).run, name ++ "_large", Product);
        export_kernel(&Tiles(kind, args.tensor_sides[1]).run, name ++ "_small", Product);
    }
    double.exports(.halves, "tensor_core_float64");
}
