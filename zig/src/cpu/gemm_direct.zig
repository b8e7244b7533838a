//! Matrix products that are small or thin: A is read where it lies, whatever its strides, and B too if its rows are
//! contiguous; otherwise a panel of B is packed just before it is used.

const std = @import("std");
const parallel = @import("../core/parallel.zig");
const kernels = @import("gemm_kernel.zig");
const pack = @import("gemm_pack.zig");
const plan = @import("gemm_plan.zig");
const at = kernels.at;
const span = kernels.span;
const Tile = kernels.Tile;
const Problem = plan.Problem;
const Strips = plan.Strips;

/// Rows of A that take more than this together seldom lie in a near cache; of longer ones than that the processor
/// fetches by itself what follows.
const far_bytes = 256 * 1024;
const short_row = 4096;

fn Direct(comptime T: type) type {
    const tile = Tile(T);
    return struct {
        p: *const Problem(T),
        kc: usize,
        panels: usize,
        chunks: Strips,

        const Self = @This();

        /// Task t is chunk t % chunks of rows of panel t / chunks.
        fn run(s: *const Self, begin: usize, end: usize) void {
            const lease = if (s.needs_pack()) parallel.Scratch.acquire(s.kc * tile.columns * @sizeOf(T)) else null;
            defer if (lease) |*l| l.release();
            const buffer: ?[*]T = if (lease) |*l| l.slice(T, s.kc * tile.columns).ptr else null;
            var t = begin;
            while (t < end) {
                const panel = t / s.chunks.count;
                const chunk = t % s.chunks.count;
                const stop = @min(s.chunks.count, chunk + (end - t));
                const row = s.chunks.start(chunk);
                const rows = if (stop == s.chunks.count) s.p.m - row else s.chunks.start(stop) - row;
                s.do_panel(panel, row, rows, buffer);
                t += stop - chunk;
            }
        }

        /// B is read where it lies if its rows are contiguous and few strips read it.
        fn needs_pack(s: *const Self) bool {
            const p = s.p;
            return p.csb != 1 or p.n < tile.lanes or (p.m > 2 * tile.rows and p.n * p.k * @sizeOf(T) > 16 * 1024);
        }

        fn do_panel(s: *const Self, panel: usize, row: usize, rows: usize, buffer: ?[*]T) void {
            const p = s.p;
            const j = panel * tile.columns;
            const w = @min(tile.columns, p.n - j);
            var pc: usize = 0;
            while (pc < p.k) : (pc += s.kc) {
                const kc = @min(s.kc, p.k - pc);
                const b = at(p.b, span(pc, p.rsb) + span(j, p.csb));
                if (buffer) |out| {
                    const ldb = std.mem.alignForward(usize, w, tile.lanes);
                    pack.pack_panel(T, w, kc, b, p.rsb, p.csb, out, ldb);
                    s.do_strips(j, 0, w, ldb / tile.lanes, pc, kc, row, rows, out, @intCast(ldb));
                } else if (p.csb == 1 and p.n >= tile.lanes) {
                    s.do_unpacked(j, w, pc, kc, row, rows, b);
                } else s.do_small_pieces(j, w, pc, kc, row, rows);
            }
        }

        /// Contiguous rows of B: a last vector that would run over the end starts earlier instead.
        fn do_unpacked(
            s: *const Self,
            j: usize,
            w: usize,
            pc: usize,
            kc: usize,
            row: usize,
            rows: usize,
            b: [*]const T,
        ) void {
            const ldb = s.p.rsb;
            const nv = w / tile.lanes;
            const full = nv * tile.lanes;
            if (nv > 0) s.do_strips(j, 0, full, nv, pc, kc, row, rows, b, ldb);
            if (full == w) return;
            const back = tile.lanes - (w - full);
            const from = b + full - back;
            // Storing a column twice is harmless only if C is not read and this is all of k.
            const unread = s.p.beta == 0 or !s.p.in_place();
            const lo = if (unread and kc == s.p.k and s.chunks.count == 1 and j == 0) 0 else back;
            s.do_strips(j + full - back, lo, tile.lanes, 1, pc, kc, row, rows, from, ldb);
        }

        /// No memory for a packed panel: pack a few steps of k at a time on the stack.
        fn do_small_pieces(s: *const Self, j: usize, w: usize, pc: usize, kc: usize, row: usize, rows: usize) void {
            var out: [32 * tile.columns + pack.slack]T = undefined;
            const ldb = std.mem.alignForward(usize, w, tile.lanes);
            var q: usize = 0;
            while (q < kc) : (q += 32) {
                const step = @min(32, kc - q);
                const b = at(s.p.b, span(pc + q, s.p.rsb) + span(j, s.p.csb));
                pack.pack_panel(T, w, step, b, s.p.rsb, s.p.csb, &out, ldb);
                s.do_strips(j, 0, w, ldb / tile.lanes, pc + q, step, row, rows, &out, @intCast(ldb));
            }
        }

        /// Asks for the rows that come next: short ones end before the processor sees that they are read in order.
        fn fetch(a: [*]const T, rsa: isize, rows: usize, kc: usize) void {
            const line = 64 / @sizeOf(T);
            for (0..rows) |r| {
                const row = at(a, span(r, rsa));
                var q: usize = 0;
                while (q < kc) : (q += line) @prefetch(row + q, .{ .rw = .read, .locality = 2 });
            }
        }

        fn do_strips(
            s: *const Self,
            j: usize,
            lo: usize,
            hi: usize,
            nv: usize,
            pc: usize,
            kc: usize,
            row: usize,
            rows: usize,
            b: [*]const T,
            ldb: isize,
        ) void {
            const p = s.p;
            const shared: tile.Shared = .{
                .k = kc,
                .rsa = p.rsa,
                .csa = p.csa,
                .ldb = ldb,
                .rsc = p.rsc,
                .csc = p.csc,
                .rsd = if (pc == 0) p.rsd else p.rsc,
                .csd = if (pc == 0) p.csd else p.csc,
                .alpha = p.alpha,
                .beta = if (pc == 0) p.beta else 1,
            };
            const strips: Strips = .of(rows, tile.tallest_direct(nv));
            const a = at(p.a, span(row, p.rsa) + span(pc, p.csa));
            const c = at(p.c, span(row, p.rsc) + span(j, p.csc));
            const d = if (pc == 0) at(p.d, span(row, p.rsd) + span(j, p.csd)) else c;
            const ahead = p.csa == 1 and kc * @sizeOf(T) <= short_row and rows * kc * @sizeOf(T) >= far_bytes;
            for (0..strips.count) |i| {
                const r = strips.start(i);
                const next = i + 1;
                if (ahead and next < strips.count) {
                    fetch(at(a, span(strips.start(next), p.rsa)), p.rsa, strips.height(next), kc);
                }
                const f = tile.kernel(false, strips.height(i), nv, hi);
                f(&shared, at(a, span(r, p.rsa)), b, at(c, span(r, p.rsc)), at(d, span(r, shared.rsd)), lo, hi);
            }
        }
    };
}

pub fn direct(comptime T: type, p: *const Problem(T)) void {
    const tile = Tile(T);
    const panels = (p.n - 1) / tile.columns + 1;
    const work = p.work();
    const threads: usize = if (work < 2 * plan.task_work) 1 else parallel.num_threads();
    // Enough tasks for every thread: panels, and if those are few, chunks of rows of each.
    const wanted = if (threads == 1) 1 else (4 * threads - 1) / panels + 1;
    const chunk_rows = @max((p.m - 1) / wanted + 1, 2 * tile.rows);
    const d: Direct(T) = .{
        .p = p,
        .kc = plan.k_step(p.k, tile.kc),
        .panels = panels,
        .chunks = .of(p.m, chunk_rows),
    };
    const tasks = panels * d.chunks.count;
    if (threads == 1) return d.run(0, tasks);
    const task = @max(1, work / tasks);
    parallel.parallel_for(tasks, @max(1, plan.task_work / task), &d, Direct(T).run);
}
