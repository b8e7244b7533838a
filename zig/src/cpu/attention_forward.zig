//! Attention forward: a task takes some queries of a head, and all keys block by block.
const std = @import("std");
const abi = @import("abi");
const fr = @import("../core/frame.zig");
const heads = @import("attention_heads.zig");
const parallel = @import("../core/parallel.zig");
const products = @import("products.zig");
const vmath = @import("vmath.zig");

const query_block = heads.query_block;
const key_block = heads.key_block;

/// Queries of one task: keys are packed once for them.
const task_queries = 20 * query_block;

pub fn Forward(comptime T: type) type {
    const H = heads.Heads(T);
    return struct {
        const Job = struct {
            h: H,
            views: [5]fr.View,
            tasks: usize,
            products: *const products.Products(T),
            failed: std.atomic.Value(bool) = .init(false),
        };

        pub fn run(f: *fr.Frame) abi.Status {
            var job: Job = .{
                .h = H.of(f, 2, 5) orelse return .bad_argument,
                .views = undefined,
                .tasks = undefined,
                .products = products.of(T),
            };
            for (&job.views, 0..) |*v, i| v.* = fr.view(f, i);
            const h = &job.h;
            const out = &job.views[0];
            if (out.rank != 4 or out.size(2) != h.queries or out.size(3) != h.value_width) return .bad_argument;
            if (job.views[1].numel() != h.batch * h.heads * h.queries) return .bad_argument;
            job.tasks = (h.queries + task_queries - 1) / task_queries;
            parallel.parallel_for(h.batch * h.heads * job.tasks, 1, &job, some);
            return if (job.failed.load(.acquire)) .out_of_memory else .ok;
        }

        fn some(j: *Job, begin: usize, end: usize) void {
            for (begin..end) |t| {
                const head = t / j.tasks;
                const first = t % j.tasks * task_queries;
                const last = @min(first + task_queries, j.h.queries);
                task(j, head / j.h.heads, head % j.h.heads, first, last) catch j.failed.store(true, .release);
            }
        }

        fn task(j: *Job, b: usize, head: usize, first: usize, last: usize) error{OutOfMemory}!void {
            const h = &j.h;
            const rows = last - first;
            const p = j.products;
            const q, const k, const v = .{ &j.views[2], &j.views[3], &j.views[4] };
            // Copies of operands that cannot be read where they lie, packed keys and values, scores, sums.
            const sizes = [_]usize{
                if (H.is_direct(q)) 0 else h.queries * h.width,
                if (H.is_direct(k)) 0 else h.keys * h.width,
                if (H.is_direct(v)) 0 else h.keys * h.value_width,
                p.packed_size(key_block, h.width),
                p.packed_size(h.value_width, key_block),
                query_block * key_block,
                rows * h.value_width,
                2 * rows,
            };
            const total = H.room_of(&sizes);
            const scratch = parallel.Scratch.acquire(total * @sizeOf(T)) orelse return error.OutOfMemory;
            defer scratch.release();
            const parts = H.placed(sizes.len, &sizes, scratch.slice(T, total).ptr);
            const kv = head / h.shared;
            const keys = H.matrix(k, b, kv, parts[1]);
            const values = H.matrix(v, b, kv, parts[2]);
            const out, const tops = .{ parts[6], parts[7] };
            const sums = tops + rows;
            @memset(out[0 .. rows * h.value_width], 0);
            @memset(tops[0..rows], -std.math.inf(T));
            @memset(sums[0..rows], 0);
            var block: Block = .{
                .b = b,
                .head = head,
                .first = first,
                .rows = rows,
                .queries = H.matrix(q, b, head, parts[0]),
                .scores = parts[5],
                .out = out,
                .tops = tops,
                .sums = sums,
            };
            const seen = h.seen(first, rows);
            while (block.key < seen) : (block.key += key_block) {
                const n = @min(key_block, seen - block.key);
                p.pack(n, h.width, keys.row(block.key), 1, keys.stride, parts[3]);
                p.pack(h.value_width, n, values.row(block.key), values.stride, 1, parts[4]);
                block.keys = .{ .data = parts[3], .n = n, .k = h.width };
                block.values = .{ .data = parts[4], .n = h.value_width, .k = n };
                block.step(h);
            }
            finish(j, b, head, first, rows, out, tops, sums);
        }

        /// The queries of a task against a block of keys.
        const Block = struct {
            b: usize,
            head: usize,
            first: usize,
            rows: usize,
            key: usize = 0,
            queries: H.Matrix,
            keys: H.Right = undefined,
            values: H.Right = undefined,
            scores: [*]T,
            out: [*]T,
            tops: [*]T,
            sums: [*]T,

            fn step(s: *const Block, h: *const H) void {
                const ld = h.value_width;
                var i: usize = 0;
                while (i < s.rows) : (i += query_block) {
                    const m = @min(query_block, s.rows - i);
                    const at = s.first + i;
                    const n = @min(s.keys.n, h.seen(at, m) -| s.key);
                    if (n == 0) continue;
                    const rows: H.Left = .{ .data = s.queries.row(at), .row = s.queries.stride };
                    H.product(.{ m, n, h.width }, rows, s.keys, s.scores, key_block, h.scale, 0);
                    h.masked(s.b, s.head, s.scores, at, m, s.key, n);
                    const before = s.out + i * ld;
                    for (0..m) |r| row(h, s.scores + r * key_block, n, before + r * ld, &s.tops[i + r], &s.sums[i + r]);
                    const powers: H.Left = .{ .data = s.scores, .row = key_block };
                    H.product(.{ m, ld, n }, powers, s.values, before, ld, 1, 1);
                }
            }
        };

        /// Scores become powers; what was added up before is brought to the new greatest score.
        inline fn row(h: *const H, scores: [*]T, keys: usize, out: [*]T, top: *T, sum: *T) void {
            const n = H.closed(scores, keys);
            const max = H.greatest(scores, n);
            const higher = if (max > top.*) max else top.*;
            // Nothing was seen yet: all scores are -inf, and their powers zero.
            const level = if (higher == -std.math.inf(T)) 0 else higher;
            if (higher != top.*) {
                if (sum.* != 0) {
                    const factor = vmath.exp(top.* - level);
                    sum.* *= factor;
                    H.scaled(out, h.value_width, factor);
                }
                top.* = higher;
            }
            sum.* += H.powers(scores, n, level);
            h.rounded(scores, n);
        }

        fn finish(j: *Job, b: usize, head: usize, first: usize, rows: usize, out: [*]T, tops: [*]T, sums: [*]T) void {
            const h = &j.h;
            const logs = j.views[1].ptr(T) + (b * h.heads + head) * h.queries + first;
            for (0..rows) |r| {
                const line = out + r * h.value_width;
                // Without a key that counts: zeros, and no power of a score is above zero.
                const none = sums[r] == 0;
                H.scaled(line, h.value_width, if (none) 0 else 1 / sums[r]);
                logs[r] = if (none) std.math.inf(T) else tops[r] + vmath.log(sums[r]);
            }
            H.put(&j.views[0], b, head, first, rows, out);
        }
    };
}
