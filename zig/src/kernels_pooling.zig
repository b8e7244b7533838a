//! Root of the object with the pooling kernels.
comptime {
    @import("cpu/object.zig").exports("pooling", @import("cpu/pooling.zig"));
}
