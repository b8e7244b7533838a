//! Steps over lists of tensors, in one call for a list of any length. The operands of one member follow those of the
//! other: tensors of one shape and dtype, of which the second is read and the others are written, and for most steps a
//! number, how many have been taken.
const std = @import("std");
const abi = @import("abi");
const convert = @import("convert.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const parallel = @import("../core/parallel.zig");
const pw = @import("pointwise.zig");
const steps = @import("foreach_steps.zig");

const Rounding = steps.Rounding;

pub fn adam(f: *fr.Frame) abi.Status {
    return choose(f, "adam");
}

pub fn sgd(f: *fr.Frame) abi.Status {
    return choose(f, "sgd");
}

pub fn adagrad(f: *fr.Frame) abi.Status {
    return choose(f, "adagrad");
}

pub fn rmsprop(f: *fr.Frame) abi.Status {
    return choose(f, "rmsprop");
}

pub fn scale(f: *fr.Frame) abi.Status {
    return choose(f, "scale");
}

/// Runs what the attributes ask for.
fn choose(f: *fr.Frame, comptime name: []const u8) abi.Status {
    const wanted = steps.body_of(name, &f.attrs);
    inline for (steps.kernels) |k| {
        if (comptime !std.mem.eql(u8, k.name, name)) continue;
        inline for (k.bodies, 0..) |Step, i| {
            if (i == wanted) return run(f, Step);
        }
    }
    unreachable;
}

/// Elements that are brought to buffers together.
const block = 512;

fn run(f: *fr.Frame, comptime Step: type) abi.Status {
    const per = @as(usize, Step.streams) + @intFromBool(Step.steps);
    const members = fr.count(f) / per;
    if (members * per != fr.count(f)) return .bad_argument;
    var total: usize = 0;
    for (0..members) |i| {
        const v = fr.view(f, i * per);
        switch (v.dtype) {
            .float32, .float64, .bfloat16, .float16 => {},
            else => return .unsupported,
        }
        for (1..Step.streams) |k| if (fr.view(f, i * per + k).dtype != v.dtype) return .bad_argument;
        total += v.numel();
    }
    if (Step.steps) for (0..members) |i| {
        const taken = count_on(f, i * per + Step.streams) orelse return .bad_argument;
        // The number has no dimensions: what follows from it stands in their place.
        const facts = Step.facts(&f.attrs, taken);
        fr.operand(f, i * per + Step.streams).shape[0..2].* = facts;
    };
    parallel.parallel_for(total, pw.grain, f, Span(Step).call);
    return .ok;
}

/// One more step was taken. A number without a place was counted before.
fn count_on(f: *fr.Frame, index: usize) ?f64 {
    const v = fr.view(f, index);
    if (v.rank == 1) return v.shape[0];
    switch (v.dtype) {
        .float32 => {
            const n: *align(1) f32 = @ptrCast(v.data);
            n.* += 1;
            return n.*;
        },
        .float64 => {
            const n: *align(1) f64 = @ptrCast(v.data);
            n.* += 1;
            return n.*;
        },
        else => return null,
    }
}

/// A part of the list's elements, as if they were in one row.
fn Span(comptime Step: type) type {
    const per = @as(usize, Step.streams) + @intFromBool(Step.steps);
    return struct {
        fn call(f: *fr.Frame, begin: usize, end: usize) void {
            var at: usize = 0;
            var first: usize = 0;
            while (at < end) : (first += per) {
                const n = fr.view(f, first).numel();
                if (at + n > begin) part(f, first, @max(begin, at) - at, @min(end, at + n) - at);
                at += n;
            }
        }

        fn part(f: *fr.Frame, first: usize, from: usize, to: usize) void {
            var numbers: steps.Numbers = .{ .attrs = &f.attrs, .facts = .{ 0, 0 } };
            if (Step.steps) numbers.facts = fr.operand(f, first + Step.streams).shape[0..2].*;
            switch (fr.view(f, first).dtype) {
                .float32 => Part(Step, f32, .none).call(f, first, from, to, numbers),
                .float64 => Part(Step, f64, .none).call(f, first, from, to, numbers),
                .bfloat16 => Part(Step, f32, .bf16).call(f, first, from, to, numbers),
                .float16 => Part(Step, f32, .f16).call(f, first, from, to, numbers),
                else => unreachable,
            }
        }
    };
}

fn Part(comptime Step: type, comptime T: type, comptime rounding: Rounding) type {
    const c: abi.Compute = if (T == f64) .f64 else .f32;
    const lanes = pw.vector_lanes(c);
    const count = Step.streams;
    const size: usize = if (rounding == .none) @sizeOf(T) else 2;
    return struct {
        const Pointers = [count][*]align(1) T;

        fn call(f: *fr.Frame, first: usize, from: usize, to: usize, numbers: steps.Numbers) void {
            if (from == to) return;
            for (0..count) |k| {
                const v = fr.view(f, first + k);
                if (v.rank != 1 or v.stride(0) != 1) return strided(f, first, from, to, numbers);
            }
            if (rounding != .none) return by_blocks(f, first, from, to, numbers);
            var p: Pointers = undefined;
            for (&p, 0..) |*x, k| x.* = @as([*]align(1) T, @ptrCast(fr.view(f, first + k).data)) + from;
            elements(p, to - from, numbers);
        }

        fn by_blocks(f: *fr.Frame, first: usize, from: usize, to: usize, numbers: steps.Numbers) void {
            var at = from;
            while (at < to) {
                const n = @min(block, to - at);
                var places: [count][*]u8 = undefined;
                for (&places, 0..) |*x, k| x.* = fr.view(f, first + k).data + at * size;
                buffered(places, @splat(1), fr.view(f, first).dtype, n, numbers);
                at += n;
            }
        }

        fn strided(f: *fr.Frame, first: usize, from: usize, to: usize, numbers: steps.Numbers) void {
            var space: iter.Space = .{ .operands = count };
            const shape = fr.view(f, first);
            for (0..shape.rank) |back| {
                const d = shape.rank - 1 - back;
                space.total *= shape.size(d);
                if (shape.size(d) == 1) continue;
                space.sizes[space.rank] = shape.size(d);
                for (0..count) |k| space.strides[k][space.rank] = fr.view(f, first + k).stride(d);
                space.rank += 1;
            }
            space.coalesce();
            var cursors: [count]iter.Cursor = undefined;
            for (&cursors, 0..) |*x, k| x.reset(&space, k, from);
            var at = from;
            while (at < to) {
                const n = cursors[0].run(@min(block, to - at));
                var places: [count][*]u8 = undefined;
                var gaps: [count]isize = undefined;
                for (&cursors, 0..) |*x, k| {
                    const bytes: usize = @bitCast(x.offset * @as(isize, @intCast(size)));
                    places[k] = @ptrFromInt(@intFromPtr(fr.view(f, first + k).data) +% bytes);
                    gaps[k] = space.strides[k][0];
                    x.advance(n);
                }
                buffered(places, gaps, shape.dtype, n, numbers);
                at += n;
            }
        }

        /// Up to `block` elements, by way of buffers of the compute type.
        fn buffered(
            places: [count][*]u8,
            gaps: [count]isize,
            dtype: abi.DType,
            n: usize,
            numbers: steps.Numbers,
        ) void {
            var buffers: [count][block]T align(64) = undefined;
            var p: Pointers = undefined;
            for (0..count) |k| {
                convert.load(c, dtype, @ptrCast(&buffers[k]), places[k], gaps[k], n);
                p[k] = &buffers[k];
            }
            elements(p, n, numbers);
            for (0..count) |k| if (k != 1) {
                convert.store_of(c, dtype)(@ptrCast(&buffers[k]), places[k], gaps[k], n);
            };
        }

        fn elements(p: Pointers, n: usize, numbers: steps.Numbers) void {
            @setEvalBranchQuota(10_000);
            // What is rounded lies in buffers, which have room for whole vectors.
            const whole = if (rounding == .none) n / lanes * lanes else n;
            var i: usize = 0;
            while (i < whole) : (i += lanes) at_once(@Vector(lanes, T), p, i, numbers);
            if (rounding == .none) while (i < n) : (i += 1) at_once(T, p, i, numbers);
        }

        inline fn at_once(comptime V: type, p: Pointers, i: usize, numbers: steps.Numbers) void {
            var x: [count]V = undefined;
            inline for (0..count) |k| x[k] = @as(*align(1) const V, @ptrCast(p[k] + i)).*;
            Step.apply(rounding, numbers, &x);
            inline for (0..count) |k| if (k != 1) {
                @as(*align(1) V, @ptrCast(p[k] + i)).* = x[k];
            };
        }
    };
}
