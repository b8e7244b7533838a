//! Root of the kernels of matrix products for GPUs.
comptime {
    @import("gpu/matmul.zig").exports();
}
