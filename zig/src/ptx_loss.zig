//! Root of the kernels for GPUs of losses.
comptime {
    @import("gpu/loss.zig").exports();
}
