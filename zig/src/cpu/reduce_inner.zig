//! The loops of a reduction, as values for the driver: everything that depends on the operator and on the type of what
//! it combines, and nothing else.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const dt = @import("../core/dtype.zig");
const halves = @import("../core/half.zig");

const Compute = abi.Compute;
const DType = abi.DType;

/// Elements that one vector loop takes before its result joins the cascade.
pub const block = 4096;

/// One operator over elements of one dtype, which partial results have too.
pub const Inner = struct {
    dtype: DType,
    /// What elements of other dtypes are converted through.
    compute: Compute,
    /// The bytes of the result of no elements, lowest first.
    identity: u128,
    /// Rounding makes the order matter: partial results are combined pairwise.
    cascades: bool,
    /// Bytes that are not zero, or zeros, decide the result.
    final: ?bool,
    /// to[0] = the elements combined
    dense: *const fn (to: [*]u8, from: [*]const u8, n: usize) void,
    /// acc[i] = acc[i] op from[i]
    merge: *const fn (acc: [*]u8, from: [*]const u8, n: usize) void,
    /// acc[i] = acc[i] op element i: unlike `merge`, which takes what has been combined already.
    one: *const fn (acc: [*]u8, from: [*]const u8, n: usize) void,
    /// acc[i] = acc[i] op rows[0][i] op ... rows[3][i], of elements
    four: *const fn (acc: [*]u8, rows: *const [4]usize, n: usize) void,
    /// acc[i] = acc[i] op rows[0][i] ... op rows[3][i], of elements that are bfloat16 in memory, one after the other
    four_short: ?*const fn (acc: [*]u8, rows: *const [4]usize, n: usize) void,
    divide: ?*const fn (acc: [*]u8, n: usize, divisor: f64) void,
    /// As `dense` for at most `block` bytes, or truth values, of memory.
    bytes: ?*const fn (to: [*]u8, from: [*]const u8, n: usize, truth: bool) void,
};

/// Integers whose order can be told without widening them.
const short_dtypes = [_]DType{ .uint8, .int8, .int16 };

pub const Loops = struct {
    native: [@typeInfo(Compute).@"enum".fields.len]?*const Inner,
    short: [short_dtypes.len]?*const Inner,

    pub fn find(l: *const Loops, c: usize, from: DType, to: DType) ?*const Inner {
        if (c == @intFromEnum(Compute.i32) and from == to) {
            for (short_dtypes, l.short) |d, inner| if (d == from) return inner orelse l.native[c];
        }
        return if (c < l.native.len) l.native[c] else null;
    }
};

pub fn loops(comptime Op: type) Loops {
    var l: Loops = .{ .native = @splat(null), .short = @splat(null) };
    for (Op.computes) |c| l.native[@intFromEnum(c)] = &Compiled(Op, c, dt.native_dtype(c)).inner;
    if (@hasDecl(Op, "short")) {
        for (short_dtypes, &l.short) |d, *to| to.* = &Compiled(Op, .i32, d).inner;
    }
    return l;
}

fn Compiled(comptime Op: type, comptime c: Compute, comptime d: DType) type {
    const T = dt.Stored(d);
    const lanes: usize = if (dt.is_complex(T)) 1 else @max(2, 4 * @as(usize, cfg.lanes) / @sizeOf(T));
    const V = if (lanes == 1) T else @Vector(lanes, T);
    const zero: T = Op.identity(c, T);
    const rounds = dt.is_complex(T) or @typeInfo(T) == .float;
    // What is combined is made of each element first.
    const maps = @hasDecl(Op, "map");

    return struct {
        const inner: Inner = .{
            .dtype = d,
            .compute = c,
            .identity = bits: {
                const U = std.meta.Int(.unsigned, 8 * @sizeOf(T));
                if (dt.is_complex(T)) {
                    const H = std.meta.Int(.unsigned, 4 * @sizeOf(T));
                    const re: u128 = @as(H, @bitCast(zero.re));
                    break :bits re | @as(u128, @as(H, @bitCast(zero.im))) << (4 * @sizeOf(T));
                }
                break :bits @as(U, @bitCast(zero));
            },
            .cascades = Op.cascades and rounds,
            .final = if (c == .b8 and @hasDecl(Op, "final")) Op.final else null,
            .dense = dense,
            .merge = merge,
            .one = if (maps) one else merge,
            .four = four,
            .four_short = if (@hasDecl(Op, "adds") and T == f32 and !maps) four_short else null,
            .divide = if (@hasDecl(Op, "adds") and rounds) divide else null,
            .bytes = if (@hasDecl(Op, "adds") and T == i64) sum_bytes else null,
        };

        inline fn get(p: [*]align(1) const T) V {
            return @as(*align(1) const V, @ptrCast(p)).*;
        }
        inline fn put(p: [*]align(1) T, v: V) void {
            @as(*align(1) V, @ptrCast(p)).* = v;
        }

        inline fn seen(x: anytype) @TypeOf(x) {
            return if (maps) Op.map(x) else x;
        }

        fn merge(to: [*]u8, other: [*]const u8, n: usize) void {
            const acc: [*]align(1) T = @ptrCast(to);
            const from: [*]align(1) const T = @ptrCast(other);
            var i: usize = 0;
            if (lanes > 1) while (i + lanes <= n) : (i += lanes) {
                put(acc + i, Op.combine(c, get(acc + i), get(from + i)));
            };
            while (i < n) : (i += 1) acc[i] = Op.combine(c, acc[i], from[i]);
        }

        fn one(to: [*]u8, other: [*]const u8, n: usize) void {
            const acc: [*]align(1) T = @ptrCast(to);
            const from: [*]align(1) const T = @ptrCast(other);
            var i: usize = 0;
            while (i + lanes <= n) : (i += lanes) {
                put(acc + i, Op.combine(c, get(acc + i), seen(get(from + i))));
            }
            while (i < n) : (i += 1) acc[i] = Op.combine(c, acc[i], seen(from[i]));
        }

        fn four(to: [*]u8, rows: *const [4]usize, n: usize) void {
            const acc: [*]align(1) T = @ptrCast(to);
            var p: [4][*]align(1) const T = undefined;
            inline for (0..4) |k| p[k] = @ptrFromInt(rows[k]);
            var i: usize = 0;
            if (lanes > 1) while (i + lanes <= n) : (i += lanes) {
                const a = Op.combine(c, seen(get(p[0] + i)), seen(get(p[1] + i)));
                const b = Op.combine(c, seen(get(p[2] + i)), seen(get(p[3] + i)));
                put(acc + i, Op.combine(c, get(acc + i), Op.combine(c, a, b)));
            };
            while (i < n) : (i += 1) {
                const a = Op.combine(c, seen(p[0][i]), seen(p[1][i]));
                acc[i] = Op.combine(c, acc[i], Op.combine(c, a, Op.combine(c, seen(p[2][i]), seen(p[3][i]))));
            }
        }

        fn four_short(to: [*]u8, rows: *const [4]usize, n: usize) void {
            const acc: [*]align(1) T = @ptrCast(to);
            var p: [4][*]align(1) const u16 = undefined;
            inline for (0..4) |k| p[k] = @ptrFromInt(rows[k]);
            var i: usize = 0;
            while (i + lanes <= n) : (i += lanes) {
                var sum = get(acc + i);
                inline for (p) |row| {
                    const x = @as(*align(1) const @Vector(lanes, u16), @ptrCast(row + i)).*;
                    sum = Op.combine(c, sum, halves.bf16_to_f32(x));
                }
                put(acc + i, sum);
            }
            while (i < n) : (i += 1) {
                inline for (p) |row| acc[i] = Op.combine(c, acc[i], halves.bf16_to_f32(row[i]));
            }
        }

        fn dense(to: [*]u8, from: [*]const u8, n: usize) void {
            const p: [*]align(1) const T = @ptrCast(from);
            const unroll = 8;
            var i: usize = 0;
            var r = zero;
            if (n >= 2 * lanes) {
                var acc: [unroll]V = undefined;
                inline for (&acc) |*a| a.* = if (lanes == 1) zero else @splat(zero);
                while (i + unroll * lanes <= n) : (i += unroll * lanes) {
                    inline for (0..unroll) |u| acc[u] = Op.combine(c, acc[u], seen(get(p + i + u * lanes)));
                }
                while (i + lanes <= n) : (i += lanes) acc[0] = Op.combine(c, acc[0], seen(get(p + i)));
                comptime var half = unroll / 2;
                inline while (half > 0) : (half /= 2) {
                    inline for (0..half) |u| acc[u] = Op.combine(c, acc[u], acc[u + half]);
                }
                r = across(acc[0]);
            }
            while (i < n) : (i += 1) r = Op.combine(c, r, seen(p[i]));
            @as(*align(1) T, @ptrCast(to)).* = r;
        }

        /// All lanes into one, half by half.
        fn across(v: anytype) T {
            if (@typeInfo(@TypeOf(v)) != .vector) return v;
            const n = @typeInfo(@TypeOf(v)).vector.len;
            if (n == 1) return v[0];
            return across(Op.combine(c, std.simd.extract(v, 0, n / 2), std.simd.extract(v, n / 2, n / 2)));
        }

        fn divide(to: [*]u8, n: usize, divisor: f64) void {
            const acc: [*]align(1) T = @ptrCast(to);
            for (acc[0..n]) |*x| {
                if (comptime dt.is_complex(T)) {
                    const by: @TypeOf(x.re) = @floatCast(divisor);
                    x.* = .{ .re = x.re / by, .im = x.im / by };
                } else x.* /= @as(T, @floatCast(divisor));
            }
        }

        /// Pairs of bytes add up in 16 bits, which hold a whole block's.
        fn sum_bytes(to: [*]u8, from: [*]const u8, n: usize, truth: bool) void {
            const width = 4 * @as(usize, cfg.lanes);
            const Bytes = @Vector(width, u8);
            const Words = @Vector(width / 2, u16);
            var acc: Words = @splat(0);
            var i: usize = 0;
            while (i + width <= n) : (i += width) {
                var x: Bytes = from[i..][0..width].*;
                if (truth) x = @min(x, @as(Bytes, @splat(1)));
                const pairs: Words = @bitCast(x);
                acc += (pairs & @as(Words, @splat(0xff))) + (pairs >> @splat(8));
            }
            var total: i64 = @reduce(.Add, @as(@Vector(width / 2, u32), acc));
            while (i < n) : (i += 1) total += if (truth) @min(1, from[i]) else from[i];
            @as(*align(1) i64, @ptrCast(to)).* = total;
        }
    };
}
