//! Root of the kernels for the matrix units of GPUs.
comptime {
    @import("gpu/tensor_core.zig").exports();
}
