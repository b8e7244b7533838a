//! Root of the softmax kernels for GPUs.
comptime {
    @import("gpu/softmax.zig").exports();
}
