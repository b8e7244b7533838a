//! What both directions of attention share: sizes, the rows of a head, blocks of scores.
const std = @import("std");
const abi = @import("abi");
const abi_attention = @import("abi_attention");
const cfg = @import("cfg");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const products = @import("products.zig");
const vmath = @import("vmath.zig");

const Attr = abi_attention.AttentionAttr;

/// Queries and keys of which the scores exist at a time.
pub const query_block = 56;
pub const key_block = 512;

pub fn Heads(comptime T: type) type {
    const lanes = cfg.lanes * 4 / @sizeOf(T);
    return struct {
        pub const V = @Vector(lanes, T);
        const compute: abi.Compute = if (T == f64) .f64 else .f32;

        batch: usize,
        heads: usize,
        /// Heads of queries that share one of keys.
        shared: usize,
        queries: usize,
        keys: usize,
        width: usize,
        value_width: usize,
        scale: T,
        causal: bool,
        mask: ?fr.View,
        /// What queries are stored as.
        dtype: abi.DType,

        const Self = @This();

        /// Null when sizes do not fit.
        pub fn of(f: *fr.Frame, first: usize, mask: usize) ?Self {
            const q, const k, const v = .{ fr.view(f, first), fr.view(f, first + 1), fr.view(f, first + 2) };
            const m = fr.view(f, mask);
            if (q.rank != 4 or k.rank != 4 or v.rank != 4) return null;
            const key_heads = k.size(1);
            if (key_heads == 0 or q.size(1) % key_heads != 0 or v.size(1) != key_heads) return null;
            const h: Self = .{
                .batch = q.size(0),
                .heads = q.size(1),
                .shared = q.size(1) / key_heads,
                .queries = q.size(2),
                .keys = k.size(2),
                .width = q.size(3),
                .value_width = v.size(3),
                .scale = @floatCast(fr.attr(f, Attr.scale)),
                .causal = fr.attr_bool(f, Attr.causal),
                .mask = if (m.rank == 4) m else null,
                .dtype = q.dtype,
            };
            if (k.size(0) != h.batch or v.size(0) != h.batch) return null;
            if (v.size(2) != h.keys or k.size(3) != h.width) return null;
            if (h.mask) |x| {
                const sizes = [4]usize{ h.batch, h.heads, h.queries, h.keys };
                for (sizes, 0..) |n, d| if (x.size(d) != n) return null;
            }
            return h;
        }

        /// Rows of a head as they are multiplied: where they lie, or copies.
        pub const Matrix = struct {
            data: [*]T,
            stride: isize,

            pub fn row(m: *const Matrix, i: usize) [*]T {
                return moved(m.data, i, m.stride);
            }
        };

        /// A factor as it is read, and one in packed panels.
        pub const Left = struct { data: [*]const T, row: isize, column: isize = 1 };
        pub const Right = struct { data: [*]const T, n: usize, k: usize };

        /// c = beta * c + alpha * a * b, of b's first n columns and k rows; rows of c are `ld` apart.
        pub fn product(
            sizes: [3]usize,
            a: Left,
            b: Right,
            c: [*]T,
            ld: usize,
            alpha: T,
            beta: T,
        ) void {
            products.of(T).multiply(&.{
                .m = sizes[0],
                .n = sizes[1],
                .k = sizes[2],
                .a = a.data,
                .rsa = a.row,
                .csa = a.column,
                .b = b.data,
                .c = c,
                .rsc = @intCast(ld),
                .alpha = alpha,
                .beta = beta,
                .packed_n = b.n,
                .packed_k = b.k,
            });
        }

        /// Places for parts of work memory, one after the other.
        pub fn placed(comptime count: usize, sizes: *const [count]usize, from: [*]T) [count][*]T {
            var places: [count][*]T = undefined;
            var at = from;
            for (&places, sizes) |*part, n| {
                part.* = at;
                at += std.mem.alignForward(usize, n, 64);
            }
            return places;
        }

        pub fn room_of(sizes: []const usize) usize {
            var total: usize = 0;
            for (sizes) |n| total += std.mem.alignForward(usize, n, 64);
            return total;
        }

        pub inline fn moved(p: anytype, i: usize, stride: isize) @TypeOf(p) {
            return p + @as(usize, @bitCast(@as(isize, @intCast(i)) * stride));
        }

        fn head_address(v: *const fr.View, b: usize, h: usize) [*]u8 {
            const offset = @as(isize, @intCast(b)) * v.stride(0) + @as(isize, @intCast(h)) * v.stride(1);
            return shifted(v, v.data, offset);
        }

        fn shifted(v: *const fr.View, p: [*]u8, elements: isize) [*]u8 {
            const size: isize = @intCast(dt.size_of(v.dtype));
            return @ptrFromInt(@intFromPtr(p) +% @as(usize, @bitCast(elements * size)));
        }

        /// Whether the rows of an operand can be read where they lie.
        pub fn is_direct(v: *const fr.View) bool {
            return v.dtype == convert.native_of(compute) and v.stride(3) == 1 and v.flags == 0;
        }

        /// A head's matrix; `room` takes a copy of what cannot be read where it lies.
        pub fn matrix(v: *const fr.View, b: usize, h: usize, room: [*]T) Matrix {
            const at = head_address(v, b, h);
            if (is_direct(v)) return .{ .data = @ptrCast(@alignCast(at)), .stride = v.stride(2) };
            const n = v.size(3);
            for (0..v.size(2)) |i| {
                const from = shifted(v, at, @as(isize, @intCast(i)) * v.stride(2));
                convert.load(compute, v.dtype, @ptrCast(room + i * n), from, v.stride(3), n);
            }
            return .{ .data = room, .stride = @intCast(n) };
        }

        /// Writes rows of a head, whose elements lie without gaps, into an operand.
        pub fn put(v: *const fr.View, b: usize, h: usize, first: usize, rows: usize, from: [*]T) void {
            const n = v.size(3);
            for (0..rows) |i| {
                const to = shifted(v, head_address(v, b, h), @as(isize, @intCast(first + i)) * v.stride(2));
                convert.store_of(compute, v.dtype)(@ptrCast(from + i * n), to, v.stride(3), n);
            }
        }

        /// Keys that a block of queries sees at most.
        pub fn seen(s: *const Self, first: usize, rows: usize) usize {
            return if (s.causal) @min(s.keys, first + rows) else s.keys;
        }

        /// Masks the scores of queries from `first` and keys from `key`, rows `ld` apart.
        pub fn masked(
            s: *const Self,
            b: usize,
            h: usize,
            scores: [*]T,
            first: usize,
            rows: usize,
            key: usize,
            n: usize,
        ) void {
            if (s.causal and key + n > first + 1) {
                for (0..rows) |i| {
                    const from = @max(first + i + 1, key) - key;
                    if (from < n) @memset(scores[i * key_block + from ..][0 .. n - from], -std.math.inf(T));
                }
            }
            const m = s.mask orelse return;
            var line: [key_block]T align(64) = undefined;
            for (0..rows) |i| {
                // Often all queries have one row of the mask.
                if (i == 0 or m.stride(2) != 0) {
                    const rows_before: isize, const keys_before: isize = .{ @intCast(first + i), @intCast(key) };
                    const offset = rows_before * m.stride(2) + keys_before * m.stride(3);
                    const from = shifted(&m, head_address(&m, b, h), offset);
                    convert.load(compute, m.dtype, @ptrCast(&line), from, m.stride(3), n);
                    if (m.dtype == .bool) for (line[0..n]) |*y| {
                        y.* = if (y.* == 0) -std.math.inf(T) else 0;
                    };
                }
                const row = scores + i * key_block;
                if (m.dtype == .bool) {
                    for (row[0..n], line[0..n]) |*x, y| x.* = if (y == 0) x.* else y;
                } else for (row[0..n], line[0..n]) |*x, y| {
                    x.* += y;
                }
            }
        }

        pub inline fn load(p: [*]const T) V {
            return p[0..lanes].*;
        }
        pub inline fn store(p: [*]T, x: V) void {
            p[0..lanes].* = x;
        }

        /// Scores of no key behind `n`, up to a whole vector: neither the greatest, nor is their power above zero.
        pub inline fn closed(p: [*]T, n: usize) usize {
            const whole = n / lanes * lanes;
            if (whole == n) return n;
            const places = std.simd.iota(u32, lanes) < @as(@Vector(lanes, u32), @splat(@intCast(n - whole)));
            store(p + whole, @select(T, places, load(p + whole), @as(V, @splat(-std.math.inf(T)))));
            return whole + lanes;
        }

        /// `n` is a multiple of a vector.
        pub fn greatest(p: [*]const T, n: usize) T {
            var top: V = @splat(-std.math.inf(T));
            var i: usize = 0;
            while (i < n) : (i += lanes) {
                const x = load(p + i);
                top = @select(T, x > top, x, top);
            }
            return @reduce(.Max, top);
        }

        /// Replaces scores by the powers of what they are above `level`, and gives their sum. `n` is a multiple of a
        /// vector.
        pub fn powers(p: [*]T, n: usize, level: T) T {
            var sum: [2]V = @splat(@splat(0));
            const l: V = @splat(level);
            var i: usize = 0;
            while (i + 2 * lanes <= n) : (i += 2 * lanes) inline for (0..2) |u| {
                const e = vmath.exp(load(p + i + u * lanes) - l);
                store(p + i + u * lanes, e);
                sum[u] += e;
            };
            if (i < n) {
                const e = vmath.exp(load(p + i) - l);
                store(p + i, e);
                sum[0] += e;
            }
            return @reduce(.Add, sum[0] + sum[1]);
        }

        /// Powers are multiplied in the dtype of the values, as in torch.
        pub fn rounded(s: *const Self, p: [*]T, n: usize) void {
            if (T == f64 or s.dtype == .float32) return;
            var line: [key_block]u16 align(64) = undefined;
            convert.store_of(compute, s.dtype)(@ptrCast(p), @ptrCast(&line), 1, n);
            convert.load_of(compute, s.dtype)(@ptrCast(p), @ptrCast(&line), 1, n);
        }

        pub fn scaled(p: [*]T, n: usize, factor: T) void {
            const f: V = @splat(factor);
            var i: usize = 0;
            while (i + lanes <= n) : (i += lanes) store(p + i, load(p + i) * f);
            while (i < n) : (i += 1) p[i] *= factor;
        }
    };
}
