//! Root of the object with the index_mask kernels.
comptime {
    @import("cpu/object.zig").exports("index_mask", @import("cpu/index_mask.zig"));
}
