//! Root of the object with the search kernels.
comptime {
    @import("cpu/object.zig").exports("search", @import("cpu/search.zig"));
}
