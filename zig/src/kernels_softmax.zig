comptime {
    @import("cpu/object.zig").exports("softmax", @import("cpu/softmax.zig"));
}
