//! Parts of matrix products for other families: the tiles and the packing, compiled once for an instruction set, in the
//! object of the products.
const cfg = @import("cfg");
const kernels = @import("gemm_kernel.zig");
const object = @import("object.zig");
const pack = @import("gemm_pack.zig");

fn name(comptime T: type, comptime part: []const u8) []const u8 {
    return object.symbol(cfg.variant, "matmul", part ++ "_" ++ @typeName(T));
}

fn Calls(comptime T: type) type {
    return struct {
        const Tile = fn (packed_a: bool, h: usize, nv: usize, hi: usize) callconv(.c) *const anyopaque;
        const Pack = fn (
            n: usize,
            kc: usize,
            from: [*]const T,
            stride: isize,
            step: isize,
            to: [*]T,
            ldo: usize,
        ) callconv(.c) void;
    };
}

/// What the object of products has to offer.
pub fn offer(comptime T: type) void {
    const parts = struct {
        fn tile(packed_a: bool, h: usize, nv: usize, hi: usize) callconv(.c) *const anyopaque {
            return kernels.Tile(T).kernel(packed_a, h, nv, hi);
        }
        fn strip(h: usize, kc: usize, a: [*]const T, rsa: isize, csa: isize, out: [*]T, _: usize) callconv(.c) void {
            pack.pack_strip(T, h, kc, a, rsa, csa, out);
        }
        fn panel(w: usize, kc: usize, b: [*]const T, rsb: isize, csb: isize, out: [*]T, ldo: usize) callconv(.c) void {
            pack.pack_panel(T, w, kc, b, rsb, csb, out, ldo);
        }
    };
    @export(&parts.tile, .{ .name = name(T, "tile"), .visibility = .hidden });
    @export(&parts.strip, .{ .name = name(T, "strip"), .visibility = .hidden });
    @export(&parts.panel, .{ .name = name(T, "panel"), .visibility = .hidden });
}

/// As `Tile(T).kernel`.
pub fn tile_of(comptime T: type, packed_a: bool, h: usize, nv: usize, hi: usize) kernels.Tile(T).Kernel {
    const f = @extern(*const Calls(T).Tile, .{ .name = name(T, "tile"), .visibility = .hidden });
    return @ptrCast(@alignCast(f(packed_a, h, nv, hi)));
}

/// As `pack_strip` of gemm_pack.zig.
pub fn pack_strip(comptime T: type, h: usize, kc: usize, a: [*]const T, rsa: isize, csa: isize, out: [*]T) void {
    const f = @extern(*const Calls(T).Pack, .{ .name = name(T, "strip"), .visibility = .hidden });
    f(h, kc, a, rsa, csa, out, 0);
}

/// As `pack_panel` of gemm_pack.zig.
pub fn pack_panel(
    comptime T: type,
    w: usize,
    kc: usize,
    b: [*]const T,
    rsb: isize,
    csb: isize,
    out: [*]T,
    ldo: usize,
) void {
    const f = @extern(*const Calls(T).Pack, .{ .name = name(T, "panel"), .visibility = .hidden });
    f(w, kc, b, rsb, csb, out, ldo);
}
