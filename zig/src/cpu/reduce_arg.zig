//! Extremes and where the first of them is. Operand 0 receives the values, operand 1 the int64 positions, operand 2 is
//! read; the reduced dimensions must merge into one, along which positions count. NaN wins, the first NaN.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const parallel = @import("../core/parallel.zig");
const plans = @import("reduce_plan.zig");

const Compute = abi.Compute;
const Plan = plans.Plan;
const Walk = plans.Walk;
const element = plans.element;

const computes = [_]Compute{ .f32, .f64, .i32, .i64, .u64, .b8 };

pub fn arg_max(f: *fr.Frame) abi.Status {
    return dispatch(f, true);
}
pub fn arg_min(f: *fr.Frame) abi.Status {
    return dispatch(f, false);
}

fn dispatch(f: *fr.Frame, comptime largest: bool) abi.Status {
    const c: Compute = @enumFromInt(@as(u8, @intFromFloat(f.compute)));
    inline for (computes) |k| {
        if (c == k) return Search(largest, k).run(f);
    }
    return .unsupported;
}

fn Search(comptime largest: bool, comptime c: Compute) type {
    const T = dt.Computed(c);
    const Loader = convert.Stream(c);
    const is_float = @typeInfo(T) == .float;
    // Positions are as wide as the values, so that a mask of one selects in the other.
    const I = if (@sizeOf(T) == 8) i64 else i32;
    const lanes: usize = if (@sizeOf(T) == 8) @max(2, cfg.lanes / 2) else cfg.lanes;
    const V = @Vector(lanes, T);
    const VI = @Vector(lanes, I);
    const max_width = 256;
    const block = 4096;

    return struct {
        const Best = struct { value: T, index: i64 };

        fn run(f: *fr.Frame) abi.Status {
            var plan: Plan = undefined;
            plan.open(f, 2, 2, max_width);
            if (plan.tasks == 0 or plan.reduced.total == 0) return .ok;
            if (plan.reduced.rank > 1) return .bad_argument;
            const job: Job = .{ .f = f, .plan = &plan, .src = fr.view(f, 2), .partials = undefined };
            if (plan.parts == 1) {
                parallel.parallel_for(plan.tasks, plan.task_grain(), job, Job.tasks);
                return .ok;
            }
            const count = plan.tasks * plan.parts * plan.width;
            const scratch = parallel.Scratch.acquire(count * @sizeOf(Best)) orelse return .out_of_memory;
            defer scratch.release();
            var split = job;
            split.partials = scratch.slice(Best, count).ptr;
            parallel.parallel_for(plan.tasks * plan.parts, 1, split, Job.parts);
            for (0..plan.tasks) |t| split.join(t);
            return .ok;
        }

        const Job = struct {
            f: *fr.Frame,
            plan: *const Plan,
            src: fr.View,
            partials: [*]Best,

            fn tasks(j: Job, begin: usize, end: usize) void {
                var best: [max_width]Best = undefined;
                var walk: Walk = undefined;
                for (begin..end) |t| {
                    const width = j.plan.place(t, &walk);
                    j.part(walk.in, width, 0, j.plan.reduced.total, &best);
                    j.store(&walk, &best, width);
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
                    for (0..width) |k| {
                        const x = first[i * p.width + k];
                        if (beats(x.value, first[k].value)) first[k] = x;
                    }
                }
                j.store(&walk, first, width);
            }

            fn store(j: Job, walk: *const Walk, best: [*]const Best, n: usize) void {
                const values = fr.view(j.f, 0);
                const indices = fr.view(j.f, 1);
                const size = dt.size_of(values.dtype);
                const put = Loader.store(values.dtype);
                for (0..n) |i| {
                    const k: isize = @intCast(i);
                    const step0 = if (j.plan.columns) j.plan.kept.out[0][0] else 0;
                    const step1 = if (j.plan.columns) j.plan.kept.out[1][0] else 0;
                    var x = [1]T{best[i].value};
                    put(&x, element(values.data, walk.out[0] + k * step0, size), 1, 1);
                    const to = element(indices.data, walk.out[1] + k * step1, 8);
                    @as(*align(1) i64, @ptrCast(to)).* = best[i].index;
                }
            }

            fn part(j: Job, base: isize, width: usize, first: usize, last: usize, to: [*]Best) void {
                if (j.plan.columns) return j.columns(base, width, first, last, to);
                to[0] = j.single(base, first, last);
            }

            fn plain(j: Job) bool {
                return j.src.dtype == dt.native_dtype(c) and j.src.flags == 0;
            }

            fn single(j: Job, base: isize, first: usize, last: usize) Best {
                const size = dt.size_of(j.src.dtype);
                const stride = if (j.plan.reduced.rank == 0) 1 else j.plan.reduced.in[0];
                const load = Loader.load(j.src.dtype);
                const direct = stride == 1 and j.plain();
                const limit: usize = if (direct) block else convert.block;
                var buffer: [convert.block]T align(64) = undefined;
                var best: Best = undefined;
                var at = first;
                while (at < last) {
                    const n = @min(limit, last - at);
                    const from = element(j.src.data, base + stride * @as(isize, @intCast(at)), size);
                    var p: [*]align(1) const T = @ptrCast(from);
                    if (!direct) {
                        load(&buffer, from, stride, n);
                        plans.apply_flags(T, j.src.flags, &buffer, n);
                        p = &buffer;
                    }
                    const x = extreme(p, n);
                    // The position is looked up only in blocks that improve on what was found before.
                    if (at == first or beats(x, best.value)) {
                        best = .{ .value = x, .index = @intCast(at + find(p, n, x)) };
                        if (is_float and x != x) return best;
                    }
                    at += n;
                }
                return best;
            }

            fn columns(j: Job, base: isize, width: usize, first: usize, last: usize, to: [*]Best) void {
                var values: [max_width]T align(64) = undefined;
                var rows: [max_width]I align(64) = undefined;
                var at = first;
                // Rows are counted from the start of a stretch, so that the counters cannot overflow.
                while (at < last) {
                    const n = @min(last - at, 1 << 30);
                    j.stretch(base, width, at, n, &values, &rows);
                    for (0..width) |k| {
                        const x: Best = .{ .value = values[k], .index = @intCast(at + @as(usize, @intCast(rows[k]))) };
                        if (at == first or beats(x.value, to[k].value)) to[k] = x;
                    }
                    at += n;
                }
            }

            fn stretch(j: Job, base: isize, width: usize, first: usize, n: usize, values: [*]T, rows: [*]I) void {
                const size = dt.size_of(j.src.dtype);
                const stride = j.plan.kept.in[0];
                const step = if (j.plan.reduced.rank == 0) 0 else j.plan.reduced.in[0];
                const load = Loader.load(j.src.dtype);
                const direct = stride == 1 and j.plain();
                var buffer: [max_width]T align(64) = undefined;
                for (0..n) |r| {
                    const from = element(j.src.data, base + step * @as(isize, @intCast(first + r)), size);
                    var p: [*]align(1) const T = @ptrCast(from);
                    if (!direct) {
                        load(&buffer, from, stride, width);
                        plans.apply_flags(T, j.src.flags, &buffer, width);
                        p = &buffer;
                    }
                    if (r == 0) {
                        for (0..width) |k| values[k] = p[k];
                        @memset(rows[0..width], 0);
                    } else row(p, @intCast(r), width, values, rows);
                }
            }
        };

        fn row(p: [*]align(1) const T, r: I, width: usize, values: [*]T, rows: [*]I) void {
            var i: usize = 0;
            const here: VI = @splat(r);
            while (i + lanes <= width) : (i += lanes) {
                const x = get(p + i);
                const best: *align(1) V = @ptrCast(values + i);
                const index: *align(1) VI = @ptrCast(rows + i);
                const old = best.*;
                var wins = if (largest) x > old else x < old;
                if (is_float) wins = @select(bool, x != x, old == old, wins);
                best.* = @select(T, wins, x, old);
                index.* = @select(I, wins, here, index.*);
            }
            while (i < width) : (i += 1) {
                if (beats(p[i], values[i])) {
                    values[i] = p[i];
                    rows[i] = r;
                }
            }
        }

        /// `x` comes later and still takes the place of `y`.
        inline fn beats(x: T, y: T) bool {
            if (is_float) {
                if (y != y) return false;
                if (x != x) return true;
            }
            return if (largest) x > y else x < y;
        }

        inline fn get(p: [*]align(1) const T) V {
            return @as(*align(1) const V, @ptrCast(p)).*;
        }

        inline fn better(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
            if (@typeInfo(@TypeOf(a)) == .vector) {
                const wins = @select(T, if (largest) a > b else a < b, a, b);
                return if (is_float) @select(T, a != a, a, wins) else wins;
            }
            if (is_float and a != a) return a;
            return if (if (largest) a > b else a < b) a else b;
        }

        fn extreme(p: [*]align(1) const T, n: usize) T {
            const unroll = 4;
            var i: usize = 0;
            var r = p[0];
            if (n >= unroll * lanes) {
                var acc: [unroll]V = undefined;
                inline for (0..unroll) |u| acc[u] = get(p + u * lanes);
                i = unroll * lanes;
                while (i + unroll * lanes <= n) : (i += unroll * lanes) {
                    inline for (0..unroll) |u| acc[u] = better(acc[u], get(p + i + u * lanes));
                }
                const all: [lanes]T = better(better(acc[0], acc[1]), better(acc[2], acc[3]));
                for (all) |x| r = better(r, x);
            }
            while (i < n) : (i += 1) r = better(r, p[i]);
            return r;
        }

        /// The first position of `x`, which is there.
        fn find(p: [*]align(1) const T, n: usize, x: T) usize {
            var i: usize = 0;
            const nan = is_float and x != x;
            const wanted: V = @splat(x);
            while (i + lanes <= n) : (i += lanes) {
                const v = get(p + i);
                if (@reduce(.Or, if (nan) v != v else v == wanted)) break;
            }
            while (i + 1 < n) : (i += 1) {
                if (if (nan) p[i] != p[i] else p[i] == x) break;
            }
            return i;
        }
    };
}
