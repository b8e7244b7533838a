//! The kernels for matrix units, which GPUs have from capability 8.0 on.
const std = @import("std");
const abi = @import("abi");
const args = @import("../gpu/matmul_args.zig");
const context = @import("context.zig");
const driver = @import("driver.zig");
const modules = @import("modules.zig");
const precision = @import("precision.zig");

const Kind = args.Kind;
const kinds = std.enums.values(Kind).len;
const Cell = std.atomic.Value(?*anyopaque);

/// By device, kind and size of the tiles.
var known: [context.max_devices][kinds][2]Cell = @splat(@splat(@splat(.init(null))));

/// How the units of a device multiply a dtype; null when they do not.
pub fn kind_of(device: *const context.Device, d: abi.DType) ?Kind {
    if (device.capability < 80) return null;
    return switch (d) {
        .bfloat16 => .bfloat16,
        .float16 => .float16,
        .float32 => if (precision.allows_tf32()) .tf32 else null,
        else => null,
    };
}

pub fn function(device: u32, kind: Kind, large: bool) context.Failure!driver.Function {
    const cell = &known[device][@intFromEnum(kind)][@intFromBool(large)];
    if (cell.load(.acquire)) |found| return found;
    const group = switch (kind) {
        inline else => |k| "tensor_core_" ++ @tagName(k),
    };
    const found = try modules.function(device, "tensor_core", group, if (large) "large" else "small");
    cell.store(found, .release);
    return found;
}
