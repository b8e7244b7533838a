//! Root of the kernels for GPUs that count masks and move what they choose.
comptime {
    @import("gpu/mask.zig").exports();
}
