//! Convolutions on a device, element by element; see gpu/convolution.zig. Those that are worth it are products of
//! matrices before they come here: src/dispatch/convolution-windows.ts.
const abi = @import("abi");
const device = @import("../gpu/convolution.zig");
const fr = @import("../core/frame.zig");
const grids = @import("grids.zig");
const launch = @import("launch.zig");
const Geometry = @import("../cpu/convolution_frame.zig").Geometry;
const Grid = @import("../gpu/grid.zig").Grid;

const Call = launch.Call;
const Failure = launch.Failure;

const variants = [_][]const u8{"each"};

pub fn forward(c: *const Call) Failure!void {
    const g = Geometry.of(c.frame, 1, 0, 2) orelse return error.Unsupported;
    return elements(c, g);
}

pub fn transposed(c: *const Call) Failure!void {
    const g = Geometry.of(c.frame, 0, 1, 2) orelse return error.Unsupported;
    switch (g.dtype) {
        .uint8, .int8, .int16, .int32 => return error.Unsupported,
        else => return elements(c, g),
    }
}

fn compute_of(d: abi.DType) Failure!abi.Compute {
    return switch (d) {
        .float32, .bfloat16, .float16 => .f32,
        .float64 => .f64,
        .uint8, .int8, .int16, .int32 => .i32,
        .int64 => .i64,
        else => error.Unsupported,
    };
}

fn arguments(f: *fr.Frame, g: Geometry) device.Args {
    return .{
        .grid = undefined,
        .terms = undefined,
        .geometry = g,
        .y = .of(fr.view(f, 0)),
        .x = .of(fr.view(f, 1)),
        .w = .of(fr.view(f, 2)),
        .bias = if (fr.count(f) > 3) @intFromPtr(fr.view(f, 3).data) else 0,
        .more = 0,
        .dtype = @intFromEnum(g.dtype),
    };
}

fn elements(c: *const Call, g: Geometry) Failure!void {
    var a = arguments(c.frame, g);
    const to = fr.view(c.frame, 0);
    const kernel = try launch.function(c, try compute_of(g.dtype), &variants, 0);
    const sizes = grids.sizes_of(&a.y, to.size(0), to.size(1));
    try grids.each(c, kernel, sizes, grids.is_last(&a.y, to.size(1)), &a);
}

pub fn weight_gradient(c: *const Call) Failure!void {
    const g = Geometry.of(c.frame, 2, 1, 0) orelse return error.Unsupported;
    const compute = try compute_of(g.dtype);
    if (compute != .f32 and compute != .f64) return error.Unsupported;
    var a = arguments(c.frame, g);
    const kernel = try launch.function(c, compute, &variants, 0);
    const w = fr.view(c.frame, 0);
    const job: Weights = .{ .c = c, .kernel = kernel, .a = &a, .sizes = grids.sizes_of(&a.y, w.size(0), w.size(1)) };
    const terms: grids.Sizes = .{ g.n, 1, g.out[0], g.out[1], g.out[2] };
    try grids.halves(terms, @splat(0), false, job);
}

/// For each part of the terms, launches for all weights.
const Weights = struct {
    c: *const Call,
    kernel: @import("driver.zig").Function,
    a: *device.Args,
    sizes: grids.Sizes,

    pub fn one(w: Weights, terms: *const Grid) Failure!void {
        w.a.terms = terms.*;
        try grids.halves(w.sizes, @splat(0), false, Blocks{ .c = w.c, .kernel = w.kernel, .a = w.a });
        w.a.more = 1;
    }
};

const Blocks = struct {
    c: *const Call,
    kernel: @import("driver.zig").Function,
    a: *device.Args,

    pub fn one(b: Blocks, grid: *const Grid) Failure!void {
        b.a.grid = grid.*;
        try b.c.start(b.kernel, grid.count, device.threads, b.a);
    }
};
