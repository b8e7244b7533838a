//! The part of an image that a band of outputs reads, put where every tap of the filter finds a row of neighbours as
//! one run: with its padding, and with columns that a stride leaves apart beside each other.
const std = @import("std");
const kernels = @import("gemm_kernel.zig");
const at = kernels.at;
const span = kernels.span;

/// Elements behind a staged image that vectors may read, and behind packed blocks that they may write.
pub const slack = 64;

/// Where a filter reads. Along each dimension output i reads at i * step + first + t * inc for each of its taps t.
pub const Taps = struct {
    count: [3]usize,
    step: [3]usize,
    first: [3]isize,
    inc: [3]isize,

    pub fn total(t: *const Taps) usize {
        return t.count[0] * t.count[1] * t.count[2];
    }

    /// The least place that the first output reads.
    fn low(t: *const Taps, d: usize) isize {
        return if (t.inc[d] >= 0) t.first[d] else t.first[d] + span(t.count[d] - 1, t.inc[d]);
    }

    /// How far tap `i` lies behind that.
    fn behind(t: *const Taps, d: usize, i: usize) usize {
        return @intCast(t.first[d] + span(i, t.inc[d]) - t.low(d));
    }

    fn reach(t: *const Taps, d: usize) usize {
        return (t.count[d] - 1) * @abs(t.inc[d]);
    }

    /// Every output reads the element at its own place, and none else, of an image whose rows follow each other.
    pub fn is_point(t: *const Taps, image: anytype, out: [3]usize) bool {
        const alone = t.total() == 1 and std.mem.allEqual(usize, &t.step, 1) and std.mem.allEqual(isize, &t.first, 0);
        const flat = out[1] == 1 or image.s[1] == span(out[2], image.s[2]);
        return alone and flat and std.mem.eql(usize, &out, &image.size);
    }
};

/// Elements that are staged together, at most: gaps of a dilation are staged, too.
const most_staged: f64 = 1 << 28;

/// Whether `channels` channels can be staged for outputs of size `out`, a row at a time, and no count of them wraps.
pub fn fits(t: *const Taps, out: [3]usize, channels: usize) bool {
    const reaches = .{ number(t.reach(1)), number(t.reach(2)) };
    const step = number(t.step[2]);
    const columns = @min(step, reaches[1] + 1) * (number(out[2]) + reaches[1] / step);
    const one = number(channels) * number(t.count[0]) * columns;
    const rows = reaches[0] + 1 + number(out[1]) * number(t.step[1]);
    return one * (reaches[0] + 1) <= most_staged and one * rows < 1 << 58;
}

fn number(n: usize) f64 {
    return @floatFromInt(n);
}

/// An image as a kernel reads it.
pub fn Image(comptime T: type) type {
    return struct { data: [*]const T, n: isize, c: isize, s: [3]isize, size: [3]usize };
}

/// The staged form of some channels, for `rows` rows of outputs in one slice.
pub const Stage = struct {
    taps: *const Taps,
    columns: usize,
    rows_in: usize,
    /// Columns a stride apart, and how many of those there are in a row.
    phases: usize,
    width: usize,
    pitch: usize,
    /// Elements of one channel.
    channel: usize,

    pub fn of(taps: *const Taps, rows: usize, columns: usize) Stage {
        const step = taps.step[2];
        const phases = @min(step, taps.reach(2) + 1);
        const width = columns + taps.reach(2) / step;
        const rows_in = (rows - 1) * taps.step[1] + taps.reach(1) + 1;
        return .{
            .taps = taps,
            .columns = columns,
            .rows_in = rows_in,
            .phases = phases,
            .width = width,
            .pitch = phases * width,
            .channel = taps.count[0] * rows_in * phases * width,
        };
    }

    /// Where each tap begins, in the order of the weights.
    pub fn offsets(s: *const Stage, out: []usize) void {
        const t = s.taps;
        var i: usize = 0;
        for (0..t.count[0]) |d| for (0..t.count[1]) |h| for (0..t.count[2]) |w| {
            const column = t.behind(2, w);
            const row = d * s.rows_in + t.behind(1, h);
            out[i] = row * s.pitch + (column % t.step[2]) * s.width + column / t.step[2];
            i += 1;
        };
    }

    /// Elements from what one row of outputs reads to what the next does.
    pub fn row_step(s: *const Stage) usize {
        return s.taps.step[1] * s.pitch;
    }

    /// Some tap reads what lies `place` behind the first one.
    fn is_read(s: *const Stage, d: usize, place: usize) bool {
        const step = s.taps.step[d];
        if (step == 1) return true;
        for (0..s.taps.count[d]) |t| if (s.taps.behind(d, t) % step == place % step) return true;
        return false;
    }

    /// Stages one channel for outputs of slice `slice`, from row `row` on.
    pub fn fill(
        s: *const Stage,
        comptime T: type,
        x: *const Image(T),
        plane: [*]const T,
        slice: usize,
        row: usize,
        to: [*]T,
    ) void {
        const t = s.taps;
        for (0..t.count[0]) |k| {
            const d = span(slice * t.step[0], 1) + t.first[0] + span(k, t.inc[0]);
            const out = to + k * s.rows_in * s.pitch;
            const outside = d < 0 or d >= span(x.size[0], 1);
            if (outside) {
                @memset(out[0 .. s.rows_in * s.pitch], 0);
                continue;
            }
            const from = at(plane, d * x.s[0]);
            for (0..s.phases) |p| {
                if (s.is_read(2, p)) s.fill_phase(T, x, from, row, p, out);
            }
        }
    }

    /// The columns of one phase, of all rows.
    fn fill_phase(
        s: *const Stage,
        comptime T: type,
        x: *const Image(T),
        from: [*]const T,
        row: usize,
        phase: usize,
        to: [*]T,
    ) void {
        const t = s.taps;
        const step, const stride = .{ t.step[2], x.s[2] };
        const start = t.low(2) + span(phase, 1);
        // Columns j with 0 <= start + j * step < size.
        const lo = if (start >= 0) 0 else @min(s.width, (@abs(start) - 1) / step + 1);
        const left = span(x.size[2], 1) - start;
        const hi = if (left <= 0) lo else @max(lo, @min(s.width, (@as(usize, @intCast(left)) - 1) / step + 1));
        const gap = span(step, stride);
        const first = start *% stride +% span(lo, gap);
        const top = span(row * t.step[1], 1) + t.low(1);
        for (0..s.rows_in) |r| {
            if (!s.is_read(1, r)) continue;
            const h = top + span(r, 1);
            const line = to + r * s.pitch + phase * s.width;
            if (h < 0 or h >= span(x.size[1], 1)) {
                @memset(line[0..s.width], 0);
                continue;
            }
            const source = at(from, h * x.s[1] +% first);
            for (line[0..lo]) |*o| o.* = 0;
            if (gap == 1) {
                copy(T, line + lo, source, hi - lo);
            } else for (line[lo..hi], 0..) |*o, j| o.* = at(source, span(j, gap))[0];
            for (line[hi..s.width]) |*o| o.* = 0;
        }
    }
};

/// Rows are often as short as a vector, for which a call would take longer than the copy.
inline fn copy(comptime T: type, to: [*]T, from: [*]const T, n: usize) void {
    const V = @Vector(32 / @sizeOf(T), T);
    const w = @typeInfo(V).vector.len;
    if (n < w or n > 8 * w) return @memcpy(to[0..n], from[0..n]);
    var i: usize = 0;
    while (i + w <= n) : (i += w) to[i..][0..w].* = from[i..][0..w].*;
    to[n - w ..][0..w].* = from[n - w ..][0..w].*;
}

/// Runs of neighbours among some positions of a band, which lie row by row.
pub const Runs = struct {
    /// Where the run begins in the staged image, and in the block.
    from: [64]usize,
    to: [64]usize,
    count: usize,
    longest: usize,

    /// Of `w` positions (at most 64) from `position` on.
    pub fn of(s: *const Stage, position: usize, w: usize) Runs {
        var r: Runs = .{ .from = undefined, .to = undefined, .count = 0, .longest = 0 };
        var done: usize = 0;
        var row = position / s.columns;
        var column = position % s.columns;
        while (done < w) {
            const length = @min(w - done, s.columns - column);
            r.from[r.count] = row * s.row_step() + column;
            r.to[r.count] = done;
            r.count += 1;
            r.longest = @max(r.longest, length);
            done += length;
            row += 1;
            column = 0;
        }
        return r;
    }
};
