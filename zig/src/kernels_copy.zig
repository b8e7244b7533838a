//! Root of the object with the copy kernels.
comptime {
    @import("cpu/object.zig").exports("copy", @import("cpu/copy.zig"));
}
