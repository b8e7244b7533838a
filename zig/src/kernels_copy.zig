comptime {
    @import("cpu/object.zig").exports("copy", @import("cpu/copy.zig"));
}
