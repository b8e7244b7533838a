//! Variance and mean in one pass, in f64 for every dtype. Operand 0 receives the variance, operand 1 the mean (before
//! operand 0, so that both may be one place), operand 2 is read. Attribute 0: square root; attribute 1: the divisor.
const std = @import("std");
const abi = @import("abi");
const abi_reduce = @import("abi_reduce");
const cfg = @import("cfg");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const parallel = @import("../core/parallel.zig");
const plans = @import("reduce_plan.zig");
const State = @import("moments_state.zig").State;

const Loader = convert.Stream(.f64);
const Plan = plans.Plan;
const Walk = plans.Walk;
const element = plans.element;
const lanes: usize = @max(2, cfg.lanes / 2);
const V = @Vector(lanes, f64);
const max_width = 128;
const rows_at_once = 16;

pub fn moments(f: *fr.Frame) abi.Status {
    var plan: Plan = undefined;
    plan.open(f, 2, 2, max_width);
    if (plan.tasks == 0) return .ok;
    const job: Job = .{ .f = f, .plan = &plan, .src = fr.view(f, 2), .partials = undefined };
    if (plan.parts == 1) {
        parallel.parallel_for(plan.tasks, plan.task_grain(), job, Job.tasks);
        return .ok;
    }
    const count = plan.tasks * plan.parts * plan.width;
    const scratch = parallel.Scratch.acquire(count * @sizeOf(State)) orelse return .out_of_memory;
    defer scratch.release();
    var split = job;
    split.partials = scratch.slice(State, count).ptr;
    parallel.parallel_for(plan.tasks * plan.parts, 1, split, Job.parts);
    for (0..plan.tasks) |t| split.join(t);
    return .ok;
}

const Job = struct {
    f: *fr.Frame,
    plan: *const Plan,
    src: fr.View,
    partials: [*]State,

    fn tasks(j: Job, begin: usize, end: usize) void {
        var states: [max_width]State = undefined;
        var walk: Walk = undefined;
        for (begin..end) |t| {
            const width = j.plan.place(t, &walk);
            j.part(walk.in, width, 0, j.plan.reduced.total, &states);
            j.store(&walk, &states, width);
        }
    }

    fn parts(j: Job, begin: usize, end: usize) void {
        const p = j.plan;
        var walk: Walk = undefined;
        for (begin..end) |i| {
            const width = p.place(i / p.parts, &walk);
            const first = (i % p.parts) * p.step;
            const last = @min(p.reduced.total, first + p.step);
            j.part(walk.in, width, first, last, j.partials + i * p.width);
        }
    }

    fn join(j: Job, t: usize) void {
        const p = j.plan;
        var walk: Walk = undefined;
        const width = p.place(t, &walk);
        const first = j.partials + t * p.parts * p.width;
        for (1..p.parts) |i| {
            for (0..width) |k| first[k] = State.join(first[k], first[i * p.width + k]);
        }
        j.store(&walk, first, width);
    }

    fn store(j: Job, walk: *const Walk, states: [*]const State, n: usize) void {
        const root = j.f.attrs[abi_reduce.MomentsAttr.root] != 0;
        const divisor = j.f.attrs[abi_reduce.MomentsAttr.divisor];
        for (0..n) |i| {
            const k: isize = @intCast(i);
            const s = states[i];
            const mean = if (s.n == 0) std.math.nan(f64) else s.mean;
            const variance = s.m2 / divisor;
            j.put(1, walk, k, mean);
            j.put(0, walk, k, if (root) @sqrt(variance) else variance);
        }
    }

    fn put(j: Job, operand: usize, walk: *const Walk, k: isize, value: f64) void {
        const dst = fr.view(j.f, operand);
        const step = if (j.plan.columns) j.plan.kept.out[operand][0] else 0;
        var x = [1]f64{value};
        const to = element(dst.data, walk.out[operand] + k * step, dt.size_of(dst.dtype));
        Loader.store(dst.dtype)(&x, to, 1, 1);
    }

    fn part(j: Job, base: isize, width: usize, first: usize, last: usize, to: [*]State) void {
        if (j.plan.columns) return j.columns(base, width, first, last, to);
        to[0] = j.single(base, first, last);
    }

    fn single(j: Job, base: isize, first: usize, last: usize) State {
        const size = dt.size_of(j.src.dtype);
        const stride = if (j.plan.reduced.rank == 0) 1 else j.plan.reduced.in[0];
        const load = Loader.load(j.src.dtype);
        var buffer: [convert.block]f64 align(64) = undefined;
        var state: State = .{};
        var walk: Walk = undefined;
        walk.open(&j.plan.reduced, 0, first);
        var left = last - first;
        while (left > 0) {
            var n: usize = 0;
            const wanted = @min(left, convert.block);
            while (n < wanted) {
                const run = walk.run(wanted - n);
                load(@as([*]f64, &buffer) + n, element(j.src.data, base + walk.in, size), stride, run);
                walk.advance(run);
                n += run;
            }
            plans.apply_flags(f64, j.src.flags, &buffer, n);
            state = State.join(state, state_of(buffer[0..n]));
            left -= n;
        }
        return state;
    }

    fn columns(j: Job, base: isize, width: usize, first: usize, last: usize, to: [*]State) void {
        const size = dt.size_of(j.src.dtype);
        const stride = j.plan.kept.in[0];
        const load = Loader.load(j.src.dtype);
        var rows: [rows_at_once][max_width]f64 align(64) = undefined;
        var mean: [max_width]f64 align(64) = undefined;
        var m2: [max_width]f64 align(64) = undefined;
        var walk: Walk = undefined;
        walk.open(&j.plan.reduced, 0, first);
        for (to[0..width]) |*s| s.* = .{};
        var left = last - first;
        while (left > 0) {
            const n = @min(left, rows_at_once);
            @memset(mean[0..width], 0);
            @memset(m2[0..width], 0);
            for (0..n) |r| {
                load(&rows[r], element(j.src.data, base + walk.in, size), stride, width);
                plans.apply_flags(f64, j.src.flags, &rows[r], width);
                walk.advance(1);
                for (0..width) |k| mean[k] += rows[r][k];
            }
            const count: f64 = @floatFromInt(n);
            for (mean[0..width]) |*x| x.* /= count;
            for (0..n) |r| {
                for (0..width) |k| {
                    const d = rows[r][k] - mean[k];
                    m2[k] += d * d;
                }
            }
            for (0..width) |k| to[k] = State.join(to[k], .{ .n = count, .mean = mean[k], .m2 = m2[k] });
            left -= n;
        }
    }
};

/// The state of elements in a buffer: their mean first, then the distances from it.
fn state_of(x: []const f64) State {
    const n: f64 = @floatFromInt(x.len);
    var sums: [4]V = @splat(@splat(0));
    var i: usize = 0;
    while (i + 4 * lanes <= x.len) : (i += 4 * lanes) {
        inline for (0..4) |u| sums[u] += x[i + u * lanes ..][0..lanes].*;
    }
    var total = @reduce(.Add, (sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (x[i..]) |v| total += v;
    const mean = total / n;
    const center: V = @splat(mean);
    var squares: [4]V = @splat(@splat(0));
    i = 0;
    while (i + 4 * lanes <= x.len) : (i += 4 * lanes) {
        inline for (0..4) |u| {
            const d = @as(V, x[i + u * lanes ..][0..lanes].*) - center;
            squares[u] += d * d;
        }
    }
    var m2 = @reduce(.Add, (squares[0] + squares[1]) + (squares[2] + squares[3]));
    for (x[i..]) |v| m2 += (v - mean) * (v - mean);
    return .{ .n = n, .mean = mean, .m2 = m2 };
}
