//! Which elements of an image an output is made of, along one dimension, and how much of each: on the CPU and on GPUs.
const std = @import("std");
const abi_sampling = @import("abi_sampling");
const fr = @import("../core/frame.zig");

const Attr = abi_sampling.SamplingAttr;
pub const Mode = abi_sampling.SamplingMode;

/// Where an output reads along a dimension, in elements of the image, and how much of each is taken.
pub fn Tap(comptime T: type) type {
    return struct {
        from: [4]isize,
        weight: [4]T,

        pub inline fn times(t: @This(), stride: isize) @This() {
            var r = t;
            for (&r.from) |*x| x.* *= stride;
            return r;
        }
    };
}

pub fn mode_of(f: *const fr.Frame) Mode {
    return @enumFromInt(@as(u8, @intFromFloat(f.attrs[Attr.mode])));
}

pub fn count_of(mode: Mode) usize {
    return switch (mode) {
        .linear, .linear_corners => 2,
        .cubic, .cubic_corners => 4,
        else => 1,
    };
}

pub inline fn one_of(comptime T: type, from: isize) Tap(T) {
    return .{ .from = .{ from, 0, 0, 0 }, .weight = .{ 1, 0, 0, 0 } };
}

/// One dimension of an image of `last` + 1 elements, places in numbers of T.
pub fn Axis(comptime T: type) type {
    return extern struct {
        const Self = @This();

        mode: Mode,
        front: isize,
        scale: T,
        last: isize,

        pub inline fn tap(a: *const Self, i: usize) Tap(T) {
            const place: T = @floatFromInt(i);
            return switch (a.mode) {
                .linear, .linear_corners => a.line(place),
                .cubic, .cubic_corners => a.curve(place),
                else => one_of(T, a.nearest(i)),
            };
        }

        /// The element that an output is, where it is one.
        inline fn nearest(a: *const Self, i: usize) isize {
            const at: isize = @intCast(i);
            const place: T = @floatFromInt(i);
            switch (a.mode) {
                .reflect => {
                    const k: isize = @intCast(@abs(at - a.front));
                    return if (k > a.last) 2 * a.last - k else k;
                },
                .replicate => return std.math.clamp(at - a.front, 0, a.last),
                else => {
                    const x = if (a.mode == .nearest) place * a.scale else (place + 0.5) * a.scale;
                    return @min(@as(isize, @intFromFloat(@floor(x))), a.last);
                },
            }
        }

        inline fn line(a: *const Self, place: T) Tap(T) {
            const x = if (a.mode == .linear_corners) place * a.scale else @max(0, (place + 0.5) * a.scale - 0.5);
            const low = @min(@as(isize, @intFromFloat(x)), a.last);
            const part = std.math.clamp(x - @as(T, @floatFromInt(low)), 0, 1);
            return .{ .from = .{ low, @min(low + 1, a.last), 0, 0 }, .weight = .{ 1 - part, part, 0, 0 } };
        }

        /// Cubic convolution of four neighbours; what lies outside repeats the edge.
        inline fn curve(a: *const Self, place: T) Tap(T) {
            const x = if (a.mode == .cubic_corners) place * a.scale else (place + 0.5) * a.scale - 0.5;
            const low: isize = @intFromFloat(@floor(x));
            const t = std.math.clamp(x - @floor(x), 0, 1);
            var r: Tap(T) = .{ .from = undefined, .weight = .{ far(t + 1), near(t), near(1 - t), far(2 - t) } };
            inline for (&r.from, 0..) |*f, i| f.* = std.math.clamp(low - 1 + @as(isize, i), 0, a.last);
            return r;
        }

        const bend = -0.75;

        inline fn near(x: T) T {
            return ((bend + 2) * x - (bend + 3)) * x * x + 1;
        }

        inline fn far(x: T) T {
            return ((bend * x - 5 * bend) * x + 8 * bend) * x - 4 * bend;
        }
    };
}

pub fn axis_of(comptime T: type, f: *const fr.Frame, d: usize, size: usize) Axis(T) {
    return .{
        .mode = mode_of(f),
        .front = @intCast(fr.to_int(f.attrs[Attr.front + d])),
        .scale = @floatCast(f.attrs[Attr.scale + d]),
        .last = @as(isize, @intCast(size)) - 1,
    };
}
