//! Pooling on a device; see gpu/pooling.zig.
const abi = @import("abi");
const device = @import("../gpu/pooling.zig");
const fr = @import("../core/frame.zig");
const frame = @import("../cpu/pooling_frame.zig");
const grids = @import("grids.zig");
const launch = @import("launch.zig");
const Planes = @import("../cpu/planes.zig").Planes;

const Call = launch.Call;
const Failure = launch.Failure;

const variants = [_][]const u8{"each"};

pub fn maximum(c: *const Call) Failure!void {
    return run(c, .{ .y = 0, .i = 1, .x = 2 });
}

pub fn scatter(c: *const Call) Failure!void {
    return run(c, .{ .x = 0, .y = 1, .i = 2 });
}

pub fn average(c: *const Call) Failure!void {
    return run(c, .{ .y = 0, .i = 0, .x = 1 });
}

pub fn average_backward(c: *const Call) Failure!void {
    return run(c, .{ .x = 0, .y = 1, .i = 1 });
}

/// Which operands are results, places and elements. The first is what is written, an element by each thread.
const Operands = struct { y: usize, i: usize, x: usize };

fn run(c: *const Call, o: Operands) Failure!void {
    const f = c.frame;
    const to = fr.view(f, 0);
    const compute: abi.Compute = switch (to.dtype) {
        .float32, .bfloat16, .float16 => .f32,
        .float64 => .f64,
        .int64 => if (o.x == 0) return error.Unsupported else .i64,
        else => return error.Unsupported,
    };
    var a: device.Args = .{
        .grid = undefined,
        .windows = frame.windows_of(f, o.y, o.x) orelse return error.Unsupported,
        .y = .of(fr.view(f, o.y)),
        .i = .of(fr.view(f, o.i)),
        .x = .of(fr.view(f, o.x)),
        .dtype = @intFromEnum(to.dtype),
    };
    const written: Planes = .of(to);
    const kernel = try launch.function(c, compute, &variants, 0);
    const sizes = grids.sizes_of(&written, to.size(0), to.size(1));
    try grids.each(c, kernel, sizes, grids.is_last(&written, to.size(1)), &a);
}
