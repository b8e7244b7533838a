//! Reductions as their kernels see them: a state that elements join, two by two in the end, and that gives results.
//! `take` adds an element and its position to a state; `of` makes a state of several elements at once instead.
const std = @import("std");
const abi = @import("abi");
const abi_reduce = @import("abi_reduce");
const bodies = @import("../cpu/reduce_ops.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const Args = @import("reduce_args.zig").Args;
const moments_of = @import("../cpu/moments_state.zig").State;

const Compute = abi.Compute;
const DType = abi.DType;

/// A reduction to values.
pub fn Values(comptime Op: type, comptime c: Compute) type {
    return struct {
        pub const compute = c;
        pub const Element = dt.Computed(c);
        pub const State = Element;
        /// Dtypes whose elements are read without a look at each one's dtype: without gaps, and with.
        pub const fast = fast_of(Op, c);
        pub const near = if (@hasDecl(Op, "map") or !Op.common) fast[0..1] else fast;
        pub const start: State = Op.identity(c, State);
        /// States of a thread: more of them where each addition rounds.
        pub const states = if (Op.cascades) 8 else 4;

        pub inline fn take(s: State, x: Element, _: i64) State {
            return Op.combine(c, s, if (@hasDecl(Op, "map")) Op.map(x) else x);
        }

        pub inline fn join(a: State, b: State) State {
            return Op.combine(c, a, b);
        }

        pub inline fn finish(a: *const Args, s: State, to: [2]u64) void {
            var r = s;
            const rounds = comptime dt.is_complex(State) or @typeInfo(State) == .float;
            if (@hasDecl(Op, "adds") and rounds and a.attrs[abi_reduce.ReduceAttr.divides] != 0) {
                const divisor = a.attrs[abi_reduce.ReduceAttr.divisor];
                if (comptime dt.is_complex(State)) {
                    const by: @TypeOf(r.re) = @floatCast(divisor);
                    r = .{ .re = r.re / by, .im = r.im / by };
                } else r /= @as(State, @floatCast(divisor));
            }
            element.Any(c).store(to[0], a.dst_dtype[0], 0, r);
        }
    };
}

/// Sums of integers are 64 bits wide, whatever they are made of; truth values are those of bytes.
fn fast_of(comptime Op: type, comptime c: Compute) []const DType {
    if (c == .i64 and @hasDecl(Op, "adds")) return &.{ .int64, .int32, .bool };
    return switch (c) {
        .b8 => &.{ .bool, .uint8 },
        .i32 => &.{ .int32, .uint8 },
        .f32 => if (!Op.common) &.{.float32} else &.{ .float32, .bfloat16, .float16 },
        else => comptime element.dense_dtypes(c),
    };
}

/// An extreme and the first place where it is.
pub fn Extreme(comptime largest: bool, comptime c: Compute) type {
    return struct {
        pub const compute = c;
        pub const Element = dt.Computed(c);
        /// Without a place nothing was seen yet.
        pub const State = extern struct { place: i64, value: Element };
        pub const fast = if (c == .f32) element.dense_dtypes(c) else element.dense_dtypes(c)[0..1];
        pub const near = fast[0..1];
        /// Elements that lie together share a state: three registers for each would be many.
        pub const shares = true;
        pub const start: State = .{ .place = -1, .value = std.mem.zeroes(Element) };

        /// Positions only grow.
        pub inline fn take(s: State, x: Element, position: i64) State {
            // Bits, as `or` would be a branch.
            const better = @intFromBool(s.place < 0) | @intFromBool(bodies.beats(largest, x, s.value));
            return chosen(better != 0, .{ .place = position, .value = x }, s);
        }

        pub inline fn join(a: State, b: State) State {
            const known = a.place < 0 or b.place < 0;
            const later = bodies.beats(largest, b.value, a.value);
            const first = bodies.beats(largest, a.value, b.value) or a.place < b.place;
            return chosen(if (known) a.place < 0 else later or !first, b, a);
        }

        /// Field by field: a choice among structs would go through memory.
        inline fn chosen(condition: bool, a: State, b: State) State {
            return .{
                .place = if (condition) a.place else b.place,
                .value = if (condition) a.value else b.value,
            };
        }

        pub inline fn finish(a: *const Args, s: State, to: [2]u64) void {
            element.Any(c).store(to[0], a.dst_dtype[0], 0, s.value);
            element.Any(.i64).store(to[1], @intFromEnum(DType.int64), 0, s.place);
        }
    };
}

/// Variance and mean.
pub const Moments = struct {
    pub const compute: Compute = .f64;
    pub const Element = f64;
    pub const State = moments_of;
    pub const fast = &[_]DType{ .float32, .bfloat16, .float16, .float64 };
    pub const near = fast;
    pub const start: State = .{};

    /// As State.join, field by field: choices among structs would go through memory.
    pub inline fn join(a: State, b: State) State {
        const n = a.n + b.n;
        const share = if (n == 0) 0 else b.n / n;
        const delta = b.mean - a.mean;
        return .{
            .n = n,
            .mean = if (a.n == 0) b.mean else a.mean + delta * share,
            .m2 = if (a.n == 0) b.m2 else if (b.n == 0) a.m2 else a.m2 + b.m2 + delta * delta * a.n * share,
        };
    }

    pub inline fn of(comptime n: usize, x: [n]f64) State {
        const count: f64 = n;
        var total: f64 = 0;
        inline for (x) |v| total += v;
        const mean = total / count;
        var squares: f64 = 0;
        inline for (x) |v| squares += (v - mean) * (v - mean);
        return .{ .n = count, .mean = mean, .m2 = squares };
    }

    pub inline fn finish(a: *const Args, s: State, to: [2]u64) void {
        const variance = s.m2 / a.attrs[abi_reduce.MomentsAttr.divisor];
        const A = element.Any(.f64);
        // The mean first: both may be one place.
        A.store(to[1], a.dst_dtype[1], 0, if (s.n == 0) std.math.nan(f64) else s.mean);
        A.store(to[0], a.dst_dtype[0], 0, if (a.attrs[abi_reduce.MomentsAttr.root] != 0) @sqrt(variance) else variance);
    }
};
