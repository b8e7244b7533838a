//! Gradients of attention: the powers are computed again from the logarithms of their sums, block by block. A task
//! takes a head of keys with all heads of queries that share it.
const std = @import("std");
const abi = @import("abi");
const fr = @import("../core/frame.zig");
const heads = @import("attention_heads.zig");
const parallel = @import("../core/parallel.zig");
const products = @import("products.zig");

const query_block = heads.query_block;
const key_block = heads.key_block;

pub fn Backward(comptime T: type) type {
    const H = heads.Heads(T);
    return struct {
        const Job = struct {
            h: H,
            views: [9]fr.View,
            products: *const products.Products(T),
            failed: std.atomic.Value(bool) = .init(false),
        };

        /// Work memory of a task.
        const Parts = struct {
            copies: [5][*]T,
            grad_queries: [*]T,
            grad_keys: [*]T,
            grad_values: [*]T,
            packed_keys: [*]T,
            packed_values: [*]T,
            packed_rows: [*]T,
            packed_queries: [*]T,
            packed_grads: [*]T,
            scores: [*]T,
            slopes: [*]T,
            deltas: [*]T,
        };

        pub fn run(f: *fr.Frame) abi.Status {
            var job: Job = .{
                .h = H.of(f, 4, 9) orelse return .bad_argument,
                .views = undefined,
                .products = products.of(T),
            };
            for (&job.views, 0..) |*v, i| v.* = fr.view(f, i);
            const h = &job.h;
            for ([_]usize{ 3, 7 }) |i| {
                const v = &job.views[i];
                if (v.rank != 4 or v.size(2) != h.queries or v.size(3) != h.value_width) return .bad_argument;
            }
            for (0..3) |i| {
                if (job.views[i].rank != 4) return .bad_argument;
                for (0..4) |d| if (job.views[i].size(d) != job.views[4 + i].size(d)) return .bad_argument;
            }
            if (job.views[8].numel() != h.batch * h.heads * h.queries) return .bad_argument;
            parallel.parallel_for(h.batch * (h.heads / h.shared), 1, &job, some);
            return if (job.failed.load(.acquire)) .out_of_memory else .ok;
        }

        fn some(j: *Job, begin: usize, end: usize) void {
            const key_heads = j.h.heads / j.h.shared;
            for (begin..end) |t| {
                task(j, t / key_heads, t % key_heads) catch j.failed.store(true, .release);
            }
        }

        fn task(j: *Job, b: usize, kv: usize) error{OutOfMemory}!void {
            const h = &j.h;
            const p = j.products;
            const blocks = (h.queries + query_block - 1) / query_block;
            var sizes: [16]usize = @splat(0);
            const operands = [5]usize{ 4, 5, 6, 3, 7 };
            for (operands, sizes[0..5]) |o, *n| {
                const v = &j.views[o];
                n.* = if (H.is_direct(v)) 0 else v.size(2) * v.size(3);
            }
            sizes[5..16].* = .{
                h.queries * h.width,
                h.keys * h.width,
                h.keys * h.value_width,
                p.packed_size(key_block, h.width),
                p.packed_size(key_block, h.value_width),
                p.packed_size(h.width, key_block),
                blocks * p.packed_size(h.width, query_block),
                blocks * p.packed_size(h.value_width, query_block),
                query_block * key_block,
                query_block * key_block,
                h.queries,
            };
            const total = H.room_of(&sizes);
            const scratch = parallel.Scratch.acquire(total * @sizeOf(T)) orelse return error.OutOfMemory;
            defer scratch.release();
            const places = H.placed(16, &sizes, scratch.slice(T, total).ptr);
            const w: Parts = .{
                .copies = places[0..5].*,
                .grad_queries = places[5],
                .grad_keys = places[6],
                .grad_values = places[7],
                .packed_keys = places[8],
                .packed_values = places[9],
                .packed_rows = places[10],
                .packed_queries = places[11],
                .packed_grads = places[12],
                .scores = places[13],
                .slopes = places[14],
                .deltas = places[15],
            };
            @memset(w.grad_keys[0 .. h.keys * h.width], 0);
            @memset(w.grad_values[0 .. h.keys * h.value_width], 0);
            const keys = H.matrix(&j.views[5], b, kv, w.copies[1]);
            const values = H.matrix(&j.views[6], b, kv, w.copies[2]);
            for (0..h.shared) |i| head_gradients(j, b, kv * h.shared + i, keys, values, &w);
            H.put(&j.views[1], b, kv, 0, h.keys, w.grad_keys);
            H.put(&j.views[2], b, kv, 0, h.keys, w.grad_values);
        }

        fn head_gradients(j: *Job, b: usize, head: usize, keys: H.Matrix, values: H.Matrix, w: *const Parts) void {
            const h = &j.h;
            const p = j.products;
            const queries = H.matrix(&j.views[4], b, head, w.copies[0]);
            const grads = H.matrix(&j.views[3], b, head, w.copies[3]);
            const result = H.matrix(&j.views[7], b, head, w.copies[4]);
            const logs = j.views[8].ptr(T) + (b * h.heads + head) * h.queries;
            @memset(w.grad_queries[0 .. h.queries * h.width], 0);
            for (0..h.queries) |i| w.deltas[i] = dot(grads.row(i), result.row(i), h.value_width);
            const room = .{ p.packed_size(h.width, query_block), p.packed_size(h.value_width, query_block) };
            var i: usize = 0;
            while (i < h.queries) : (i += query_block) {
                const m = @min(query_block, h.queries - i);
                const block = i / query_block;
                p.pack(h.width, m, queries.row(i), queries.stride, 1, w.packed_queries + block * room[0]);
                p.pack(h.value_width, m, grads.row(i), grads.stride, 1, w.packed_grads + block * room[1]);
            }
            var key: usize = 0;
            while (key < h.keys) : (key += key_block) {
                const n = @min(key_block, h.keys - key);
                p.pack(n, h.width, keys.row(key), 1, keys.stride, w.packed_keys);
                p.pack(n, h.value_width, values.row(key), 1, values.stride, w.packed_values);
                p.pack(h.width, n, keys.row(key), keys.stride, 1, w.packed_rows);
                i = 0;
                while (i < h.queries) : (i += query_block) {
                    const m = @min(query_block, h.queries - i);
                    const visible = @min(n, h.seen(i, m) -| key);
                    if (visible == 0) continue;
                    const block = i / query_block;
                    const step: Block = .{
                        .b = b,
                        .head = head,
                        .i = i,
                        .m = m,
                        .key = key,
                        .n = visible,
                        .queries = .{ .data = w.packed_queries + block * room[0], .n = h.width, .k = m },
                        .grads = .{ .data = w.packed_grads + block * room[1], .n = h.value_width, .k = m },
                        .query_rows = .{ .data = queries.row(i), .row = queries.stride },
                        .grad_rows = .{ .data = grads.row(i), .row = grads.stride },
                        .logs = logs + i,
                        .packed_n = n,
                    };
                    step.run(h, w);
                }
            }
            H.put(&j.views[0], b, head, 0, h.queries, w.grad_queries);
        }

        /// A block of queries against one of keys.
        const Block = struct {
            b: usize,
            head: usize,
            i: usize,
            m: usize,
            key: usize,
            n: usize,
            queries: H.Right,
            grads: H.Right,
            query_rows: H.Left,
            grad_rows: H.Left,
            logs: [*]const T,
            packed_n: usize,

            fn run(s: *const Block, h: *const H, w: *const Parts) void {
                const m, const n = .{ s.m, s.n };
                const width, const deep = .{ h.width, h.value_width };
                const ld = key_block;
                const keys: H.Right = .{ .data = w.packed_keys, .n = s.packed_n, .k = width };
                const values: H.Right = .{ .data = w.packed_values, .n = s.packed_n, .k = deep };
                const rows: H.Right = .{ .data = w.packed_rows, .n = width, .k = s.packed_n };
                H.product(.{ m, n, width }, s.query_rows, keys, w.scores, ld, h.scale, 0);
                h.masked(s.b, s.head, w.scores, s.i, m, s.key, n);
                for (0..m) |r| {
                    const scores = w.scores + r * ld;
                    _ = H.powers(scores, H.closed(scores, n), s.logs[r]);
                }
                H.product(.{ m, n, deep }, s.grad_rows, values, w.slopes, ld, 1, 0);
                // Rows of the gradients of values: columns of the powers.
                const powers: H.Left = .{ .data = w.scores, .row = 1, .column = ld };
                H.product(.{ n, deep, m }, powers, s.grads, w.grad_values + s.key * deep, deep, 1, 1);
                for (0..m) |r| slopes(w.slopes + r * ld, w.scores + r * ld, n, w.deltas[s.i + r], h.scale);
                const inner: H.Left = .{ .data = w.slopes, .row = ld };
                H.product(.{ m, width, n }, inner, rows, w.grad_queries + s.i * width, width, 1, 1);
                const turned: H.Left = .{ .data = w.slopes, .row = 1, .column = ld };
                H.product(.{ n, width, m }, turned, s.queries, w.grad_keys + s.key * width, width, 1, 1);
            }
        };

        fn slopes(p: [*]T, powers: [*]const T, n: usize, delta: T, scale: T) void {
            const lanes = @typeInfo(H.V).vector.len;
            const d: H.V = @splat(delta);
            const s: H.V = @splat(scale);
            var i: usize = 0;
            while (i + lanes <= n) : (i += lanes) H.store(p + i, (H.load(p + i) - d) * H.load(powers + i) * s);
            while (i < n) : (i += 1) p[i] = (p[i] - delta) * powers[i] * scale;
        }

        fn dot(a: [*]const T, b: [*]const T, n: usize) T {
            const lanes = @typeInfo(H.V).vector.len;
            var sum: H.V = @splat(0);
            var i: usize = 0;
            while (i + lanes <= n) : (i += lanes) sum += H.load(a + i) * H.load(b + i);
            var all = @reduce(.Add, sum);
            while (i < n) : (i += 1) all += a[i] * b[i];
            return all;
        }
    };
}
