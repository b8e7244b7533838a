//! Root of the object with the matmul kernels, and with what other families take of them.
comptime {
    @import("cpu/object.zig").exports("matmul", @import("cpu/matmul.zig"));
    @import("cpu/gemm_exports.zig").export_products();
}
