comptime {
    @import("cpu/object.zig").exports("scan", @import("cpu/scan.zig"));
}
