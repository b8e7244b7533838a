//! The driver of every pointwise kernel: streams blocks of the operands through a body that is written once for
//! scalars and vectors.
//!
//! A body is a struct with `arity`, `computes`, `apply(comptime c, params, inputs...)` and, when they differ
//! from the compute type, `Out(c)` and `In(c, i)`; `lanes(c)` gives 1 where a body has no vector form.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const parallel = @import("../core/parallel.zig");
const convert = @import("convert.zig");
const panel = @import("panel.zig");

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
pub const Params = struct {
    attrs: *const [fr_attrs]f64,

    const fr_attrs = @typeInfo(@FieldType(abi.Frame, "attrs")).array.len;

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
pub fn loop(
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

/// The frame call of a body.
pub fn kernel(comptime Body: type) fn (*fr.Frame) abi.Status {
    return struct {
        fn call(f: *fr.Frame) abi.Status {
            const c: Compute = @enumFromInt(@as(u8, @intFromFloat(f.compute)));
            inline for (Body.computes) |k| {
                if (c == k) return run(Body, k, f);
            }
            return .unsupported;
        }
    }.call;
}

fn run(comptime Body: type, comptime c: Compute, f: *fr.Frame) abi.Status {
    var space: iter.Space = undefined;
    space.init(f, Body.arity + 1);
    if (space.total == 0) return .ok;
    if (@hasDecl(Body, "check")) {
        const status = Body.check(c, f, &space);
        if (status != .ok) return status;
    }
    if (f.sequential != 0) {
        chunk(Body, c, f, &space, 0, space.total, 1);
        return .ok;
    }
    if (panel.suits(Body, c, f, &space)) {
        panel.run(Body, c, f, &space);
        return .ok;
    }
    const Job = struct {
        f: *fr.Frame,
        space: *const iter.Space,
        fn part(job: @This(), begin: usize, end: usize) void {
            chunk(Body, c, job.f, job.space, begin, end, convert.block);
        }
    };
    parallel.parallel_for(space.total, grain, Job{ .f = f, .space = &space }, Job.part);
    return .ok;
}

fn chunk(
    comptime Body: type,
    comptime c: Compute,
    f: *fr.Frame,
    space: *const iter.Space,
    begin: usize,
    end: usize,
    most: usize,
) void {
    const p: Params = .{ .attrs = &f.attrs };
    const oc = comptime out_of(Body, c);
    var out_buffer: [convert.block]dt.Computed(oc) align(64) = undefined;
    var out: convert.Stream(oc) = undefined;
    out.open(f, space, 0, begin, &out_buffer);
    var buffers: Buffers(Body, c) = undefined;
    var streams: Streams(Body, c) = undefined;
    inline for (0..Body.arity) |k| {
        streams[k].open(f, space, k + 1, begin, &buffers[k]);
    }
    if (most > 1 and space.rank > 1 and space.sizes[0] >= long_run) {
        return by_runs(Body, c, space, &out, &streams, begin, end, p);
    }
    var direct = out.dense;
    inline for (0..Body.arity) |k| direct = direct and streams[k].dense;
    const step = if (direct and most > 1) end - begin else most;
    var at = begin;
    while (at < end) {
        const n = @min(step, end - at);
        var in: Inputs(Body, c) = undefined;
        inline for (0..Body.arity) |k| in[k] = streams[k].read(n);
        loop(Body, c, p, out.target(), in, n);
        out.commit(n);
        at += n;
    }
}

/// From this length on the innermost dimension is worth a pass of its own.
const long_run = 128;

/// Run by run along the innermost dimension, so that operands without gaps there are not copied.
fn by_runs(
    comptime Body: type,
    comptime c: Compute,
    space: *const iter.Space,
    out: anytype,
    streams: *Streams(Body, c),
    begin: usize,
    end: usize,
    p: Params,
) void {
    var staged = !(out.dense or out.linear);
    inline for (0..Body.arity) |k| staged = staged or !(streams[k].dense or streams[k].linear);
    const most: usize = if (staged) convert.block else std.math.maxInt(usize);
    var left = space.sizes[0] - begin % space.sizes[0];
    var at = begin;
    while (at < end) {
        const n = @min(@min(left, end - at), most);
        var in: Inputs(Body, c) = undefined;
        inline for (0..Body.arity) |k| in[k] = streams[k].read_run(n);
        loop(Body, c, p, out.target_run(), in, n);
        out.commit_run(n);
        at += n;
        left -= n;
        if (left == 0) left = space.sizes[0];
    }
}

fn Buffers(comptime Body: type, comptime c: Compute) type {
    var types: [Body.arity]type = undefined;
    for (0..Body.arity) |i| types[i] = [convert.block]dt.Computed(in_of(Body, c, i));
    return std.meta.Tuple(&types);
}

fn Streams(comptime Body: type, comptime c: Compute) type {
    var types: [Body.arity]type = undefined;
    for (0..Body.arity) |i| types[i] = convert.Stream(in_of(Body, c, i));
    return std.meta.Tuple(&types);
}

/// Bits of the first argument of the numbers-only call.
pub const code_scalar = [3]u32{ 1 << 8, 1 << 9, 1 << 10 };

/// The numbers-only call: operands without gaps in their native dtype, or one constant each.
pub fn fast(comptime Body: type, comptime c: Compute) FastFn(Body.arity) {
    const H = struct {
        const Out = dt.Computed(out_of(Body, c));
        const zero_attrs: [@typeInfo(@FieldType(abi.Frame, "attrs")).array.len]f64 = @splat(0);

        fn go(code: u32, out: usize, in: [Body.arity]usize, n: usize) abi.Status {
            const Job = struct {
                code: u32,
                out: usize,
                in: [Body.arity]usize,
                fn part(j: @This(), begin: usize, end: usize) void {
                    span(j.code, j.out, j.in, begin, end);
                }
            };
            if (n <= grain) {
                span(code, out, in, 0, n);
            } else {
                parallel.parallel_for(n, grain, Job{ .code = code, .out = out, .in = in }, Job.part);
            }
            return .ok;
        }

        fn span(code: u32, out: usize, in: [Body.arity]usize, begin: usize, end: usize) void {
            const p: Params = .{ .attrs = &zero_attrs };
            const o: [*]Out = @as([*]Out, @ptrFromInt(out)) + begin;
            var inputs: Inputs(Body, c) = undefined;
            if (code & (code_scalar[0] | code_scalar[1] | code_scalar[2]) == 0) {
                inline for (0..Body.arity) |k| {
                    inputs[k] = @as([*]const dt.Computed(in_of(Body, c, k)), @ptrFromInt(in[k])) + begin;
                }
                return loop(Body, c, p, o, inputs, end - begin);
            }
            constant_span(code, o, in, begin, end);
        }

        fn constant_span(code: u32, o: [*]Out, in: [Body.arity]usize, begin: usize, end: usize) void {
            const p: Params = .{ .attrs = &zero_attrs };
            var buffers: Buffers(Body, c) = undefined;
            var at = begin;
            const first = @min(convert.block, end - begin);
            inline for (0..Body.arity) |k| {
                if (code & code_scalar[k] != 0) {
                    const T = dt.Computed(comptime in_of(Body, c, k));
                    const x = @as(*align(1) const T, @ptrFromInt(in[k])).*;
                    for (buffers[k][0..first]) |*b| b.* = x;
                }
            }
            while (at < end) {
                const n = @min(convert.block, end - at);
                var inputs: Inputs(Body, c) = undefined;
                inline for (0..Body.arity) |k| {
                    const T = dt.Computed(comptime in_of(Body, c, k));
                    inputs[k] = if (code & code_scalar[k] != 0)
                        &buffers[k]
                    else
                        @as([*]const T, @ptrFromInt(in[k])) + at;
                }
                loop(Body, c, p, o + (at - begin), inputs, n);
                at += n;
            }
        }
    };
    return H.go;
}

pub fn FastFn(comptime arity: usize) type {
    return fn (code: u32, out: usize, in: [arity]usize, n: usize) abi.Status;
}
