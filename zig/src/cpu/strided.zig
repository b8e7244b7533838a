//! Reads runs of elements with gaps. Every second element, and both directions, go by vectors: these are what slices
//! with a step and flipped tensors give.
const std = @import("std");
const cfg = @import("cfg");

/// Whether a stride has vectors of its own.
pub inline fn has_vectors(stride: isize) bool {
    return stride == 2 or stride == -1 or stride == -2;
}

/// Runs up to this many bytes are copied by vectors here: the C library takes those of a few kilobytes by an
/// instruction that is slow to begin with.
const most_by_vectors = 64 << 10;

/// Bytes without gaps; the two runs may overlap.
pub fn copy(to: [*]u8, from: [*]const u8, n: usize) void {
    const apart = @intFromPtr(to) -% @intFromPtr(from);
    const V = @Vector(4 * @as(usize, cfg.lanes), u8);
    const size = @sizeOf(V);
    if (n < size or n > most_by_vectors or apart < n or 0 -% apart < n) return @memmove(to[0..n], from[0..n]);
    var i: usize = 0;
    while (i + 4 * size <= n) : (i += 4 * size) {
        var parts: [4]V = undefined;
        inline for (&parts, 0..) |*x, k| x.* = @as(*align(1) const V, @ptrCast(from + i + k * size)).*;
        inline for (parts, 0..) |x, k| @as(*align(1) V, @ptrCast(to + i + k * size)).* = x;
    }
    while (i + size <= n) : (i += size) {
        @as(*align(1) V, @ptrCast(to + i)).* = @as(*align(1) const V, @ptrCast(from + i)).*;
    }
    // The last vector may write some bytes twice.
    @as(*align(1) V, @ptrCast(to + n - size)).* = @as(*align(1) const V, @ptrCast(from + n - size)).*;
}

/// `n` elements that are `stride` apart, to places without gaps.
pub inline fn read(comptime T: type, to: [*]align(1) T, from: [*]align(1) const T, stride: isize, n: usize) void {
    var i: usize = switch (stride) {
        1 => return copy(@ptrCast(to), @ptrCast(from), n * @sizeOf(T)),
        2 => vectors(T, 2, to, from, n),
        -1 => vectors(T, -1, to, from, n),
        -2 => vectors(T, -2, to, from, n),
        else => 0,
    };
    var at = @intFromPtr(from) +% bytes(T, stride) *% i;
    while (i < n) : (i += 1) {
        to[i] = @as(*align(1) const T, @ptrFromInt(at)).*;
        at +%= bytes(T, stride);
    }
}

/// The same for elements of so many bytes, up to eight.
pub fn read_any(size: usize, to: [*]u8, from: [*]const u8, stride: isize, n: usize) void {
    switch (size) {
        inline 1, 2, 4, 8 => |w| read(std.meta.Int(.unsigned, 8 * w), @ptrCast(to), @ptrCast(from), stride, n),
        else => unreachable,
    }
}

inline fn bytes(comptime T: type, elements: isize) usize {
    return @bitCast(elements * @sizeOf(T));
}

/// As many elements as whole vectors hold; they read nothing that lies beyond the run.
noinline fn vectors(
    comptime T: type,
    comptime stride: isize,
    to: [*]align(1) T,
    from: [*]align(1) const T,
    n: usize,
) usize {
    const lanes = 4 * @as(usize, cfg.lanes) / @sizeOf(T);
    if (lanes < 2) return 0;
    const V = @Vector(lanes, T);
    // Of two elements the wanted one is read with the one that follows in the direction of the run, and that one lies
    // within the run where another wanted one comes after it.
    const over: usize = if (stride == -1) 0 else 1;
    var i: usize = 0;
    while (i + lanes + over <= n) {
        const first: isize = switch (stride) {
            2 => 0,
            -1 => 1 - @as(isize, lanes),
            -2 => 1 - 2 * @as(isize, lanes),
            else => unreachable,
        };
        const p = @intFromPtr(from) +% bytes(T, first + stride * @as(isize, @intCast(i)));
        const a: V = @as(*align(1) const V, @ptrFromInt(p)).*;
        const b: V = if (over == 0) undefined else @as(*align(1) const V, @ptrFromInt(p + @sizeOf(V))).*;
        @as(*align(1) V, @ptrCast(to + i)).* = @shuffle(T, a, b, picks(stride, lanes));
        i += lanes;
        // The last vector gives some elements twice.
        const left = n - over - i;
        if (left > 0 and left < lanes) i = n - over - lanes;
    }
    return i;
}

/// Which element of the two vectors, counted as one list, each lane takes.
fn picks(comptime stride: isize, comptime lanes: usize) @Vector(lanes, i32) {
    var list: [lanes]i32 = undefined;
    for (&list, 0..) |*x, i| {
        const k: i32 = switch (stride) {
            2 => 2 * i,
            -1 => lanes - 1 - i,
            -2 => 2 * (lanes - i) - 1,
            else => unreachable,
        };
        x.* = if (k < lanes) k else ~(k - @as(i32, lanes));
    }
    return list;
}
