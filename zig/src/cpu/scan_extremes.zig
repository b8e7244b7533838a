//! Running extremes along one dimension, and where each was found last. Operands 0 and 1 receive the values and the
//! positions (int64), operand 2 is read (it may be operand 0's memory); attribute 0: the dimension. A NaN stays.
const std = @import("std");
const abi = @import("abi");
const abi_scan = @import("abi_scan");
const cfg = @import("cfg");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const ends = @import("scan_ends.zig");
const ops = @import("scan_ops.zig");
const parallel = @import("../core/parallel.zig");
const plans = @import("reduce_plan.zig");

const Compute = abi.Compute;
const Plan = plans.Plan;
const Walk = plans.Walk;
const element = plans.element;
const Ends = ends.Ends;
const max_width = ends.max_width;
const block = ends.block;

pub fn cummax(f: *fr.Frame) abi.Status {
    return run(&greatest, f);
}
pub fn cummin(f: *fr.Frame) abi.Status {
    return run(&least, f);
}

/// What depends on the operator and the type of the elements.
const Loop = struct {
    compute: Compute,
    size: usize,
    /// The bytes that every element takes the place of.
    start: [8]u8,
    /// Goes on with a line whose next element is at position `first`: values and positions of `n` elements. The values
    /// may be written where they are read.
    line: *const fn (best: [*]u8, place: *i64, to: [*]u8, places: [*]i64, from: [*]const u8, first: i64, n: usize) void,
    /// The next row of many lines.
    row: *const fn (best: [*]u8, places: [*]i64, from: [*]const u8, position: i64, n: usize) void,
};

const Loops = [@typeInfo(Compute).@"enum".fields.len]?*const Loop;

const greatest = loops(true);
const least = loops(false);

fn loops(comptime largest: bool) Loops {
    var t: Loops = @splat(null);
    for ([_]Compute{ .f32, .f64, .i32, .i64, .b8 }) |c| t[@intFromEnum(c)] = &Compiled(c, largest).loop;
    return t;
}

fn Compiled(comptime c: Compute, comptime largest: bool) type {
    const T = dt.Computed(c);
    const lanes = 8;
    const V = @Vector(lanes, T);
    const VI = @Vector(lanes, i64);
    const P = [*]align(1) T;
    const Q = [*]align(1) const T;
    const floating = @typeInfo(T) == .float;
    const first_best: T = if (floating)
        (if (largest) -std.math.inf(T) else std.math.inf(T))
    else if (largest) std.math.minInt(T) else std.math.maxInt(T);
    return struct {
        const loop: Loop = .{
            .compute = c,
            .size = @sizeOf(T),
            .start = std.mem.toBytes(first_best) ++ [_]u8{0} ** (8 - @sizeOf(T)),
            .line = line,
            .row = row,
        };

        inline fn beats(x: T, best: T) bool {
            return ops.beats(largest, x, best);
        }

        inline fn beat(x: V, best: V) @Vector(lanes, bool) {
            const order = if (largest) x >= best else x <= best;
            return if (floating) order | (x != x) else order;
        }

        fn line(best: [*]u8, place: *i64, to: [*]u8, places: [*]i64, from: [*]const u8, first: i64, n: usize) void {
            const in: Q = @ptrCast(from);
            const out: P = @ptrCast(to);
            var b = @as(P, @ptrCast(best))[0];
            var p = place.*;
            var i: usize = 0;
            // Where nothing in a vector beats what came before, all of it is known.
            while (i + lanes <= n) : (i += lanes) {
                const x = @as(*align(1) const V, @ptrCast(in + i)).*;
                if (!@reduce(.Or, beat(x, @splat(b)))) {
                    @as(*align(1) V, @ptrCast(out + i)).* = @splat(b);
                    places[i..][0..lanes].* = @as(VI, @splat(p));
                } else inline for (0..lanes) |k| {
                    const better = beats(x[k], b);
                    b = if (better) x[k] else b;
                    p = if (better) first + @as(i64, @intCast(i + k)) else p;
                    out[i + k] = b;
                    places[i + k] = p;
                }
            }
            while (i < n) : (i += 1) {
                const x = in[i];
                if (beats(x, b)) {
                    b = x;
                    p = first + @as(i64, @intCast(i));
                }
                out[i] = b;
                places[i] = p;
            }
            @as(P, @ptrCast(best))[0] = b;
            place.* = p;
        }

        fn row(all: [*]u8, places: [*]i64, from: [*]const u8, position: i64, n: usize) void {
            const best: P = @ptrCast(all);
            const in: Q = @ptrCast(from);
            var i: usize = 0;
            while (i + lanes <= n) : (i += lanes) {
                const x = @as(*align(1) const V, @ptrCast(in + i)).*;
                const b: *align(1) V = @ptrCast(best + i);
                const better = beat(x, b.*);
                b.* = @select(T, better, x, b.*);
                const p: VI = places[i..][0..lanes].*;
                places[i..][0..lanes].* = @select(i64, better, @as(VI, @splat(position)), p);
            }
            while (i < n) : (i += 1) {
                if (!beats(in[i], best[i])) continue;
                best[i] = in[i];
                places[i] = position;
            }
        }
    };
}

fn run(all: *const Loops, f: *fr.Frame) abi.Status {
    const loop = ends.loop_of(Loop, all, f) orelse return .unsupported;
    const src = fr.view(f, 2);
    const dim = fr.to_usize(f.attrs[abi_scan.ScanAttr.dim]);
    const places = fr.view(f, 1);
    if (dim >= src.rank or places.dtype != .int64) return .bad_argument;
    var plan: Plan = undefined;
    plan.open_lines(f, 2, 2, dim, max_width);
    if (plan.tasks == 0 or plan.reduced.total == 0) return .ok;
    const both: Ends = .of(loop.compute, &plan, src, fr.view(f, 0));
    const job: Job = .{ .loop = loop, .plan = &plan, .ends = both, .places = places };
    parallel.parallel_for(plan.tasks, plan.task_grain(), &job, Job.tasks);
    return .ok;
}

const Job = struct {
    loop: *const Loop,
    plan: *const Plan,
    ends: Ends,
    places: fr.View,

    fn tasks(j: *const Job, begin: usize, end: usize) void {
        var walk: Walk = undefined;
        for (begin..end) |t| {
            const width = j.plan.place(t, &walk);
            if (j.plan.columns) j.columns(&walk, width) else j.line(&walk);
        }
    }

    fn write_places(j: *const Job, buffer: [*]i64, at: isize, stride: isize, n: usize) void {
        const to = element(j.places.data, at, @sizeOf(i64));
        convert.store_of(.i64, .int64)(@ptrCast(buffer), to, stride, n);
    }

    fn line(j: *const Job, walk: *const Walk) void {
        const e = &j.ends;
        const reduced = &j.plan.reduced;
        const places = reduced.out[1][0];
        var buffer: [block * 8]u8 align(64) = undefined;
        var found: [block]i64 align(64) = undefined;
        var best: [8]u8 align(8) = j.loop.start;
        var place: i64 = 0;
        var at: usize = 0;
        while (at < reduced.total) {
            const n = @min(block, reduced.total - at);
            const k: isize = @intCast(at);
            const to = walk.out[0] + k * e.out;
            const from = e.source(&buffer, walk.in + k * e.in, n);
            const first = walk.out[1] + k * places;
            const direct: [*]i64 = if (places == 1)
                @ptrCast(@alignCast(element(j.places.data, first, @sizeOf(i64))))
            else
                &found;
            j.loop.line(&best, &place, e.target(&buffer, to), direct, from, k, n);
            e.finish(&buffer, to, n);
            if (places != 1) j.write_places(&found, first, places, n);
            at += n;
        }
    }

    /// Neighbouring lines, row by row.
    fn columns(j: *const Job, walk: *const Walk, width: usize) void {
        const e = &j.ends;
        const reduced = &j.plan.reduced;
        const kept = &j.plan.kept;
        var best: [max_width * 8]u8 align(64) = undefined;
        var places: [max_width]i64 align(64) = @splat(0);
        var buffer: [max_width * 8]u8 align(64) = undefined;
        for (0..width) |i| @memcpy(best[i * j.loop.size ..][0..j.loop.size], j.loop.start[0..j.loop.size]);
        for (0..reduced.total) |r| {
            const k: isize = @intCast(r);
            e.read(&buffer, walk.in + k * e.in, kept.in[0], width);
            j.loop.row(&best, &places, &buffer, k, width);
            e.write(&best, walk.out[0] + k * e.out, kept.out[0][0], width);
            j.write_places(&places, walk.out[1] + k * reduced.out[1][0], kept.out[1][0], width);
        }
    }
};
