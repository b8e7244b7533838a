//! The loops that look for extremes and their positions, for one type each.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const dt = @import("../core/dtype.zig");
const ops = @import("reduce_ops.zig");

const Compute = abi.Compute;

pub const Inner = struct {
    compute: Compute,
    size: usize,
    /// to[0] = the extreme of n elements
    extreme: *const fn (to: [*]u8, from: [*]const u8, n: usize) void,
    /// The first position of `x`, which is there.
    find: *const fn (from: [*]const u8, n: usize, x: [*]const u8) usize,
    /// Row `r` of many lines: values and, in integers of the values' size or of four bytes, their rows.
    row: *const fn (from: [*]const u8, r: i32, width: usize, values: [*]u8, rows: [*]u8) void,
    /// `x` comes later and still takes the place of `y`.
    beats: *const fn (x: [*]const u8, y: [*]const u8) bool,
    is_nan: *const fn (x: [*]const u8) bool,
};

pub const Loops = [@typeInfo(Compute).@"enum".fields.len]?*const Inner;

pub fn loops(comptime largest: bool) Loops {
    var t: Loops = @splat(null);
    for ([_]Compute{ .f32, .f64, .i32, .i64, .u64, .b8 }) |c| t[@intFromEnum(c)] = &Compiled(largest, c).inner;
    return t;
}

fn Compiled(comptime largest: bool, comptime c: Compute) type {
    const T = dt.Computed(c);
    const is_float = @typeInfo(T) == .float;
    // Positions are as wide as the values, so that a mask of one selects in the other.
    const I = if (@sizeOf(T) == 8) i64 else i32;
    const lanes: usize = if (@sizeOf(T) == 8) @max(2, cfg.lanes / 2) else cfg.lanes;
    const V = @Vector(lanes, T);
    const VI = @Vector(lanes, I);
    const Mask = std.meta.Int(.unsigned, lanes);
    const P = [*]align(1) const T;

    return struct {
        const inner: Inner = .{
            .compute = c,
            .size = @sizeOf(T),
            .extreme = extreme,
            .find = find,
            .row = row,
            .beats = beats,
            .is_nan = is_nan,
        };

        inline fn one(p: [*]const u8) T {
            return @as(P, @ptrCast(p))[0];
        }

        fn is_nan(x: [*]const u8) bool {
            return is_float and one(x) != one(x);
        }

        fn beats(x: [*]const u8, y: [*]const u8) bool {
            return wins(one(x), one(y));
        }

        inline fn wins(x: T, y: T) bool {
            return ops.beats(largest, x, y);
        }

        fn row(from: [*]const u8, r: i32, width: usize, best: [*]u8, places: [*]u8) void {
            const p: P = @ptrCast(from);
            const values: [*]align(1) T = @ptrCast(best);
            const rows: [*]align(1) I = @ptrCast(places);
            const here: VI = @splat(r);
            var i: usize = 0;
            while (i + lanes <= width) : (i += lanes) {
                const x = get(p + i);
                const value: *align(1) V = @ptrCast(values + i);
                const index: *align(1) VI = @ptrCast(rows + i);
                const old = value.*;
                var later = if (largest) x > old else x < old;
                if (is_float) later = @select(bool, x != x, old == old, later);
                value.* = @select(T, later, x, old);
                index.* = @select(I, later, here, index.*);
            }
            while (i < width) : (i += 1) {
                if (wins(p[i], values[i])) {
                    values[i] = p[i];
                    rows[i] = r;
                }
            }
        }

        inline fn get(p: P) V {
            return @as(*align(1) const V, @ptrCast(p)).*;
        }

        inline fn better(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
            if (@typeInfo(@TypeOf(a)) == .vector) {
                const first = @select(T, if (largest) a > b else a < b, a, b);
                return if (is_float) @select(T, a != a, a, first) else first;
            }
            if (is_float and a != a) return a;
            return if (if (largest) a > b else a < b) a else b;
        }

        fn extreme(to: [*]u8, from: [*]const u8, n: usize) void {
            const p: P = @ptrCast(from);
            @as(*align(1) T, @ptrCast(to)).* = if (n < lanes) few(p, n) else many(p, n);
        }

        fn few(p: P, n: usize) T {
            var r = p[0];
            for (p[1..n]) |x| r = better(r, x);
            return r;
        }

        fn many(p: P, n: usize) T {
            const unroll = 4;
            var i: usize = lanes;
            var r = get(p);
            if (n >= unroll * lanes) {
                var acc: [unroll]V = undefined;
                inline for (0..unroll) |u| acc[u] = get(p + u * lanes);
                i = unroll * lanes;
                while (i + unroll * lanes <= n) : (i += unroll * lanes) {
                    inline for (0..unroll) |u| acc[u] = better(acc[u], get(p + i + u * lanes));
                }
                r = better(better(acc[0], acc[1]), better(acc[2], acc[3]));
            }
            while (i + lanes <= n) : (i += lanes) r = better(r, get(p + i));
            // The last vector may take elements twice: an extreme does not mind.
            if (i < n) r = better(r, get(p + n - lanes));
            return across(r);
        }

        inline fn across(v: V) T {
            var r = v;
            comptime var distance = lanes / 2;
            inline while (distance > 0) : (distance /= 2) {
                comptime var from: [lanes]i32 = undefined;
                inline for (&from, 0..) |*x, i| x.* = (i + distance) % lanes;
                r = better(r, @shuffle(T, r, undefined, from));
            }
            return r[0];
        }

        fn find(from: [*]const u8, n: usize, value: [*]const u8) usize {
            const p: P = @ptrCast(from);
            const x = one(value);
            var i: usize = 0;
            const nan = is_float and x != x;
            const wanted: V = @splat(x);
            while (i + lanes <= n) : (i += lanes) {
                const v = get(p + i);
                const found: Mask = @bitCast(if (nan) v != v else v == wanted);
                if (found != 0) return i + @ctz(found);
            }
            while (i + 1 < n) : (i += 1) {
                if (if (nan) p[i] != p[i] else p[i] == x) break;
            }
            return i;
        }
    };
}
