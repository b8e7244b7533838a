//! Root of the kernels for GPUs of normalization.
comptime {
    @import("gpu/normalization.zig").exports();
}
