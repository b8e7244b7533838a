//! Root of the object with the index kernels.
comptime {
    @import("cpu/object.zig").exports("index", @import("cpu/index.zig"));
}
