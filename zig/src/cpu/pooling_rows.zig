//! Windows of several neighbouring results at once: taps are read for all of them, in the order in which one window is
//! read, so that the results are those of one after the other. Rows lie side by side, windows have no gaps.
const std = @import("std");
const planes = @import("planes.zig");
const window = @import("pooling_window.zig");

const Window = window.Window;
const step = planes.step;

/// How many results are made at once: as many as a row still has room for.
pub const widths = [_]comptime_int{ 8, 4 };

/// Whether rows of images and results can be read so: `x` and the others are planes.
pub fn serves(g: *const window.Geometry, x: *const planes.Planes, others: []const planes.Planes) bool {
    if (g.adaptive or g.dilation[2] != 1 or g.stride[2] > 2 or x.s[2] != 1) return false;
    for (others) |p| if (p.s[2] != 1) return false;
    return g.in[0] *| g.in[1] *| g.in[2] < std.math.maxInt(i32);
}

/// The results of a row whose windows lie inside of the image: from the first on, before the second.
pub fn inside(g: *const window.Geometry) [2]usize {
    const stride = g.stride[2];
    const begin = (g.padding[2] + stride - 1) / stride;
    const room = g.in[2] + g.padding[2];
    if (room < g.kernel[2]) return .{ 0, 0 };
    const end = @min(g.out[2], (room - g.kernel[2]) / stride + 1);
    return if (begin < end) .{ begin, end } else .{ 0, 0 };
}

/// Element 0 of each of the windows, whose first is at `row`.
inline fn taps(comptime T: type, comptime lanes: comptime_int, row: [*]const T, stride: usize) @Vector(lanes, T) {
    const first: @Vector(lanes, T) = row[0..lanes].*;
    if (stride == 1) return first;
    // No element is read that lies behind the last window's.
    const second: @Vector(lanes, T) = (row + lanes - 1)[0..lanes].*;
    const places = comptime blk: {
        var p: [lanes]i32 = undefined;
        for (&p, 0..) |*to, i| to.* = if (2 * i < lanes) 2 * i else ~@as(i32, 2 * i - (lanes - 1));
        break :blk p;
    };
    return @shuffle(T, first, second, places);
}

pub fn Found(comptime T: type, comptime lanes: comptime_int) type {
    return struct { value: @Vector(lanes, T), index: @Vector(lanes, i64) };
}

/// The largest elements of the windows of results `w` and those that follow, and their places.
pub inline fn largest(
    comptime T: type,
    comptime lanes: comptime_int,
    g: *const window.Geometry,
    x: [*]const T,
    s: *const [3]isize,
    wd: Window,
    wh: Window,
    w: usize,
) Found(T, lanes) {
    const Places = @Vector(lanes, i32);
    const stride = g.stride[2];
    const left = w * stride - g.padding[2];
    const apart = std.simd.iota(i32, lanes) * @as(Places, @splat(@intCast(stride)));
    const first: i32 = @intCast((wd.begin * g.in[1] + wh.begin) * g.in[2] + left);
    var best: @Vector(lanes, T) = @splat(if (@typeInfo(T) == .float) -std.math.inf(T) else std.math.minInt(T));
    var index = apart + @as(Places, @splat(first));
    var d = wd.begin;
    while (d < wd.end) : (d += g.dilation[0]) {
        var h = wh.begin;
        while (h < wh.end) : (h += g.dilation[1]) {
            const row = planes.at(x, step(d, s[0]) + step(h, s[1])) + left;
            const place: i32 = @intCast((d * g.in[1] + h) * g.in[2] + left);
            for (0..g.kernel[2]) |k| {
                const v = taps(T, lanes, row + k, stride);
                const more = @select(bool, v != v, v != v, v > best);
                best = @select(T, more, v, best);
                index = @select(i32, more, apart + @as(Places, @splat(place + @as(i32, @intCast(k)))), index);
            }
        }
    }
    return .{ .value = best, .index = index };
}

/// The sums of the windows of results `w` and those that follow.
pub inline fn sum(
    comptime T: type,
    comptime lanes: comptime_int,
    g: *const window.Geometry,
    x: [*]const T,
    s: *const [3]isize,
    wd: Window,
    wh: Window,
    w: usize,
) @Vector(lanes, T) {
    const stride = g.stride[2];
    const left = w * stride - g.padding[2];
    var total: @Vector(lanes, T) = @splat(0);
    for (wd.begin..wd.end) |d| for (wh.begin..wh.end) |h| {
        const row = planes.at(x, step(d, s[0]) + step(h, s[1])) + left;
        for (0..g.kernel[2]) |k| {
            const v = taps(T, lanes, row + k, stride);
            if (@typeInfo(T) == .float) total += v else total +%= v;
        }
    };
    return total;
}
