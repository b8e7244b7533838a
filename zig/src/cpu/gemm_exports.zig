//! Products of matrices for kernels of other objects of an instruction set, which find them under hidden symbols: the
//! tiles are compiled once, with the matmul kernels.
const std = @import("std");
const cfg = @import("cfg");
const gemm = @import("gemm.zig");
const kernels = @import("gemm_kernel.zig");
const object = @import("object.zig");
const pack = @import("gemm_pack.zig");
const plan = @import("gemm_plan.zig");
const products = @import("products.zig");

const at = kernels.at;
const span = kernels.span;

pub fn export_products() void {
    const made = struct {
        const f32_products = products_of(f32);
        const f64_products = products_of(f64);
    };
    @export(&made.f32_products, .{ .name = products.symbol(f32), .visibility = .hidden });
    @export(&made.f64_products, .{ .name = products.symbol(f64), .visibility = .hidden });
}

fn products_of(comptime T: type) products.Products(T) {
    const calls = Calls(T);
    return .{
        .whole = calls.whole,
        .packed_size = calls.packed_size,
        .pack = calls.pack_panels,
        .multiply = calls.multiply,
        .tile = calls.tile_kernel,
        .strip = calls.strip,
        .panel = calls.panel,
    };
}

fn Calls(comptime T: type) type {
    const tile = kernels.Tile(T);
    // Elements of a panel that stay close while strips are multiplied with them.
    const near = 16 * 1024 / @sizeOf(T);
    const Whole = products.Problem(T);
    const Panels = products.Panels(T);
    return struct {
        fn whole(p: *const Whole) callconv(.c) void {
            gemm.gemm(T, .{
                .m = p.m,
                .n = p.n,
                .k = p.k,
                .alpha = p.alpha,
                .a = p.a,
                .rsa = p.rsa,
                .csa = p.csa,
                .b = p.b,
                .rsb = p.rsb,
                .csb = p.csb,
                .beta = p.beta,
                .d = p.c,
                .rsd = p.rsc,
                .csd = p.csc,
                .c = p.c,
                .rsc = p.rsc,
                .csc = p.csc,
            });
        }

        fn tile_kernel(packed_a: bool, h: usize, nv: usize, hi: usize) callconv(.c) *const anyopaque {
            return tile.kernel(packed_a, h, nv, hi);
        }

        fn strip(h: usize, kc: usize, a: [*]const T, rsa: isize, csa: isize, out: [*]T, _: usize) callconv(.c) void {
            pack.pack_strip(T, h, kc, a, rsa, csa, out);
        }

        fn panel(w: usize, kc: usize, b: [*]const T, rsb: isize, csb: isize, out: [*]T, ldo: usize) callconv(.c) void {
            pack.pack_panel(T, w, kc, b, rsb, csb, out, ldo);
        }

        fn packed_size(n: usize, k: usize) callconv(.c) usize {
            return std.mem.alignForward(usize, n, tile.lanes) * k + pack.slack;
        }

        /// Panels of B side by side, all of k in each.
        fn pack_panels(n: usize, k: usize, b: [*]const T, rsb: isize, csb: isize, out: [*]T) callconv(.c) void {
            var j: usize = 0;
            while (j < n) : (j += tile.columns) {
                const w = @min(tile.columns, n - j);
                const ldb = std.mem.alignForward(usize, w, tile.lanes);
                pack.pack_panel(T, w, k, at(b, span(j, csb)), rsb, csb, out + j * k, ldb);
            }
        }

        /// C = beta * C + alpha * A * B, where B was packed, on this thread.
        fn multiply(p: *const Panels) callconv(.c) void {
            if (p.k == 0 or p.m == 0) return;
            var j: usize = 0;
            while (j < p.n) : (j += tile.columns) {
                const hi = @min(tile.columns, p.n - j);
                const packed_columns = @min(tile.columns, p.packed_n - j);
                const ldb = std.mem.alignForward(usize, packed_columns, tile.lanes);
                const nv = (hi - 1) / tile.lanes + 1;
                const strips: plan.Strips = .of(p.m, tile.tallest_direct(nv));
                // Several strips find their part of a panel close to the processor.
                const most = if (strips.count > 1) near / ldb else p.k;
                const step = plan.k_step(p.k, @max(8, most));
                var k: usize = 0;
                while (k < p.k) : (k += step) {
                    const shared: tile.Shared = .{
                        .k = @min(step, p.k - k),
                        .rsa = p.rsa,
                        .csa = p.csa,
                        .ldb = @intCast(ldb),
                        .rsc = p.rsc,
                        .csc = 1,
                        .rsd = p.rsc,
                        .csd = 1,
                        .alpha = p.alpha,
                        .beta = if (k == 0) p.beta else 1,
                    };
                    const b = p.b + j * p.packed_k + k * ldb;
                    for (0..strips.count) |i| {
                        const r = strips.start(i);
                        const c = at(p.c, span(r, p.rsc)) + j;
                        const f = tile.kernel(false, strips.height(i), nv, hi);
                        f(&shared, at(p.a, span(r, p.rsa) + span(k, p.csa)), b, c, c, 0, hi);
                    }
                }
            }
        }
    };
}
