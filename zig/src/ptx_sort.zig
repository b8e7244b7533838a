//! Root of the kernels for GPUs that sort.
comptime {
    @import("gpu/sort.zig").exports();
}
