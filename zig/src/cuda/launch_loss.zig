//! Negative log likelihoods on a device; see gpu/loss.zig.
const std = @import("std");
const abi = @import("abi");
const abi_loss = @import("abi_loss");
const device = @import("../gpu/loss.zig");
const faults = @import("faults.zig");
const fr = @import("../core/frame.zig");
const launch = @import("launch.zig");
const pieces = @import("pieces.zig");

const Call = launch.Call;
const Failure = launch.Failure;

const variants = [_][]const u8{"each"};

pub fn nll(c: *const Call) Failure!void {
    return run(c, false);
}

pub fn nll_backward(c: *const Call) Failure!void {
    return run(c, true);
}

fn run(c: *const Call, backward: bool) Failure!void {
    const f = c.frame;
    const count = fr.view(f, 2).numel();
    if (count == 0) return;
    const to = fr.view(f, 0);
    const compute: abi.Compute = if (to.dtype == .float64) .f64 else .f32;
    var a: device.Args = .{
        .to = @intFromPtr(to.data),
        .beside = @intFromPtr(fr.view(f, 1).data),
        .target = @intFromPtr(fr.view(f, 2).data),
        .from = if (backward) 0 else @intFromPtr(fr.view(f, 3).data),
        .weight = if (fr.attr_bool(f, abi_loss.NllAttr.weighted)) @intFromPtr(fr.view(f, 4).data) else 0,
        .record = try faults.address(c.device.index),
        .classes = fr.to_usize(f.attrs[abi_loss.NllAttr.classes]),
        .inner = fr.to_usize(f.attrs[abi_loss.NllAttr.inner]),
        .ignored = fr.attr_int(f, abi_loss.NllAttr.ignored),
        .first = 0,
        .count = 0,
        .fault = @intCast(fr.attr_int(f, abi_loss.NllAttr.fault)),
        .single = @intFromBool(fr.attr_bool(f, abi_loss.NllAttr.single)),
        .dtype = @intFromEnum(to.dtype),
    };
    const kernel = try launch.function(c, compute, &variants, 0);
    while (a.first < count) : (a.first += a.count) {
        a.count = @intCast(@min(count - a.first, pieces.most_elements));
        const blocks = std.math.divCeil(usize, a.count, launch.block_threads) catch unreachable;
        try c.start(kernel, blocks, launch.block_threads, &a);
    }
}
