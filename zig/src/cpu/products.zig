//! What kernels of other objects see of the products of matrices.
const cfg = @import("cfg");
const object = @import("object.zig");

/// C = beta * C + alpha * A * B, any strides, in elements.
pub fn Problem(comptime T: type) type {
    return extern struct {
        m: usize,
        n: usize,
        k: usize,
        a: [*]const T,
        rsa: isize,
        csa: isize = 1,
        b: [*]const T,
        rsb: isize,
        csb: isize = 1,
        c: [*]T,
        rsc: isize,
        csc: isize = 1,
        alpha: T = 1,
        beta: T = 0,
    };
}

/// The same with B in packed panels, and rows of C without gaps.
pub fn Panels(comptime T: type) type {
    return extern struct {
        m: usize,
        n: usize,
        k: usize,
        a: [*]const T,
        rsa: isize,
        csa: isize = 1,
        b: [*]const T,
        c: [*]T,
        rsc: isize,
        alpha: T = 1,
        beta: T = 0,
        /// Columns and rows that were packed, of which the product takes the first n and k.
        packed_n: usize,
        packed_k: usize,
    };
}

pub fn Products(comptime T: type) type {
    return extern struct {
        whole: *const fn (p: *const Problem(T)) callconv(.c) void,
        /// Elements that packed panels of n columns and k rows take.
        packed_size: *const fn (n: usize, k: usize) callconv(.c) usize,
        pack: *const fn (n: usize, k: usize, b: [*]const T, rsb: isize, csb: isize, out: [*]T) callconv(.c) void,
        multiply: *const fn (p: *const Panels(T)) callconv(.c) void,
        /// As `Tile(T).kernel` of gemm_kernel.zig; `tile_of` in gemm_parts.zig has its type.
        tile: *const fn (packed_a: bool, h: usize, nv: usize, hi: usize) callconv(.c) *const anyopaque,
        /// As `pack_strip` and `pack_panel` of gemm_pack.zig.
        strip: *const Pack(T),
        panel: *const Pack(T),
    };
}

fn Pack(comptime T: type) type {
    return fn (
        n: usize,
        kc: usize,
        from: [*]const T,
        stride: isize,
        step: isize,
        to: [*]T,
        ldo: usize,
    ) callconv(.c) void;
}

pub fn symbol(comptime T: type) []const u8 {
    return object.symbol(cfg.variant, "matmul", "products_" ++ @typeName(T));
}

pub fn of(comptime T: type) *const Products(T) {
    return @extern(*const Products(T), .{ .name = symbol(T), .visibility = .hidden });
}
