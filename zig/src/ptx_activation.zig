//! Root of the activations for GPUs.
comptime {
    @import("gpu/pointwise.zig").exports("activation", @import("cpu/activation.zig"));
}
