//! Root of the object with the binary kernels.
comptime {
    @import("cpu/object.zig").exports("binary", @import("cpu/binary.zig"));
}
