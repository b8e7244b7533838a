//! Root of the object with the kernels of losses.
comptime {
    @import("cpu/object.zig").exports("loss", @import("cpu/loss.zig"));
}
