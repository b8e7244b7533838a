comptime {
    _ = @import("cpu/pointwise_driver.zig");
}
