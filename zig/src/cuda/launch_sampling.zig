//! Padding and resizing on a device; see gpu/sampling.zig.
const abi = @import("abi");
const device = @import("../gpu/sampling.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const grids = @import("grids.zig");
const launch = @import("launch.zig");
const taps = @import("../cpu/sampling_taps.zig");
const Planes = @import("../cpu/planes.zig").Planes;

const Call = launch.Call;
const Failure = launch.Failure;

const variants = [_][]const u8{ "one", "means" };

pub fn sample(c: *const Call) Failure!void {
    return if (fr.view(c.frame, 0).dtype == .float64) run(f64, c, false) else run(f32, c, false);
}

pub fn sample_backward(c: *const Call) Failure!void {
    return switch (fr.view(c.frame, 0).dtype) {
        .float32, .bfloat16, .float16 => run(f32, c, true),
        .float64 => run(f64, c, true),
        else => error.Unsupported,
    };
}

fn run(comptime W: type, c: *const Call, back: bool) Failure!void {
    const f = c.frame;
    const to, const from = .{ fr.view(f, 0), fr.view(f, 1) };
    if (to.rank != from.rank or to.rank < 3 or to.rank > 5) return error.Unsupported;
    const compute: abi.Compute = if (W == f64) .f64 else .f32;
    var a: device.Args(W) = .{
        .grid = undefined,
        .y = .of(if (back) from else to),
        .x = .of(if (back) to else from),
        .axes = undefined,
        .count = @splat(1),
        .size = @intCast(dt.size_of(to.dtype)),
        .dtype = @intFromEnum(to.dtype),
    };
    const count: u32 = @intCast(taps.count_of(taps.mode_of(f)));
    if (count > 1) switch (to.dtype) {
        .float32, .float64, .bfloat16, .float16 => {},
        else => return error.Unsupported,
    };
    if (count > 2 and to.rank > 4) return error.Unsupported;
    for (&a.axes, &a.count, 0..) |*axis, *of_axis, d| {
        axis.* = taps.axis_of(W, f, d, a.x.size[d]);
        // A dimension that is not there has one element.
        if (3 - d > to.rank - 2) axis.mode = .replicate else of_axis.* = count;
    }
    const kernel = try launch.function(c, compute, &variants, @intFromBool(back or count > 1));
    const written: Planes = .of(to);
    const sizes = grids.sizes_of(&written, to.size(0), to.size(1));
    try grids.each(c, kernel, sizes, grids.is_last(&written, to.size(1)), &a);
}
