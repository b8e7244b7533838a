//! Root of the object with the driver of pointwise kernels and the conversions.
comptime {
    _ = @import("cpu/pointwise_driver.zig");
}
