//! Products of doubles by the matrix units of GPUs from capability 8.0 on. Eight warps have 2 by 4 parts of a square
//! tile. In what order rows, columns and terms stand in a fragment is free, as long as both factors agree: here a lane
//! has neighbours of each, two rows by two terms, so that it reads pieces of 16 bytes however a factor lies, and has
//! four neighbouring results of a row.
const std = @import("std");
const args = @import("matmul_args.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const matmul = @import("matmul.zig");
const elements = @import("matmul_elements.zig");
const slices = @import("tensor_slices.zig");
const thread = @import("thread.zig");
const warp = @import("warp_matrix.zig");

const Along = args.Along;
const Product = args.Product;

const depth = args.Kind.reads(.float64).depth;
/// Of a product of fragments.
const terms = 8;

/// As many bytes as the launch says.
extern var double_shared: [0]u8 align(128) addrspace(.shared);

fn Tiles(comptime how: warp.Doubles, comptime side: u32) type {
    const Slice = slices.Slices(.float64, side);
    // Fragments of 16 rows, and pairs of fragments of 8 columns, that a warp has.
    const high = side / 2 / 16;
    const across = side / 4 / 16;

    return struct {
        const Self = @This();

        sums: [high][across][2][4]f64 = @splat(@splat(@splat(@splat(0)))),

        inline fn row() u32 {
            return thread.index() / thread.warp / 4 * (side / 2);
        }
        inline fn column() u32 {
            return thread.index() / thread.warp % 4 * (side / 4);
        }

        /// Where a lane's pieces of the first fragments begin.
        inline fn place(comptime along: Along, first: u32) u32 {
            return Slice.place(along, first + thread.lane() / 4 * 2, thread.lane() % 4 * 2);
        }

        /// Two neighbours outwards for a term, then for the next one. Between fragments bits of the place change that
        /// nothing is carried into: what is added are constants.
        inline fn fragment(comptime along: Along, at: u32, comptime which: u32, comptime step: u32) [4]f64 {
            if (along == .inner) {
                const from = (at ^ step * (terms * 8)) + which * (16 * depth * 8);
                const x = warp.load_doubles(from);
                const y = warp.load_doubles(from + depth * 8);
                return .{ x[0], y[0], x[1], y[1] };
            }
            const from = at + which * (16 * 8) + step * (terms * side * 8);
            return warp.load_doubles(from) ++ warp.load_doubles(from + side * 8);
        }

        pub inline fn multiply(t: *Self, comptime la: Along, comptime lb: Along, base: u32) void {
            const from_a = base + place(la, row());
            const from_b = base + Slice.bytes + place(lb, column());
            inline for (0..depth / terms) |step| {
                var b: [across][4]f64 = undefined;
                inline for (&b, 0..) |*x, j| x.* = fragment(lb, from_b, j, step);
                inline for (0..high) |i| {
                    const a = fragment(la, from_a, i, step);
                    inline for (0..across) |j| inline for (0..2) |odd| {
                        const right = [2]f64{ b[j][odd], b[j][odd + 2] };
                        t.sums[i][j][odd] = warp.multiply_add_doubles(how, a, right, t.sums[i][j][odd]);
                    };
                }
            }
        }

        fn run(a: *const Product) callconv(.kernel) void {
            @setEvalBranchQuota(100_000);
            const spot: matmul.Spot = .of(a, thread.block());
            var t: Self = .{};
            Slice.all(a, warp.address(&double_shared), spot, &t);
            t.finish(a, spot);
        }

        /// Four lanes write 128 bytes of a row.
        inline fn finish(t: *const Self, a: *const Product, spot: matmul.Spot) void {
            const first_row = spot.row * side + row() + thread.lane() / 4 * 2;
            const first_column = spot.column * side + column() + thread.lane() % 4 * 4;
            inline for (0..high) |i| inline for (0..2) |lower| {
                const to_row = first_row + @as(u32, i * 16 + lower);
                if (to_row < a.m) inline for (0..across) |j| inline for (0..2) |later| {
                    const to_column = first_column + @as(u32, j * 16 + later * 2);
                    const from = &t.sums[i][j];
                    const pair = [2]f64{ from[0][lower * 2 + later], from[1][lower * 2 + later] };
                    if (to_column < a.n) {
                        elements.Output(.f64, 2).write(a, pair, to_row, to_column, thread.block_z());
                    }
                };
            };
        }
    };
}

pub fn exports(comptime how: warp.Doubles, comptime name: []const u8) void {
    export_kernel(&Tiles(how, args.tensor_sides[0]).run, name ++ "_large", Product);
    export_kernel(&Tiles(how, args.tensor_sides[1]).run, name ++ "_small", Product);
}
