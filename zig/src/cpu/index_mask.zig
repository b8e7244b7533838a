//! Masks: counting them, and moving the elements that they choose, in row-major order. Masks are bytes without gaps,
//! nonzero for true.
const std = @import("std");
const abi = @import("abi");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");

fn bytes_of(f: *fr.Frame, k: usize) []const u8 {
    const v = fr.view(f, k);
    return v.data[0..v.numel()];
}

fn count_bytes(mask: []const u8) usize {
    const block = 128;
    var total: usize = 0;
    var at: usize = 0;
    while (at + block <= mask.len) : (at += block) {
        var some: u8 = 0;
        for (mask[at..][0..block]) |b| some += @intFromBool(b != 0);
        total += some;
    }
    for (mask[at..]) |b| total += @intFromBool(b != 0);
    return total;
}

/// Leaves the number of true elements of operand 0 in detail 0.
pub fn count(f: *fr.Frame) abi.Status {
    f.detail[0] = @floatFromInt(count_bytes(bytes_of(f, 0)));
    return .ok;
}

/// Operand 0 receives the elements of operand 1 where operand 2 is true; all three without gaps.
pub fn select(f: *fr.Frame) abi.Status {
    const mask = bytes_of(f, 2);
    if (fr.view(f, 1).numel() != mask.len) return .bad_argument;
    if (count_bytes(mask) > fr.view(f, 0).numel()) return .bad_argument;
    switch (dt.size_of(fr.view(f, 0).dtype)) {
        inline 1, 2, 4, 8, 16 => |n| pack(Bits(n), f, mask),
        else => return .unsupported,
    }
    return .ok;
}

fn Bits(comptime size: usize) type {
    return std.meta.Int(.unsigned, 8 * size);
}

fn elements(comptime T: type, f: *fr.Frame, k: usize) [*]align(1) T {
    return @ptrCast(fr.view(f, k).data);
}

fn pack(comptime T: type, f: *fr.Frame, mask: []const u8) void {
    const out = elements(T, f, 0);
    const src = elements(T, f, 1);
    const limit = fr.view(f, 0).numel();
    var at: usize = 0;
    for (mask, 0..) |m, i| {
        // The write is done always and kept when the mask is true, as long as there is room: no branch to guess.
        if (at == limit) return;
        out[at] = src[i];
        at += @intFromBool(m != 0);
    }
}

/// Elements of operand 0 where operand 1 is true are replaced by those of operand 2, one after another.
pub fn scatter(f: *fr.Frame) abi.Status {
    const mask = bytes_of(f, 1);
    if (fr.view(f, 0).numel() != mask.len) return .bad_argument;
    if (count_bytes(mask) > fr.view(f, 2).numel()) return .bad_argument;
    switch (dt.size_of(fr.view(f, 0).dtype)) {
        inline 1, 2, 4, 8, 16 => |n| unpack(Bits(n), f, mask),
        else => return .unsupported,
    }
    return .ok;
}

fn unpack(comptime T: type, f: *fr.Frame, mask: []const u8) void {
    const out = elements(T, f, 0);
    const src = elements(T, f, 2);
    var at: usize = 0;
    for (mask, 0..) |m, i| {
        if (m == 0) continue;
        out[i] = src[at];
        at += 1;
    }
}

/// Operand 0, int64 of shape [count, rank] with any strides, receives the coordinates of the true elements of
/// operand 1.
pub fn nonzero(f: *fr.Frame) abi.Status {
    const out = fr.view(f, 0);
    const mask = fr.view(f, 1);
    const bytes = bytes_of(f, 1);
    const rank = mask.rank;
    if (out.rank != 2 or out.size(1) != rank or count_bytes(bytes) > out.size(0)) return .bad_argument;
    var index: [fr.max_rank]i64 = @splat(0);
    var shape: [fr.max_rank]i64 = undefined;
    for (0..rank) |d| shape[d] = fr.to_int(mask.shape[d]);
    const inner: usize = if (rank == 0) 1 else mask.size(rank - 1);
    const row_step = out.stride(0);
    const column_step = out.stride(1);
    const base = out.ptr(i64);
    var row: isize = 0;
    var at: usize = 0;
    while (at < bytes.len) : (at += inner) {
        for (bytes[at..][0..inner], 0..) |b, i| {
            if (b == 0) continue;
            for (0..rank) |d| {
                const to = row * row_step + @as(isize, @intCast(d)) * column_step;
                base[@bitCast(to)] = if (d + 1 == rank) @intCast(i) else index[d];
            }
            row += 1;
        }
        next_row(&index, &shape, rank);
    }
    return .ok;
}

/// Moves on in all dimensions but the last.
fn next_row(index: *[fr.max_rank]i64, shape: *const [fr.max_rank]i64, rank: usize) void {
    if (rank < 2) return;
    var d = rank - 1;
    while (d > 0) {
        d -= 1;
        index[d] += 1;
        if (index[d] < shape[d]) return;
        index[d] = 0;
    }
}
