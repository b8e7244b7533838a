//! Pooling: the largest element or the average of each window of an image, and the gradients of both. Operands have two
//! dimensions of planes and one to three within a plane, any strides. Attributes: PoolingAttr.
const std = @import("std");
const abi = @import("abi");
const abi_pooling = @import("abi_pooling");
const fr = @import("../core/frame.zig");
const parallel = @import("../core/parallel.zig");

const Attr = abi_pooling.PoolingAttr;

/// Elements read by one thread before others are asked.
const task_work = 16 * 1024;

const Planes = struct {
    data: [*]u8,
    n: isize,
    c: isize,
    s: [3]isize,
    size: [3]usize,

    fn of(v: fr.View) Planes {
        var p: Planes = .{ .data = v.data, .n = v.stride(0), .c = v.stride(1), .s = @splat(0), .size = @splat(1) };
        for (2..v.rank) |d| {
            p.s[3 + d - v.rank] = v.stride(d);
            p.size[3 + d - v.rank] = v.size(d);
        }
        return p;
    }

    inline fn plane(p: *const Planes, comptime T: type, n: usize, c: usize) [*]T {
        const offset = step(n, p.n) + step(c, p.c);
        return at(@as([*]T, @ptrCast(@alignCast(p.data))), offset);
    }

    inline fn place(p: *const Planes, d: usize, h: usize, w: usize) isize {
        return step(d, p.s[0]) + step(h, p.s[1]) + step(w, p.s[2]);
    }
};

inline fn at(p: anytype, offset: isize) @TypeOf(p) {
    return p + @as(usize, @bitCast(offset));
}

inline fn step(i: usize, stride: isize) isize {
    return @as(isize, @intCast(i)) * stride;
}

/// Elements `begin`, `begin` + `apart`, ... before `end` of one dimension, and how many count for an average.
const Window = struct { begin: usize, end: usize, count: usize };

const Geometry = struct {
    adaptive: bool,
    kernel: [3]usize,
    stride: [3]usize,
    padding: [3]usize,
    dilation: [3]usize,
    divisor: isize,
    include: bool,
    in: [3]usize,
    out: [3]usize,
    n: usize,
    c: usize,

    fn of(f: *fr.Frame, outer: usize, inner: usize) ?Geometry {
        const o, const i = .{ fr.view(f, outer), fr.view(f, inner) };
        if (o.rank != i.rank or o.rank < 3 or o.rank > 5) return null;
        if (o.size(0) != i.size(0) or o.size(1) != i.size(1)) return null;
        const planes_in: Planes, const planes_out: Planes = .{ .of(i), .of(o) };
        var g: Geometry = .{
            .adaptive = fr.attr_bool(f, Attr.adaptive),
            .kernel = undefined,
            .stride = undefined,
            .padding = undefined,
            .dilation = undefined,
            .divisor = @intCast(fr.to_int(f.attrs[Attr.divisor])),
            .include = fr.attr_bool(f, Attr.include),
            .in = planes_in.size,
            .out = planes_out.size,
            .n = o.size(0),
            .c = o.size(1),
        };
        for (0..3) |d| {
            g.kernel[d] = fr.to_usize(f.attrs[Attr.kernel + d]);
            g.stride[d] = fr.to_usize(f.attrs[Attr.stride + d]);
            g.padding[d] = fr.to_usize(f.attrs[Attr.padding + d]);
            g.dilation[d] = fr.to_usize(f.attrs[Attr.dilation + d]);
        }
        return g;
    }

    inline fn window(g: *const Geometry, d: usize, i: usize) Window {
        if (g.adaptive) {
            const begin = i * g.in[d] / g.out[d];
            const end = ((i + 1) * g.in[d] - 1) / g.out[d] + 1;
            return .{ .begin = begin, .end = end, .count = end - begin };
        }
        const first = i * g.stride[d];
        const reach = (g.kernel[d] - 1) * g.dilation[d] + 1;
        const padding = g.padding[d];
        const most = @min(first + reach, g.in[d] + 2 * padding);
        const behind = @min(first + reach, g.in[d] + padding);
        const end = if (behind > padding) behind - padding else 0;
        // The first tap that is no padding.
        const apart = g.dilation[d];
        const begin = if (first >= padding) first - padding else (apart - (padding - first) % apart) % apart;
        const count = if (g.include) most - first else if (end > begin) end - begin else 0;
        return .{ .begin = begin, .end = end, .count = count };
    }

    fn divisor_of(g: *const Geometry, d: Window, h: Window, w: Window) isize {
        return if (g.divisor != 0) g.divisor else @intCast(d.count * h.count * w.count);
    }

    fn work(g: *const Geometry) usize {
        const window_size = if (g.adaptive) 4 else g.kernel[0] * g.kernel[1] * g.kernel[2];
        return g.out[0] *| g.out[1] *| g.out[2] *| window_size;
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
            const g = j.g;
            const y = j.y.plane(T, n, c);
            const indices = j.i.plane(i64, n, c);
            const x: [*]const T = j.x.plane(T, n, c);
            for (0..g.out[0]) |d| {
                const wd = g.window(0, d);
                for (0..g.out[1]) |h| {
                    const wh = g.window(1, h);
                    for (0..g.out[2]) |w| {
                        const found = j.largest(x, wd, wh, g.window(2, w));
                        at(y, j.y.place(d, h, w))[0] = found.value;
                        at(indices, j.i.place(d, h, w))[0] = @intCast(found.index);
                    }
                }
            }
        }

        const Found = struct { value: T, index: usize };

        inline fn largest(j: *const @This(), x: [*]const T, wd: Window, wh: Window, ww: Window) Found {
            const g = j.g;
            var best: T = if (@typeInfo(T) == .float) -std.math.inf(T) else std.math.minInt(T);
            var index = (wd.begin * g.in[1] + wh.begin) * g.in[2] + ww.begin;
            var d = wd.begin;
            while (d < wd.end) : (d += g.dilation[0]) {
                var h = wh.begin;
                while (h < wh.end) : (h += g.dilation[1]) {
                    const row = at(x, step(d, j.x.s[0]) + step(h, j.x.s[1]));
                    var w = ww.begin;
                    while (w < ww.end) : (w += g.dilation[2]) {
                        const v = at(row, step(w, j.x.s[2]))[0];
                        if (v > best or v != v) {
                            best = v;
                            index = (d * g.in[1] + h) * g.in[2] + w;
                        }
                    }
                }
            }
            return .{ .value = best, .index = index };
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
            const g = j.g;
            const x = j.x.plane(T, n, c);
            const all = g.in[0] * g.in[1] * g.in[2];
            for (0..g.out[0]) |d| for (0..g.out[1]) |h| for (0..g.out[2]) |w| {
                const index: usize = @bitCast(at(j.i.plane(i64, n, c), j.i.place(d, h, w))[0]);
                if (index >= all) continue;
                const rest = index % (g.in[1] * g.in[2]);
                const to = at(x, j.x.place(index / (g.in[1] * g.in[2]), rest / g.in[2], rest % g.in[2]));
                to[0] += at(j.y.plane(T, n, c), j.y.place(d, h, w))[0];
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
    return struct {
        g: *const Geometry,
        y: Planes,
        x: Planes,

        fn plane(j: @This(), n: usize, c: usize) void {
            const g = j.g;
            const y = j.y.plane(T, n, c);
            const x = j.x.plane(T, n, c);
            for (0..g.out[0]) |d| {
                const wd = g.window(0, d);
                for (0..g.out[1]) |h| {
                    const wh = g.window(1, h);
                    for (0..g.out[2]) |w| {
                        const ww = g.window(2, w);
                        const divisor = g.divisor_of(wd, wh, ww);
                        const to = at(y, j.y.place(d, h, w));
                        if (back) j.share(x, to[0], divisor, wd, wh, ww) else to[0] = j.mean(x, divisor, wd, wh, ww);
                    }
                }
            }
        }

        inline fn mean(j: *const @This(), x: [*]const T, divisor: isize, wd: Window, wh: Window, ww: Window) T {
            if (wd.begin >= wd.end or wh.begin >= wh.end or ww.begin >= ww.end) return 0;
            var sum: T = 0;
            for (wd.begin..wd.end) |d| for (wh.begin..wh.end) |h| {
                const row = at(x, step(d, j.x.s[0]) + step(h, j.x.s[1]));
                for (ww.begin..ww.end) |w| {
                    const v = at(row, step(w, j.x.s[2]))[0];
                    if (@typeInfo(T) == .float) sum += v else sum +%= v;
                }
            };
            if (@typeInfo(T) == .float) return sum / @as(T, @floatFromInt(divisor));
            return if (divisor == -1) -%sum else @divTrunc(sum, @as(T, @intCast(divisor)));
        }

        inline fn share(j: *const @This(), x: [*]T, y: T, divisor: isize, wd: Window, wh: Window, ww: Window) void {
            if (wd.begin >= wd.end or wh.begin >= wh.end or ww.begin >= ww.end) return;
            const part = y / @as(T, @floatFromInt(divisor));
            for (wd.begin..wd.end) |d| for (wh.begin..wh.end) |h| {
                const row = at(x, step(d, j.x.s[0]) + step(h, j.x.s[1]));
                for (ww.begin..ww.end) |w| at(row, step(w, j.x.s[2]))[0] += part;
            };
        }
    };
}
