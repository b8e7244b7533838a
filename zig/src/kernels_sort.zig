//! Root of the object with the sort kernels.
comptime {
    @import("cpu/object.zig").exports("sort", @import("cpu/sort.zig"));
}
