//! What a pointwise kernel is compiled to: a loop over elements without gaps, from a body that is written once for
//! scalars and vectors. `pointwise_driver.zig` brings the operands to it.
//!
//! A body is a struct with `arity`, `computes`, `apply(comptime c, params, inputs...)` and, when they differ
//! from the compute type, `Out(c)` and `In(c, i)`; `lanes(c)` gives 1 where a body has no vector form.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const dt = @import("../core/dtype.zig");

pub const Compute = abi.Compute;
pub const all_real = [_]Compute{ .f32, .f64, .i32, .i64, .u64 };
pub const all_numbers = [_]Compute{ .f32, .f64, .i32, .i64, .u64, .c64, .c128 };
pub const everything = [_]Compute{ .f32, .f64, .i32, .i64, .u64, .b8, .c64, .c128 };
pub const floats = [_]Compute{ .f32, .f64 };
pub const inexact = [_]Compute{ .f32, .f64, .c64, .c128 };
pub const integers = [_]Compute{ .i32, .i64, .u64 };

/// Elements below which a call stays on one thread.
pub const grain = 32768;

/// The scalars of a call.
pub const Params = extern struct {
    pub const Attrs = @FieldType(abi.Frame, "attrs");

    attrs: *const Attrs,

    /// Attribute `i` in the compute type.
    pub inline fn scalar(p: Params, comptime c: Compute, comptime i: usize) dt.Computed(c) {
        if (comptime dt.is_complex(dt.Computed(c))) {
            return .{ .re = @floatCast(p.attrs[2 * i]), .im = @floatCast(p.attrs[2 * i + 1]) };
        }
        return dt.cast(c, p.attrs[2 * i]);
    }
    pub inline fn raw(p: Params, comptime i: usize) f64 {
        return p.attrs[2 * i];
    }
};

/// Vector lanes of a compute type on this instruction set.
pub fn vector_lanes(comptime c: Compute) usize {
    return switch (c) {
        .f32, .i32 => cfg.lanes,
        .f64, .i64, .u64 => @max(2, cfg.lanes / 2),
        .b8 => cfg.lanes,
        .c64, .c128 => 1,
    };
}

fn lanes_of(comptime Body: type, comptime c: Compute) usize {
    if (@hasDecl(Body, "lanes")) return Body.lanes(c);
    if (c == .c64 or c == .c128) return 1;
    return vector_lanes(c);
}

pub fn out_of(comptime Body: type, comptime c: Compute) Compute {
    return if (@hasDecl(Body, "Out")) Body.Out(c) else c;
}

pub fn in_of(comptime Body: type, comptime c: Compute, comptime i: usize) Compute {
    return if (@hasDecl(Body, "In")) Body.In(c, i) else c;
}

/// The value that a body sees: a vector, or the scalar itself where it has one lane.
pub fn Value(comptime T: type, comptime lanes: usize) type {
    return if (lanes == 1) T else @Vector(lanes, T);
}

/// A number in every lane.
pub inline fn constant(comptime T: type, comptime x: comptime_float) T {
    if (@typeInfo(T) == .vector) return @splat(scalar_constant(@typeInfo(T).vector.child, x));
    return scalar_constant(T, x);
}

fn scalar_constant(comptime T: type, comptime x: comptime_float) T {
    return if (@typeInfo(T) == .float) x else @intFromFloat(x);
}

/// `a` where the condition holds, else `b`, lane by lane.
pub inline fn select(condition: anytype, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    if (@typeInfo(@TypeOf(a)) != .vector) return if (condition) a else b;
    return @select(@typeInfo(@TypeOf(a)).vector.child, condition, a, b);
}

/// A comparison's result as bytes 0 and 1.
pub inline fn bytes_of(mask: anytype) BytesOf(@TypeOf(mask)) {
    return @intFromBool(mask);
}

fn BytesOf(comptime T: type) type {
    return if (T == bool) u8 else @Vector(@typeInfo(T).vector.len, u8);
}

inline fn pick(comptime T: type, comptime lanes: usize, p: [*]const T, i: usize) Value(T, lanes) {
    if (lanes == 1) return p[i];
    return @as(*align(1) const @Vector(lanes, T), @ptrCast(p + i)).*;
}

pub fn Inputs(comptime Body: type, comptime c: Compute) type {
    var types: [Body.arity]type = undefined;
    for (0..Body.arity) |i| types[i] = [*]const dt.Computed(in_of(Body, c, i));
    return std.meta.Tuple(&types);
}

/// Applies the body to `n` elements that lie without gaps.
inline fn loop(
    comptime Body: type,
    comptime c: Compute,
    p: Params,
    out: [*]dt.Computed(out_of(Body, c)),
    in: Inputs(Body, c),
    n: usize,
) void {
    @setEvalBranchQuota(100_000);
    const lanes = comptime lanes_of(Body, c);
    const Out = dt.Computed(comptime out_of(Body, c));
    var i: usize = 0;
    const unroll = if (lanes == 1) 1 else 4;
    while (i + unroll * lanes <= n) : (i += unroll * lanes) {
        inline for (0..unroll) |u| {
            if (lanes > 1 and u * lanes * @sizeOf(Out) % 64 == 0) fetch_for_write(out + i + u * lanes);
            const r = one(Body, c, lanes, p, in, i + u * lanes);
            put(Out, lanes, out, i + u * lanes, r);
        }
    }
    while (i + lanes <= n) : (i += lanes) put(Out, lanes, out, i, one(Body, c, lanes, p, in, i));
    if (lanes == 1 or i == n) return;
    if (comptime is_heavy(Body)) return tail(Body, c, p, out, in, i, n);
    comptime var part = lanes / 2;
    inline while (part >= 1) : (part /= 2) {
        if (i + part <= n) {
            put(Out, part, out, i, one(Body, c, part, p, in, i));
            i += part;
        }
    }
}

/// Long bodies are not compiled again for the shorter vectors of a tail.
fn is_heavy(comptime Body: type) bool {
    return @hasDecl(Body, "heavy") and Body.heavy;
}

/// Asks for the line that will be written a little later. A fresh result has left the caches; stores wait in order,
/// and too few of them to keep the memory busy.
pub inline fn fetch_for_write(p: anytype) void {
    @prefetch(@as([*]const u8, @ptrCast(p)) + 2048, .{ .rw = .write, .locality = 3 });
}

inline fn put(comptime Out: type, comptime lanes: usize, out: [*]Out, i: usize, r: Value(Out, lanes)) void {
    if (lanes == 1) {
        out[i] = r;
    } else {
        @as(*align(1) @Vector(lanes, Out), @ptrCast(out + i)).* = r;
    }
}

inline fn one(
    comptime Body: type,
    comptime c: Compute,
    comptime lanes: usize,
    p: Params,
    in: Inputs(Body, c),
    i: usize,
) Value(dt.Computed(out_of(Body, c)), lanes) {
    switch (Body.arity) {
        1 => return Body.apply(c, p, pick(dt.Computed(in_of(Body, c, 0)), lanes, in[0], i)),
        2 => return Body.apply(
            c,
            p,
            pick(dt.Computed(in_of(Body, c, 0)), lanes, in[0], i),
            pick(dt.Computed(in_of(Body, c, 1)), lanes, in[1], i),
        ),
        3 => return Body.apply(
            c,
            p,
            pick(dt.Computed(in_of(Body, c, 0)), lanes, in[0], i),
            pick(dt.Computed(in_of(Body, c, 1)), lanes, in[1], i),
            pick(dt.Computed(in_of(Body, c, 2)), lanes, in[2], i),
        ),
        else => @compileError("pointwise bodies take one to three inputs"),
    }
}

/// The last partial vector goes through the same vector code, so that results do not depend on position.
noinline fn tail(
    comptime Body: type,
    comptime c: Compute,
    p: Params,
    out: [*]dt.Computed(out_of(Body, c)),
    in: Inputs(Body, c),
    start: usize,
    n: usize,
) void {
    @setEvalBranchQuota(100_000);
    const lanes = comptime lanes_of(Body, c);
    const Out = dt.Computed(comptime out_of(Body, c));
    var padded: Inputs(Body, c) = undefined;
    var store: [Body.arity][lanes * 16]u8 align(64) = undefined;
    inline for (0..Body.arity) |k| {
        const T = dt.Computed(comptime in_of(Body, c, k));
        const buffer: *[lanes]T = @ptrCast(&store[k]);
        for (buffer, 0..) |*x, j| x.* = in[k][if (start + j < n) start + j else start];
        padded[k] = buffer;
    }
    var result: [lanes]Out = undefined;
    put(Out, lanes, &result, 0, one(Body, c, lanes, p, padded, 0));
    for (start..n) |j| out[j] = result[j - start];
}

/// A body compiled for one compute type, as the driver sees it, which is an object of its own.
pub const Spec = extern struct {
    pub const Loop = *const fn (p: Params, out: [*]u8, in: *const [3][*]const u8, n: usize) callconv(.c) void;

    loop: Loop,
    arity: usize,
    /// Compute types of the result and the inputs.
    types: [4]Compute,
    /// Zeros in the second input are an error, to be found before anything is computed.
    divides: bool,
};

pub const Specs = [@typeInfo(Compute).@"enum".fields.len]?*const Spec;

/// What a body is compiled to: a loop for each of its compute types, and nothing else.
pub fn specs(comptime Body: type) *const Specs {
    return &struct {
        const all: Specs = blk: {
            var t: Specs = @splat(null);
            for (Body.computes) |c| t[@intFromEnum(c)] = &Compiled(Body, c).spec;
            break :blk t;
        };
    }.all;
}

fn Compiled(comptime Body: type, comptime c: Compute) type {
    return struct {
        const spec: Spec = .{
            .loop = run,
            .arity = Body.arity,
            .types = types: {
                var t: [4]Compute = @splat(out_of(Body, c));
                for (0..Body.arity) |k| t[k + 1] = in_of(Body, c, k);
                break :types t;
            },
            .divides = @hasDecl(Body, "divides") and Body.divides(c),
        };

        fn run(p: Params, out: [*]u8, in: *const [3][*]const u8, n: usize) callconv(.c) void {
            var typed: Inputs(Body, c) = undefined;
            inline for (0..Body.arity) |k| typed[k] = @ptrCast(@alignCast(in[k]));
            loop(Body, c, p, @ptrCast(@alignCast(out)), typed, n);
        }
    };
}
