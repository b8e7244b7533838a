//! Root of the kernels for GPUs that read and write elements at given positions.
comptime {
    @import("gpu/index.zig").exports();
}
