//! Extremes and where the first of them is. Operand 0 receives the values, operand 1 the int64 positions, operand 2 is
//! read; the reduced dimensions must merge into one, along which positions count. NaN wins, the first NaN.
//! The loops of reduce_arg_inner.zig are values here, so that this code exists once for all types.
const std = @import("std");
const abi = @import("abi");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const inner = @import("reduce_arg_inner.zig");
const parallel = @import("../core/parallel.zig");
const plans = @import("reduce_plan.zig");

const Inner = inner.Inner;
const Plan = plans.Plan;
const Walk = plans.Walk;
const element = plans.element;

const max_width = 256;
const block = 4096;
/// Bytes of the widest value.
const widest = 8;
const Values = [max_width * widest]u8;

const largest = inner.loops(true);
const smallest = inner.loops(false);

pub fn arg_max(f: *fr.Frame) abi.Status {
    return run(&largest, f);
}
pub fn arg_min(f: *fr.Frame) abi.Status {
    return run(&smallest, f);
}

const Best = struct { value: [widest]u8 align(widest), index: i64 };

fn run(all: *const inner.Loops, f: *fr.Frame) abi.Status {
    const c: usize = @intFromFloat(f.compute);
    const loop = (if (c < all.len) all[c] else null) orelse return .unsupported;
    var plan: Plan = undefined;
    plan.open(f, 2, 2, max_width);
    if (plan.tasks == 0 or plan.reduced.total == 0) return .ok;
    if (plan.reduced.rank > 1) return .bad_argument;
    var job: Job = .{ .f = f, .plan = &plan, .src = fr.view(f, 2), .loop = loop, .partials = undefined };
    if (plan.parts == 1) {
        parallel.parallel_for(plan.tasks, plan.task_grain(), &job, Job.tasks);
        return .ok;
    }
    const count = plan.tasks * plan.parts * plan.width;
    const scratch = parallel.Scratch.acquire(count * @sizeOf(Best)) orelse return .out_of_memory;
    defer scratch.release();
    job.partials = scratch.slice(Best, count).ptr;
    parallel.parallel_for(plan.tasks * plan.parts, 1, &job, Job.parts);
    for (0..plan.tasks) |t| job.join(t);
    return .ok;
}

const Job = struct {
    f: *fr.Frame,
    plan: *const Plan,
    src: fr.View,
    loop: *const Inner,
    partials: [*]Best,

    fn tasks(j: *const Job, begin: usize, end: usize) void {
        var best: [max_width]Best = undefined;
        var walk: Walk = undefined;
        for (begin..end) |t| {
            const width = j.plan.place(t, &walk);
            j.part(walk.in, width, 0, j.plan.reduced.total, &best);
            j.store(&walk, &best, width);
        }
    }

    fn parts(j: *const Job, begin: usize, end: usize) void {
        const p = j.plan;
        var walk: Walk = undefined;
        for (begin..end) |i| {
            const width = p.place(i / p.parts, &walk);
            const first = (i % p.parts) * p.step;
            const last = @min(p.reduced.total, first + p.step);
            j.part(walk.in, width, first, last, j.partials + i * p.width);
        }
    }

    fn join(j: *const Job, t: usize) void {
        const p = j.plan;
        var walk: Walk = undefined;
        const width = p.place(t, &walk);
        const first = j.partials + t * p.parts * p.width;
        for (1..p.parts) |i| {
            for (0..width) |k| {
                const x = &first[i * p.width + k];
                if (j.loop.beats(&x.value, &first[k].value)) first[k] = x.*;
            }
        }
        j.store(&walk, first, width);
    }

    fn store(j: *const Job, walk: *const Walk, best: [*]const Best, n: usize) void {
        const values = fr.view(j.f, 0);
        const indices = fr.view(j.f, 1);
        const size = dt.size_of(values.dtype);
        const put = convert.store_of(j.loop.compute, values.dtype);
        const step0 = if (j.plan.columns) j.plan.kept.out[0][0] else 0;
        const step1 = if (j.plan.columns) j.plan.kept.out[1][0] else 0;
        for (best[0..n], 0..) |b, i| {
            const k: isize = @intCast(i);
            var value = b.value;
            put(&value, element(values.data, walk.out[0] + k * step0, size), 1, 1);
            const to = element(indices.data, walk.out[1] + k * step1, 8);
            @as(*align(1) i64, @ptrCast(to)).* = b.index;
        }
    }

    fn part(j: *const Job, base: isize, width: usize, first: usize, last: usize, to: [*]Best) void {
        if (j.plan.columns) return j.columns(base, width, first, last, to);
        to[0] = j.single(base, first, last);
    }

    /// `n` elements as the loops take them: in memory where they are so, else in the buffer.
    fn read(j: *const Job, buffer: [*]u8, at: isize, stride: isize, n: usize) [*]const u8 {
        const from = element(j.src.data, at, dt.size_of(j.src.dtype));
        const c = j.loop.compute;
        if (stride == 1 and convert.is_native(&j.src, convert.native_of(c))) return from;
        convert.load(c, j.src.dtype, buffer, from, stride, n);
        if (j.src.flags != 0) convert.flip_any(c, j.src.flags, buffer, n);
        return buffer;
    }

    fn single(j: *const Job, base: isize, first: usize, last: usize) Best {
        const stride = if (j.plan.reduced.rank == 0) 1 else j.plan.reduced.in[0];
        const direct = stride == 1 and convert.is_native(&j.src, convert.native_of(j.loop.compute));
        const limit: usize = if (direct) block else convert.block;
        var buffer: [convert.block * widest]u8 align(64) = undefined;
        var best: Best = undefined;
        var at = first;
        while (at < last) {
            const n = @min(limit, last - at);
            const p = j.read(&buffer, base + stride * @as(isize, @intCast(at)), stride, n);
            var x: [widest]u8 align(widest) = undefined;
            j.loop.extreme(&x, p, n);
            // The position is looked up only in blocks that improve on what was found before.
            if (at == first or j.loop.beats(&x, &best.value)) {
                const i = j.loop.find(p, n, &x);
                best.index = @intCast(at + i);
                // The element itself: of zeros with different signs the first one counts.
                @memcpy(best.value[0..j.loop.size], p[i * j.loop.size ..][0..j.loop.size]);
                if (j.loop.is_nan(&x)) return best;
            }
            at += n;
        }
        return best;
    }

    fn columns(j: *const Job, base: isize, width: usize, first: usize, last: usize, to: [*]Best) void {
        var values: Values align(64) = undefined;
        var rows: Values align(64) = undefined;
        const size = j.loop.size;
        var at = first;
        // Rows are counted from the start of a stretch, so that the counters cannot overflow.
        while (at < last) {
            const n = @min(last - at, 1 << 30);
            j.stretch(base, width, at, n, &values, &rows);
            for (0..width) |k| {
                const row = if (size == 8)
                    @as(*align(1) const i64, @ptrCast(rows[k * 8 ..])).*
                else
                    @as(*align(1) const i32, @ptrCast(rows[k * 4 ..])).*;
                var x: Best = .{ .value = undefined, .index = @intCast(at + @as(usize, @intCast(row))) };
                @memcpy(x.value[0..size], values[k * size ..][0..size]);
                if (at == first or j.loop.beats(&x.value, &to[k].value)) to[k] = x;
            }
            at += n;
        }
    }

    fn stretch(j: *const Job, base: isize, width: usize, first: usize, n: usize, values: *Values, rows: *Values) void {
        const stride = j.plan.kept.in[0];
        const step = if (j.plan.reduced.rank == 0) 0 else j.plan.reduced.in[0];
        var buffer: Values align(64) = undefined;
        for (0..n) |r| {
            const p = j.read(&buffer, base + step * @as(isize, @intCast(first + r)), stride, width);
            if (r == 0) {
                @memcpy(values[0 .. width * j.loop.size], p[0 .. width * j.loop.size]);
                @memset(rows[0 .. width * widest], 0);
            } else j.loop.row(p, @intCast(r), width, values, rows);
        }
    }
};
