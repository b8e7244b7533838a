//! Root of the object with the ternary kernels.
comptime {
    @import("cpu/object.zig").exports("ternary", @import("cpu/ternary.zig"));
}
