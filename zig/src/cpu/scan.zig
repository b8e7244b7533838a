//! Running sums, products and logarithms of sums of exponentials along one dimension. Operand 0 receives, operand 1 is
//! read (it may be the same memory); attribute 0: the dimension. Each line is one chain of operations, so four lines
//! run side by side. Integers may be taken in any order: their lines go by vectors, one at a time.
const abi = @import("abi");
const abi_scan = @import("abi_scan");
const cfg = @import("cfg");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const panel = @import("panel.zig");
const parallel = @import("../core/parallel.zig");
const plans = @import("reduce_plan.zig");
const ends = @import("scan_ends.zig");
const extremes = @import("scan_extremes.zig");
const ops = @import("scan_ops.zig");

const Compute = abi.Compute;
const Plan = plans.Plan;
const Walk = plans.Walk;
const Ends = ends.Ends;
const max_width = ends.max_width;
const block = ends.block;
const side_by_side = 4;
/// Elements that the processor's caches do not hold.
const many = 1 << 17;

pub fn sum(f: *fr.Frame) abi.Status {
    return run(&sums, f);
}
pub fn prod(f: *fr.Frame) abi.Status {
    return run(&products, f);
}

pub fn logcumsumexp(f: *fr.Frame) abi.Status {
    return run(&exponentials, f);
}

pub const cummax = extremes.cummax;
pub const cummin = extremes.cummin;

const Rows = [side_by_side][*]u8;
const Sources = [side_by_side][*]const u8;

/// What depends on the operator and the type of its results.
const Loop = struct {
    compute: Compute,
    size: usize,
    /// The bytes of the neutral element.
    start: u128,
    /// Goes on with `side_by_side` lines, or one, from their totals; what they hold becomes the results.
    lines: *const fn (totals: [*]u8, to: *const Rows, from: *const Sources, n: usize) void,
    line: *const fn (total: [*]u8, to: [*]u8, from: [*]const u8, n: usize) void,
    /// One line alone is as quick as several.
    alone: bool,
    /// The next row of many lines: totals[i] = totals[i] op row[i].
    row: *const fn (totals: [*]u8, row: [*]const u8, n: usize) void,
};

const Loops = [@typeInfo(Compute).@"enum".fields.len]?*const Loop;

const Kind = ops.Kind;

const sums = loops(.sum, &.{ .f32, .f64, .i64, .c128 });
const products = loops(.product, &.{ .f32, .f64, .i64, .c128 });
const exponentials = loops(.exponentials, &.{ .f64, .c128 });

fn loops(comptime kind: Kind, comptime computes: []const Compute) Loops {
    var t: Loops = @splat(null);
    for (computes) |c| t[@intFromEnum(c)] = &Compiled(c, kind).loop;
    return t;
}

/// The bytes of what changes no total.
fn neutral_of(comptime c: Compute, comptime kind: Kind) u128 {
    const x: f64 = ops.neutral(kind);
    if (x == 0) return 0;
    return switch (c) {
        .f32 => @as(u32, @bitCast(@as(f32, @floatCast(x)))),
        .f64, .c128 => @as(u64, @bitCast(x)),
        else => 1,
    };
}

fn Compiled(comptime c: Compute, comptime kind: Kind) type {
    const product = kind == .product;
    const T = dt.Computed(c);
    const lanes = if (dt.is_complex(T) or kind == .exponentials) 1 else 4 * @as(usize, cfg.lanes) / @sizeOf(T);
    const V = if (lanes == 1) T else @Vector(lanes, T);
    const P = [*]align(1) T;
    const Q = [*]align(1) const T;
    const vectors = lanes > 1 and @typeInfo(T) == .int;
    return struct {
        const loop: Loop = .{
            .compute = c,
            .size = @sizeOf(T),
            .start = neutral_of(c, kind),
            .lines = lines,
            .line = line,
            .alone = vectors,
            .row = row,
        };

        inline fn step(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
            return ops.step(kind, c, a, b);
        }

        fn lines(all: [*]u8, to: *const Rows, from: *const Sources, n: usize) void {
            const totals: P = @ptrCast(all);
            // Copies: what is written might be the list of addresses itself, for all that the compiler knows.
            var t: [side_by_side]T = undefined;
            var out: [side_by_side]P = undefined;
            var in: [side_by_side]Q = undefined;
            inline for (0..side_by_side) |k| {
                t[k] = totals[k];
                out[k] = @ptrCast(to[k]);
                in[k] = @ptrCast(from[k]);
            }
            for (0..n) |i| {
                inline for (0..side_by_side) |k| t[k] = step(t[k], in[k][i]);
                inline for (0..side_by_side) |k| out[k][i] = t[k];
            }
            inline for (0..side_by_side) |k| totals[k] = t[k];
        }

        fn line(total: [*]u8, to: [*]u8, from: [*]const u8, n: usize) void {
            const out: P = @ptrCast(to);
            const in: Q = @ptrCast(from);
            var t = @as(P, @ptrCast(total))[0];
            var i: usize = 0;
            if (vectors) {
                var before: V = @splat(t);
                while (i + lanes <= n) : (i += lanes) {
                    const x = step(within(@as(*align(1) const V, @ptrCast(in + i)).*), before);
                    @as(*align(1) V, @ptrCast(out + i)).* = x;
                    before = @splat(x[lanes - 1]);
                }
                t = before[0];
            }
            while (i < n) : (i += 1) {
                t = step(t, in[i]);
                out[i] = t;
            }
            @as(P, @ptrCast(total))[0] = t;
        }

        /// The running totals of one vector: of neighbours first, then over ever longer distances.
        inline fn within(given: V) V {
            const neutral: V = @splat(if (product) 1 else 0);
            var x = given;
            comptime var distance = 1;
            inline while (distance < lanes) : (distance *= 2) {
                comptime var from: [lanes]i32 = undefined;
                inline for (&from, 0..) |*k, i| k.* = if (i < distance) ~@as(i32, 0) else i - distance;
                x = step(x, @shuffle(T, x, neutral, from));
            }
            return x;
        }

        fn row(all: [*]u8, elements: [*]const u8, n: usize) void {
            const totals: P = @ptrCast(all);
            const in: Q = @ptrCast(elements);
            var i: usize = 0;
            if (lanes > 1) while (i + lanes <= n) : (i += lanes) {
                const t: *align(1) V = @ptrCast(totals + i);
                t.* = step(t.*, @as(*align(1) const V, @ptrCast(in + i)).*);
            };
            while (i < n) : (i += 1) totals[i] = step(totals[i], in[i]);
        }
    };
}

fn run(all: *const Loops, f: *fr.Frame) abi.Status {
    const loop = ends.loop_of(Loop, all, f) orelse return .unsupported;
    const src = fr.view(f, 1);
    const dim = fr.to_usize(f.attrs[abi_scan.ScanAttr.dim]);
    if (dim >= src.rank) return .bad_argument;
    var plan: Plan = undefined;
    plan.open_lines(f, 1, 1, dim, max_width);
    if (plan.tasks == 0 or plan.reduced.total == 0) return .ok;
    const both: Ends = .of(loop.compute, &plan, src, fr.view(f, 0));
    // Memory with gaps brings less than it reads: of several lines at once it brings each later than one at a time.
    const slow = @abs(both.in) > 1 and plan.kept.total * plan.reduced.total >= many;
    const job: Job = .{ .loop = loop, .plan = &plan, .ends = both, .alone = loop.alone or slow };
    parallel.parallel_for(plan.tasks, plan.task_grain(), &job, Job.tasks);
    return .ok;
}

const Job = struct {
    loop: *const Loop,
    plan: *const Plan,
    ends: Ends,
    /// Lines go one at a time.
    alone: bool,

    fn tasks(j: *const Job, begin: usize, end: usize) void {
        var walks: [side_by_side]Walk = undefined;
        var t = begin;
        while (t < end) {
            const width = j.plan.place(t, &walks[0]);
            if (j.plan.columns) {
                j.columns(&walks[0], width);
                t += 1;
                continue;
            }
            const some = if (end - t < side_by_side or j.alone) 1 else @as(usize, side_by_side);
            for (1..some) |k| _ = j.plan.place(t + k, &walks[k]);
            if (some == 1) j.line(&walks[0]) else j.lines(&walks);
            t += some;
        }
    }

    fn line(j: *const Job, walk: *const Walk) void {
        const e = &j.ends;
        var buffer: [block * convert.widest]u8 align(64) = undefined;
        var total: [convert.widest]u8 align(16) = @bitCast(j.loop.start);
        var at: usize = 0;
        while (at < j.plan.reduced.total) {
            const n = @min(block, j.plan.reduced.total - at);
            const k: isize = @intCast(at);
            const to = walk.out[0] + k * e.out;
            const from = e.source(&buffer, walk.in + k * e.in, n);
            j.loop.line(&total, e.target(&buffer, to), from, n);
            e.finish(&buffer, to, n);
            at += n;
        }
    }

    fn lines(j: *const Job, walks: *const [side_by_side]Walk) void {
        const e = &j.ends;
        const size = j.loop.size;
        var buffers: [side_by_side][block * convert.widest + 256]u8 align(64) = undefined;
        var totals: [side_by_side * convert.widest]u8 align(16) = undefined;
        panel.repeat(size, &totals, @intFromPtr(&j.loop.start), side_by_side);
        var to: Rows = undefined;
        var from: Sources = undefined;
        var at: usize = 0;
        while (at < j.plan.reduced.total) {
            const n = @min(block, j.plan.reduced.total - at);
            const k: isize = @intCast(at);
            for (walks, &buffers, &to, &from) |*w, *buffer, *t, *s| {
                t.* = e.target(buffer, w.out[0] + k * e.out);
                s.* = e.source(buffer, w.in + k * e.in, n);
            }
            j.loop.lines(&totals, &to, &from, n);
            for (walks, &buffers) |*w, *buffer| e.finish(buffer, w.out[0] + k * e.out, n);
            at += n;
        }
    }

    /// Neighbouring lines, row by row.
    fn columns(j: *const Job, walk: *const Walk, width: usize) void {
        const e = &j.ends;
        const kept = &j.plan.kept;
        var totals: [max_width * convert.widest]u8 align(64) = undefined;
        var buffer: [max_width * convert.widest]u8 align(64) = undefined;
        panel.repeat(j.loop.size, &totals, @intFromPtr(&j.loop.start), width);
        for (0..j.plan.reduced.total) |r| {
            const k: isize = @intCast(r);
            e.read(&buffer, walk.in + k * e.in, kept.in[0], width);
            j.loop.row(&totals, &buffer, width);
            e.write(&totals, walk.out[0] + k * e.out, kept.out[0][0], width);
        }
    }
};
