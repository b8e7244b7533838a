//! Root of the unary kernels for GPUs.
comptime {
    @import("gpu/pointwise.zig").exports("unary", @import("cpu/unary.zig"));
}
