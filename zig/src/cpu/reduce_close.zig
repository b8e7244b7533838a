//! Comparisons of whole tensors: are all elements equal, and which are close.
const std = @import("std");
const abi = @import("abi");
const abi_reduce = @import("abi_reduce");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const pw = @import("pointwise.zig");
const Attr = abi_reduce.CloseAttr;

const Compute = abi.Compute;

/// |a - b| <= attribute 1 + attribute 0 * |b|, or equal; attribute 2: two NaNs are close.
pub const isclose = struct {
    pub const arity = 2;
    pub const computes = [_]Compute{ .f32, .f64, .c64, .c128 };
    pub fn Out(comptime _: Compute) Compute {
        return .b8;
    }
    pub fn lanes(comptime _: Compute) usize {
        return 1;
    }
    pub inline fn apply(comptime c: Compute, p: pw.Params, a: dt.Computed(c), b: dt.Computed(c)) u8 {
        const complex = comptime dt.is_complex(dt.Computed(c));
        const R = if (complex) @TypeOf(a.re) else dt.Computed(c);
        const rtol: R = @floatCast(p.attrs[Attr.rtol]);
        const atol: R = @floatCast(p.attrs[Attr.atol]);
        const nans = p.attrs[Attr.equal_nan] != 0;
        if (complex) {
            if (a.re == b.re and a.im == b.im) return 1;
            if (nans and (a.re != a.re or a.im != a.im) and (b.re != b.re or b.im != b.im)) return 1;
            const distance = std.math.hypot(a.re - b.re, a.im - b.im);
            return close(R, distance, atol + std.math.hypot(rtol * b.re, rtol * b.im));
        }
        if (a == b) return 1;
        if (nans and a != a and b != b) return 1;
        return close(R, @abs(a - b), atol + @abs(rtol * b));
    }
    inline fn close(comptime R: type, distance: R, allowed: R) u8 {
        return @intFromBool(distance <= allowed and distance < std.math.inf(R));
    }
};

/// Detail 0 becomes 1 when operands 0 and 1, of one shape, are equal in the compute type, else 0.
pub fn equal(f: *fr.Frame) abi.Status {
    const c: Compute = @enumFromInt(@as(u8, @intFromFloat(f.compute)));
    var space: iter.Space = undefined;
    space.init(f, 2);
    const same = switch (c) {
        inline else => |k| same_elements(k, f, &space),
    };
    return fr.fail(f, .ok, &.{@intFromBool(same)});
}

fn same_elements(comptime c: Compute, f: *fr.Frame, space: *const iter.Space) bool {
    const T = dt.Computed(c);
    var a_buffer: [convert.block]T align(64) = undefined;
    var b_buffer: [convert.block]T align(64) = undefined;
    var a: convert.Stream(c) = undefined;
    var b: convert.Stream(c) = undefined;
    a.open(f, space, 0, 0, &a_buffer);
    b.open(f, space, 1, 0, &b_buffer);
    var left = space.total;
    while (left > 0) {
        const n = @min(left, convert.block);
        const x = a.read(n);
        const y = b.read(n);
        var differ: u8 = 0;
        for (0..n) |i| {
            const unequal = if (comptime dt.is_complex(T))
                x[i].re != y[i].re or x[i].im != y[i].im
            else
                x[i] != y[i];
            differ |= @intFromBool(unequal);
        }
        if (differ != 0) return false;
        left -= n;
    }
    return true;
}
