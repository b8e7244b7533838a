//! Batches of planes, as pooling, resizing and their kernels for GPUs read them: two dimensions of planes and one to
//! three within a plane, any strides. A dimension that is missing has one element.
const fr = @import("../core/frame.zig");

pub const Planes = extern struct {
    data: [*]u8,
    n: isize,
    c: isize,
    s: [3]isize,
    size: [3]usize,

    pub fn of(v: fr.View) Planes {
        var p: Planes = .{ .data = v.data, .n = v.stride(0), .c = v.stride(1), .s = @splat(0), .size = @splat(1) };
        for (2..v.rank) |d| {
            p.s[3 + d - v.rank] = v.stride(d);
            p.size[3 + d - v.rank] = v.size(d);
        }
        return p;
    }

    pub inline fn plane(p: *const Planes, comptime T: type, n: usize, c: usize) [*]T {
        return at(@as([*]T, @ptrCast(@alignCast(p.data))), step(n, p.n) + step(c, p.c));
    }

    /// Whether the elements of a plane of these sizes lie one after the other.
    pub fn is_dense(p: *const Planes, size: [3]usize) bool {
        var next: isize = 1;
        var d: usize = 3;
        while (d > 0) {
            d -= 1;
            if (size[d] != 1 and p.s[d] != next) return false;
            next *= @intCast(size[d]);
        }
        return true;
    }

    pub inline fn place(p: *const Planes, d: usize, h: usize, w: usize) isize {
        return step(d, p.s[0]) + step(h, p.s[1]) + step(w, p.s[2]);
    }
};

pub inline fn at(p: anytype, offset: isize) @TypeOf(p) {
    return p + @as(usize, @bitCast(offset));
}

pub inline fn step(i: usize, stride: isize) isize {
    return @as(isize, @intCast(i)) * stride;
}

/// What a stored number stands for, where that is the number itself.
pub fn itself(comptime T: type) fn (x: T) callconv(.@"inline") T {
    return struct {
        inline fn load(x: T) T {
            return x;
        }
    }.load;
}
