//! Which elements a window has, and what becomes of them: for one result, on the CPU and on GPUs. Pointers are of any
//! kind.
const std = @import("std");
const planes = @import("planes.zig");
const at = planes.at;
const step = planes.step;

/// Elements `begin`, `begin` + `apart`, ... before `end` of one dimension, and how many count for an average.
pub const Window = struct { begin: usize, end: usize, count: usize };

/// Results from `begin` on, before `end`.
pub const Range = struct { begin: usize, end: usize };

pub const Geometry = extern struct {
    adaptive: bool,
    include: bool,
    kernel: [3]usize,
    stride: [3]usize,
    padding: [3]usize,
    dilation: [3]usize,
    divisor: isize,
    in: [3]usize,
    out: [3]usize,

    pub inline fn window(g: *const Geometry, d: usize, i: usize) Window {
        if (g.adaptive) {
            const begin = i * g.in[d] / g.out[d];
            const end = ((i + 1) * g.in[d] - 1) / g.out[d] + 1;
            return .{ .begin = begin, .end = end, .count = end - begin };
        }
        const first = i * g.stride[d];
        const padding = g.padding[d];
        const most = @min(first + g.reach(d), g.in[d] + 2 * padding);
        const behind = @min(first + g.reach(d), g.in[d] + padding);
        const end = if (behind > padding) behind - padding else 0;
        // The first tap that is no padding.
        const apart = g.dilation[d];
        const begin = if (first >= padding) first - padding else (apart - (padding - first) % apart) % apart;
        const count = if (g.include) most - first else if (end > begin) end - begin else 0;
        return .{ .begin = begin, .end = end, .count = count };
    }

    inline fn reach(g: *const Geometry, d: usize) usize {
        return (g.kernel[d] - 1) * g.dilation[d] + 1;
    }

    /// The results whose windows reach over an element: without gaps between taps, all that have it.
    pub inline fn over(g: *const Geometry, d: usize, i: usize) Range {
        if (g.adaptive) {
            return .{ .begin = i * g.out[d] / g.in[d], .end = ((i + 1) * g.out[d] - 1) / g.in[d] + 1 };
        }
        const place = i + g.padding[d];
        const stride = g.stride[d];
        const end = @min(place / stride + 1, g.out[d]);
        const begin = if (place < g.reach(d)) 0 else (place - g.reach(d)) / stride + 1;
        return .{ .begin = begin, .end = end };
    }

    pub inline fn divisor_of(g: *const Geometry, d: Window, h: Window, w: Window) isize {
        return if (g.divisor != 0) g.divisor else @intCast(@min(d.count *| h.count *| w.count, std.math.maxInt(isize)));
    }
};

pub inline fn is_empty(d: Window, h: Window, w: Window) bool {
    return d.begin >= d.end or h.begin >= h.end or w.begin >= w.end;
}

pub fn Found(comptime T: type) type {
    return struct { value: T, index: usize };
}

/// The largest element of a window of a plane, and its place there. `load` gives it of what is stored.
pub inline fn largest(
    comptime T: type,
    comptime load: anytype,
    g: *const Geometry,
    s: *const [3]isize,
    x: anytype,
    wd: Window,
    wh: Window,
    ww: Window,
) Found(T) {
    var best: T = if (@typeInfo(T) == .float) -std.math.inf(T) else std.math.minInt(T);
    var index = (wd.begin * g.in[1] + wh.begin) * g.in[2] + ww.begin;
    var d = wd.begin;
    while (d < wd.end) : (d += g.dilation[0]) {
        var h = wh.begin;
        while (h < wh.end) : (h += g.dilation[1]) {
            const row = at(x, step(d, s[0]) + step(h, s[1]));
            var w = ww.begin;
            while (w < ww.end) : (w += g.dilation[2]) {
                const v: T = load(at(row, step(w, s[2]))[0]);
                if (v > best or v != v) {
                    best = v;
                    index = (d * g.in[1] + h) * g.in[2] + w;
                }
            }
        }
    }
    return .{ .value = best, .index = index };
}

/// The average of a window of a plane.
pub inline fn mean(
    comptime T: type,
    comptime load: anytype,
    g: *const Geometry,
    s: *const [3]isize,
    x: anytype,
    wd: Window,
    wh: Window,
    ww: Window,
) T {
    if (is_empty(wd, wh, ww)) return 0;
    const divisor = g.divisor_of(wd, wh, ww);
    var sum: T = 0;
    for (wd.begin..wd.end) |d| for (wh.begin..wh.end) |h| {
        const row = at(x, step(d, s[0]) + step(h, s[1]));
        for (ww.begin..ww.end) |w| {
            const v: T = load(at(row, step(w, s[2]))[0]);
            if (@typeInfo(T) == .float) sum += v else sum +%= v;
        }
    };
    return over_count(T, sum, divisor);
}

pub inline fn over_count(comptime T: type, sum: T, divisor: isize) T {
    if (@typeInfo(T) == .float) return sum / @as(T, @floatFromInt(divisor));
    return if (divisor == -1) -%sum else @divTrunc(sum, @as(T, @intCast(divisor)));
}

/// What of a result's gradient each element of its window receives.
pub inline fn part(comptime T: type, g: *const Geometry, y: T, wd: Window, wh: Window, ww: Window) T {
    if (is_empty(wd, wh, ww)) return 0;
    return y / @as(T, @floatFromInt(g.divisor_of(wd, wh, ww)));
}
