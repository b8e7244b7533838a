//! Pooling: the largest element or the average of each window of an image, and the gradients of both. Operands have two
//! dimensions of planes and one to three within a plane, any strides. Attributes: PoolingAttr.
const abi = @import("abi");
const fr = @import("../core/frame.zig");
const frame = @import("pooling_frame.zig");
const parallel = @import("../core/parallel.zig");
const planes = @import("planes.zig");
const rows = @import("pooling_rows.zig");
const window = @import("pooling_window.zig");

const Window = window.Window;

/// Elements read by one thread before others are asked.
const task_work = 16 * 1024;

const Planes = planes.Planes;
const at = planes.at;
const step = planes.step;

/// The windows of a call, and of how many planes.
const Geometry = struct {
    windows: window.Geometry,
    n: usize,
    c: usize,

    fn of(f: *fr.Frame, outer: usize, inner: usize) ?Geometry {
        const g = frame.windows_of(f, outer, inner) orelse return null;
        const o = fr.view(f, outer);
        return .{ .windows = g, .n = o.size(0), .c = o.size(1) };
    }

    fn work(g: *const Geometry) usize {
        const w = &g.windows;
        const window_size = if (w.adaptive) 4 else w.kernel[0] *| w.kernel[1] *| w.kernel[2];
        return w.out[0] *| w.out[1] *| w.out[2] *| window_size;
    }

    /// Plane by plane.
    fn each(g: *const Geometry, job: anytype) void {
        const Job = @TypeOf(job);
        const Call = struct {
            fn run(j: Job, begin: usize, end: usize) void {
                for (begin..end) |i| j.plane(i / j.g.c, i % j.g.c);
            }
        };
        parallel.parallel_for(g.n * g.c, 1 + task_work / @max(1, g.work()), job, Call.run);
    }
};

/// Operand 0 receives the largest element of each window of operand 2, operand 1 its place in the plane. NaN is larger
/// than any number, and the first of equals counts.
pub fn maximum(f: *fr.Frame) abi.Status {
    const g = Geometry.of(f, 0, 2) orelse return fr.fail(f, .bad_argument, &.{0});
    switch (fr.view(f, 0).dtype) {
        .float32 => g.each(maxima(f32, f, &g)),
        .float64 => g.each(maxima(f64, f, &g)),
        .int64 => g.each(maxima(i64, f, &g)),
        else => return .unsupported,
    }
    return .ok;
}

fn maxima(comptime T: type, f: *fr.Frame, g: *const Geometry) Maxima(T) {
    return .{ .g = g, .y = .of(fr.view(f, 0)), .i = .of(fr.view(f, 1)), .x = .of(fr.view(f, 2)) };
}

fn Maxima(comptime T: type) type {
    return struct {
        g: *const Geometry,
        y: Planes,
        i: Planes,
        x: Planes,

        fn plane(j: @This(), n: usize, c: usize) void {
            const g = &j.g.windows;
            const y = j.y.plane(T, n, c);
            const indices = j.i.plane(i64, n, c);
            const x: [*]const T = j.x.plane(T, n, c);
            const inside = if (rows.serves(g, &j.x, &.{ j.y, j.i })) rows.inside(g) else .{ 0, 0 };
            for (0..g.out[0]) |d| {
                const wd = g.window(0, d);
                for (0..g.out[1]) |h| {
                    const wh = g.window(1, h);
                    // A window of padding alone has its place outside, which the wide form does not count.
                    const wide = if (window.is_empty(wd, wh, wh)) .{ 0, 0 } else inside;
                    var w: usize = 0;
                    next: while (w < g.out[2]) {
                        const to = at(y, j.y.place(d, h, w));
                        const place = at(indices, j.i.place(d, h, w));
                        inline for (rows.widths) |lanes| if (w >= wide[0] and w + lanes <= wide[1]) {
                            const found = rows.largest(T, lanes, g, x, &j.x.s, wd, wh, w);
                            to[0..lanes].* = found.value;
                            place[0..lanes].* = found.index;
                            w += lanes;
                            continue :next;
                        };
                        const found = window.largest(T, planes.itself(T), g, &j.x.s, x, wd, wh, g.window(2, w));
                        to[0] = found.value;
                        place[0] = @intCast(found.index);
                        w += 1;
                    }
                }
            }
        }
    };
}

/// Adds each element of operand 1 to operand 0, at the place in its plane that operand 2 has.
pub fn scatter(f: *fr.Frame) abi.Status {
    const g = Geometry.of(f, 1, 0) orelse return fr.fail(f, .bad_argument, &.{0});
    switch (fr.view(f, 0).dtype) {
        .float32 => g.each(scattered(f32, f, &g)),
        .float64 => g.each(scattered(f64, f, &g)),
        else => return .unsupported,
    }
    return .ok;
}

fn scattered(comptime T: type, f: *fr.Frame, g: *const Geometry) Scattered(T) {
    return .{ .g = g, .x = .of(fr.view(f, 0)), .y = .of(fr.view(f, 1)), .i = .of(fr.view(f, 2)) };
}

fn Scattered(comptime T: type) type {
    return struct {
        g: *const Geometry,
        x: Planes,
        y: Planes,
        i: Planes,

        fn plane(j: @This(), n: usize, c: usize) void {
            const g = &j.g.windows;
            const x = j.x.plane(T, n, c);
            const y = j.y.plane(T, n, c);
            const indices = j.i.plane(i64, n, c);
            const all = g.in[0] * g.in[1] * g.in[2];
            if (j.x.is_dense(g.in) and j.y.is_dense(g.out) and j.i.is_dense(g.out)) {
                for (0..g.out[0] * g.out[1] * g.out[2]) |k| {
                    const index: usize = @bitCast(indices[k]);
                    if (index < all) x[index] += y[k];
                }
                return;
            }
            for (0..g.out[0]) |d| for (0..g.out[1]) |h| for (0..g.out[2]) |w| {
                const index: usize = @bitCast(at(indices, j.i.place(d, h, w))[0]);
                if (index >= all) continue;
                const given = at(y, j.y.place(d, h, w))[0];
                const rest = index % (g.in[1] * g.in[2]);
                at(x, j.x.place(index / (g.in[1] * g.in[2]), rest / g.in[2], rest % g.in[2]))[0] += given;
            };
        }
    };
}

/// Operand 0 receives the average of each window of operand 1.
pub fn average(f: *fr.Frame) abi.Status {
    const g = Geometry.of(f, 0, 1) orelse return fr.fail(f, .bad_argument, &.{0});
    switch (fr.view(f, 0).dtype) {
        .float32 => g.each(averages(f32, f, &g)),
        .float64 => g.each(averages(f64, f, &g)),
        .int64 => g.each(averages(i64, f, &g)),
        else => return .unsupported,
    }
    return .ok;
}

fn averages(comptime T: type, f: *fr.Frame, g: *const Geometry) Averages(T, false) {
    return .{ .g = g, .y = .of(fr.view(f, 0)), .x = .of(fr.view(f, 1)) };
}

/// Adds to operand 0 what each window's average passes on of the gradient, operand 1.
pub fn average_backward(f: *fr.Frame) abi.Status {
    const g = Geometry.of(f, 1, 0) orelse return fr.fail(f, .bad_argument, &.{0});
    switch (fr.view(f, 0).dtype) {
        .float32 => g.each(shares(f32, f, &g)),
        .float64 => g.each(shares(f64, f, &g)),
        else => return .unsupported,
    }
    return .ok;
}

fn shares(comptime T: type, f: *fr.Frame, g: *const Geometry) Averages(T, true) {
    return .{ .g = g, .y = .of(fr.view(f, 1)), .x = .of(fr.view(f, 0)) };
}

/// Averages of the windows of x into y, or with `back` shares of y added to x.
fn Averages(comptime T: type, comptime back: bool) type {
    const itself = planes.itself(T);
    return struct {
        g: *const Geometry,
        y: Planes,
        x: Planes,

        fn plane(j: @This(), n: usize, c: usize) void {
            const g = &j.g.windows;
            const y = j.y.plane(T, n, c);
            const x = j.x.plane(T, n, c);
            const wide = if (!back and rows.serves(g, &j.x, &.{j.y})) rows.inside(g) else .{ 0, 0 };
            for (0..g.out[0]) |d| {
                const wd = g.window(0, d);
                for (0..g.out[1]) |h| {
                    const wh = g.window(1, h);
                    var w: usize = 0;
                    next: while (w < g.out[2]) {
                        const ww = g.window(2, w);
                        const to = at(y, j.y.place(d, h, w));
                        inline for (rows.widths) |lanes| if (!back and w >= wide[0] and w + lanes <= wide[1]) {
                            const sums = rows.sum(T, lanes, g, x, &j.x.s, wd, wh, w);
                            const empty = window.is_empty(wd, wh, ww);
                            const divisor = g.divisor_of(wd, wh, ww);
                            inline for (0..lanes) |i| to[i] = if (empty) 0 else window.over_count(T, sums[i], divisor);
                            w += lanes;
                            continue :next;
                        };
                        if (back) {
                            j.share(x, to[0], wd, wh, ww);
                        } else to[0] = window.mean(T, itself, g, &j.x.s, x, wd, wh, ww);
                        w += 1;
                    }
                }
            }
        }

        inline fn share(j: *const @This(), x: [*]T, y: T, wd: Window, wh: Window, ww: Window) void {
            if (window.is_empty(wd, wh, ww)) return;
            const part = window.part(T, &j.g.windows, y, wd, wh, ww);
            for (wd.begin..wd.end) |d| for (wh.begin..wh.end) |h| {
                const row = at(x, step(d, j.x.s[0]) + step(h, j.x.s[1]));
                for (ww.begin..ww.end) |w| at(row, step(w, j.x.s[2]))[0] += part;
            };
        }
    };
}
