comptime {
    @import("cpu/object.zig").exports("ternary", @import("cpu/ternary.zig"));
}
