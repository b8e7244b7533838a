//! Sequences of numbers on a device.
const std = @import("std");
const abi_range = @import("abi_range");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const is_integer = @import("../cpu/range.zig").is_integer;
const launch = @import("launch.zig");
const ops = @import("ops");
const Range = @import("../gpu/range_args.zig").Range;

const most_elements = @import("pieces.zig").most_elements;
const variants = [_][]const u8{"all"};

pub fn run(c: *const launch.Call) launch.Failure!void {
    const out = fr.view(c.frame, 0);
    const total: u64 = out.numel();
    const spaced = std.mem.eql(u8, ops.kernels[c.kernel].name, "spaced");
    const integral = switch (out.dtype) {
        .bool => return error.Unsupported,
        inline else => |d| comptime is_integer(d),
    };
    if (!spaced and (out.dtype == .complex64 or out.dtype == .complex128)) return error.Unsupported;
    var a: Range = .{
        .data = @intFromPtr(out.data),
        .first = 0,
        .total = total,
        .count = 0,
        .dtype = @intFromEnum(out.dtype),
        .start = words(c.frame, 1, spaced),
        .end = words(c.frame, 2, spaced),
        .base = c.frame.attrs[abi_range.RangeAttr.base],
        .powers = @intFromBool(spaced and c.frame.attrs[abi_range.RangeAttr.powers] != 0),
    };
    const function = try launch.function(c, if (integral and !spaced) .i64 else .f64, &variants, 0);
    while (a.first < total) : (a.first += most_elements) {
        a.count = @intCast(@min(total - a.first, most_elements));
        const blocks = std.math.divCeil(u64, a.count, launch.block_threads) catch unreachable;
        try c.start(function, blocks, launch.block_threads, &a);
    }
}

/// One number of the host, or a real and an imaginary part.
fn words(f: *fr.Frame, operand: usize, pair: bool) [2]u64 {
    const from: [*]align(1) const u64 = @ptrCast(fr.view(f, operand).data);
    return .{ from[0], if (pair) from[1] else 0 };
}
