//! Gradients of a convolution's weights: the result's gradient times all windows, summed over positions and examples.
const std = @import("std");
const kernels = @import("gemm_kernel.zig");
const pack = @import("gemm_pack.zig");
const parts = @import("gemm_parts.zig");
const parallel = @import("../core/parallel.zig");
const plan = @import("gemm_plan.zig");
const stage = @import("convolution_stage.zig");
const at = kernels.at;
const span = kernels.span;
const Tile = kernels.Tile;
const Stage = stage.Stage;
const Strips = plan.Strips;

/// Panels that are packed together.
const most_panels = 4;

pub fn Problem(comptime T: type) type {
    return struct {
        n: usize,
        groups: usize,
        m: usize,
        c: usize,
        x: stage.Image(T),
        taps: stage.Taps,
        /// The result's gradient, whose positions follow each other with one stride in a slice.
        g: stage.Image(T),
        /// The weights' gradient, without gaps.
        w: [*]T,
    };
}

/// False when there is no memory to work in.
pub fn gradient(comptime T: type, p: *const Problem(T)) bool {
    const tile = Tile(T);
    const out = p.g.size;
    const positions = out[1] * out[2];
    const rows = if (positions <= tile.kc) out[1] else @min(out[1], @max(1, tile.kc / out[2]));
    var s: Step(T) = .{
        .p = p,
        .rows = rows,
        .images = if (rows == out[1]) @min(p.n, @max(1, tile.kc / positions)) else 1,
        .strips = .of(p.m, tile.rows),
        .point = p.taps.is_point(&p.x, out),
        .group = most_panels * tile.columns,
    };
    const columns = p.c * p.taps.total();
    const threads: usize = parallel.num_threads();
    const panels = (columns - 1) / tile.columns + 1;
    if (threads > 1) s.group = tile.columns * std.math.clamp(panels / (4 * threads), 1, most_panels);
    const size = s.strips.count * s.strip_size();
    const lease = parallel.Scratch.acquire(size * @sizeOf(T)) orelse return false;
    defer lease.release();
    s.packed_a = lease.slice(T, size).ptr;
    var failed: std.atomic.Value(bool) = .init(false);
    s.failed = &failed;
    for (0..p.groups) |g| {
        s.g = g;
        s.begun = false;
        s.n = 0;
        while (s.n < p.n) : (s.n += s.images) for (0..out[0]) |slice| {
            s.slice = slice;
            s.row = 0;
            while (s.row < out[1]) : (s.row += s.rows) {
                s.take((columns - 1) / s.group + 1);
                s.begun = true;
            }
        };
    }
    return !failed.load(.monotonic);
}

/// Some rows of a slice, of one or several examples.
fn Step(comptime T: type) type {
    const tile = Tile(T);
    return struct {
        p: *const Problem(T),
        rows: usize,
        images: usize,
        strips: Strips,
        point: bool,
        group: usize,
        packed_a: [*]T = undefined,
        failed: *std.atomic.Value(bool) = undefined,
        g: usize = 0,
        n: usize = 0,
        slice: usize = 0,
        row: usize = 0,
        /// Something has been added to the gradient before.
        begun: bool = false,

        const Self = @This();

        fn most(s: *const Self) usize {
            return s.images * s.rows * s.p.g.size[2];
        }

        fn strip_size(s: *const Self) usize {
            return s.strips.height(0) * s.most() + pack.slack;
        }

        fn taken(s: *const Self) struct { usize, usize } {
            const out = s.p.g.size;
            return .{ @min(s.images, s.p.n - s.n), @min(s.rows, out[1] - s.row) * out[2] };
        }

        fn take(s: *const Self, groups: usize) void {
            const cost = 16 * tile.rows * s.most();
            parallel.parallel_for(s.strips.count, 1 + plan.task_work / cost, s, pack_gradient);
            parallel.parallel_for(groups, 1 + plan.task_work / (s.p.m * s.most() * s.group), s, run_groups);
        }

        fn pack_gradient(s: *const Self, begin: usize, end: usize) void {
            const p = s.p;
            const images, const positions = s.taken();
            for (begin..end) |i| {
                const h = s.strips.height(i);
                for (0..images) |k| {
                    const c = span(s.g * p.m + s.strips.start(i), p.g.c);
                    const a = at(p.g.data, span(s.n + k, p.g.n) + c + span(s.slice, p.g.s[0]) + span(s.row, p.g.s[1]));
                    const to = s.packed_a + i * s.strip_size() + k * positions * h;
                    parts.pack_strip(T, h, positions, a, p.g.c, p.g.s[2], to);
                }
            }
        }

        fn run_groups(s: *const Self, begin: usize, end: usize) void {
            const p = s.p;
            const st: Stage = .of(&p.taps, s.rows, p.g.size[2]);
            const taps = p.taps.total();
            const line = s.most() + stage.slack;
            const channels = @min(p.c, (s.group - 1) / taps + 2);
            const staged = if (s.point) 0 else s.images * channels * st.channel + stage.slack;
            const panel = s.most() * s.group + stage.slack;
            const lines = tile.columns * line;
            const elements = std.mem.alignForward(usize, (panel + lines + staged) * @sizeOf(T), 64);
            const bytes = elements + taps * @sizeOf(usize);
            const lease = parallel.Scratch.acquire(bytes) orelse return s.failed.store(true, .monotonic);
            defer lease.release();
            const all = lease.slice(u8, bytes).ptr;
            const room: [*]T = @ptrCast(@alignCast(all));
            const w: Work(T) = .{
                .s = s,
                .st = &st,
                .offsets = @as([*]usize, @ptrCast(@alignCast(all + elements)))[0..taps],
                .panel = room,
                .lines = room + panel,
                .staged = room + panel + lines,
                .line = line,
                .channels = channels,
            };
            st.offsets(w.offsets);
            for (begin..end) |i| w.columns(i * s.group);
        }
    };
}

fn Work(comptime T: type) type {
    const tile = Tile(T);
    return struct {
        s: *const Step(T),
        st: *const Stage,
        offsets: []usize,
        panel: [*]T,
        staged: [*]T,
        /// The windows of one panel, a row for each of its columns.
        lines: [*]T,
        line: usize,
        channels: usize,

        const Self = @This();

        fn columns(w: *const Self, j: usize) void {
            const s = w.s;
            const p = s.p;
            const all = p.c * w.offsets.len;
            const wide = @min(s.group, all - j);
            const images, const positions = s.taken();
            const kc = images * positions;
            if (!s.point) w.stage_channels(j / w.offsets.len, (j + wide - 1) / w.offsets.len + 1, images);
            var shared: tile.Shared = .{
                .k = kc,
                .ldb = 0,
                .rsc = @intCast(all),
                .csc = 1,
                .rsd = @intCast(all),
                .csd = 1,
                .alpha = 1,
                .beta = if (s.begun) 1 else 0,
            };
            var x: usize = 0;
            while (x < wide) : (x += tile.columns) {
                const width = @min(tile.columns, wide - x);
                w.pack_panel(j + x, width, j / w.offsets.len, images, positions, w.panel + x * kc);
            }
            for (0..s.strips.count) |i| {
                const h = s.strips.height(i);
                const c = p.w + (s.g * p.m + s.strips.start(i)) * all + j;
                x = 0;
                while (x < wide) : (x += tile.columns) {
                    const hi = @min(tile.columns, wide - x);
                    const ldb = std.mem.alignForward(usize, hi, tile.lanes);
                    shared.ldb = @intCast(ldb);
                    const f = parts.tile_of(T, true, h, ldb / tile.lanes, hi);
                    f(&shared, s.packed_a + i * s.strip_size(), w.panel + x * kc, c + x, c + x, 0, hi);
                }
            }
        }

        fn stage_channels(w: *const Self, begin: usize, end: usize, images: usize) void {
            const s = w.s;
            const p = s.p;
            for (0..images) |i| for (begin..end) |c| {
                const plane = at(p.x.data, span(s.n + i, p.x.n) + span(s.g * p.c + c, p.x.c));
                const to = w.staged + (i * w.channels + c - begin) * w.st.channel;
                w.st.fill(T, &p.x, plane, s.slice, s.row, to);
            };
        }

        fn pack_panel(
            w: *const Self,
            j: usize,
            wide: usize,
            first: usize,
            images: usize,
            positions: usize,
            out: [*]T,
        ) void {
            const s = w.s;
            const p = s.p;
            const ldb = std.mem.alignForward(usize, wide, tile.lanes);
            if (s.point) {
                const start = span(s.g * p.c + j, p.x.c) + span(s.slice, p.x.s[0]) + span(s.row, p.x.s[1]);
                for (0..images) |i| {
                    const b = at(p.x.data, span(s.n + i, p.x.n) + start);
                    parts.pack_panel(T, wide, positions, b, p.x.s[2], p.x.c, out + i * positions * ldb, ldb);
                }
                return;
            }
            const n = p.g.size[2];
            for (0..wide) |q| {
                const c = (j + q) / w.offsets.len - first;
                const offset = w.offsets[(j + q) % w.offsets.len];
                for (0..images) |i| {
                    const from = w.staged + (i * w.channels + c) * w.st.channel + offset;
                    const to = w.lines + q * w.line + i * positions;
                    for (0..positions / n) |r| copy_run(from + r * w.st.row_step(), to + r * n, n);
                }
            }
            parts.pack_panel(T, wide, images * positions, w.lines, 1, @intCast(w.line), out, ldb);
        }

        /// As vectors, which may run over the end.
        inline fn copy_run(from: [*]const T, to: [*]T, n: usize) void {
            var i: usize = 0;
            while (i < n) : (i += tile.lanes) tile.store(to + i, tile.load(from + i));
        }
    };
}
