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
        .float64 => .float64,
        else => null,
    };
}

pub fn function(device: *const context.Device, kind: Kind, large: bool) context.Failure!driver.Function {
    const cell = &known[device.index][@intFromEnum(kind)][@intFromBool(large)];
    if (cell.load(.acquire)) |found| return found;
    // Whole fragments of doubles are multiplied by one generation.
    const family = if (kind == .float64 and is_grouped(device)) "tensor_group" else "tensor_core";
    var buffer: [64]u8 = undefined;
    const group = std.fmt.bufPrint(&buffer, "{s}_{t}", .{ family, kind }) catch unreachable;
    const found = try modules.function(device.index, family, group, if (large) "large" else "small");
    const side = args.tensor_sides[@intFromBool(!large)];
    try allow_shared(found, kind.shared_bytes(side));
    cell.store(found, .release);
    return found;
}

/// Shared memory beyond what every kernel may have has to be asked for.
fn allow_shared(kernel: driver.Function, bytes: u32) context.Failure!void {
    if (bytes == 0) return;
    const cu = try context.functions();
    try context.check(cu.FuncSetAttribute(kernel, shared_bytes_attribute, @intCast(bytes)));
}

const Group = args.Group;

/// By device, kind, size of the tiles, and how factors lie.
const Sizes = [Group.tiles.len][Group.variants.len]Cell;
var known_groups: [context.max_devices][Group.kinds.len]Sizes = @splat(@splat(@splat(@splat(.init(null)))));
const shared_bytes_attribute = 8;

/// Whether a device and its driver take the kernels for capability 9.0.
fn is_grouped(device: *const context.Device) bool {
    return device.capability == 90 and device.is_recent;
}

/// Whether a device multiplies this kind in groups of warps.
pub fn has_groups(device: *const context.Device, kind: Kind) bool {
    return is_grouped(device) and std.mem.indexOfScalar(Kind, &Group.kinds, kind) != null;
}

/// `size` is the place of its tiles among those that there are.
pub fn group_function(
    device: u32,
    kind: Kind,
    size: usize,
    a: args.Along,
    b: args.Along,
) context.Failure!driver.Function {
    const variant = Group.variant(a, b);
    const cell = &known_groups[device][@intFromEnum(kind)][size][variant];
    if (cell.load(.acquire)) |found| return found;
    const tile = Group.tiles[size];
    var buffer: [64]u8 = undefined;
    const words = .{ kind, tile.rows, tile.columns };
    const name = std.fmt.bufPrint(&buffer, "tensor_group_{t}_{d}x{d}", words) catch unreachable;
    const found = try modules.function(device, "tensor_group", name, Group.variants[variant]);
    try allow_shared(found, tile.shared_bytes(kind));
    cell.store(found, .release);
    return found;
}
