//! Root of the object with the activations and their gradients.
comptime {
    @import("cpu/object.zig").exports("activation", @import("cpu/activation.zig"));
}
