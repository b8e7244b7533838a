//! Root of the object with the reduce kernels.
comptime {
    @import("cpu/object.zig").exports("reduce", @import("cpu/reduce.zig"));
}
