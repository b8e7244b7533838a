comptime {
    @import("cpu/object.zig").exports("matmul", @import("cpu/matmul.zig"));
}
