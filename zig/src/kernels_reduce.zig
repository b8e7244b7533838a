comptime {
    @import("cpu/object.zig").exports("reduce", @import("cpu/reduce.zig"));
}
