//! Root of the object with the unary kernels.
comptime {
    @import("cpu/object.zig").exports("unary", @import("cpu/unary.zig"));
}
