//! Root of the object with the matmul kernels.
comptime {
    @import("cpu/object.zig").exports("matmul", @import("cpu/matmul.zig"));
}
