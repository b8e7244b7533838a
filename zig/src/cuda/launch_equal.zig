//! The comparison of whole tensors on a device. Its answer is a value of JavaScript's: the stream is waited for.
const std = @import("std");
const abi = @import("abi");
const axes = @import("axes.zig");
const context = @import("context.zig");
const dt = @import("../core/dtype.zig");
const element = @import("../gpu/element.zig");
const equal = @import("../gpu/equal.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const launch = @import("launch.zig");
const memory = @import("memory.zig");

const Axes = axes.Axes;
const Call = launch.Call;
const Failure = launch.Failure;

const variants = [_][]const u8{ "dense", "strided" };

/// Detail 0 becomes 1 when operands 0 and 1 are equal, else 0.
pub fn run(c: *const Call) Failure!void {
    const cu = try context.functions();
    var space: iter.Space = undefined;
    space.init(c.frame, 2);
    c.frame.detail[0] = 1;
    if (space.total == 0) return;
    const block = try c.scratch(1);
    defer memory.release(block);
    var a: equal.Args = undefined;
    a.answer = block.address;
    var bytes: [3]usize = @splat(0);
    for (0..2) |k| {
        const v = fr.view(c.frame, k);
        bytes[k] = dt.size_of(v.dtype);
        a.data[k] = @intFromFloat(fr.operand(c.frame, k).data);
        a.dtype[k] = @intFromEnum(v.dtype);
        a.flags[k] = v.flags;
    }
    try context.check(cu.MemsetD8Async(a.answer, 1, 1, c.stream));
    try each(c, try c.compute(), &a, .of_space(&space, bytes));
    c.frame.detail[0] = @floatFromInt(try c.answer(u8, a.answer));
}

/// Halves the elements until a launch can take them.
fn each(c: *const Call, compute: abi.Compute, a: *const equal.Args, all: Axes) Failure!void {
    var whole = all;
    var here = a.*;
    if (!whole.fits()) {
        const rest = whole.halve();
        try each(c, compute, &here, whole);
        for (&here.data, rest.at[0..2]) |*data, at| data.* +%= at;
        return each(c, compute, &here, rest.axes);
    }
    whole.write(&here.dims);
    const dense = is_dense(compute, &here);
    const function = try launch.function(c, compute, &variants, if (dense) 0 else 1);
    const per_block: usize = launch.block_threads * if (dense) equal.lanes else 1;
    const blocks = std.math.divCeil(usize, here.dims.count, per_block) catch unreachable;
    try c.start(function, blocks, launch.block_threads, &here);
}

fn is_dense(compute: abi.Compute, a: *const equal.Args) bool {
    if (a.dims.rank != 1) return false;
    for (a.data, a.dtype, a.flags, 0..) |data, dtype, flags, k| {
        const d: abi.DType = @enumFromInt(@as(u8, @truncate(dtype)));
        if (flags != 0 or a.dims.steps[k][0] != @as(i64, @intCast(dt.size_of(d)))) return false;
        if (!element.is_aligned(d, equal.lanes, data) or !element.is_dense(compute, d)) return false;
    }
    return true;
}
