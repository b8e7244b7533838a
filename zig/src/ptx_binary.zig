//! Root of the binary kernels for GPUs.
comptime {
    @import("gpu/pointwise.zig").exports("binary", @import("cpu/binary.zig"));
}
