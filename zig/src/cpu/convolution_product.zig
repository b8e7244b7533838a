//! Convolutions as products of matrices: the weights times all windows, of which a panel at a time is put together in
//! the form that the tiles of matrix products read. Bands of outputs are staged first (convolution_stage.zig).
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
const Runs = stage.Runs;
const Strips = plan.Strips;

/// Panels that are packed together.
const most_panels = 4;
/// Elements of a staged band that stay in a second-level cache.
const band_bytes = 1 << 20;
/// With fewer positions than this, packing the weights would cost more than it gains.
const few_positions = 64;
const few_strips = 8;

pub fn Problem(comptime T: type) type {
    return struct {
        n: usize,
        groups: usize,
        /// Channels of the result and of the image, in one group.
        m: usize,
        c: usize,
        x: stage.Image(T),
        taps: stage.Taps,
        /// Weights: rows for channels of the result; the step from one group's to the next's.
        a: [*]const T,
        rsa: isize,
        csa: isize,
        gsa: isize,
        y: [*]T,
        yn: isize,
        yc: isize,
        ys: [3]isize,
        out: [3]usize,
        bias: ?[*]const T = null,

        /// Positions of a slice follow each other with one stride.
        fn is_flat(p: *const @This()) bool {
            return p.out[1] == 1 or p.ys[1] == span(p.out[2], p.ys[2]);
        }
    };
}

/// False when there is no memory to work in.
pub fn convolve(comptime T: type, p: *const Problem(T)) bool {
    var plans: Product(T) = .of(p);
    const size = plans.packed_size();
    const lease = if (size == 0) null else parallel.Scratch.acquire(size * @sizeOf(T)) orelse return false;
    defer if (lease) |*l| l.release();
    if (lease) |*l| {
        plans.packed_a = l.slice(T, size).ptr;
        const shared: *const Product(T) = &plans;
        const cost = 16 * Tile(T).rows * plans.k;
        const strips = p.groups * plans.strips.count;
        parallel.parallel_for(strips, 1 + plan.task_work / cost, shared, Product(T).pack_weights);
    }
    var failed: std.atomic.Value(bool) = .init(false);
    plans.failed = &failed;
    const shared: *const Product(T) = &plans;
    const tasks = p.n * p.groups * p.out[0] * plans.bands * plans.parts;
    const work = p.m *| plans.k *| plans.rows *| p.out[2] / plans.parts;
    parallel.parallel_for(tasks, 1 + plan.task_work / @max(1, work), shared, Product(T).run);
    return !failed.load(.monotonic);
}

fn Product(comptime T: type) type {
    const tile = Tile(T);
    return struct {
        p: *const Problem(T),
        /// The inner dimension, and how much of it is taken at a time.
        k: usize,
        kc: usize,
        steps: usize,
        strips: Strips,
        /// Rows of outputs in a band, and how many bands a slice has.
        rows: usize,
        bands: usize,
        /// Pieces that the channels of the result are cut into, where there are too few bands.
        parts: usize,
        packed_a: ?[*]T = null,
        failed: *std.atomic.Value(bool) = undefined,
        point: bool,
        flat: bool,

        const Self = @This();

        fn of(p: *const Problem(T)) Self {
            const k = p.c * p.taps.total();
            const kc = plan.k_step(k, tile.kc);
            const point = p.taps.is_point(&p.x, p.out);
            const strips: Strips = .of(p.m, tile.rows);
            const rows = if (point) p.out[1] else band(p);
            const bands = (p.out[1] - 1) / rows + 1;
            const tasks = p.n * p.groups * p.out[0] * bands;
            const wanted = 2 * @as(usize, parallel.num_threads());
            return .{
                .p = p,
                .k = k,
                .kc = kc,
                .steps = (k - 1) / kc + 1,
                .strips = strips,
                .rows = rows,
                .bands = bands,
                .parts = if (wanted > 2 and tasks < wanted) @min(strips.count, (wanted - 1) / tasks + 1) else 1,
                .point = point,
                .flat = p.is_flat(),
            };
        }

        /// Rows whose staged image fits in the cache.
        fn band(p: *const Problem(T)) usize {
            const limit = band_bytes / @sizeOf(T);
            const all: Stage = .of(&p.taps, p.out[1], p.out[2]);
            const whole = p.c * all.channel;
            if (whole <= limit) return p.out[1];
            const count = @min((whole - 1) / limit + 1, p.out[1]);
            const rows = (p.out[1] - 1) / count + 1;
            // Panels want whole rows of their own.
            const least = @min(p.out[1], (most_panels * tile.columns - 1) / p.out[2] + 1);
            return @max(rows, least);
        }

        fn strip_size(s: *const Self) usize {
            return s.strips.height(0) * s.kc + pack.slack;
        }

        fn packed_size(s: *const Self) usize {
            const p = s.p;
            const positions = p.n * p.out[0] * p.out[1] * p.out[2];
            if (positions <= few_positions and p.csa == 1) return 0;
            return p.groups * s.steps * s.strips.count * s.strip_size();
        }

        fn strip_of(s: *const Self, group: usize, step: usize, i: usize) [*]T {
            return s.packed_a.? + ((group * s.steps + step) * s.strips.count + i) * s.strip_size();
        }

        fn pack_weights(s: *const Self, begin: usize, end: usize) void {
            const p = s.p;
            for (begin..end) |job| {
                const group = job / s.strips.count;
                const i = job % s.strips.count;
                const a = at(p.a, span(group, p.gsa) + span(s.strips.start(i), p.rsa));
                for (0..s.steps) |q| {
                    const k = q * s.kc;
                    const kc = @min(s.kc, s.k - k);
                    const to = s.strip_of(group, q, i);
                    parts.pack_strip(T, s.strips.height(i), kc, at(a, span(k, p.csa)), p.rsa, p.csa, to);
                }
            }
        }

        fn run(s: *const Self, begin: usize, end: usize) void {
            const p = s.p;
            const st: Stage = .of(&p.taps, s.rows, p.out[2]);
            const group = most_panels * tile.columns;
            const taps = p.taps.total();
            const staged = if (s.point) 0 else p.c * st.channel + stage.slack;
            const panel = s.kc * group + stage.slack;
            const apart = if (s.flat) 0 else p.m * s.rows * p.out[2];
            const elements = std.mem.alignForward(usize, (panel + staged + apart) * @sizeOf(T), 64);
            const bytes = elements + taps * @sizeOf(usize);
            const lease = parallel.Scratch.acquire(bytes) orelse return s.failed.store(true, .monotonic);
            defer lease.release();
            const all = lease.slice(u8, bytes).ptr;
            const room: [*]T = @ptrCast(@alignCast(all));
            var w: Work(T) = .{
                .s = s,
                .st = &st,
                .offsets = @as([*]usize, @ptrCast(@alignCast(all + elements)))[0..taps],
                .panel = room,
                .staged = room + panel,
                .apart = room + panel + staged,
            };
            st.offsets(w.offsets);
            for (begin..end) |task| w.one(task);
        }
    };
}

/// What a thread works in.
fn Work(comptime T: type) type {
    const tile = Tile(T);
    return struct {
        s: *const Product(T),
        st: *const Stage,
        offsets: []usize,
        panel: [*]T,
        staged: [*]T,
        apart: [*]T,
        /// The task and the band at hand.
        n: usize = 0,
        g: usize = 0,
        slice: usize = 0,
        row: usize = 0,
        first: usize = 0,
        last: usize = 0,

        const Self = @This();

        fn one(w: *Self, task: usize) void {
            const s = w.s;
            const p = s.p;
            var left = task;
            const part = left % s.parts;
            left /= s.parts;
            w.row = (left % s.bands) * s.rows;
            left /= s.bands;
            w.slice = left % p.out[0];
            left /= p.out[0];
            w.g = left % p.groups;
            w.n = left / p.groups;
            w.first = s.strips.count * part / s.parts;
            w.last = s.strips.count * (part + 1) / s.parts;
            if (!s.point) {
                const image = at(p.x.data, span(w.n, p.x.n) + span(w.g * p.c, p.x.c));
                for (0..p.c) |c| {
                    const from = at(image, span(c, p.x.c));
                    w.st.fill(T, &p.x, from, w.slice, w.row, w.staged + c * w.st.channel);
                }
            }
            const rows = @min(s.rows, p.out[1] - w.row);
            const positions = rows * p.out[2];
            const group = most_panels * tile.columns;
            var j: usize = 0;
            while (j < positions) : (j += group) for (0..s.steps) |q| w.block(j, @min(group, positions - j), q);
            if (!s.flat) w.spread(rows);
        }

        /// Some positions of the band, and one step of the inner dimension.
        fn block(w: *const Self, j: usize, wide: usize, q: usize) void {
            const s = w.s;
            const p = s.p;
            const kc = @min(s.kc, s.k - q * s.kc);
            // What is used by few strips is best read where it lies.
            const placed = s.point and p.x.s[2] == 1 and w.last - w.first <= few_strips;
            var x: usize = 0;
            while (x < wide) : (x += tile.columns) {
                if (placed and wide - x >= tile.columns) continue;
                w.pack_panel(j + x, @min(tile.columns, wide - x), q * s.kc, kc, w.panel + x * kc);
            }
            const y, const rsc, const csc = w.target(j);
            var shared: tile.Shared = .{
                .k = kc,
                .rsa = p.rsa,
                .csa = p.csa,
                .ldb = 0,
                .rsc = rsc,
                .csc = csc,
                .rsd = if (q == 0) 1 else rsc,
                .csd = if (q == 0) 0 else csc,
                .alpha = 1,
                .beta = if (q == 0 and p.bias == null) 0 else 1,
            };
            for (w.first..w.last) |i| {
                const h = s.strips.height(i);
                const start = s.strips.start(i);
                const c = at(y, span(start, rsc));
                const d: [*]const T = if (q > 0) c else if (p.bias) |b| b + w.g * p.m + start else c;
                const a = if (s.packed_a == null)
                    at(p.a, span(w.g, p.gsa) + span(start, p.rsa) + span(q * s.kc, p.csa))
                else
                    s.strip_of(w.g, q, i);
                x = 0;
                while (x < wide) : (x += tile.columns) {
                    const hi = @min(tile.columns, wide - x);
                    const ldb = std.mem.alignForward(usize, hi, tile.lanes);
                    const own = placed and hi == tile.columns;
                    shared.ldb = if (own) p.x.c else @intCast(ldb);
                    const b = if (own) w.in_place(j + x, q * s.kc) else w.panel + x * kc;
                    const f = parts.tile_of(T, s.packed_a != null, h, ldb / tile.lanes, hi);
                    f(&shared, a, b, at(c, span(x, csc)), at(d, span(x, shared.csd)), 0, hi);
                }
            }
        }

        /// Where positions from `j` on are written, and the strides of channels and positions there.
        fn target(w: *const Self, j: usize) struct { [*]T, isize, isize } {
            const s = w.s;
            const p = s.p;
            if (!s.flat) return .{ w.apart + j, @intCast(s.rows * p.out[2]), 1 };
            return .{ at(w.plane(), span(w.row, p.ys[1]) + span(j, p.ys[2])), p.yc, p.ys[2] };
        }

        fn plane(w: *const Self) [*]T {
            const p = w.s.p;
            return at(p.y, span(w.n, p.yn) + span(w.g * p.m, p.yc) + span(w.slice, p.ys[0]));
        }

        /// Puts what was computed apart where it belongs.
        fn spread(w: *const Self, rows: usize) void {
            const s = w.s;
            const p = s.p;
            const end = if (w.last == s.strips.count) p.m else s.strips.start(w.last);
            for (s.strips.start(w.first)..end) |m| for (0..rows) |r| {
                const from = w.apart + (m * s.rows + r) * p.out[2];
                const to = at(w.plane(), span(m, p.yc) + span(w.row + r, p.ys[1]));
                for (0..p.out[2]) |i| at(to, span(i, p.ys[2]))[0] = from[i];
            };
        }

        /// Where the image has a position, of channel `k` of the group.
        fn in_place(w: *const Self, position: usize, k: usize) [*]const T {
            const p = w.s.p;
            const start = span(w.n, p.x.n) + span(w.g * p.c + k, p.x.c);
            return at(p.x.data, start + span(w.slice, p.x.s[0]) + span(position, p.x.s[2]));
        }

        fn pack_panel(w: *const Self, position: usize, wide: usize, k: usize, kc: usize, out: [*]T) void {
            const p = w.s.p;
            const ldb = std.mem.alignForward(usize, wide, tile.lanes);
            if (w.s.point) {
                const b = w.in_place(position, k);
                return parts.pack_panel(T, wide, kc, b, p.x.c, p.x.s[2], out, ldb);
            }
            const runs: Runs = .of(w.st, position, wide);
            inline for ([_]usize{ tile.lanes / 2, tile.lanes, tile.columns }) |width| if (runs.longest <= width) {
                // A loop over one or two runs would take longer than what they move.
                return switch (runs.count) {
                    1 => w.pack_runs(width, 1, &runs, wide, k, kc, out, ldb),
                    2 => w.pack_runs(width, 2, &runs, wide, k, kc, out, ldb),
                    else => w.pack_runs(width, null, &runs, wide, k, kc, out, ldb),
                };
            };
        }

        /// Each run moves as one vector, which may run over its end: what follows is written after it.
        fn pack_runs(
            w: *const Self,
            comptime width: usize,
            comptime count: ?usize,
            runs: *const Runs,
            wide: usize,
            k: usize,
            kc: usize,
            out: [*]T,
            ldb: usize,
        ) void {
            const taps = w.offsets.len;
            const from_places = runs.from[0 .. count orelse runs.count];
            const to_places = runs.to[0 .. count orelse runs.count];
            var c = k / taps;
            var t = k % taps;
            var channel = w.staged + c * w.st.channel;
            for (0..kc) |i| {
                const from = channel + w.offsets[t];
                const to = out + i * ldb;
                if (count) |n| {
                    inline for (from_places[0..n], to_places[0..n]) |f, o| move(width, from + f, to + o);
                } else for (from_places, to_places) |f, o| move(width, from + f, to + o);
                if (wide < ldb) tile.store(to + wide, @splat(0));
                t += 1;
                if (t == taps) {
                    t = 0;
                    c += 1;
                    channel += w.st.channel;
                }
            }
        }

        inline fn move(comptime width: usize, from: [*]const T, to: [*]T) void {
            to[0..width].* = from[0..width].*;
        }
    };
}
