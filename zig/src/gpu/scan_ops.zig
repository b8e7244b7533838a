//! Scans as their kernels see them: a state for some elements in their order, which a later one joins.
const std = @import("std");
const abi = @import("abi");
const bodies = @import("../cpu/scan_ops.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");

const Compute = abi.Compute;
const DType = abi.DType;

pub fn Totals(comptime kind: bodies.Kind, comptime c: Compute) type {
    return struct {
        pub const compute = c;
        pub const Element = dt.Computed(c);
        pub const State = Element;
        pub const places = false;
        const start: State = if (dt.is_complex(Element))
            .{ .re = bodies.neutral(kind), .im = 0 }
        else if (@typeInfo(Element) == .float) bodies.neutral(kind) else if (kind == .sum) 0 else 1;
        /// Dtypes that are read, and written, without a look at each element's. Integers become int64.
        pub const sources: []const DType = switch (c) {
            .f32 => &.{ .bfloat16, .float16 },
            .f64 => &.{ .float32, .float64 },
            .i64 => &.{ .int64, .int32, .bool },
            else => &.{ .complex64, .complex128 },
        };
        pub const targets: []const DType = if (c == .i64) &.{.int64} else sources;

        pub inline fn lift(x: Element, _: i64) State {
            // The first real number is its own total.
            return if (comptime kind == .exponentials and c == .f64) x else join(start, x);
        }

        pub inline fn join(a: State, b: State) State {
            if (kind != .exponentials) return bodies.step(kind, c, a, b);
            return if (comptime dt.is_complex(Element)) called(a.re, a.im, b.re, b.im) else called(a, 0, b, 0);
        }

        /// Long formulas are there once in a kernel. Numbers alone stay in registers: structs would go by memory.
        noinline fn called(a: f64, a_im: f64, b: f64, b_im: f64) State {
            if (comptime !dt.is_complex(Element)) return bodies.step(kind, c, a, b);
            return bodies.step(kind, c, State{ .re = a, .im = a_im }, State{ .re = b, .im = b_im });
        }

        pub inline fn value(s: State) Element {
            return s;
        }
    };
}

pub fn Extremes(comptime largest: bool, comptime c: Compute) type {
    return struct {
        pub const compute = c;
        pub const Element = dt.Computed(c);
        /// Words, which the threads of a warp exchange.
        const Value = if (Element == u8) u32 else Element;
        pub const State = extern struct { place: i64, value: Value };
        pub const places = true;
        pub const sources: []const DType = if (c == .f32) element.dense_dtypes(c) else element.dense_dtypes(c)[0..1];
        pub const targets = sources;

        pub inline fn lift(x: Element, position: i64) State {
            return .{ .place = position, .value = x };
        }

        /// Field by field: a choice among structs would go through memory.
        pub inline fn join(a: State, b: State) State {
            const later = bodies.beats(largest, b.value, a.value);
            return .{ .place = if (later) b.place else a.place, .value = if (later) b.value else a.value };
        }

        pub inline fn value(s: State) Element {
            return if (Element == u8) @truncate(s.value) else s.value;
        }
    };
}
