//! Root of the object with the matmul kernels, and the products that kernels of other objects are made with.
comptime {
    @import("cpu/object.zig").exports("matmul", @import("cpu/matmul.zig"));
    @import("cpu/gemm_exports.zig").export_products();
}
