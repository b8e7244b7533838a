//! Root of the kernels for GPUs that search in sorted rows.
comptime {
    @import("gpu/search.zig").exports();
}
