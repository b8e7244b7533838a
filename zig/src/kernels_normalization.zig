//! Root of the object with normalization and its gradients.
comptime {
    @import("cpu/object.zig").exports("normalization", @import("cpu/normalization.zig"));
}
