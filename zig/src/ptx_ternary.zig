//! Root of the ternary kernels for GPUs.
comptime {
    @import("gpu/pointwise.zig").exports("ternary", @import("cpu/ternary.zig"));
}
