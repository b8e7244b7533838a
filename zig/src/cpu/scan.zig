//! Running sums and products along one dimension. Operand 0 receives, operand 1 is read (it may be the same memory);
//! attribute 0: the dimension.
const std = @import("std");
const abi = @import("abi");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const parallel = @import("../core/parallel.zig");
const plans = @import("reduce_plan.zig");

const Compute = abi.Compute;
const Plan = plans.Plan;
const Walk = plans.Walk;
const element = plans.element;

const max_width = 256;

pub fn sum(f: *fr.Frame) abi.Status {
    return dispatch(f, false);
}
pub fn prod(f: *fr.Frame) abi.Status {
    return dispatch(f, true);
}

fn dispatch(f: *fr.Frame, comptime product: bool) abi.Status {
    const c: Compute = @enumFromInt(@as(u8, @intFromFloat(f.compute)));
    inline for ([_]Compute{ .f32, .f64, .i64, .c128 }) |k| {
        if (c == k) return Scan(k, product).run(f);
    }
    return .unsupported;
}

fn Scan(comptime c: Compute, comptime product: bool) type {
    const T = dt.Computed(c);
    const Loader = convert.Stream(c);
    const neutral = @intFromBool(product);
    const start: T = if (dt.is_complex(T)) .{ .re = @floatFromInt(neutral), .im = 0 } else neutral;

    return struct {
        fn run(f: *fr.Frame) abi.Status {
            const src = fr.view(f, 1);
            const dim = fr.to_usize(f.attrs[0]);
            if (dim >= src.rank) return .bad_argument;
            var plan: Plan = undefined;
            plan.open_lines(f, 1, 1, dim, max_width);
            if (plan.tasks == 0 or plan.reduced.total == 0) return .ok;
            const job: Job = .{ .plan = &plan, .src = src, .dst = fr.view(f, 0) };
            parallel.parallel_for(plan.tasks, plan.task_grain(), job, Job.tasks);
            return .ok;
        }

        const Job = struct {
            plan: *const Plan,
            src: fr.View,
            dst: fr.View,

            fn tasks(j: Job, begin: usize, end: usize) void {
                var walk: Walk = undefined;
                for (begin..end) |t| {
                    const width = j.plan.place(t, &walk);
                    if (j.plan.columns) j.columns(&walk, width) else j.line(&walk);
                }
            }

            inline fn read(j: Job, buffer: [*]T, at: isize, stride: isize, n: usize) void {
                const from = element(j.src.data, at, dt.size_of(j.src.dtype));
                Loader.load(j.src.dtype)(buffer, from, stride, n);
                plans.apply_flags(T, j.src.flags, buffer, n);
            }

            inline fn write(j: Job, buffer: [*]T, at: isize, stride: isize, n: usize) void {
                const to = element(j.dst.data, at, dt.size_of(j.dst.dtype));
                Loader.store(j.dst.dtype)(buffer, to, stride, n);
            }

            fn line(j: Job, walk: *const Walk) void {
                const in = j.plan.reduced.in[0];
                const out = j.plan.reduced.out[0][0];
                var buffer: [convert.block]T align(64) = undefined;
                var total = start;
                var at: usize = 0;
                while (at < j.plan.reduced.total) {
                    const n = @min(convert.block, j.plan.reduced.total - at);
                    const k: isize = @intCast(at);
                    j.read(&buffer, walk.in + k * in, in, n);
                    for (buffer[0..n]) |*x| {
                        total = step(total, x.*);
                        x.* = total;
                    }
                    j.write(&buffer, walk.out[0] + k * out, out, n);
                    at += n;
                }
            }

            /// Neighbouring lines, row by row.
            fn columns(j: Job, walk: *const Walk, width: usize) void {
                const in = j.plan.reduced.in[0];
                const out = j.plan.reduced.out[0][0];
                var totals: [max_width]T align(64) = undefined;
                var row: [max_width]T align(64) = undefined;
                @memset(totals[0..width], start);
                for (0..j.plan.reduced.total) |r| {
                    const k: isize = @intCast(r);
                    j.read(&row, walk.in + k * in, j.plan.kept.in[0], width);
                    for (totals[0..width], row[0..width]) |*t, x| t.* = step(t.*, x);
                    j.write(&totals, walk.out[0] + k * out, j.plan.kept.out[0][0], width);
                }
            }
        };

        inline fn step(a: T, b: T) T {
            if (comptime dt.is_complex(T)) {
                if (product) return .{ .re = a.re * b.re - a.im * b.im, .im = a.re * b.im + a.im * b.re };
                return .{ .re = a.re + b.re, .im = a.im + b.im };
            }
            if (comptime @typeInfo(T) == .float) return if (product) a * b else a + b;
            return if (product) a *% b else a +% b;
        }
    };
}
