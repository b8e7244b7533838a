//! Convolutions of batches of images in one to three dimensions, and their gradients. Operands have any strides, but
//! weights no gaps; a dimension that is missing has one position. Attributes: ConvolutionAttr.
const std = @import("std");
const abi = @import("abi");
const fr = @import("../core/frame.zig");
const kernels = @import("gemm_kernel.zig");
const parallel = @import("../core/parallel.zig");
const depthwise = @import("convolution_depthwise.zig");
const integers = @import("convolution_integers.zig");
const product = @import("convolution_product.zig");
const stage = @import("convolution_stage.zig");
const weight = @import("convolution_weight.zig");
const Geometry = @import("convolution_frame.zig").Geometry;
const Planes = @import("convolution_frame.zig").Planes;
const at = kernels.at;
const span = kernels.span;

/// Operand 0 receives the convolution of 1 with the weights 2; 3, if there, is what each channel begins with.
pub fn forward(f: *fr.Frame) abi.Status {
    const g = Geometry.of(f, 1, 0, 2) orelse return fr.fail(f, .bad_argument, &.{0});
    return switch (g.dtype) {
        .float32 => forward_floats(f32, f, &g),
        .float64 => forward_floats(f64, f, &g),
        .uint8, .int8 => forward_integers(u8, f, &g, false),
        .int16 => forward_integers(i16, f, &g, false),
        .int32 => forward_integers(i32, f, &g, false),
        .int64 => forward_integers(i64, f, &g, false),
        else => .unsupported,
    };
}

/// Operand 0 receives the gradient of the image from that of the result, 1, and the weights 2; 3 as above.
pub fn transposed(f: *fr.Frame) abi.Status {
    const g = Geometry.of(f, 0, 1, 2) orelse return fr.fail(f, .bad_argument, &.{0});
    return switch (g.dtype) {
        .float32 => transposed_floats(f32, f, &g),
        .float64 => transposed_floats(f64, f, &g),
        .int64 => forward_integers(i64, f, &g, true),
        else => .unsupported,
    };
}

/// Operand 0 receives the gradient of the weights from that of the result, 1, and the image 2.
pub fn weight_gradient(f: *fr.Frame) abi.Status {
    const g = Geometry.of(f, 2, 1, 0) orelse return fr.fail(f, .bad_argument, &.{0});
    return switch (g.dtype) {
        .float32 => weight_floats(f32, f, &g),
        .float64 => weight_floats(f64, f, &g),
        else => .unsupported,
    };
}

fn image(comptime T: type, p: *const Planes, size: [3]usize) stage.Image(T) {
    return .{ .data = p.ptr(T), .n = p.n, .c = p.c, .s = p.s, .size = size };
}

/// What the channels of the result begin with, if the frame has it.
fn bias_of(comptime T: type, f: *fr.Frame) ?[*]const T {
    return if (fr.count(f) > 3) fr.view(f, 3).ptr(T) else null;
}

fn forward_taps(g: *const Geometry) stage.Taps {
    var t: stage.Taps = .{ .count = g.k, .step = g.stride, .first = undefined, .inc = undefined };
    for (0..3) |d| {
        t.first[d] = -g.padding[d];
        t.inc[d] = @intCast(g.dilation[d]);
        // One position leaves nothing to step over.
        if (g.out[d] == 1) t.step[d] = 1;
    }
    return t;
}

fn forward_floats(comptime T: type, f: *fr.Frame, g: *const Geometry) abi.Status {
    const y, const x = .{ g.planes(f, 0), g.planes(f, 1) };
    const inner: isize = @intCast(g.c * g.taps());
    const p: product.Problem(T) = .{
        .n = g.n,
        .groups = g.groups,
        .m = g.o,
        .c = g.c,
        .x = image(T, &x, g.in),
        .taps = forward_taps(g),
        .a = fr.view(f, 2).ptr(T),
        .rsa = inner,
        .csa = 1,
        .gsa = span(g.o, inner),
        .y = y.ptr(T),
        .yn = y.n,
        .yc = y.c,
        .ys = y.s,
        .out = g.out,
        .bias = bias_of(T, f),
    };
    return done(T, &p);
}

fn done(comptime T: type, p: *const product.Problem(T)) abi.Status {
    if (!stage.fits(&p.taps, p.out, p.c)) return .out_of_memory;
    const ok = if (p.c == 1 and p.m <= 2) depthwise.convolve(T, p) else product.convolve(T, p);
    return if (ok) .ok else .out_of_memory;
}

fn forward_integers(comptime T: type, f: *fr.Frame, g: *const Geometry, back: bool) abi.Status {
    const job: integers.Job(T) = .{
        .g = g,
        .y = g.planes(f, 0),
        .x = g.planes(f, 1),
        .w = g.planes(f, 2),
        .bias = bias_of(T, f),
        .transposed = back,
    };
    job.run();
    return .ok;
}

fn weight_floats(comptime T: type, f: *fr.Frame, g: *const Geometry) abi.Status {
    const from, const x = .{ g.planes(f, 1), g.planes(f, 2) };
    const p: weight.Problem(T) = .{
        .n = g.n,
        .groups = g.groups,
        .m = g.o,
        .c = g.c,
        .x = image(T, &x, g.in),
        .taps = forward_taps(g),
        .g = image(T, &from, g.out),
        .w = fr.view(f, 0).ptr(T),
    };
    if (!stage.fits(&p.taps, g.out, p.c)) return .out_of_memory;
    const ok = if (p.c == 1 and p.m <= 2) depthwise.gradient(T, &p) else weight.gradient(T, &p);
    return if (ok) .ok else .out_of_memory;
}

/// Elements of the image whose places leave the same rest by the strides are read by the same taps: each kind is a
/// convolution of the gradient with these, without a stride.
fn transposed_floats(comptime T: type, f: *fr.Frame, g: *const Geometry) abi.Status {
    const y, const x = .{ g.planes(f, 0), g.planes(f, 1) };
    var phase: [3]usize = @splat(0);
    while (true) {
        if (transposed_phase(T, f, g, &y, &x, phase) != .ok) return .out_of_memory;
        var d: usize = 3;
        while (d > 0) {
            d -= 1;
            phase[d] += 1;
            if (phase[d] < @min(g.stride[d], g.in[d])) break;
            phase[d] = 0;
            if (d == 0) return .ok;
        }
    }
}

/// Which taps along a dimension serve the elements `phase`, `phase` + stride, ...: the first, and the step to the next.
const Served = struct {
    first: usize,
    step: usize,
    count: usize,

    fn of(g: *const Geometry, d: usize, phase: usize) Served {
        const stride = g.stride[d];
        const step = stride / std.math.gcd(stride, g.dilation[d]);
        for (0..@min(step, g.k[d])) |k| {
            if (@mod(place(g, d, phase, k), span(stride, 1)) != 0) continue;
            return .{ .first = k, .step = step, .count = (g.k[d] - 1 - k) / step + 1 };
        }
        return .{ .first = 0, .step = step, .count = 0 };
    }

    /// Stride times the place of the gradient that a tap reads for element `phase`.
    fn place(g: *const Geometry, d: usize, phase: usize, k: usize) isize {
        return span(phase, 1) + g.padding[d] - span(k * g.dilation[d], 1);
    }
};

fn transposed_phase(
    comptime T: type,
    f: *fr.Frame,
    g: *const Geometry,
    y: *const Planes,
    x: *const Planes,
    phase: [3]usize,
) abi.Status {
    var served: [3]Served = undefined;
    var p: product.Problem(T) = .{
        .n = g.n,
        .groups = g.groups,
        .m = g.c,
        .c = g.o,
        .x = image(T, x, g.out),
        .taps = .{ .count = undefined, .step = @splat(1), .first = undefined, .inc = undefined },
        .a = fr.view(f, 2).ptr(T),
        .rsa = @intCast(g.taps()),
        .csa = span(g.c, @intCast(g.taps())),
        .gsa = span(g.o * g.c, @intCast(g.taps())),
        .y = y.ptr(T),
        .yn = y.n,
        .yc = y.c,
        .ys = y.s,
        .out = undefined,
        .bias = bias_of(T, f),
    };
    var none = false;
    for (0..3) |d| {
        served[d] = .of(g, d, phase[d]);
        const s = served[d];
        const stride: isize = @intCast(g.stride[d]);
        none = none or s.count == 0;
        p.out[d] = (g.in[d] - phase[d] - 1) / g.stride[d] + 1;
        p.ys[d] = y.s[d] * stride;
        p.y = at(p.y, span(phase[d], y.s[d]));
        p.taps.count[d] = s.count;
        p.taps.first[d] = if (s.count == 0) 0 else @divExact(Served.place(g, d, phase[d], s.first), stride);
        p.taps.inc[d] = -@divExact(span(s.step * g.dilation[d], 1), stride);
    }
    if (none) {
        fill(T, &p);
        return .ok;
    }
    if (p.taps.total() == 1 and g.taps() == 1) return done(T, &p);
    return with_weights(T, f, g, &p, &served);
}

/// Puts the taps that serve beside each other, image's channel by image's channel.
fn with_weights(
    comptime T: type,
    f: *fr.Frame,
    g: *const Geometry,
    p: *product.Problem(T),
    served: *const [3]Served,
) abi.Status {
    const taps = p.taps.total();
    const all = g.taps();
    const size = g.groups * g.c * g.o * taps;
    const lease = parallel.Scratch.acquire(size * @sizeOf(T)) orelse return .out_of_memory;
    defer lease.release();
    const to = lease.slice(T, size).ptr;
    const from = fr.view(f, 2).ptr(T);
    const d, const h, const w = .{ served[0], served[1], served[2] };
    for (0..g.groups) |group| for (0..g.o) |o| for (0..g.c) |c| {
        const tap = from + ((group * g.o + o) * g.c + c) * all;
        var out = to + ((group * g.c + c) * g.o + o) * taps;
        for (0..d.count) |i| for (0..h.count) |j| {
            const row = tap + ((d.first + i * d.step) * g.k[1] + h.first + j * h.step) * g.k[2];
            for (0..w.count) |k| out[k] = row[w.first + k * w.step];
            out += w.count;
        };
    };
    p.a = to;
    p.csa = 1;
    p.rsa = @intCast(g.o * taps);
    p.gsa = span(g.c, p.rsa);
    return done(T, p);
}

/// Elements that no tap serves.
fn fill(comptime T: type, p: *const product.Problem(T)) void {
    for (0..p.n) |n| for (0..p.groups * p.m) |c| {
        const x: T = if (p.bias) |b| b[c] else 0;
        const plane = at(p.y, span(n, p.yn) + span(c, p.yc));
        for (0..p.out[0]) |d| for (0..p.out[1]) |h| for (0..p.out[2]) |w| {
            at(plane, span(d, p.ys[0]) + span(h, p.ys[1]) + span(w, p.ys[2]))[0] = x;
        };
    };
}
