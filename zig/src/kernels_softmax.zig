//! Root of the object with the softmax kernels.
comptime {
    @import("cpu/object.zig").exports("softmax", @import("cpu/softmax.zig"));
}
