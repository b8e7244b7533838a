//! Sequences of numbers, written to dense memory: start + i * step, and evenly spaced numbers with their powers.
const std = @import("std");
const abi = @import("abi");
const abi_range = @import("abi_range");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const parallel = @import("../core/parallel.zig");
const vm = @import("vmath.zig");

const grain = 32768;

/// Operands: the result, start, step; both are i64 for integers and f64 for floats.
pub fn arange(f: *fr.Frame) abi.Status {
    const out = fr.view(f, 0);
    switch (out.dtype) {
        .bool, .complex64, .complex128 => return .unsupported,
        inline else => |d| {
            const T = dt.Stored(d);
            const Job = struct {
                out: [*]T,
                start: *align(1) const anyopaque,
                step: *align(1) const anyopaque,

                fn part(j: @This(), begin: usize, end: usize) void {
                    const X = if (comptime is_integer(d)) i64 else f64;
                    const start = @as(*align(1) const X, @ptrCast(j.start)).*;
                    const step = @as(*align(1) const X, @ptrCast(j.step)).*;
                    for (begin..end) |i| j.out[i] = element(d, start, step, i);
                }
            };
            const job: Job = .{ .out = out.ptr(T), .start = fr.view(f, 1).data, .step = fr.view(f, 2).data };
            parallel.parallel_for(out.numel(), grain, job, Job.part);
            return .ok;
        },
    }
}

pub fn is_integer(comptime d: abi.DType) bool {
    return switch (d) {
        .uint8, .int8, .int16, .int32, .int64, .uint16, .uint32, .uint64 => true,
        else => false,
    };
}

pub inline fn element(comptime d: abi.DType, start: anytype, step: @TypeOf(start), i: usize) dt.Stored(d) {
    if (@TypeOf(start) == i64) return dt.store(d, .i64, start +% step *% @as(i64, @intCast(i)));
    // Doubles for float32 and float64; the shorter types are computed in f32.
    if (d == .float32 or d == .float64) return dt.store(d, .f64, start + step * @as(f64, @floatFromInt(i)));
    const a: f32 = @floatCast(start);
    const s: f32 = @floatCast(step);
    return dt.store(d, .f32, a + s * @as(f32, @floatFromInt(i)));
}

/// Operands: the result, then start and end as complex128. Attributes: 1 for powers, and their base.
pub fn spaced(f: *fr.Frame) abi.Status {
    const out = fr.view(f, 0);
    const n = out.numel();
    if (n == 0) return .ok;
    const start = fr.view(f, 1).ptr([2]f64)[0];
    const end = fr.view(f, 2).ptr([2]f64)[0];
    const powers = fr.attr_bool(f, abi_range.RangeAttr.powers);
    const base = fr.attr(f, abi_range.RangeAttr.base);
    switch (out.dtype) {
        .bool => return .unsupported,
        inline else => |d| {
            for (out.ptr(dt.Stored(d))[0..n], 0..) |*o, i| o.* = spaced_element(d, start, end, powers, base, i, n);
        },
    }
    return .ok;
}

/// Number i of n, or a power of it.
pub inline fn spaced_element(
    comptime d: abi.DType,
    start: [2]f64,
    end: [2]f64,
    powers: bool,
    base: f64,
    i: usize,
    n: usize,
) dt.Stored(d) {
    const T = dt.Stored(d);
    if (comptime dt.is_complex(T)) {
        const F = @FieldType(T, "re");
        const x: T = .{ .re = point(F, start[0], end[0], i, n), .im = point(F, start[1], end[1], i, n) };
        return if (powers) complex_power(T, base, x) else x;
    }
    if (d == .float32 or d == .float64) {
        const x = point(T, start[0], end[0], i, n);
        return if (powers) @floatCast(vm.pow(base, x)) else x;
    }
    const F = if (comptime is_integer(d)) f64 else f32;
    const c: abi.Compute = if (F == f64) .f64 else .f32;
    // Integer bounds are cut before the step is computed.
    const a = if (F == f64) @trunc(start[0]) else start[0];
    const b = if (F == f64) @trunc(end[0]) else end[0];
    const x = point(F, a, b, i, n);
    return dt.store(d, c, if (powers) @floatCast(vm.pow(base, x)) else x);
}

/// Number i of n: counted from the nearer end, so that both ends are exact.
inline fn point(comptime F: type, start: f64, end: f64, i: usize, n: usize) F {
    const a: F = @floatCast(start);
    if (n == 1) return a;
    const b: F = @floatCast(end);
    const step = (b - a) / @as(F, @floatFromInt(n - 1));
    if (i < n / 2) return @mulAdd(F, step, @floatFromInt(i), a);
    return @mulAdd(F, -step, @floatFromInt(n - 1 - i), b);
}

fn complex_power(comptime T: type, base: f64, x: T) T {
    const size = vm.pow(@abs(base), x.re);
    const angle = x.im * vm.log(@abs(base)) + (if (base < 0) std.math.pi * @as(f64, x.re) else 0);
    const scale = if (base < 0) size * vm.exp(-std.math.pi * @as(f64, x.im)) else size;
    return .{ .re = @floatCast(scale * vm.cos(angle)), .im = @floatCast(scale * vm.sin(angle)) };
}
