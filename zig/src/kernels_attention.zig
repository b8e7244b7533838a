//! Root of the object with attention and its gradients.
comptime {
    @import("cpu/object.zig").exports("attention", @import("cpu/attention.zig"));
}
