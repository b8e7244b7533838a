//! One element of a convolution, or of what leads back to its images, as a sum of products one after the other: of
//! integers on the CPU, of everything on GPUs. Pointers are of any kind, to where a batch begins.
const Geometry = @import("convolution_frame.zig").Geometry;

/// Where elements of one operand are: strides of channels and within a plane.
pub const Strides = struct { c: isize, s: [3]isize };

/// `T`: what is summed. `load` gives it of an element. The filter's `c` leads from one of the channels that are summed
/// to the next.
pub fn Body(comptime T: type, comptime load: anytype, comptime back: bool) type {
    return struct {
        pub inline fn sum(g: *const Geometry, place: [3]usize, x: anytype, xs: Strides, w: anytype, ws: Strides) T {
            const count = if (back) g.o else g.c;
            var total: T = 0;
            for (0..g.k[0]) |d| {
                const kd = source(g, 0, place[0], d);
                if (kd < 0) continue;
                for (0..g.k[1]) |h| {
                    const kh = source(g, 1, place[1], h);
                    if (kh < 0) continue;
                    for (0..g.k[2]) |v| {
                        const kw = source(g, 2, place[2], v);
                        if (kw < 0) continue;
                        var from = at(x, kd * xs.s[0] + kh * xs.s[1] + kw * xs.s[2]);
                        var tap = at(w, span(d, ws.s[0]) + span(h, ws.s[1]) + span(v, ws.s[2]));
                        for (0..count) |_| {
                            total = added(total, load(from[0]), load(tap[0]));
                            from = at(from, xs.c);
                            tap = at(tap, ws.c);
                        }
                    }
                }
            }
            return total;
        }

        /// Where a tap reads along one dimension; -1 outside of what there is.
        pub inline fn source(g: *const Geometry, d: usize, place: usize, tap: usize) isize {
            const shift = span(tap, @intCast(g.dilation[d])) - g.padding[d];
            const size = span(if (back) g.out[d] else g.in[d], 1);
            var k = if (back) span(place, 1) - shift else span(place, @intCast(g.stride[d])) + shift;
            if (k < 0) return -1;
            if (back and g.stride[d] != 1) {
                const i: usize = @intCast(k);
                const n = quotient(i, g.stride[d]);
                if (n * g.stride[d] != i) return -1;
                k = @intCast(n);
            }
            return if (k < size) k else -1;
        }

        /// GPUs divide numbers of 32 bits in a few steps.
        inline fn quotient(i: usize, n: usize) usize {
            if ((i | n) >> 32 != 0) return i / n;
            return @as(u32, @truncate(i)) / @as(u32, @truncate(n));
        }

        inline fn added(total: T, a: T, b: T) T {
            return if (@typeInfo(T) == .float) @mulAdd(T, a, b, total) else total +% a *% b;
        }
    };
}

pub inline fn at(p: anytype, offset: isize) @TypeOf(p) {
    return p + @as(usize, @bitCast(offset));
}

pub inline fn span(n: usize, stride: isize) isize {
    return @as(isize, @intCast(n)) * stride;
}
