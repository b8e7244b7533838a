//! Pointwise calls and copies on a device: which of its kernels suits, and in how many launches.
const std = @import("std");
const abi = @import("abi");
const args = @import("../gpu/args.zig");
const dt = @import("../core/dtype.zig");
const element = @import("../gpu/element.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const launch = @import("launch.zig");
const pieces = @import("pieces.zig");
const squares = @import("../gpu/turned.zig");
const tables = @import("../cpu/table.zig");

const Call = launch.Call;
const Pointwise = args.Pointwise;
const Failure = launch.Failure;

/// What a body computes with: of the result, and of each input.
const Types = struct { arity: usize, operands: [4]abi.Compute };

/// The CPU's kernels say that of their bodies, which are compiled for GPUs too.
fn types_of(kernel: u32, compute: abi.Compute) ?Types {
    const specs = tables.active.kernels[kernel].specs orelse return null;
    const spec = specs.native[@intFromEnum(compute)] orelse return null;
    return .{ .arity = spec.arity, .operands = spec.computes };
}

const kernels = @import("../gpu/pointwise.zig");
const lanes = kernels.lanes;
const variants = [_][]const u8{ "dense", "strided", "turned" };
const dense = 0;
const strided = 1;
const turned = 2;

pub fn run(c: *const Call) Failure!void {
    const compute = try c.compute();
    const t = types_of(c.kernel, compute) orelse return error.Unsupported;
    switch (t.arity) {
        inline 1, 2, 3 => |arity| try start(arity + 1, c, compute, &t),
        else => return error.Unsupported,
    }
}

/// A copy within one dtype moves bytes: integers of that size.
pub fn copy(c: *const Call) Failure!void {
    const d = fr.view(c.frame, 0).dtype;
    const as: abi.DType, const compute: abi.Compute = switch (dt.size_of(d)) {
        1 => .{ .int8, .i32 },
        2 => .{ .int16, .i32 },
        4 => .{ .int32, .i32 },
        8 => .{ .int64, .i64 },
        16 => .{ .complex128, .c128 },
        else => return error.Unsupported,
    };
    for (0..2) |k| fr.operand(c.frame, k).dtype = @floatFromInt(@intFromEnum(as));
    var convert = c.*;
    convert.kernel = convert_kernel;
    try start(2, &convert, compute, &types_of(convert_kernel, compute).?);
}

pub const convert_kernel = launch.number_of("unary", "convert");

fn start(comptime operands: usize, c: *const Call, compute: abi.Compute, t: *const Types) Failure!void {
    var space: iter.Space = undefined;
    space.init(c.frame, operands);
    if (space.total == 0) return;
    var a: Pointwise(operands) = undefined;
    a.attrs = c.frame.attrs;
    for (0..operands) |k| {
        const v = fr.view(c.frame, k);
        const o = &a.operands[k];
        o.* = .{
            .data = @intFromFloat(fr.operand(c.frame, k).data),
            .dtype = @intFromEnum(v.dtype),
            .place = .memory,
            .flags = v.flags,
            .strides = @splat(0),
        };
        if (k > 0 and is_number(c.frame, o.data)) {
            o.place = .number;
            a.numbers[k - 1] = number(t.operands[k], v.dtype, v.data, v.flags);
        } else if (k > 0 and space.is_constant(k)) o.place = .single;
    }
    const in_order = c.frame.sequential != 0;
    if (!in_order and is_dense(operands, &a, &space, t)) return each_dense(operands, c, compute, &a, space.total);
    try each(operands, c, compute, &a, &space, t);
}

/// Host numbers lie in the frame.
fn is_number(f: *const fr.Frame, address: u64) bool {
    const begin = @intFromPtr(&f.scratch);
    return address >= begin and address < begin + @sizeOf(@TypeOf(f.scratch));
}

/// A number's bytes in a compute type, as it is read through flags.
fn number(compute: abi.Compute, d: abi.DType, data: [*]const u8, flags: u32) [2]u64 {
    @setEvalBranchQuota(100_000);
    var bytes: [2]u64 = @splat(0);
    switch (d) {
        inline else => |from| switch (compute) {
            inline else => |c| {
                const plain = dt.load(from, c, @as(*align(1) const dt.Stored(from), @ptrCast(data)).*);
                const x = if (flags == 0) plain else element.flagged(c, plain, flags);
                @memcpy(std.mem.asBytes(&bytes)[0..@sizeOf(@TypeOf(x))], std.mem.asBytes(&x));
            },
        },
    }
    return bytes;
}

fn is_dense(
    comptime operands: usize,
    a: *const Pointwise(operands),
    space: *const iter.Space,
    t: *const Types,
) bool {
    if (space.rank != 1) return false;
    for (0..operands) |k| {
        const o = &a.operands[k];
        if (o.place != .memory) continue;
        const dtype: abi.DType = @enumFromInt(@as(u8, @truncate(o.dtype)));
        if (!space.is_dense(k) or o.flags != 0 or !element.is_aligned(dtype, lanes, o.data)) return false;
        if (!element.is_dense(t.operands[k], dtype)) return false;
    }
    return true;
}

/// Notes the groups of a thread; the blocks that a dense kernel takes then.
fn blocks_of(comptime operands: usize, a: *Pointwise(operands), elements: usize) usize {
    var widest: usize = 1;
    for (&a.operands) |*o| {
        if (o.place == .memory) widest = @max(widest, dt.size_of(@enumFromInt(@as(u8, @truncate(o.dtype)))));
    }
    a.groups = args.groups(lanes * widest, elements);
    return std.math.divCeil(usize, elements, launch.block_threads * lanes * a.groups) catch unreachable;
}

fn each_dense(
    comptime operands: usize,
    c: *const Call,
    compute: abi.Compute,
    a: *Pointwise(operands),
    total: usize,
) Failure!void {
    const function = try launch.function(c, compute, &variants, dense);
    var left = total;
    while (left > 0) {
        const n = @min(left, pieces.most_elements);
        a.count = @intCast(n);
        a.rank = 1;
        try c.start(function, blocks_of(operands, a, n), launch.block_threads, a);
        for (&a.operands) |*o| {
            if (o.place == .memory) o.data += n * dt.size_of(@enumFromInt(@as(u8, @truncate(o.dtype))));
        }
        left -= n;
    }
}

/// All operands have rows without gaps, in whole groups of lanes that can be read at once, or one element for a row.
fn has_dense_rows(
    comptime operands: usize,
    a: *const Pointwise(operands),
    space: *const iter.Space,
    t: *const Types,
) bool {
    if (space.rank < 2 or space.sizes[0] % lanes != 0) return false;
    for (0..operands) |k| {
        const o = &a.operands[k];
        if (o.place != .memory or (k > 0 and space.strides[k][0] == 0)) continue;
        const dtype: abi.DType = @enumFromInt(@as(u8, @truncate(o.dtype)));
        if (space.strides[k][0] != 1 or o.flags != 0 or !element.is_dense(t.operands[k], dtype)) return false;
        if (o.data % @min(16, lanes * dt.size_of(dtype)) != 0) return false;
        for (space.strides[k][1..space.rank]) |step| if (step < 0 or @mod(step, lanes) != 0) return false;
    }
    return true;
}

/// In pieces that 32 bits are enough for.
fn each(
    comptime operands: usize,
    c: *const Call,
    compute: abi.Compute,
    a: *const Pointwise(operands),
    space: *const iter.Space,
    t: *const Types,
) Failure!void {
    const Whole = struct {
        call: *const Call,
        compute: abi.Compute,
        a: *const Pointwise(operands),
        types: *const Types,

        fn piece(w: *const @This(), of: *const iter.Space, offsets: *const pieces.Offsets) Failure!void {
            var part = w.a.*;
            for (&part.operands, 0..) |*o, k| {
                if (o.place == .number) continue;
                const size: i64 = @intCast(dt.size_of(@enumFromInt(@as(u8, @truncate(o.dtype)))));
                o.data +%= @bitCast(offsets[k] * size);
            }
            try one(operands, w.call, w.compute, &part, of, w.types);
        }
    };
    const whole: Whole = .{ .call = c, .compute = compute, .a = a, .types = t };
    try pieces.each(space, true, &whole, Whole.piece);
}

/// Shorter rows and columns leave most of a square empty.
const least_side = 8;

/// Of a copy whose source is near along another dimension than its result: makes that one the second; the blocks.
fn turned_blocks(c: *const Call, compute: abi.Compute, a: *Pointwise(2)) ?usize {
    const to, const from = .{ &a.operands[0], &a.operands[1] };
    if (c.kernel != convert_kernel or !kernels.turns(compute) or c.frame.sequential != 0) return null;
    if (to.dtype != from.dtype or to.flags != 0 or from.flags != 0 or from.place != .memory) return null;
    if (!element.is_dense(compute, @enumFromInt(@as(u8, @truncate(to.dtype))))) return null;
    if (a.rank < 2 or to.strides[0] != 1 or from.strides[0] == 1) return null;
    const near = std.mem.indexOfScalar(i32, from.strides[1..a.rank], 1) orelse return null;
    if (@min(a.sizes[0].size, a.sizes[near + 1].size) < least_side) return null;
    std.mem.swap(args.Divisor, &a.sizes[1], &a.sizes[near + 1]);
    for (&a.operands) |*o| std.mem.swap(i32, &o.strides[1], &o.strides[near + 1]);
    var blocks: usize = 1;
    for (a.sizes[0..2]) |s| blocks *= std.math.divCeil(usize, s.size, squares.side) catch unreachable;
    for (a.sizes[2..a.rank]) |s| blocks *= s.size;
    return blocks;
}

fn one(
    comptime operands: usize,
    c: *const Call,
    compute: abi.Compute,
    a: *Pointwise(operands),
    space: *const iter.Space,
    t: *const Types,
) Failure!void {
    a.count = @intCast(space.total);
    a.rank = @intCast(space.rank);
    for (0..space.rank) |d| {
        a.sizes[d] = .of(@intCast(space.sizes[d]));
        for (&a.operands, 0..) |*o, k| o.strides[d] = @intCast(space.strides[k][d]);
    }
    if (c.frame.sequential == 0 and has_dense_rows(operands, a, space, t)) {
        for (a.operands[1..], 1..) |*o, k| {
            if (o.place == .memory and space.strides[k][0] == 0) o.place = .single;
        }
        const function = try launch.function(c, compute, &variants, dense);
        return c.start(function, blocks_of(operands, a, space.total), launch.block_threads, a);
    }
    if (operands == 2) if (turned_blocks(c, compute, a)) |blocks| {
        const function = try launch.function(c, compute, &variants, turned);
        return c.start(function, blocks, squares.threads, a);
    };
    const function = try launch.function(c, compute, &variants, strided);
    // Elements that overlap are written one after another, as on the CPU.
    if (c.frame.sequential != 0) return c.start(function, 1, 1, a);
    const blocks = std.math.divCeil(usize, space.total, launch.block_threads) catch unreachable;
    try c.start(function, blocks, launch.block_threads, a);
}
