//! The kernels for matrix units, which GPUs have from capability 8.0 on.
const std = @import("std");
const abi = @import("abi");
const context = @import("context.zig");
const driver = @import("driver.zig");
const modules = @import("modules.zig");

const Cell = std.atomic.Value(?*anyopaque);

/// By device, dtype and size of the tiles.
var known: [context.max_devices][2][2]Cell = @splat(@splat(@splat(.init(null))));

pub fn takes(device: *const context.Device, d: abi.DType) bool {
    return device.capability >= 80 and (d == .bfloat16 or d == .float16);
}

pub fn function(device: u32, d: abi.DType, large: bool) context.Failure!driver.Function {
    const cell = &known[device][@intFromBool(d == .bfloat16)][@intFromBool(large)];
    if (cell.load(.acquire)) |found| return found;
    const group = if (d == .bfloat16) "tensor_core_bfloat16" else "tensor_core_float16";
    const found = try modules.function(device, "tensor_core", group, if (large) "large" else "small");
    cell.store(found, .release);
    return found;
}
