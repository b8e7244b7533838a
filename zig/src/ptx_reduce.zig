//! Root of the reduce kernels for GPUs.
comptime {
    @import("gpu/reduce.zig").exports();
    @import("gpu/equal.zig").exports();
    @import("gpu/pointwise.zig").exports("reduce", @import("cpu/reduce_close.zig"));
}
