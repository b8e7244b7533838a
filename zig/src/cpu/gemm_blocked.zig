//! Big matrix products: operands are packed into blocks that fit the caches.

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
const direct = @import("gemm_direct.zig").direct;

/// Panels of B that are packed together, at most.
const most_panels = 4;

/// One round: some rows of A, packed for one step of k, against all of B, of which each group of panels is packed
/// just before it is used, so that packed B never takes up room for long.
fn Panels(comptime T: type) type {
    const tile = Tile(T);
    return struct {
        p: *const Problem(T),
        strips: Strips,
        packed_a: [*]T,
        k0: usize = 0,
        kc: usize,
        /// Columns of B packed together.
        group: usize,

        const Self = @This();

        /// Strips may be packed at the same time, so each has its own room to overrun.
        fn strip_size(s: *const Self) usize {
            return s.strips.height(0) * s.kc + pack.slack;
        }

        fn pack_a(s: *const Self, begin: usize, end: usize) void {
            const p = s.p;
            const kc = @min(s.kc, p.k - s.k0);
            for (begin..end) |i| {
                const a = at(p.a, span(s.strips.start(i), p.rsa) + span(s.k0, p.csa));
                pack.pack_strip(T, s.strips.height(i), kc, a, p.rsa, p.csa, s.packed_a + i * s.strip_size());
            }
        }

        fn run_groups(s: *const Self, begin: usize, end: usize) void {
            const lease = parallel.Scratch.acquire(s.kc * s.group * @sizeOf(T));
            defer if (lease) |*l| l.release();
            // Without memory for a panel, a few steps of k at a time have to do.
            var little: [8 * most_panels * tile.columns]T align(64) = undefined;
            const out = if (lease) |*l| l.slice(T, s.kc * s.group).ptr else &little;
            const step = if (lease != null) s.kc else 8;
            const kc = @min(s.kc, s.p.k - s.k0);
            for (begin..end) |g| {
                var next: Ahead = if (g + 1 < end) .of(s, (g + 1) * s.group, kc) else .{};
                var q: usize = 0;
                while (q < kc) : (q += step) s.do_group(g * s.group, q, @min(step, kc - q), out, &next);
            }
        }

        /// The part of B that is packed next: its lines are asked for between tiles, a few each time, since packing
        /// goes through pieces too short for the processor to see what follows.
        const Ahead = struct {
            first: usize = 0,
            /// Contiguous pieces, bytes from one to the next, and lines of each.
            pieces: usize = 0,
            stride: isize = 0,
            lines: usize = 0,
            each: usize = 0,
            piece: usize = 0,
            line: usize = 0,

            fn of(s: *const Self, j: usize, kc: usize) Ahead {
                const p = s.p;
                const w = @min(s.group, p.n - j);
                const by_rows = p.csb == 1;
                if (!by_rows and p.rsb != 1) return .{};
                const pieces, const length, const stride = if (by_rows) .{ kc, w, p.rsb } else .{ w, kc, p.csb };
                const lines = (length * @sizeOf(T) - 1) / 64 + 1;
                const tiles = s.strips.count * ((w - 1) / tile.columns + 1);
                return .{
                    .first = @intFromPtr(at(p.b, span(s.k0, p.rsb) + span(j, p.csb))),
                    .pieces = pieces,
                    .stride = stride * @sizeOf(T),
                    .lines = lines,
                    .each = (pieces * lines - 1) / tiles + 1,
                };
            }

            inline fn fetch(a: *Ahead) void {
                for (0..a.each) |_| {
                    if (a.piece == a.pieces) return;
                    const address = a.first +% @as(usize, @bitCast(span(a.piece, a.stride))) + 64 * a.line;
                    @prefetch(@as([*]const u8, @ptrFromInt(address)), .{ .rw = .read, .locality = 2 });
                    a.line += 1;
                    if (a.line < a.lines) continue;
                    a.line = 0;
                    a.piece += 1;
                }
            }
        };

        fn do_group(s: *const Self, j: usize, q: usize, kc: usize, out: [*]T, next: *Ahead) void {
            const p = s.p;
            const w = @min(s.group, p.n - j);
            s.pack_group(j, w, q, kc, out);
            const first = s.k0 + q == 0;
            var shared: tile.Shared = .{
                .k = kc,
                .ldb = 0,
                .rsc = p.rsc,
                .csc = p.csc,
                .rsd = if (first) p.rsd else p.rsc,
                .csd = if (first) p.csd else p.csc,
                .alpha = p.alpha,
                .beta = if (first) p.beta else 1,
            };
            const start = if (first) p.d else p.c;
            for (0..s.strips.count) |i| {
                const h = s.strips.height(i);
                const c = at(p.c, span(s.strips.start(i), p.rsc) + span(j, p.csc));
                const d = at(start, span(s.strips.start(i), shared.rsd) + span(j, shared.csd));
                const strip = s.packed_a + i * s.strip_size() + q * h;
                var x: usize = 0;
                while (x < w) : (x += tile.columns) {
                    const hi = @min(tile.columns, w - x);
                    const ldb = std.mem.alignForward(usize, hi, tile.lanes);
                    shared.ldb = @intCast(ldb);
                    next.fetch();
                    const f = tile.kernel(true, h, ldb / tile.lanes, hi);
                    f(&shared, strip, out + x * kc, at(c, span(x, p.csc)), at(d, span(x, shared.csd)), 0, hi);
                }
            }
        }

        /// A few rows at a time across the panels: a row of B is often a page of its own.
        fn pack_group(s: *const Self, j: usize, w: usize, q: usize, kc: usize, out: [*]T) void {
            const p = s.p;
            const step = if (p.csb == 1) 8 else kc;
            var r: usize = 0;
            while (r < kc) : (r += step) {
                var x: usize = 0;
                while (x < w) : (x += tile.columns) {
                    const wide = @min(tile.columns, w - x);
                    const ldb = std.mem.alignForward(usize, wide, tile.lanes);
                    const b = at(p.b, span(s.k0 + q + r, p.rsb) + span(j + x, p.csb));
                    pack.pack_panel(T, wide, @min(step, kc - r), b, p.rsb, p.csb, out + x * kc + r * ldb, ldb);
                }
            }
        }
    };
}

/// Rows are taken in rounds whose packed part of A fits in half of a second-level cache.
pub fn blocked(comptime T: type, p: *const Problem(T)) void {
    const rounds: Strips = .of(p.m, Tile(T).mc);
    for (0..rounds.count) |i| {
        var part = p.*;
        part.m = rounds.height(i);
        part.a = at(p.a, span(rounds.start(i), p.rsa));
        part.c = at(p.c, span(rounds.start(i), p.rsc));
        part.d = at(p.d, span(rounds.start(i), p.rsd));
        round(T, &part);
    }
}

fn round(comptime T: type, p: *const Problem(T)) void {
    const columns = Tile(T).columns;
    const threads: usize = parallel.num_threads();
    const panels = (p.n - 1) / columns + 1;
    var s: Panels(T) = .{
        .p = p,
        .strips = .of(p.m, Tile(T).rows),
        .packed_a = undefined,
        .kc = plan.k_step(p.k, Tile(T).kc),
        // Every thread should find work a few times.
        .group = columns * if (threads == 1) most_panels else std.math.clamp(panels / (4 * threads), 1, most_panels),
    };
    const size = s.strips.count * s.strip_size();
    const lease = parallel.Scratch.acquire(size * @sizeOf(T)) orelse return direct(T, p);
    defer lease.release();
    s.packed_a = lease.slice(T, size).ptr;
    const groups = (p.n - 1) / s.group + 1;
    const strip_cost = 16 * Tile(T).rows * s.kc;
    while (s.k0 < p.k) : (s.k0 += s.kc) {
        const shared: *const Panels(T) = &s;
        parallel.parallel_for(s.strips.count, 1 + plan.task_work / strip_cost, shared, Panels(T).pack_a);
        parallel.parallel_for(groups, 1 + plan.task_work / (p.m * s.kc * s.group), shared, Panels(T).run_groups);
    }
}
