comptime {
    @import("cpu/object.zig").exports("unary", @import("cpu/unary.zig"));
}
