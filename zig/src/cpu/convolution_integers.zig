//! Convolutions of integers, which wrap around: sums of products, one output at a time.
const std = @import("std");
const kernels = @import("gemm_kernel.zig");
const parallel = @import("../core/parallel.zig");
const place = @import("convolution_place.zig");
const plan = @import("gemm_plan.zig");
const planes = @import("planes.zig");
const Geometry = @import("convolution_frame.zig").Geometry;
const Planes = @import("convolution_frame.zig").Planes;
const at = kernels.at;
const span = kernels.span;

/// Of the operands: what receives, what is read, weights, and where the sums begin.
pub fn Job(comptime T: type) type {
    return struct {
        g: *const Geometry,
        y: Planes,
        x: Planes,
        w: Planes,
        bias: ?[*]const T,
        /// From the result to the image: the gradient of the other way.
        transposed: bool,

        const Self = @This();

        pub fn run(j: *const Self) void {
            const g = j.g;
            const channels = g.groups * if (j.transposed) g.c else g.o;
            const size = if (j.transposed) g.in else g.out;
            const work = g.taps() * if (j.transposed) g.o else g.c;
            const elements = size[0] * size[1] * size[2] * work;
            parallel.parallel_for(g.n * channels, 1 + plan.task_work / (8 * @max(1, elements)), j, channel);
        }

        fn channel(j: *const Self, begin: usize, end: usize) void {
            const g = j.g;
            const per = if (j.transposed) g.c else g.o;
            const size = if (j.transposed) g.in else g.out;
            for (begin..end) |task| {
                const n = task / (g.groups * per);
                const c = task % (g.groups * per);
                const to = at(j.y.ptr(T), span(n, j.y.n) + span(c, j.y.c));
                for (0..size[0]) |d| for (0..size[1]) |h| for (0..size[2]) |w| {
                    const start: T = if (j.bias) |b| b[c] else 0;
                    at(to, span(d, j.y.s[0]) + span(h, j.y.s[1]) + span(w, j.y.s[2]))[0] =
                        start +% j.sum(n, c / per, c % per, .{ d, h, w });
                };
            }
        }

        fn sum(j: *const Self, n: usize, group: usize, c: usize, place_of: [3]usize) T {
            const g = j.g;
            const x = at(j.x.ptr(T), span(n, j.x.n) + span(group * if (j.transposed) g.o else g.c, j.x.c));
            const row = group * g.o + if (j.transposed) 0 else c;
            const w = at(j.w.ptr(T), span(row, j.w.n) + span(if (j.transposed) c else 0, j.w.c));
            const xs: place.Strides = .{ .c = j.x.c, .s = j.x.s };
            const ws: place.Strides = .{ .c = if (j.transposed) j.w.n else j.w.c, .s = j.w.s };
            if (j.transposed) return place.Body(T, planes.itself(T), true).sum(g, place_of, x, xs, w, ws);
            return place.Body(T, planes.itself(T), false).sum(g, place_of, x, xs, w, ws);
        }
    };
}
