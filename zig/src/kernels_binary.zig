comptime {
    @import("cpu/object.zig").exports("binary", @import("cpu/binary.zig"));
}
