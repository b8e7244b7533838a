//! What the frame says of the windows of a call.
const abi_pooling = @import("abi_pooling");
const fr = @import("../core/frame.zig");
const planes = @import("planes.zig");
const window = @import("pooling_window.zig");

const Attr = abi_pooling.PoolingAttr;

/// Between the results, operand `outer`, and the elements, operand `inner`; null when they do not fit.
pub fn windows_of(f: *fr.Frame, outer: usize, inner: usize) ?window.Geometry {
    const o, const i = .{ fr.view(f, outer), fr.view(f, inner) };
    if (o.rank != i.rank or o.rank < 3 or o.rank > 5) return null;
    if (o.size(0) != i.size(0) or o.size(1) != i.size(1)) return null;
    const of_in: planes.Planes, const of_out: planes.Planes = .{ .of(i), .of(o) };
    var g: window.Geometry = .{
        .adaptive = fr.attr_bool(f, Attr.adaptive),
        .include = fr.attr_bool(f, Attr.include),
        .kernel = undefined,
        .stride = undefined,
        .padding = undefined,
        .dilation = undefined,
        .divisor = @intCast(fr.to_int(f.attrs[Attr.divisor])),
        .in = of_in.size,
        .out = of_out.size,
    };
    for (0..3) |d| {
        g.kernel[d] = fr.to_usize(f.attrs[Attr.kernel + d]);
        g.stride[d] = fr.to_usize(f.attrs[Attr.stride + d]);
        g.padding[d] = fr.to_usize(f.attrs[Attr.padding + d]);
        g.dilation[d] = fr.to_usize(f.attrs[Attr.dilation + d]);
    }
    return g;
}
