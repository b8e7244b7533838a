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
};

inline fn plane(comptime T: type, p: *const Planes, n: usize, c: usize) element.Pointer(T) {
    return at(element.pointer_to(T, @intFromPtr(p.data)), step(n, p.n) + step(c, p.c));
}

fn Kernels(comptime c: abi.Compute) type {
    const T = dt.Computed(c);
    return struct {
        fn maximum(a: *const Args) callconv(.kernel) void {
            const g = &a.windows;
            const p = a.grid.own() orelse return;
            const d, const h, const w = p.s;
            const x = plane(T, &a.x, p.n, p.c);
            const found = window.largest(T, g, &a.x.s, x, g.window(0, d), g.window(1, h), g.window(2, w));
            at(plane(T, &a.y, p.n, p.c), a.y.place(d, h, w))[0] = found.value;
            at(plane(i64, &a.i, p.n, p.c), a.i.place(d, h, w))[0] = @intCast(found.index);
        }

        fn average(a: *const Args) callconv(.kernel) void {
            const g = &a.windows;
            const p = a.grid.own() orelse return;
            const d, const h, const w = p.s;
            const x = plane(T, &a.x, p.n, p.c);
            const y = window.mean(T, g, &a.x.s, x, g.window(0, d), g.window(1, h), g.window(2, w));
            at(plane(T, &a.y, p.n, p.c), a.y.place(d, h, w))[0] = y;
        }

        fn scatter(a: *const Args) callconv(.kernel) void {
            const p = a.grid.own() orelse return;
            const g = &a.windows;
            const index = (p.s[0] * g.in[1] + p.s[1]) * g.in[2] + p.s[2];
            const y = plane(T, &a.y, p.n, p.c);
            const indices = plane(i64, &a.i, p.n, p.c);
            const rd, const rh, const rw = .{ g.over(0, p.s[0]), g.over(1, p.s[1]), g.over(2, p.s[2]) };
            var sum: T = 0;
            var d = rd.begin;
            while (d < rd.end) : (d += 1) {
                var h = rh.begin;
                while (h < rh.end) : (h += 1) {
                    var w = rw.begin;
                    while (w < rw.end) : (w += 1) {
                        const there: usize = @bitCast(at(indices, a.i.place(d, h, w))[0]);
                        if (there == index) sum += at(y, a.y.place(d, h, w))[0];
                    }
                }
            }
            put(a, p, sum);
        }

        fn average_backward(a: *const Args) callconv(.kernel) void {
            const p = a.grid.own() orelse return;
            const g = &a.windows;
            const y = plane(T, &a.y, p.n, p.c);
            const rd, const rh, const rw = .{ g.over(0, p.s[0]), g.over(1, p.s[1]), g.over(2, p.s[2]) };
            var sum: T = 0;
            var d = rd.begin;
            while (d < rd.end) : (d += 1) {
                const wd = g.window(0, d);
                var h = rh.begin;
                while (h < rh.end) : (h += 1) {
                    const wh = g.window(1, h);
                    var w = rw.begin;
                    while (w < rw.end) : (w += 1) {
                        sum += window.part(T, g, at(y, a.y.place(d, h, w))[0], wd, wh, g.window(2, w));
                    }
                }
            }
            put(a, p, sum);
        }

        inline fn put(a: *const Args, p: anytype, sum: T) void {
            at(plane(T, &a.x, p.n, p.c), a.x.place(p.s[0], p.s[1], p.s[2]))[0] = sum;
        }
    };
}

pub fn exports() void {
    for ([_]abi.Compute{ .f32, .f64, .i64 }) |c| {
        const K = Kernels(c);
        const end = "_" ++ @tagName(c) ++ "_each";
        export_kernel(&K.maximum, "pooling_maximum" ++ end, Args);
        export_kernel(&K.average, "pooling_average" ++ end, Args);
        if (c == .i64) continue;
        export_kernel(&K.scatter, "pooling_scatter" ++ end, Args);
        export_kernel(&K.average_backward, "pooling_average_backward" ++ end, Args);
    }
}
