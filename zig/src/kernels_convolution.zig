//! Root of the object with the convolution kernels.
comptime {
    @import("cpu/object.zig").exports("convolution", @import("cpu/convolution.zig"));
}
