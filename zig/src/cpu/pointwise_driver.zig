//! Runs every pointwise kernel: streams blocks of the operands through a compiled loop. The loop and the types are
//! values here, so that this code exists once for all kernels.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const parallel = @import("../core/parallel.zig");
const convert = @import("convert.zig");
const conversion = @import("conversion.zig");
const dt = @import("../core/dtype.zig");
const object = @import("object.zig");
const panel = @import("panel.zig");
const pw = @import("pointwise.zig");

const Spec = pw.Spec;
const most_operands = 4;
/// All block buffers of a call, one after the other.
const Buffers = [most_operands * convert.block * convert.widest]u8;

comptime {
    @export(&run, .{ .name = object.symbol(cfg.variant, "pointwise", "run"), .visibility = .hidden });
    @export(&fast, .{ .name = object.symbol(cfg.variant, "pointwise", "fast"), .visibility = .hidden });
    convert.export_tables();
}

/// The frame call of a body.
fn run(specs: *const pw.Specs, f: *fr.Frame) callconv(.c) abi.Status {
    const c: usize = @intFromFloat(f.compute);
    const native = (if (c < specs.native.len) specs.native[c] else null) orelse return .unsupported;
    var space: iter.Space = undefined;
    space.init(f, native.arity + 1);
    if (space.total == 0) return .ok;
    const spec = short_spec(specs, c, native.arity, f, &space) orelse native;
    if (spec.divides and has_zero(spec, f, &space)) return .zero_division;
    if (spec.identity and f.sequential == 0) return conversion.run(f, &space, spec.computes[0]);
    if (f.sequential != 0) {
        chunk(spec, f, &space, 0, space.total, 1);
        return .ok;
    }
    if (panel.suits(spec, f, &space)) {
        panel.run(spec, f, &space);
        return .ok;
    }
    const job: Job = .{ .f = f, .space = &space, .spec = spec };
    if (all_dense(spec, f, &space)) {
        parallel.parallel_for(space.total, pw.grain, job, Job.dense);
    } else parallel.parallel_for(space.total, pw.grain, job, Job.part);
    return .ok;
}

/// Elements of a block of which no operand needs a buffer but constants: of short dtypes these hold more.
fn long_block(width: usize) usize {
    return @max(convert.block, long_bytes / width);
}

/// Bytes of a constant's buffer that are used: all operands together stay in the nearest cache.
const long_bytes = 8192;

/// The loop for a short dtype that is computed in `c`, where every operand has it, or is one constant that is a value
/// of it.
fn short_spec(specs: *const pw.Specs, c: usize, arity: usize, f: *fr.Frame, space: *const iter.Space) ?*const Spec {
    for (1..arity + 1) |k| {
        const d: abi.DType = @enumFromInt(@as(u8, @intFromFloat(fr.operand(f, k).dtype)));
        const spec = specs.short[pw.short_index(d) orelse continue] orelse continue;
        if (spec.types[k] != d or @intFromEnum(spec.computes[k]) != c) continue;
        return if (takes(spec, f, space)) spec else null;
    }
    return null;
}

fn takes(spec: *const Spec, f: *fr.Frame, space: *const iter.Space) bool {
    for (spec.types[0 .. spec.arity + 1], 0..) |d, k| {
        const v = fr.view(f, k);
        if (convert.is_native(&v, d)) continue;
        if (k == 0 or !space.is_constant(k)) return false;
        const constant: convert.Constant = .{ .view = v, .wanted = d, .compute = spec.computes[k] };
        if (!constant.fits()) return false;
    }
    return true;
}

/// Whether the second input, of integers, holds a zero.
fn has_zero(spec: *const Spec, f: *fr.Frame, space: *const iter.Space) bool {
    var buffer: [convert.block * convert.widest]u8 align(64) = undefined;
    var s: convert.Operand = undefined;
    s.open(spec.types[2], spec.computes[2], f, space, 2, 0, &buffer);
    var at: usize = 0;
    while (at < space.total) {
        const n = if (s.constant) 1 else @min(convert.block, space.total - at);
        const found = switch (s.width) {
            inline 1, 2, 4, 8 => |w| holds_zero(panel.Word(w), s.read(n), n),
            else => unreachable,
        };
        if (found or s.constant) return found;
        at += n;
    }
    return false;
}

fn holds_zero(comptime T: type, p: [*]const u8, n: usize) bool {
    var found: T = 0;
    for (@as([*]align(1) const T, @ptrCast(p))[0..n]) |x| found |= @intFromBool(x == 0);
    return found != 0;
}

fn all_dense(spec: *const Spec, f: *fr.Frame, space: *const iter.Space) bool {
    if (space.rank != 1) return false;
    for (0..spec.arity + 1) |k| {
        const v = fr.view(f, k);
        if (!space.is_dense(k) or !convert.is_native(&v, spec.types[k])) return false;
    }
    return true;
}

const Job = struct {
    f: *fr.Frame,
    space: *const iter.Space,
    spec: *const Spec,

    fn part(job: Job, begin: usize, end: usize) void {
        chunk(job.spec, job.f, job.space, begin, end, convert.block);
    }

    /// Every operand lies in memory as the loop wants it.
    fn dense(job: Job, begin: usize, end: usize) void {
        var in: [3][*]const u8 = undefined;
        for (0..job.spec.arity) |k| in[k] = job.at(k + 1, begin);
        job.spec.loop(.{ .attrs = &job.f.attrs }, job.at(0, begin), &in, end - begin);
    }

    fn at(job: Job, k: usize, element: usize) [*]u8 {
        return fr.view(job.f, k).data + element * dt.size_of(job.spec.types[k]);
    }
};

fn chunk(spec: *const Spec, f: *fr.Frame, space: *const iter.Space, begin: usize, end: usize, most: usize) void {
    var memory: Buffers align(64) = undefined;
    var operands: [most_operands]convert.Operand = undefined;
    var buffer: [*]u8 = &memory;
    const used = operands[0 .. spec.arity + 1];
    for (used, 0..) |*s, k| {
        s.open(spec.types[k], spec.computes[k], f, space, k, begin, buffer);
        buffer += convert.block * convert.widest;
    }
    const p: pw.Params = .{ .attrs = &f.attrs };
    if (most > 1 and space.rank > 1 and space.sizes[0] >= long_run) return by_runs(spec, space, used, begin, end, p);
    const longest = if (most > 1 and unbuffered(used)) long_block(widest_of(used)) else most;
    var at = begin;
    while (at < end) {
        const n = @min(longest, end - at);
        var in: [3][*]const u8 = undefined;
        for (used[1..], 0..) |*s, k| in[k] = s.read(n);
        spec.loop(p, used[0].target(), &in, n);
        used[0].commit(n);
        at += n;
    }
}

fn unbuffered(operands: []const convert.Operand) bool {
    for (operands, 0..) |*s, k| if (!s.dense and (k == 0 or !s.constant)) return false;
    return true;
}

fn widest_of(operands: []const convert.Operand) usize {
    var most: usize = 1;
    for (operands) |*s| most = @max(most, s.width);
    return most;
}

/// From this length on the innermost dimension is worth a pass of its own.
const long_run = 128;

/// One element that serves a whole run is written so many times, and read again and again.
const repeated: usize = 256;

/// Run by run along the innermost dimension, so that operands without gaps there are not copied.
fn by_runs(
    spec: *const Spec,
    space: *const iter.Space,
    operands: []convert.Operand,
    begin: usize,
    end: usize,
    p: pw.Params,
) void {
    var most: usize = std.math.maxInt(usize);
    for (operands) |*s| {
        if (!(s.dense or s.linear)) most = @min(most, if (s.repeats) repeated else convert.block);
    }
    var left = space.sizes[0] - begin % space.sizes[0];
    var at = begin;
    while (at < end) {
        const n = @min(@min(left, end - at), most);
        var in: [3][*]const u8 = undefined;
        for (operands[1..], 0..) |*s, k| in[k] = s.read_run(n);
        spec.loop(p, operands[0].target_run(), &in, n);
        operands[0].commit_run(n);
        at += n;
        left -= n;
        if (left == 0) left = space.sizes[0];
    }
}

/// Bits of the first argument of the numbers-only call.
const code_scalar = [3]u32{
    abi.FastFlag.first_is_number, abi.FastFlag.second_is_number, abi.FastFlag.third_is_number,
};
const no_attrs: pw.Params.Attrs = @splat(0);

/// The numbers-only call: operands without gaps in their native dtype, or one constant each.
fn fast(specs: *const pw.Specs, code: u32, out: usize, in: *const [3]usize, n: usize) callconv(.c) abi.Status {
    const c = code & abi.FastFlag.compute_mask;
    const spec = (if (c < specs.native.len) specs.native[c] else null) orelse return .unsupported;
    const call: FastCall = .{ .spec = spec, .code = code, .out = out, .in = in };
    parallel.parallel_for(n, pw.grain, call, FastCall.span);
    return .ok;
}

const FastCall = struct {
    spec: *const Spec,
    code: u32,
    out: usize,
    in: *const [3]usize,

    fn span(call: FastCall, begin: usize, end: usize) void {
        if (call.code & (code_scalar[0] | code_scalar[1] | code_scalar[2]) != 0) return call.with_constants(begin, end);
        if (begin == 0) return call.go(call.out, @ptrCast(call.in), end);
        var in: [3][*]const u8 = undefined;
        for (0..call.spec.arity) |k| in[k] = @ptrFromInt(call.in[k] + begin * call.width(k + 1));
        call.go(call.out + begin * call.width(0), &in, end - begin);
    }

    inline fn go(call: FastCall, out: usize, in: *const [3][*]const u8, n: usize) void {
        call.spec.loop(.{ .attrs = &no_attrs }, @ptrFromInt(out), in, n);
    }

    fn width(call: FastCall, k: usize) usize {
        return dt.size_of(call.spec.types[k]);
    }

    fn with_constants(call: FastCall, begin: usize, end: usize) void {
        var buffers: Buffers align(64) = undefined;
        const most = long_block(call.widest());
        const first = @min(most, end - begin);
        for (0..call.spec.arity) |k| {
            if (call.code & code_scalar[k] == 0) continue;
            panel.repeat(call.width(k + 1), buffer_of(&buffers, k), call.in[k], first);
        }
        var at = begin;
        while (at < end) {
            const n = @min(most, end - at);
            var in: [3][*]const u8 = undefined;
            for (0..call.spec.arity) |k| {
                in[k] = if (call.code & code_scalar[k] != 0)
                    buffer_of(&buffers, k)
                else
                    @ptrFromInt(call.in[k] + at * call.width(k + 1));
            }
            call.go(call.out + at * call.width(0), &in, n);
            at += n;
        }
    }

    fn widest(call: FastCall) usize {
        var most: usize = 1;
        for (0..call.spec.arity + 1) |k| most = @max(most, call.width(k));
        return most;
    }

    fn buffer_of(buffers: *Buffers, k: usize) [*]u8 {
        return @as([*]u8, buffers) + k * convert.block * convert.widest;
    }
};
