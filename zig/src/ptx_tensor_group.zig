//! Root of the kernels for the matrix units of GPUs of capability 9.0.
comptime {
    @import("gpu/tensor_group.zig").exports();
}
