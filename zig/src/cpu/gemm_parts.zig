//! Parts of matrix products for other families, which find the tiles and the packing in the table of products.
const kernels = @import("gemm_kernel.zig");
const products = @import("products.zig");

/// As `Tile(T).kernel`.
pub fn tile_of(comptime T: type, packed_a: bool, h: usize, nv: usize, hi: usize) kernels.Tile(T).Kernel {
    return @ptrCast(@alignCast(products.of(T).tile(packed_a, h, nv, hi)));
}

/// As `pack_strip` of gemm_pack.zig.
pub fn pack_strip(comptime T: type, h: usize, kc: usize, a: [*]const T, rsa: isize, csa: isize, out: [*]T) void {
    products.of(T).strip(h, kc, a, rsa, csa, out, 0);
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
    products.of(T).panel(w, kc, b, rsb, csb, out, ldo);
}
