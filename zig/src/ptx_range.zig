//! Root of the kernels of sequences for GPUs.
comptime {
    @import("gpu/range.zig").exports();
}
