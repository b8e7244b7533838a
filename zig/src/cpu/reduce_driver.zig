//! Runs every reduction of values: walks the layouts, converts, cuts the work into tasks and parts, and combines what
//! they give. The loops and the types are values here, so that this code exists once for all reductions.
const std = @import("std");
const abi = @import("abi");
const abi_reduce = @import("abi_reduce");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const loops = @import("reduce_inner.zig");
const panel = @import("panel.zig");
const parallel = @import("../core/parallel.zig");
const plans = @import("reduce_plan.zig");
const Attr = abi_reduce.ReduceAttr;

const Inner = loops.Inner;
const Plan = plans.Plan;
const Walk = plans.Walk;
const element = plans.element;

const block = loops.block;
const row_block = 64;
const levels = 48;
/// Bytes of a row of accumulators.
const row_bytes = 2048;
const Row = [row_bytes]u8;
const Element = [16]u8;

fn max_width(size: usize) usize {
    return row_bytes / @max(4, size);
}

pub fn run(all: *const loops.Loops, f: *fr.Frame) abi.Status {
    const from: abi.DType = @enumFromInt(@as(u8, @intFromFloat(fr.operand(f, 1).dtype)));
    const to: abi.DType = @enumFromInt(@as(u8, @intFromFloat(fr.operand(f, 0).dtype)));
    const inner = all.find(@intFromFloat(f.compute), from, to) orelse return .unsupported;
    if (few(inner, f)) return .ok;
    const size = dt.size_of(inner.dtype);
    var plan: Plan = undefined;
    plan.open(f, 1, 1, max_width(size));
    if (plan.tasks == 0) return .ok;
    var job: Job = .{
        .f = f,
        .plan = &plan,
        .src = fr.view(f, 1),
        .inner = inner,
        .size = size,
        .partials = undefined,
    };
    if (plan.parts == 1) {
        parallel.parallel_for(plan.tasks, plan.task_grain(), &job, Job.finish_tasks);
        return .ok;
    }
    const count = plan.tasks * plan.parts;
    const scratch = parallel.Scratch.acquire(count * plan.width * size) orelse return .out_of_memory;
    defer scratch.release();
    job.partials = scratch.slice(u8, count * plan.width * size).ptr;
    parallel.parallel_for(count, 1, &job, Job.parts);
    for (0..plan.tasks) |t| job.join(t);
    return .ok;
}

/// A handful of plain elements into one: no plan is made.
inline fn few(inner: *const Inner, f: *fr.Frame) bool {
    const src = fr.operand(f, 1);
    const dst = fr.operand(f, 0);
    const native: f64 = @floatFromInt(@intFromEnum(inner.dtype));
    const plain = src.rank == 1 and src.strides[0] == 1 and src.dtype == native and src.flags == 0;
    if (!plain or dst.shape[0] != 1 or dst.dtype != native or src.shape[0] > block) return false;
    const n = fr.to_usize(src.shape[0]);
    if (n == 0) return false;
    const to = fr.view(f, 0).data;
    inner.dense(to, fr.view(f, 1).data, n);
    if (f.attrs[Attr.divides] != 0) if (inner.divide) |divide| divide(to, 1, f.attrs[Attr.divisor]);
    return true;
}

const Job = struct {
    f: *fr.Frame,
    plan: *const Plan,
    src: fr.View,
    inner: *const Inner,
    size: usize,
    partials: [*]u8,

    fn finish_tasks(j: *Job, begin: usize, end: usize) void {
        var acc: Row align(64) = undefined;
        var walk: Walk = undefined;
        if (j.plan.columns) {
            for (begin..end) |t| {
                const width = j.plan.place(t, &walk);
                j.column_task(walk.in, width, 0, j.plan.reduced.total, &acc);
                j.store(&walk, &acc, width);
            }
            return;
        }
        walk.open(&j.plan.kept, 0, begin);
        if (j.has_plain_lines()) return j.plain_lines(&walk, end - begin);
        for (begin..end) |_| {
            j.single(walk.in, 0, j.plan.reduced.total, &acc);
            j.store(&walk, &acc, 1);
            walk.advance(1);
        }
    }

    /// Whether every output is one call of the loop, from memory to memory.
    fn has_plain_lines(j: *const Job) bool {
        const reduced = &j.plan.reduced;
        if (reduced.rank != 1 or reduced.in[0] != 1 or reduced.total == 0 or reduced.total > block) return false;
        const dst = fr.view(j.f, 0);
        return j.plain() and dst.dtype == j.inner.dtype and dst.flags == 0;
    }

    fn plain_lines(j: *Job, walk: *Walk, count: usize) void {
        const divides = j.f.attrs[Attr.divides] != 0;
        const n = j.plan.reduced.total;
        const to = fr.view(j.f, 0).data;
        for (0..count) |_| {
            const result = element(to, walk.out[0], j.size);
            j.inner.dense(result, element(j.src.data, walk.in, j.size), n);
            if (divides) if (j.inner.divide) |divide| divide(result, 1, j.f.attrs[Attr.divisor]);
            walk.advance(1);
        }
    }

    fn parts(j: *Job, begin: usize, end: usize) void {
        const p = j.plan;
        var walk: Walk = undefined;
        for (begin..end) |i| {
            const width = p.place(i / p.parts, &walk);
            const first = (i % p.parts) * p.step;
            const last = @min(p.reduced.total, first + p.step);
            const to = j.partials + i * p.width * j.size;
            if (p.columns) j.column_task(walk.in, width, first, last, to) else j.single(walk.in, first, last, to);
        }
    }

    /// Combines the parts of a task two by two.
    fn join(j: *Job, t: usize) void {
        const p = j.plan;
        var walk: Walk = undefined;
        const width = p.place(t, &walk);
        const span = p.width * j.size;
        const first = j.partials + t * p.parts * span;
        var step: usize = 1;
        while (step < p.parts) : (step *= 2) {
            var i: usize = 0;
            while (i + step < p.parts) : (i += 2 * step) {
                j.inner.merge(first + i * span, first + (i + step) * span, width);
            }
        }
        j.store(&walk, first, width);
    }

    fn store(j: *Job, walk: *const Walk, acc: [*]u8, n: usize) void {
        if (j.f.attrs[Attr.divides] != 0) if (j.inner.divide) |divide| divide(acc, n, j.f.attrs[Attr.divisor]);
        const dst = fr.view(j.f, 0);
        const to = element(dst.data, walk.out[0], dt.size_of(dst.dtype));
        const stride = if (j.plan.columns) j.plan.kept.out[0][0] else 1;
        if (dst.dtype == j.inner.dtype) return convert.copy_words(j.size, .{ to, stride }, .{ acc, 1 }, n);
        convert.store_of(j.inner.compute, dst.dtype)(acc, to, stride, n);
    }

    fn fill(j: *const Job, to: [*]u8, n: usize) void {
        panel.repeat(j.size, to, @intFromPtr(&j.inner.identity), n);
    }

    /// The reduced elements [first, last) of the output at `base`.
    fn single(j: *Job, base: isize, first: usize, last: usize, to: [*]u8) void {
        const size = dt.size_of(j.src.dtype);
        var cascade: Cascade = .{ .inner = j.inner, .size = j.size };
        var walk: Walk = undefined;
        walk.open(&j.plan.reduced, 0, first);
        const stride = if (j.plan.reduced.rank == 0) 1 else j.plan.reduced.in[0];
        const direct = stride == 1 and j.plain();
        const of_bytes = stride == 1 and j.src.flags == 0 and (j.src.dtype == .uint8 or j.src.dtype == .bool);
        const bytes = if (of_bytes) j.inner.bytes else null;
        var buffer: [convert.block * convert.widest]u8 align(64) = undefined;
        var left = last - first;
        while (left > 0) {
            var x: Element align(16) = undefined;
            const run_left = walk.run(left);
            var n: usize = undefined;
            if ((direct or bytes != null) and (run_left >= 64 or run_left == left)) {
                n = @min(block, run_left);
                const at = element(j.src.data, base + walk.in, size);
                if (bytes) |sum| sum(&x, at, n, j.src.dtype == .bool) else j.inner.dense(&x, at, n);
                walk.advance(n);
            } else {
                n = j.gather(&buffer, &walk, base, stride, @min(left, convert.block));
                j.inner.dense(&x, &buffer, n);
            }
            left -= n;
            cascade.push(&x);
            if (j.inner.final) |truth| if ((x[0] != 0) == truth) return @memcpy(to[0..j.size], x[0..j.size]);
        }
        cascade.total(to, j);
    }

    /// Memory holds what the loops take.
    inline fn plain(j: *const Job) bool {
        return j.src.dtype == j.inner.dtype and j.src.flags == 0;
    }

    /// `n` elements that are `stride` apart, as the loops take them.
    fn load(j: *const Job, to: [*]u8, from: [*]const u8, stride: isize, n: usize) void {
        const loop = j.inner;
        // What has the loops' own short dtype needs no conversion; all other elements get one.
        if (loop.dtype != convert.native_of(loop.compute)) {
            return convert.copy_words(j.size, .{ to, 1 }, .{ from, stride }, n);
        }
        convert.load(loop.compute, j.src.dtype, to, from, stride, n);
    }

    fn gather(j: *const Job, buffer: [*]u8, walk: *Walk, base: isize, stride: isize, wanted: usize) usize {
        const size = dt.size_of(j.src.dtype);
        var n: usize = 0;
        while (n < wanted) {
            const length = walk.run(wanted - n);
            j.load(buffer + n * j.size, element(j.src.data, base + walk.in, size), stride, length);
            walk.advance(length);
            n += length;
        }
        if (j.src.flags != 0) convert.flip_any(j.inner.compute, j.src.flags, buffer, n);
        return n;
    }

    /// `width` neighbouring outputs at once, over the reduced elements [first, last).
    fn column_task(j: *Job, base: isize, width: usize, first: usize, last: usize, to: [*]u8) void {
        var walk: Walk = undefined;
        walk.open(&j.plan.reduced, 0, first);
        if (!j.inner.cascades) {
            j.fill(to, width);
            return j.rows(&walk, base, width, last - first, to);
        }
        const per = @max(row_block, (last - first) / 1024);
        var stack: [12]Row align(64) = undefined;
        var done: usize = 0;
        var left = last - first;
        var top: usize = 0;
        while (left > 0) : (done += 1) {
            const n = @min(per, left);
            j.fill(&stack[top], width);
            j.rows(&walk, base, width, n, &stack[top]);
            left -= n;
            // Like carries of a binary counter: equal amounts of rows are added to each other.
            var bits = done;
            while (bits & 1 == 1) : (bits >>= 1) {
                j.inner.merge(&stack[top - 1], &stack[top], width);
                top -= 1;
            }
            top += 1;
        }
        if (top == 0) return j.fill(to, width);
        while (top > 1) : (top -= 1) j.inner.merge(&stack[top - 2], &stack[top - 1], width);
        @memcpy(to[0 .. width * j.size], stack[0][0 .. width * j.size]);
    }

    fn rows(j: *Job, walk: *Walk, base: isize, width: usize, count: usize, acc: [*]u8) void {
        const stride = j.plan.kept.in[0];
        const row = if (j.plan.reduced.rank == 0) 0 else j.plan.reduced.in[0];
        var left = count;
        while (left > 0) {
            const n = walk.run(left);
            const at = base + walk.in;
            // Rows that follow each other without a gap are taken several at a time.
            const joins = stride == 1 and row == @as(isize, @intCast(width));
            const together = if (joins) max_width(j.size) / width else 1;
            if (together >= 2 and n >= 2 * together) {
                j.joined_rows(at, width, together, n, acc);
            } else j.plain_rows(at, stride, row, width, n, acc);
            walk.advance(n);
            left -= n;
        }
    }

    fn joined_rows(j: *Job, at: isize, width: usize, together: usize, n: usize, acc: [*]u8) void {
        var wide: Row align(64) = undefined;
        const span = width * together;
        const whole = n / together;
        j.fill(&wide, span);
        j.plain_rows(at, 1, @intCast(span), span, whole, &wide);
        for (0..together) |k| j.inner.merge(acc, @as([*]u8, &wide) + k * width * j.size, width);
        const rest = n - whole * together;
        const w: isize = @intCast(width);
        if (rest > 0) j.plain_rows(at + @as(isize, @intCast(whole * span)), 1, w, width, rest, acc);
    }

    fn plain_rows(j: *Job, at: isize, stride: isize, row: isize, width: usize, n: usize, acc: [*]u8) void {
        const size = dt.size_of(j.src.dtype);
        var r: usize = 0;
        const short = if (j.src.dtype == .bfloat16 and j.src.flags == 0) j.inner.four_short else null;
        if (stride == 1 and (short != null or j.plain())) {
            const four = short orelse j.inner.four;
            while (r + 4 <= n) : (r += 4) {
                var p: [4]usize = undefined;
                for (&p, 0..) |*x, k| {
                    x.* = @intFromPtr(element(j.src.data, at + row * @as(isize, @intCast(r + k)), size));
                }
                four(acc, &p, width);
            }
        }
        var buffer: Row align(64) = undefined;
        while (r < n) : (r += 1) {
            j.load(&buffer, element(j.src.data, at + row * @as(isize, @intCast(r)), size), stride, width);
            if (j.src.flags != 0) convert.flip_any(j.inner.compute, j.src.flags, &buffer, width);
            j.inner.one(acc, &buffer, width);
        }
    }
};

/// Adds up block results pairwise, so that rounding errors grow with the logarithm of their number.
const Cascade = struct {
    inner: *const Inner,
    size: usize,
    stack: [levels]Element align(16) = undefined,
    top: usize = 0,
    count: usize = 0,

    fn push(s: *Cascade, value: *const Element) void {
        s.stack[s.top] = value.*;
        var bits = s.count;
        while (bits & 1 == 1) : (bits >>= 1) {
            s.top -= 1;
            s.inner.merge(&s.stack[s.top], &s.stack[s.top + 1], 1);
        }
        s.top += 1;
        s.count += 1;
    }

    fn total(s: *Cascade, to: [*]u8, j: *const Job) void {
        if (s.top == 0) return j.fill(to, 1);
        while (s.top > 1) : (s.top -= 1) s.inner.merge(&s.stack[s.top - 2], &s.stack[s.top - 1], 1);
        @memcpy(to[0..s.size], s.stack[0][0..s.size]);
    }
};
