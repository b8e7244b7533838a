//! Root of the object with the range kernels.
comptime {
    @import("cpu/object.zig").exports("range", @import("cpu/range.zig"));
}
