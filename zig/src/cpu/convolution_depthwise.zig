//! Convolutions whose groups have one channel: each output row is a few staged rows, each times a number. The gradients
//! of their weights are products of rows.
const std = @import("std");
const kernels = @import("gemm_kernel.zig");
const parallel = @import("../core/parallel.zig");
const plan = @import("gemm_plan.zig");
const product = @import("convolution_product.zig");
const weight = @import("convolution_weight.zig");
const stage = @import("convolution_stage.zig");
const at = kernels.at;
const span = kernels.span;
const mul_add = kernels.mul_add;
const Stage = stage.Stage;
const Tile = kernels.Tile;

/// Elements of one staged plane that stay in a first-level cache.
const band_elements = 6 * 1024;

fn rows_of(taps: *const stage.Taps, out: [3]usize) usize {
    const all: Stage = .of(taps, out[1], out[2]);
    const count = @min(out[1], (all.channel - 1) / band_elements + 1);
    return (out[1] - 1) / count + 1;
}

/// False when there is no memory to work in.
pub fn convolve(comptime T: type, p: *const product.Problem(T)) bool {
    var failed: std.atomic.Value(bool) = .init(false);
    const rows = rows_of(&p.taps, p.out);
    const job: Rows(T) = .{ .p = p, .rows = rows, .bands = (p.out[1] - 1) / rows + 1, .failed = &failed };
    const tasks = p.n * p.groups * p.out[0] * job.bands;
    const work = p.m * p.taps.total() * rows * p.out[2];
    parallel.parallel_for(tasks, 1 + plan.task_work / (8 * @max(1, work)), &job, Rows(T).run);
    return !failed.load(.monotonic);
}

fn Rows(comptime T: type) type {
    const tile = Tile(T);
    const V = tile.V;
    return struct {
        p: *const product.Problem(T),
        rows: usize,
        bands: usize,
        failed: *std.atomic.Value(bool),

        const Self = @This();

        fn run(j: *const Self, begin: usize, end: usize) void {
            const p = j.p;
            const st: Stage = .of(&p.taps, j.rows, p.out[2]);
            const taps = p.taps.total();
            const elements = std.mem.alignForward(usize, (st.channel + stage.slack) * @sizeOf(T), 64);
            const bytes = elements + taps * @sizeOf(usize);
            const lease = parallel.Scratch.acquire(bytes) orelse return j.failed.store(true, .monotonic);
            defer lease.release();
            const all = lease.slice(u8, bytes).ptr;
            const staged: [*]T = @ptrCast(@alignCast(all));
            const offsets = @as([*]usize, @ptrCast(@alignCast(all + elements)))[0..taps];
            st.offsets(offsets);
            for (begin..end) |task| {
                const row = (task % j.bands) * j.rows;
                const slice = (task / j.bands) % p.out[0];
                const g = (task / j.bands / p.out[0]) % p.groups;
                const n = task / j.bands / p.out[0] / p.groups;
                const plane = at(p.x.data, span(n, p.x.n) + span(g, p.x.c));
                st.fill(T, &p.x, plane, slice, row, staged);
                for (0..p.m) |m| for (0..@min(j.rows, p.out[1] - row)) |r| {
                    const channel = g * p.m + m;
                    const y = span(n, p.yn) + span(channel, p.yc) + span(slice, p.ys[0]) + span(row + r, p.ys[1]);
                    const start: T = if (p.bias) |b| b[channel] else 0;
                    const w = at(p.a, span(g, p.gsa) + span(m, p.rsa));
                    j.line(staged + r * st.row_step(), offsets, w, start, at(p.y, y));
                };
            }
        }

        inline fn line(
            j: *const Self,
            from: [*]const T,
            offsets: []const usize,
            w: [*]const T,
            start: T,
            to: [*]T,
        ) void {
            const p = j.p;
            const n = p.out[2];
            const width = 2;
            var i: usize = 0;
            while (i < n) : (i += width * tile.lanes) {
                var sums: [width]V = @splat(@splat(start));
                for (offsets, 0..) |o, t| {
                    const x: V = @splat(at(w, span(t, p.csa))[0]);
                    inline for (&sums, 0..) |*s, u| s.* = mul_add(x, tile.load(from + o + i + u * tile.lanes), s.*);
                }
                if (p.ys[2] == 1 and i + width * tile.lanes <= n) {
                    inline for (sums, 0..) |s, u| tile.store(to + i + u * tile.lanes, s);
                } else {
                    var spilled: [width * tile.lanes]T = undefined;
                    inline for (sums, 0..) |s, u| tile.store(@as([*]T, &spilled) + u * tile.lanes, s);
                    for (spilled[0..@min(n - i, spilled.len)], i..) |s, k| at(to, span(k, p.ys[2]))[0] = s;
                }
            }
        }
    };
}

/// False when there is no memory to work in.
pub fn gradient(comptime T: type, p: *const weight.Problem(T)) bool {
    var failed: std.atomic.Value(bool) = .init(false);
    const job: Sums(T) = .{ .p = p, .rows = rows_of(&p.taps, p.g.size), .failed = &failed };
    const work = p.n * p.m * p.taps.total() * p.g.size[0] * p.g.size[1] * p.g.size[2];
    parallel.parallel_for(p.groups, 1 + plan.task_work / (8 * @max(1, work)), &job, Sums(T).run);
    return !failed.load(.monotonic);
}

fn Sums(comptime T: type) type {
    const tile = Tile(T);
    const V = tile.V;
    return struct {
        p: *const weight.Problem(T),
        rows: usize,
        failed: *std.atomic.Value(bool),

        const Self = @This();

        fn run(j: *const Self, begin: usize, end: usize) void {
            const p = j.p;
            const out = p.g.size;
            const st: Stage = .of(&p.taps, j.rows, out[2]);
            const taps = p.taps.total();
            // Behind a row of the gradient are zeros, so that vectors may run over its end.
            const line = std.mem.alignForward(usize, out[2], tile.lanes);
            const elements = std.mem.alignForward(usize, (st.channel + stage.slack + line) * @sizeOf(T), 64);
            const sums_at = elements + taps * @sizeOf(usize);
            const bytes = std.mem.alignForward(usize, sums_at, 64) + p.m * taps * @sizeOf(V);
            const lease = parallel.Scratch.acquire(bytes) orelse return j.failed.store(true, .monotonic);
            defer lease.release();
            const all = lease.slice(u8, bytes).ptr;
            const row_of: [*]T = @ptrCast(@alignCast(all));
            const staged = row_of + line;
            @memset((staged + st.channel)[0..stage.slack], 0);
            const offsets = @as([*]usize, @ptrCast(@alignCast(all + elements)))[0..taps];
            const behind = all + std.mem.alignForward(usize, sums_at, 64);
            const sums = @as([*]V, @ptrCast(@alignCast(behind)))[0 .. p.m * taps];
            st.offsets(offsets);
            for (begin..end) |g| {
                @memset(sums, @splat(0));
                for (0..p.n) |n| for (0..out[0]) |slice| {
                    var row: usize = 0;
                    while (row < out[1]) : (row += j.rows) {
                        const plane = at(p.x.data, span(n, p.x.n) + span(g, p.x.c));
                        st.fill(T, &p.x, plane, slice, row, staged);
                        for (0..p.m) |m| for (0..@min(j.rows, out[1] - row)) |r| {
                            const channel = span(g * p.m + m, p.g.c) + span(slice, p.g.s[0]) + span(row + r, p.g.s[1]);
                            const from = at(p.g.data, span(n, p.g.n) + channel);
                            for (0..out[2]) |i| row_of[i] = at(from, span(i, p.g.s[2]))[0];
                            @memset(row_of[out[2]..line], 0);
                            add(row_of, line, staged + r * st.row_step(), offsets, sums[m * taps ..][0..taps]);
                        };
                    }
                };
                for (sums, 0..) |s, i| p.w[g * p.m * taps + i] = @reduce(.Add, s);
            }
        }

        inline fn add(row: [*]const T, n: usize, from: [*]const T, offsets: []const usize, sums: []V) void {
            for (offsets, sums) |o, *sum| {
                var s = sum.*;
                var i: usize = 0;
                while (i < n) : (i += tile.lanes) s = mul_add(tile.load(row + i), tile.load(from + o + i), s);
                sum.* = s;
            }
        }
    };
}
