//! Root of the kernels for GPUs of pooling.
comptime {
    @import("gpu/pooling.zig").exports();
}
