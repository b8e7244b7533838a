//! Searches in sorted rows on a device; see gpu/search.zig.
const std = @import("std");
const abi = @import("abi");
const abi_search = @import("abi_search");
const device = @import("../gpu/search.zig");
const faults = @import("faults.zig");
const fr = @import("../core/frame.zig");
const launch = @import("launch.zig");
const pieces = @import("pieces.zig");

const Call = launch.Call;
const Failure = launch.Failure;

const variants = [_][]const u8{"find"};

pub fn run(c: *const Call) Failure!void {
    const f = c.frame;
    const rows = fr.view(f, 1);
    const values = fr.view(f, 2);
    const count = values.numel();
    if (count == 0) return;
    const compute: abi.Compute = switch (rows.dtype) {
        .float32 => .f32,
        .float64 => .f64,
        .int64 => .i64,
        else => return error.Unsupported,
    };
    const ordered = fr.attr_bool(f, abi_search.SearchAttr.ordered);
    var a: device.Args = .{
        .out = @intFromPtr(fr.view(f, 0).data),
        .sorted = @intFromPtr(rows.data),
        .values = @intFromPtr(values.data),
        .places = if (ordered) @intFromPtr(fr.view(f, 3).data) else 0,
        .record = try faults.address(c.device.index),
        .first = 0,
        .length = fr.to_usize(f.attrs[abi_search.SearchAttr.length]),
        .per_row = @max(1, fr.to_usize(f.attrs[abi_search.SearchAttr.per_row])),
        .count = 0,
        .fault = if (ordered) @intCast(fr.attr_int(f, abi_search.SearchAttr.fault)) else 0,
        .narrow = @intFromBool(fr.view(f, 0).dtype == .int32),
        .right = @intFromBool(fr.attr_bool(f, abi_search.SearchAttr.right)),
    };
    const kernel = try launch.function(c, compute, &variants, 0);
    while (a.first < count) : (a.first += a.count) {
        a.count = @intCast(@min(count - a.first, pieces.most_elements));
        const blocks = std.math.divCeil(usize, a.count, launch.block_threads) catch unreachable;
        try c.start(kernel, blocks, launch.block_threads, &a);
    }
}
