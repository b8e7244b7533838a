//! Convolutions of integers, which wrap around: sums of products, one output at a time.
const std = @import("std");
const kernels = @import("gemm_kernel.zig");
const parallel = @import("../core/parallel.zig");
const plan = @import("gemm_plan.zig");
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
            const planes = size[0] * size[1] * size[2] * work;
            parallel.parallel_for(g.n * channels, 1 + plan.task_work / (8 * @max(1, planes)), j, channel);
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

        fn sum(j: *const Self, n: usize, group: usize, c: usize, place: [3]usize) T {
            const g = j.g;
            var total: T = 0;
            for (0..g.k[0]) |d| for (0..g.k[1]) |h| for (0..g.k[2]) |w| {
                const from = j.source(place, .{ d, h, w }) orelse continue;
                const x = at(j.x.ptr(T), span(n, j.x.n) + from);
                const tap = at(j.w.ptr(T), span(d, j.w.s[0]) + span(h, j.w.s[1]) + span(w, j.w.s[2]));
                const others = if (j.transposed) g.o else g.c;
                for (0..others) |o| {
                    const row = group * g.o + if (j.transposed) o else c;
                    const column = if (j.transposed) c else o;
                    const product = at(x, span(group * others + o, j.x.c))[0] *%
                        at(tap, span(row, j.w.n) + span(column, j.w.c))[0];
                    total +%= product;
                }
            };
            return total;
        }

        /// Where a tap reads for one place; null outside of what there is.
        fn source(j: *const Self, place: [3]usize, tap: [3]usize) ?isize {
            const g = j.g;
            var offset: isize = 0;
            for (0..3) |d| {
                const shift = span(tap[d] * g.dilation[d], 1) - g.padding[d];
                var k: isize = undefined;
                if (j.transposed) {
                    const apart = span(place[d], 1) - shift;
                    const step = span(g.stride[d], 1);
                    if (@mod(apart, step) != 0) return null;
                    k = @divExact(apart, step);
                } else k = span(place[d] * g.stride[d], 1) + shift;
                const size = if (j.transposed) g.out[d] else g.in[d];
                if (k < 0 or k >= span(size, 1)) return null;
                offset += k * j.x.s[d];
            }
            return offset;
        }
    };
}
