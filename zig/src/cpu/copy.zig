//! Copies between tensors of one dtype: by bytes, in tiles where one side is transposed.
const std = @import("std");
const abi = @import("abi");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const dt = @import("../core/dtype.zig");
const parallel = @import("../core/parallel.zig");
const strided = @import("strided.zig");
const tile = @import("tile.zig");

const grain = 32768;

/// Operand 0 receives operand 1, which is broadcast to its shape.
pub fn copy(f: *fr.Frame) abi.Status {
    var space: iter.Space = undefined;
    space.init(f, 2);
    if (space.total == 0) return .ok;
    switch (dt.size_of(fr.view(f, 0).dtype)) {
        1 => run(u8, f, &space),
        2 => run(u16, f, &space),
        4 => run(u32, f, &space),
        8 => run(u64, f, &space),
        16 => run(u128, f, &space),
        else => return .unsupported,
    }
    return .ok;
}

fn run(comptime T: type, f: *fr.Frame, space: *const iter.Space) void {
    const dst: usize = @intFromPtr(fr.view(f, 0).data);
    const src: usize = @intFromPtr(fr.view(f, 1).data);
    if (space.is_dense(0) and space.is_dense(1)) {
        const Job = struct {
            dst: usize,
            src: usize,
            fn part(j: @This(), begin: usize, end: usize) void {
                const n = (end - begin) * @sizeOf(T);
                const d: [*]u8 = @ptrFromInt(j.dst + begin * @sizeOf(T));
                const s: [*]const u8 = @ptrFromInt(j.src + begin * @sizeOf(T));
                @memmove(d[0..n], s[0..n]);
            }
        };
        return parallel.parallel_for(space.total, grain, Job{ .dst = dst, .src = src }, Job.part);
    }
    const Job = struct {
        space: *const iter.Space,
        dst: usize,
        src: usize,
        tiled: bool,
        fn part(j: @This(), begin: usize, end: usize) void {
            if (j.tiled) planes(T, j.space, j.dst, j.src, begin, end) else runs(T, j.space, j.dst, j.src, begin, end);
        }
    };
    const tiled = is_transposed(space);
    const total = if (tiled) space.total / space.sizes[0] else space.total;
    const step = if (tiled) @max(1, grain / space.sizes[0]) else grain;
    parallel.parallel_for(total, step, Job{ .space = space, .dst = dst, .src = src, .tiled = tiled }, Job.part);
}

/// The destination runs along dimension 0, the source along dimension 1. One element that is repeated along dimension 0
/// needs no tiles: its row is filled.
fn is_transposed(s: *const iter.Space) bool {
    if (s.rank < 2 or s.strides[0][0] != 1) return false;
    const next, const across = .{ s.strides[1][1], s.strides[1][0] };
    return next == 1 and across != 1 and across != 0 and s.sizes[0] >= 16 and s.sizes[1] >= 16;
}

inline fn at(comptime T: type, base: usize, offset: isize) *align(1) T {
    return @ptrFromInt(base +% @as(usize, @bitCast(offset * @sizeOf(T))));
}

/// Rows [begin, end) of the space without dimension 0, in tiles of dimensions 0 and 1.
fn planes(comptime T: type, s: *const iter.Space, dst: usize, src: usize, begin: usize, end: usize) void {
    const rows = s.sizes[1];
    var row = begin;
    while (row < end) {
        const first = row % rows;
        const count = @min(rows - first, end - row);
        var d: isize = @as(isize, @intCast(first)) * s.strides[0][1];
        var o: isize = @as(isize, @intCast(first)) * s.strides[1][1];
        var rest = row / rows;
        for (2..s.rank) |k| {
            const i: isize = @intCast(rest % s.sizes[k]);
            rest /= s.sizes[k];
            d += i * s.strides[0][k];
            o += i * s.strides[1][k];
        }
        tile_plane(T, s, at(T, dst, d), at(T, src, o), count);
        row += count;
    }
}

fn tile_plane(comptime T: type, s: *const iter.Space, dst: *align(1) T, src: *align(1) T, rows: usize) void {
    const d: usize = @intFromPtr(dst);
    const o: usize = @intFromPtr(src);
    const cols = s.sizes[0];
    const ds = s.strides[0][1];
    const ss = s.strides[1][0];
    const n = comptime tile.side(T);
    const size = @sizeOf(T);
    var c: usize = 0;
    while (c < cols) : (c += n) {
        const cn = @min(n, cols - c);
        var r: usize = 0;
        while (r < rows) : (r += n) {
            const rn = @min(n, rows - r);
            const from = @intFromPtr(at(T, o, @as(isize, @intCast(c)) * ss + @as(isize, @intCast(r))));
            const to = @intFromPtr(at(T, d, @as(isize, @intCast(r)) * ds + @as(isize, @intCast(c))));
            if (cn == n and rn == n) {
                tile.transpose(T, from, ss * size, to, ds * size);
                continue;
            }
            for (0..rn) |i| for (0..cn) |j| {
                const k: isize = @as(isize, @intCast(i)) + @as(isize, @intCast(j)) * ss;
                at(T, to, @as(isize, @intCast(i)) * ds + @as(isize, @intCast(j))).* = at(T, from, k).*;
            };
        }
    }
}

fn runs(comptime T: type, s: *const iter.Space, dst: usize, src: usize, begin: usize, end: usize) void {
    var to = iter.Cursor.init(s, 0, begin);
    var from = iter.Cursor.init(s, 1, begin);
    const ds = s.strides[0][0];
    const ss = s.strides[1][0];
    var done = begin;
    while (done < end) {
        const n = to.run(end - done);
        if (ds == 1 and ss == 1) {
            const d: [*]align(1) T = @ptrCast(at(T, dst, to.offset));
            const o: [*]align(1) const T = @ptrCast(at(T, src, from.offset));
            if (n < 16) {
                for (0..n) |i| d[i] = o[i];
            } else strided.copy(@ptrCast(d), @ptrCast(o), n * @sizeOf(T));
        } else if (ds == 1 and ss == 0) {
            const d: [*]align(1) T = @ptrCast(at(T, dst, to.offset));
            const x = at(T, src, from.offset).*;
            for (0..n) |i| d[i] = x;
        } else if (ds == 1) {
            strided.read(T, @ptrCast(at(T, dst, to.offset)), @ptrCast(at(T, src, from.offset)), ss, n);
        } else {
            for (0..n) |i| {
                const k: isize = @intCast(i);
                at(T, dst, to.offset + k * ds).* = at(T, src, from.offset + k * ss).*;
            }
        }
        to.advance(n);
        from.advance(n);
        done += n;
    }
}
