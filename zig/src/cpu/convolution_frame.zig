//! What the frame says of a convolution: an image, a result and weights between them, in one to three dimensions.
const std = @import("std");
const abi_convolution = @import("abi_convolution");
const fr = @import("../core/frame.zig");

const Attr = abi_convolution.ConvolutionAttr;

/// A batch of planes: where its first element is, and strides in elements. A missing dimension has one position.
pub const Planes = struct {
    data: [*]u8,
    n: isize,
    c: isize,
    s: [3]isize,

    fn of(v: fr.View) Planes {
        var p: Planes = .{ .data = v.data, .n = v.stride(0), .c = v.stride(1), .s = @splat(0) };
        for (2..v.rank) |d| p.s[3 + d - v.rank] = v.stride(d);
        // A dimension that is not there goes on where the one behind it ends.
        var d = v.rank;
        while (d < 5) : (d += 1) {
            const k = 4 - d;
            p.s[k] = p.s[k + 1] * @as(isize, @intCast(sizes(v)[k + 1]));
        }
        return p;
    }

    pub fn ptr(p: *const Planes, comptime T: type) [*]T {
        return @ptrCast(@alignCast(p.data));
    }
};

/// Sizes behind the channels.
fn sizes(v: fr.View) [3]usize {
    var s: [3]usize = @splat(1);
    for (2..v.rank) |d| s[3 + d - v.rank] = v.size(d);
    return s;
}

pub const Geometry = extern struct {
    n: usize,
    groups: usize,
    /// Channels of the image and of the result, in one group.
    c: usize,
    o: usize,
    in: [3]usize,
    out: [3]usize,
    k: [3]usize,
    stride: [3]usize,
    dilation: [3]usize,
    padding: [3]isize,
    dtype: fr.DType,

    /// Of the operands that are the image, the result and the weights; null when they do not fit.
    pub fn of(f: *fr.Frame, image: usize, result: usize, weights: usize) ?Geometry {
        const x, const y, const w = .{ fr.view(f, image), fr.view(f, result), fr.view(f, weights) };
        if (x.rank < 3 or x.rank > 5 or y.rank != x.rank or w.rank != x.rank) return null;
        const groups = fr.to_usize(f.attrs[Attr.groups]);
        if (groups == 0) return null;
        var g: Geometry = .{
            .n = x.size(0),
            .groups = groups,
            .c = w.size(1),
            .o = w.size(0) / groups,
            .in = sizes(x),
            .out = sizes(y),
            .k = sizes(w),
            .stride = undefined,
            .dilation = undefined,
            .padding = undefined,
            .dtype = y.dtype,
        };
        for (0..3) |d| {
            g.stride[d] = fr.to_usize(f.attrs[Attr.stride + d]);
            g.dilation[d] = fr.to_usize(f.attrs[Attr.dilation + d]);
            g.padding[d] = @intCast(fr.to_int(f.attrs[Attr.padding + d]));
            if (g.stride[d] == 0 or g.k[d] == 0) return null;
        }
        const fits = y.size(0) == g.n and x.size(1) == groups * g.c and y.size(1) == groups * g.o and
            w.size(0) == groups * g.o and x.dtype == y.dtype and w.dtype == y.dtype;
        return if (fits) g else null;
    }

    pub fn planes(_: *const Geometry, f: *fr.Frame, operand: usize) Planes {
        return .of(fr.view(f, operand));
    }

    pub fn taps(g: *const Geometry) usize {
        return g.k[0] * g.k[1] * g.k[2];
    }
};
