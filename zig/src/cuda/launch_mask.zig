//! Masks on a device: counting them, and moving the elements that they choose; see gpu/mask.zig.
const std = @import("std");
const abi = @import("abi");
const device = @import("../gpu/mask.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const launch = @import("launch.zig");
const memory = @import("memory.zig");
const moves = @import("../gpu/index.zig");

const Call = launch.Call;
const Failure = launch.Failure;

const threads = @import("../gpu/block_sums.zig").threads;
const move_variants = [_][]const u8{"move"};
const count_variants = [_][]const u8{ "count", "place" };

pub fn run(c: *const Call) Failure!void {
    const is = struct {
        fn is(call: *const Call, comptime name: []const u8) bool {
            return call.kernel == comptime launch.number_of("index_mask", name);
        }
    }.is;
    const mask: usize = if (is(c, "count")) 0 else if (is(c, "select")) 2 else 1;
    const f = c.frame;
    const v = fr.view(f, mask);
    var a = std.mem.zeroes(device.Args);
    a.mask = @intFromPtr(v.data);
    a.length = v.numel();
    a.tiles = std.math.divCeil(u64, a.length, device.tile) catch unreachable;
    f.detail[0] = 0;
    if (a.length == 0) return;
    const block = try c.scratch((a.tiles + 1) * 8);
    defer memory.release(block);
    a.counts = block.address;
    try count(c, &a);
    if (is(c, "count")) {
        // Waits, for the count decides on the shape of what is made next.
        f.detail[0] = @floatFromInt(try c.answer(u64, a.counts + a.tiles * 8));
        return;
    }
    const to = fr.view(f, 0);
    a.to = @intFromPtr(to.data);
    a.bytes = @intCast(dt.size_of(to.dtype));
    if (is(c, "nonzero")) {
        if (to.rank != 2 or to.size(1) != v.rank) return error.Unsupported;
        a.room = to.size(0);
        a.rank = @intCast(v.rank);
        a.steps = .{ to.stride(0), to.stride(1) };
        for (0..v.rank) |d| a.sizes[d] = v.size(v.rank - 1 - d);
        return each_tile(c, .i64, &a);
    }
    const from: usize = if (is(c, "select")) 1 else 2;
    a.from = @intFromPtr(fr.view(f, from).data);
    a.room = fr.view(f, if (is(c, "select")) 0 else 2).numel();
    const compute = moves.unit_compute(a.bytes) orelse return error.Unsupported;
    a.bytes = moves.access(a.bytes, a.to, a.from);
    try each_tile(c, compute, &a);
}

fn count(c: *const Call, a: *const device.Args) Failure!void {
    var call = c.*;
    call.kernel = comptime launch.number_of("index_mask", "count");
    try c.start(try launch.function(&call, .b8, &count_variants, 0), a.tiles, threads, a);
    try c.start(try launch.function(&call, .b8, &count_variants, 1), 1, threads, a);
}

fn each_tile(c: *const Call, compute: abi.Compute, a: *const device.Args) Failure!void {
    try c.start(try launch.function(c, compute, &move_variants, 0), a.tiles, threads, a);
}
