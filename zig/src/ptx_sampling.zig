//! Root of the kernels for GPUs of padding and resizing.
comptime {
    @import("gpu/sampling.zig").exports();
}
