//! Device code of pooling: a thread for each result, and for the gradients one for each element, which asks the windows
//! over it in their order: sums are those of the CPU. See cpu/pooling.zig.
const std = @import("std");
const abi = @import("abi");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const Grid = @import("grid.zig").Grid;
const planes = @import("../cpu/planes.zig");
const window = @import("../cpu/pooling_window.zig");

const Planes = planes.Planes;
const at = planes.at;
const step = planes.step;

pub const Args = extern struct {
    grid: Grid,
    windows: window.Geometry,
    /// Results, places of maxima, elements.
    y: Planes,
    i: Planes,
    x: Planes,
    dtype: u32,
};

inline fn plane(comptime T: type, p: *const Planes, n: usize, c: usize) element.Pointer(T) {
    return at(element.pointer_to(T, @intFromPtr(p.data)), step(n, p.n) + step(c, p.c));
}

fn Kernels(comptime d: abi.DType, comptime c: abi.Compute) type {
    const T = dt.Computed(c);
    const S = dt.Stored(d);
    const load = element.loader(d, c);
    return struct {
        fn maximum(a: *const Args) void {
            const g = &a.windows;
            if (!a.grid.has_own()) return;
            const p = a.grid.own();
            const i, const h, const w = p.s;
            const x = plane(S, &a.x, p.n, p.c);
            const found = window.largest(T, load, g, &a.x.s, x, g.window(0, i), g.window(1, h), g.window(2, w));
            at(plane(S, &a.y, p.n, p.c), a.y.place(i, h, w))[0] = dt.store(d, c, found.value);
            at(plane(i64, &a.i, p.n, p.c), a.i.place(i, h, w))[0] = @intCast(found.index);
        }

        fn average(a: *const Args) void {
            const g = &a.windows;
            if (!a.grid.has_own()) return;
            const p = a.grid.own();
            const i, const h, const w = p.s;
            const x = plane(S, &a.x, p.n, p.c);
            const y = window.mean(T, load, g, &a.x.s, x, g.window(0, i), g.window(1, h), g.window(2, w));
            at(plane(S, &a.y, p.n, p.c), a.y.place(i, h, w))[0] = dt.store(d, c, y);
        }

        fn scatter(a: *const Args) void {
            if (!a.grid.has_own()) return;
            const p = a.grid.own();
            const g = &a.windows;
            const index = (p.s[0] * g.in[1] + p.s[1]) * g.in[2] + p.s[2];
            const y = plane(S, &a.y, p.n, p.c);
            const indices = plane(i64, &a.i, p.n, p.c);
            const rd, const rh, const rw = .{ g.over(0, p.s[0]), g.over(1, p.s[1]), g.over(2, p.s[2]) };
            var sum: T = 0;
            var i = rd.begin;
            while (i < rd.end) : (i += 1) {
                var h = rh.begin;
                while (h < rh.end) : (h += 1) {
                    var w = rw.begin;
                    while (w < rw.end) : (w += 1) {
                        const there: usize = @bitCast(at(indices, a.i.place(i, h, w))[0]);
                        if (there == index) sum += load(at(y, a.y.place(i, h, w))[0]);
                    }
                }
            }
            put(a, p, sum);
        }

        fn average_backward(a: *const Args) void {
            if (!a.grid.has_own()) return;
            const p = a.grid.own();
            const g = &a.windows;
            const y = plane(S, &a.y, p.n, p.c);
            const rd, const rh, const rw = .{ g.over(0, p.s[0]), g.over(1, p.s[1]), g.over(2, p.s[2]) };
            var sum: T = 0;
            var i = rd.begin;
            while (i < rd.end) : (i += 1) {
                const wd = g.window(0, i);
                var h = rh.begin;
                while (h < rh.end) : (h += 1) {
                    const wh = g.window(1, h);
                    var w = rw.begin;
                    while (w < rw.end) : (w += 1) {
                        const grad = load(at(y, a.y.place(i, h, w))[0]);
                        sum += window.part(T, g, grad, wd, wh, g.window(2, w));
                    }
                }
            }
            put(a, p, sum);
        }

        inline fn put(a: *const Args, p: anytype, sum: T) void {
            at(plane(S, &a.x, p.n, p.c), a.x.place(p.s[0], p.s[1], p.s[2]))[0] = dt.store(d, c, sum);
        }
    };
}

/// A kernel for all dtypes that are computed in one type.
fn Entry(comptime c: abi.Compute, comptime name: []const u8) type {
    return struct {
        fn kernel(a: *const Args) callconv(.kernel) void {
            inline for (comptime element.dense_dtypes(c)) |d| {
                if (a.dtype == @intFromEnum(d)) return @field(Kernels(d, c), name)(a);
            }
        }
    };
}

pub fn exports() void {
    for ([_]abi.Compute{ .f32, .f64, .i64 }) |c| {
        for (.{ "maximum", "average", "scatter", "average_backward" }, 0..) |name, i| {
            if (c == .i64 and i > 1) continue;
            export_kernel(&Entry(c, name).kernel, "pooling_" ++ name ++ "_" ++ @tagName(c) ++ "_each", Args);
        }
    }
}
