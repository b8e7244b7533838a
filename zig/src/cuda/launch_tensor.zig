//! The kernels for matrix units, which GPUs have from capability 8.0 on; those of 9.0 have kernels of their own.
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

const Group = args.Group;

var known_groups: [context.max_devices][Group.kinds.len][Group.variants.len]Cell = @splat(@splat(@splat(.init(null))));
const shared_bytes_attribute = 8;

/// Whether a device multiplies this kind in groups of warps.
pub fn has_groups(device: *const context.Device, kind: Kind) bool {
    return device.capability == 90 and device.is_recent and std.mem.indexOfScalar(Kind, &Group.kinds, kind) != null;
}

pub fn group_function(device: u32, kind: Kind, a: args.Along, b: args.Along) context.Failure!driver.Function {
    const variant = Group.variant(a, b);
    const cell = &known_groups[device][@intFromEnum(kind)][variant];
    if (cell.load(.acquire)) |found| return found;
    const name = switch (kind) {
        inline else => |k| "tensor_group_" ++ @tagName(k),
    };
    const found = try modules.function(device, "tensor_group", name, Group.variants[variant]);
    const cu = try context.functions();
    try context.check(cu.FuncSetAttribute(found, shared_bytes_attribute, Group.shared_bytes));
    cell.store(found, .release);
    return found;
}
