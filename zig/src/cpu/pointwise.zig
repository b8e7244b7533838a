//! What a pointwise kernel is compiled to: a loop over elements without gaps, from a body that is written once for
//! scalars and vectors. `pointwise_driver.zig` brings the operands to it.
//!
//! A body is a struct with `arity`, `computes`, `apply(comptime c, params, inputs...)` and, when they differ
//! from the compute type, `Out(c)` and `In(c, i)`; `lanes(c)` gives 1 where a body has no vector form.
//!
//! Bodies that are short are compiled for short dtypes too, to work on memory as it is: small integers are computed
//! modulo their size, which leaves the bits that i32 would, and bfloat16 is widened in registers, or goes through
//! `bits` where that is all it takes. `short(d)` tells for which of them a long body is worth it.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const dt = @import("../core/dtype.zig");
const half = @import("../core/half.zig");

pub const Compute = abi.Compute;
const DType = abi.DType;
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

    /// Attribute `i` as the values that a body computes with, `V`.
    pub inline fn value(p: Params, comptime c: Compute, comptime V: type, comptime i: usize) V {
        if (comptime dt.is_complex(V)) {
            return .{ .re = @floatCast(p.attrs[2 * i]), .im = @floatCast(p.attrs[2 * i + 1]) };
        }
        const full = dt.cast(c, p.attrs[2 * i]);
        if (@typeInfo(V) != .vector) return if (@TypeOf(full) == V) full else dt.integer(V, full);
        const T = @typeInfo(V).vector.child;
        return @splat(if (@TypeOf(full) == T) full else dt.integer(T, full));
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
        .b8 => 4 * cfg.lanes,
        .c64, .c128 => 1,
    };
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

/// What a comparison of such values gives: a byte in every lane.
pub fn Truths(comptime T: type) type {
    return Value(u8, if (@typeInfo(T) == .vector) @typeInfo(T).vector.len else 1);
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

/// The dtypes of the memory that a loop reads and writes, and how many elements it takes at once.
const Form = struct {
    c: Compute,
    out: DType,
    in: [3]DType,
    lanes: usize,
    /// The body works on the bits of bfloat16.
    bits: bool = false,

    /// What the body sees of an element of memory.
    fn Seen(comptime f: Form, comptime d: DType) type {
        return if (d == .bfloat16 and !f.bits) f32 else dt.Stored(d);
    }
};

fn native_form(comptime Body: type, comptime c: Compute) Form {
    var f: Form = .{ .c = c, .out = dt.native_dtype(out_of(Body, c)), .in = undefined, .lanes = vector_lanes(c) };
    for (0..Body.arity) |k| f.in[k] = dt.native_dtype(in_of(Body, c, k));
    if (@hasDecl(Body, "lanes")) f.lanes = Body.lanes(c);
    return f;
}

fn short_form(comptime Body: type, comptime d: DType) Form {
    const c: Compute = if (d == .bfloat16) .f32 else .i32;
    var f = native_form(Body, c);
    if (out_of(Body, c) == c) f.out = d;
    for (0..Body.arity) |k| if (in_of(Body, c, k) == c) {
        f.in[k] = d;
    };
    f.bits = d == .bfloat16 and @hasDecl(Body, "bits");
    f.lanes = if (f.Seen(d) == f32) cfg.lanes else 4 * cfg.lanes / @sizeOf(dt.Stored(d));
    return f;
}

inline fn pick(
    comptime f: Form,
    comptime d: DType,
    comptime lanes: usize,
    p: [*]const dt.Stored(d),
    i: usize,
) Value(f.Seen(d), lanes) {
    const x = if (lanes == 1) p[i] else @as(*align(1) const @Vector(lanes, dt.Stored(d)), @ptrCast(p + i)).*;
    return if (f.Seen(d) != dt.Stored(d)) half.bf16_to_f32(x) else x;
}

inline fn put(
    comptime f: Form,
    comptime lanes: usize,
    out: [*]dt.Stored(f.out),
    i: usize,
    r: Value(f.Seen(f.out), lanes),
) void {
    const x = if (f.Seen(f.out) != dt.Stored(f.out)) half.f32_to_bf16(r) else r;
    if (lanes == 1) {
        out[i] = x;
    } else {
        @as(*align(1) @Vector(lanes, dt.Stored(f.out)), @ptrCast(out + i)).* = x;
    }
}

fn Inputs(comptime Body: type, comptime f: Form) type {
    var types: [Body.arity]type = undefined;
    for (0..Body.arity) |i| types[i] = [*]const dt.Stored(f.in[i]);
    return std.meta.Tuple(&types);
}

/// Applies the body to `n` elements that lie without gaps.
inline fn loop(
    comptime Body: type,
    comptime f: Form,
    p: Params,
    out: [*]dt.Stored(f.out),
    in: Inputs(Body, f),
    n: usize,
) void {
    @setEvalBranchQuota(100_000);
    const lanes = f.lanes;
    var i: usize = 0;
    const unroll = if (lanes == 1) 1 else 4;
    while (i + unroll * lanes <= n) : (i += unroll * lanes) {
        inline for (0..unroll) |u| {
            if (lanes > 1 and u * lanes * @sizeOf(dt.Stored(f.out)) % 64 == 0) fetch_for_write(out + i + u * lanes);
            put(f, lanes, out, i + u * lanes, one(Body, f, lanes, p, in, i + u * lanes));
        }
    }
    while (i + lanes <= n) : (i += lanes) put(f, lanes, out, i, one(Body, f, lanes, p, in, i));
    if (lanes == 1 or i == n) return;
    if (comptime is_heavy(Body)) return tail(Body, f, p, out, in, i, n);
    comptime var part = lanes / 2;
    inline while (part >= 1) : (part /= 2) {
        if (i + part <= n) {
            put(f, part, out, i, one(Body, f, part, p, in, i));
            i += part;
        }
    }
}

/// Long bodies are not compiled again for the shorter vectors of a tail, nor for short dtypes.
fn is_heavy(comptime Body: type) bool {
    return @hasDecl(Body, "heavy") and Body.heavy;
}

/// Asks for the line that will be written a little later. A fresh result has left the caches; stores wait in order,
/// and too few of them to keep the memory busy.
pub inline fn fetch_for_write(p: anytype) void {
    @prefetch(@as([*]const u8, @ptrCast(p)) + 2048, .{ .rw = .write, .locality = 3 });
}

inline fn one(
    comptime Body: type,
    comptime f: Form,
    comptime lanes: usize,
    p: Params,
    in: Inputs(Body, f),
    i: usize,
) Value(f.Seen(f.out), lanes) {
    if (f.bits and Body.arity == 1) return Body.bits(pick(f, f.in[0], lanes, in[0], i));
    if (f.bits) return Body.bits(pick(f, f.in[0], lanes, in[0], i), pick(f, f.in[1], lanes, in[1], i));
    switch (Body.arity) {
        1 => return Body.apply(f.c, p, pick(f, f.in[0], lanes, in[0], i)),
        2 => return Body.apply(f.c, p, pick(f, f.in[0], lanes, in[0], i), pick(f, f.in[1], lanes, in[1], i)),
        3 => return Body.apply(
            f.c,
            p,
            pick(f, f.in[0], lanes, in[0], i),
            pick(f, f.in[1], lanes, in[1], i),
            pick(f, f.in[2], lanes, in[2], i),
        ),
        else => @compileError("pointwise bodies take one to three inputs"),
    }
}

/// The last partial vector goes through the same vector code, so that results do not depend on position.
noinline fn tail(
    comptime Body: type,
    comptime f: Form,
    p: Params,
    out: [*]dt.Stored(f.out),
    in: Inputs(Body, f),
    start: usize,
    n: usize,
) void {
    @setEvalBranchQuota(100_000);
    var padded: Inputs(Body, f) = undefined;
    var store: [Body.arity][f.lanes * 16]u8 align(64) = undefined;
    inline for (0..Body.arity) |k| {
        const buffer: *[f.lanes]dt.Stored(f.in[k]) = @ptrCast(&store[k]);
        for (buffer, 0..) |*x, j| x.* = in[k][if (start + j < n) start + j else start];
        padded[k] = buffer;
    }
    var result: [f.lanes]dt.Stored(f.out) = undefined;
    put(f, f.lanes, &result, 0, one(Body, f, f.lanes, p, padded, 0));
    for (start..n) |j| out[j] = result[j - start];
}

/// A body's loop over memory of certain dtypes, as the driver sees it, which is an object of its own.
pub const Spec = extern struct {
    pub const Loop = *const fn (p: Params, out: [*]u8, in: *const [3][*]const u8, n: usize) callconv(.c) void;

    loop: Loop,
    arity: usize,
    /// The dtypes of the result and the inputs, and the compute types that other dtypes are converted through.
    types: [4]DType,
    computes: [4]Compute,
    /// Zeros in the second input are an error, to be found before anything is computed.
    divides: bool,
    /// The result is the input: no loop is needed where a conversion does it all.
    identity: bool,
};

/// The dtypes that some loops take as they are, though they are not computed in.
pub const short_dtypes = [_]DType{ .uint8, .int8, .int16, .bfloat16 };

pub fn short_index(d: DType) ?usize {
    return switch (d) {
        inline .uint8, .int8, .int16, .bfloat16 => |k| comptime std.mem.indexOfScalar(DType, &short_dtypes, k),
        else => null,
    };
}

pub const Specs = extern struct {
    native: [@typeInfo(Compute).@"enum".fields.len]?*const Spec,
    short: [short_dtypes.len]?*const Spec,
};

/// What a body is compiled to: loops, and nothing else.
pub fn specs(comptime Body: type) *const Specs {
    return &struct {
        const all: Specs = blk: {
            var t: Specs = .{ .native = @splat(null), .short = @splat(null) };
            for (Body.computes) |c| t.native[@intFromEnum(c)] = &Compiled(Body, native_form(Body, c)).spec;
            for (short_dtypes, &t.short) |d, *to| {
                const f = short_form(Body, d);
                if (!has_short(Body, d) or t.native[@intFromEnum(f.c)] == null) continue;
                to.* = &Compiled(Body, f).spec;
            }
            break :blk t;
        };
    }.all;
}

fn has_short(comptime Body: type, comptime d: DType) bool {
    if (@hasDecl(Body, "short")) return Body.short(d);
    return !is_heavy(Body) and !@hasDecl(Body, "lanes");
}

fn Compiled(comptime Body: type, comptime f: Form) type {
    return struct {
        const spec: Spec = blk: {
            var s: Spec = .{
                .loop = run,
                .arity = Body.arity,
                .types = @splat(f.out),
                .computes = @splat(out_of(Body, f.c)),
                .divides = @hasDecl(Body, "divides") and Body.divides(f.c),
                .identity = @hasDecl(Body, "identity"),
            };
            for (0..Body.arity) |k| {
                s.types[k + 1] = f.in[k];
                s.computes[k + 1] = in_of(Body, f.c, k);
            }
            break :blk s;
        };

        fn run(p: Params, out: [*]u8, in: *const [3][*]const u8, n: usize) callconv(.c) void {
            var typed: Inputs(Body, f) = undefined;
            inline for (0..Body.arity) |k| typed[k] = @ptrCast(@alignCast(in[k]));
            // A copy that the results cannot lie over: the compiler reads its numbers once, before the loop.
            const attrs = p.attrs.*;
            loop(Body, f, .{ .attrs = &attrs }, @ptrCast(@alignCast(out)), typed, n);
        }
    };
}
