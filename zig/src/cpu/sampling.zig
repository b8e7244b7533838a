//! Images of other sizes: padded with their own elements, or resized. Each output is an element of the image, or a mean
//! of neighbours, chosen along each dimension by itself. Operands have two dimensions of planes and one to three within
//! a plane, any strides. Attributes: SamplingAttr.
const abi = @import("abi");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const parallel = @import("../core/parallel.zig");
const planes = @import("planes.zig");
const taps = @import("sampling_taps.zig");

const task_work = 16 * 1024;

const Planes = planes.Planes;
const Tap = taps.Tap;
const at = planes.at;
const step = planes.step;

/// Elements of T, places by numbers of W.
fn Job(comptime T: type, comptime W: type, comptime back: bool) type {
    return struct {
        y: Planes,
        x: Planes,
        channels: usize,
        /// Places of the outputs along each dimension.
        taps: [3][]const Tap(W),
        /// How many elements are taken along each.
        count: [3]usize,
        /// Outputs of a row that are neighbours in the image, where both lie without gaps.
        neighbours: struct { begin: usize, len: usize } = .{ .begin = 0, .len = 0 },

        const Self = @This();

        fn find_neighbours(j: *Self) void {
            if (j.x.s[2] != 1 or j.y.s[2] != 1) return;
            var begin: usize = 0;
            for (j.taps[2], 0..) |*t, i| {
                if (i > begin and t.from[0] != j.taps[2][i - 1].from[0] + 1) begin = i;
                if (i + 1 - begin > j.neighbours.len) j.neighbours = .{ .begin = begin, .len = i + 1 - begin };
            }
        }

        fn run(j: *const Self, begin: usize, end: usize) void {
            for (begin..end) |i| j.plane(i / j.channels, i % j.channels);
        }

        fn plane(j: *const Self, n: usize, c: usize) void {
            const y = j.y.plane(T, n, c);
            const x = j.x.plane(T, n, c);
            for (j.taps[0], 0..) |*td, d| for (j.taps[1], 0..) |*th, h| {
                const row = at(y, step(d, j.y.s[0]) + step(h, j.y.s[1]));
                const one = j.count[0] == 1 and j.count[1] == 1;
                if (one and j.count[2] == 1) {
                    j.gather(row, at(x, td.from[0] + th.from[0]));
                } else if (T == W) j.mean(row, x, td, th);
            };
        }

        /// One element for each output; those of the longest run of neighbours move together.
        fn gather(j: *const Self, row: [*]T, x: [*]T) void {
            if (back or j.neighbours.len < 8) return j.gather_some(row, x, 0, j.taps[2].len);
            const r = j.neighbours;
            j.gather_some(row, x, 0, r.begin);
            @memcpy((row + r.begin)[0..r.len], at(x, j.taps[2][r.begin].from[0])[0..r.len]);
            j.gather_some(row, x, r.begin + r.len, j.taps[2].len);
        }

        fn gather_some(j: *const Self, row: [*]T, x: [*]T, begin: usize, end: usize) void {
            for (j.taps[2][begin..end], begin..) |*tw, w| {
                const to = at(row, step(w, j.y.s[2]));
                const from = at(x, tw.from[0]);
                if (back) from[0] += to[0] else to[0] = from[0];
            }
        }

        fn mean(j: *const Self, row: [*]T, x: [*]T, td: *const Tap(W), th: *const Tap(W)) void {
            for (j.taps[2], 0..) |*tw, w| {
                const to = at(row, step(w, j.y.s[2]));
                var sum: T = 0;
                for (td.from[0..j.count[0]], td.weight[0..j.count[0]]) |d, wd| {
                    for (th.from[0..j.count[1]], th.weight[0..j.count[1]]) |h, wh| {
                        const line_of = at(x, d + h);
                        const weight = wd * wh;
                        for (tw.from[0..j.count[2]], tw.weight[0..j.count[2]]) |k, ww| {
                            const from = at(line_of, k);
                            if (back) from[0] += weight * ww * to[0] else sum += weight * ww * from[0];
                        }
                    }
                }
                if (!back) to[0] = sum;
            }
        }
    };
}

fn launch(comptime T: type, comptime W: type, comptime back: bool, f: *fr.Frame) abi.Status {
    const first, const second = .{ fr.view(f, 0), fr.view(f, 1) };
    if (first.rank != second.rank or first.rank < 3 or first.rank > 5) return fr.fail(f, .bad_argument, &.{0});
    const y: Planes = .of(if (back) second else first);
    const x: Planes = .of(if (back) first else second);
    const total = y.size[0] + y.size[1] + y.size[2];
    const lease = parallel.Scratch.acquire(total * @sizeOf(Tap(W))) orelse return .out_of_memory;
    defer lease.release();
    const all = lease.slice(Tap(W), total);
    const count = taps.count_of(taps.mode_of(f));
    var job: Job(T, W, back) = .{ .y = y, .x = x, .channels = first.size(1), .taps = undefined, .count = @splat(1) };
    var begin: usize = 0;
    for (0..3) |d| {
        const missing = 3 - d > first.rank - 2;
        const axis = taps.axis_of(W, f, d, x.size[d]);
        for (0..y.size[d]) |i| {
            all[begin + i] = if (missing) taps.one_of(W, 0) else axis.tap(i).times(x.s[d]);
        }
        job.taps[d] = all[begin..][0..y.size[d]];
        if (!missing) job.count[d] = count;
        begin += y.size[d];
    }
    job.find_neighbours();
    const work = y.size[0] * y.size[1] * y.size[2] * job.count[0] * job.count[1] * job.count[2];
    const shared: *const Job(T, W, back) = &job;
    parallel.parallel_for(first.size(0) * first.size(1), 1 + task_work / @max(1, work), shared, Job(T, W, back).run);
    return .ok;
}

/// Operand 0 receives an image of another size, of operand 1; elements of any dtype where none are averaged.
pub fn sample(f: *fr.Frame) abi.Status {
    const dtype = fr.view(f, 0).dtype;
    if (dtype == .float32) return launch(f32, f32, false, f);
    if (dtype == .float64) return launch(f64, f64, false, f);
    if (taps.count_of(taps.mode_of(f)) > 1) return .unsupported;
    return switch (dt.size_of(dtype)) {
        1 => launch(u8, f32, false, f),
        2 => launch(u16, f32, false, f),
        4 => launch(u32, f32, false, f),
        8 => launch(u64, f32, false, f),
        16 => launch([2]u64, f32, false, f),
        else => .unsupported,
    };
}

/// Adds the gradient of such a one, operand 1, to that of the image.
pub fn sample_backward(f: *fr.Frame) abi.Status {
    return switch (fr.view(f, 0).dtype) {
        .float32 => launch(f32, f32, true, f),
        .float64 => launch(f64, f64, true, f),
        else => .unsupported,
    };
}
