comptime {
    @import("cpu/object.zig").exports("random", @import("cpu/random_kernels.zig"));
}
