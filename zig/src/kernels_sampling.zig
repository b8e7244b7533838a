//! Root of the object with the sampling kernels.
comptime {
    @import("cpu/object.zig").exports("sampling", @import("cpu/sampling.zig"));
}
