//! Root of the object with the random kernels.
comptime {
    @import("cpu/object.zig").exports("random", @import("cpu/random_kernels.zig"));
}
