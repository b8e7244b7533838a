//! Device code of convolutions that are no products of matrices worth the name: a thread for each element of the
//! result, or of the images' gradient, and a block for each of the weights'. Short floats are summed as float32.
const std = @import("std");
const abi = @import("abi");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const Geometry = @import("../cpu/convolution_frame.zig").Geometry;
const Grid = @import("grid.zig").Grid;
const place = @import("../cpu/convolution_place.zig");
const planes = @import("../cpu/planes.zig");
const thread = @import("thread.zig");

const Planes = planes.Planes;
const at = place.at;
const span = place.span;

pub const threads = 256;

pub const Args = extern struct {
    grid: Grid,
    /// Elements of the result whose products a block sums up.
    terms: Grid,
    geometry: Geometry,
    /// What is written, what is read, and the weights, or what they multiply.
    y: Planes,
    x: Planes,
    w: Planes,
    /// 0 without.
    bias: u64,
    /// Adds to what earlier launches left.
    more: u32,
    dtype: u32,
};

const Compute = abi.Compute;

fn dtypes(comptime c: Compute) []const abi.DType {
    return switch (c) {
        .f64 => &.{.float64},
        .i64 => &.{.int64},
        .i32 => &.{ .int32, .int16, .int8, .uint8 },
        else => element.dense_dtypes(c),
    };
}

inline fn pointer(comptime T: type, p: *const Planes) element.Pointer(T) {
    return element.pointer_to(T, @intFromPtr(p.data));
}

fn Kernels(comptime c: Compute) type {
    const T = dt.Computed(c);
    return struct {
        fn forward(a: *const Args) callconv(.kernel) void {
            each(a, false);
        }

        fn transposed(a: *const Args) callconv(.kernel) void {
            each(a, true);
        }

        inline fn each(a: *const Args, comptime back: bool) void {
            if (!a.grid.has_own()) return;
            const p = a.grid.own();
            inline for (comptime dtypes(c)) |d| {
                if (a.dtype == @intFromEnum(d)) return of(d, back, a, p);
            }
        }

        inline fn of(comptime d: abi.DType, comptime back: bool, a: *const Args, p: anytype) void {
            const g = &a.geometry;
            const S = dt.Stored(d);
            const per = if (back) g.c else g.o;
            const group: usize = if (g.groups == 1) 0 else p.c / per;
            const inner = p.c - group * per;
            const x = at(pointer(S, &a.x), span(p.n, a.x.n) + span(group * if (back) g.o else g.c, a.x.c));
            const first = if (back) span(group * g.o, a.w.n) + span(inner, a.w.c) else span(p.c, a.w.n);
            const w = at(pointer(S, &a.w), first);
            const xs: place.Strides = .{ .c = a.x.c, .s = a.x.s };
            const ws: place.Strides = .{ .c = if (back) a.w.n else a.w.c, .s = a.w.s };
            var sum = place.Body(T, element.loader(d, c), back).sum(g, p.s, x, xs, w, ws);
            if (a.bias != 0) {
                const start = load(d, element.pointer_to(S, a.bias)[p.c]);
                sum = if (@typeInfo(T) == .float) sum + start else sum +% start;
            }
            const to = at(pointer(S, &a.y), span(p.n, a.y.n) + span(p.c, a.y.c));
            at(to, a.y.place(p.s[0], p.s[1], p.s[2]))[0] = dt.store(d, c, sum);
        }

        inline fn load(comptime d: abi.DType, x: dt.Stored(d)) T {
            return dt.load(d, c, x);
        }

        fn weight_gradient(a: *const Args) callconv(.kernel) void {
            inline for (comptime dtypes(c)) |d| {
                if (a.dtype == @intFromEnum(d)) return of_weight(d, a);
            }
        }

        /// `x` is the gradient of the result, `w` the image.
        inline fn of_weight(comptime d: abi.DType, a: *const Args) void {
            const g = &a.geometry;
            const S = dt.Stored(d);
            const p = a.grid.place(thread.block());
            const group: usize = if (g.groups == 1) 0 else p.n / g.o;
            const from = at(pointer(S, &a.x), span(p.n, a.x.c));
            const image = at(pointer(S, &a.w), span(group * g.c + p.c, a.w.c));
            const B = place.Body(T, element.loader(d, c), false);
            var sum: T = 0;
            var i = thread.index();
            while (i < a.terms.count) : (i += threads) {
                const q = a.terms.place(i);
                const kd = B.source(g, 0, q.s[0], p.s[0]);
                const kh = B.source(g, 1, q.s[1], p.s[1]);
                const kw = B.source(g, 2, q.s[2], p.s[2]);
                if (kd < 0 or kh < 0 or kw < 0) continue;
                const y = at(from, span(q.n, a.x.n) + a.x.place(q.s[0], q.s[1], q.s[2]))[0];
                const offset = span(q.n, a.w.n) + kd * a.w.s[0] + kh * a.w.s[1] + kw * a.w.s[2];
                sum = @mulAdd(T, load(d, y), load(d, at(image, offset)[0]), sum);
            }
            shared[thread.index()] = sum;
            var half: u32 = threads / 2;
            while (half > 0) : (half /= 2) {
                thread.barrier();
                if (thread.index() < half) shared[thread.index()] += shared[thread.index() + half];
            }
            if (thread.index() != 0) return;
            const to = at(pointer(S, &a.y), span(p.n, a.y.n) + span(p.c, a.y.c) + a.y.place(p.s[0], p.s[1], p.s[2]));
            const before: T = if (a.more != 0) load(d, to[0]) else 0;
            to[0] = dt.store(d, c, before + shared[0]);
        }

        var shared: [threads]T addrspace(.shared) = undefined;
    };
}

pub fn exports() void {
    for ([_]Compute{ .f32, .f64, .i32, .i64 }) |c| {
        const K = Kernels(c);
        const end = "_" ++ @tagName(c) ++ "_each";
        export_kernel(&K.forward, "convolution_forward" ++ end, Args);
        if (c == .i32) continue;
        export_kernel(&K.transposed, "convolution_transposed" ++ end, Args);
        if (c == .i64) continue;
        export_kernel(&K.weight_gradient, "convolution_weight_gradient" ++ end, Args);
    }
}
