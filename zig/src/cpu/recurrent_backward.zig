//! The gradients of a recurrent layer, from the last step that was taken to the first.
const std = @import("std");
const abi = @import("abi");
const fr = @import("../core/frame.zig");
const parallel = @import("../core/parallel.zig");
const products = @import("products.zig");
const sizes = @import("recurrent_sizes.zig");

pub fn Backward(comptime T: type, comptime mode: sizes.Mode) type {
    const L = sizes.Lines(T);
    const gates = sizes.gates_of(mode);
    const kept = sizes.kept_of(mode);
    return struct {
        const Job = struct {
            s: sizes.Sizes,
            of_input: [*]T,
            of_hidden: [*]T,
            of_first: [*]T,
            of_first_cell: [*]T,
            grads: ?[*]const T,
            of_last: ?[*]const T,
            of_last_cell: ?[*]const T,
            reserve: [*]const T,
            cells: [*]const T,
            outputs: [*]const T,
            first: [*]const T,
            first_cell: [*]const T,
            weight: [*]const T,
            failed: std.atomic.Value(bool) = .init(false),
        };

        fn optional(f: *fr.Frame, index: usize) ?[*]const T {
            const v = fr.view(f, index);
            return if (v.numel() == 0) null else v.ptr(T);
        }

        pub fn run(f: *fr.Frame) abi.Status {
            const s = sizes.Sizes.of(f, 9) orelse return .bad_argument;
            const state = s.batch * s.hidden;
            const cell = if (mode == .lstm) state else 0;
            const all = s.steps * state;
            const exact = [_][2]usize{
                .{ 0, all * gates }, .{ 1, if (mode == .gru) all * gates else 0 },
                .{ 2, state },       .{ 3, cell },
                .{ 7, all * kept },  .{ 8, s.steps * cell },
                .{ 9, all },         .{ 10, state },
                .{ 11, cell },       .{ 12, gates * s.hidden * s.hidden },
            };
            for (exact) |pair| if (!sizes.fits(f, pair[0], pair[1])) return .bad_argument;
            for ([_][2]usize{ .{ 4, all }, .{ 5, state }, .{ 6, cell } }) |pair| {
                if (!sizes.fits(f, pair[0], pair[1]) and !sizes.fits(f, pair[0], 0)) return .bad_argument;
            }
            var job: Job = .{
                .s = s,
                .of_input = fr.view(f, 0).ptr(T),
                .of_hidden = fr.view(f, if (mode == .gru) 1 else 0).ptr(T),
                .of_first = fr.view(f, 2).ptr(T),
                .of_first_cell = fr.view(f, 3).ptr(T),
                .grads = optional(f, 4),
                .of_last = optional(f, 5),
                .of_last_cell = optional(f, 6),
                .reserve = fr.view(f, 7).ptr(T),
                .cells = fr.view(f, 8).ptr(T),
                .outputs = fr.view(f, 9).ptr(T),
                .first = fr.view(f, 10).ptr(T),
                .first_cell = fr.view(f, 11).ptr(T),
                .weight = fr.view(f, 12).ptr(T),
            };
            const work = @max(1, s.steps * s.hidden * s.hidden * gates);
            parallel.parallel_for(s.batch, @max(8, (1 << 20) / work), &job, some);
            return if (job.failed.load(.acquire)) .out_of_memory else .ok;
        }

        fn start(to: [*]T, from: ?[*]const T, first: usize, count: usize) void {
            if (from) |p| @memcpy(to[first..][0..count], p[first..][0..count]) else @memset(to[first..][0..count], 0);
        }

        fn some(j: *Job, begin: usize, end: usize) void {
            const s = &j.s;
            const h = s.hidden;
            const p = products.of(T);
            const m = end - begin;
            const size = p.packed_size(h, gates * h);
            const scratch = parallel.Scratch.acquire(size * @sizeOf(T)) orelse return j.failed.store(true, .release);
            defer scratch.release();
            const weight = scratch.slice(T, size).ptr;
            p.pack(h, gates * h, j.weight, @intCast(h), 1, weight);
            // What is known of the state's gradient so far stands where that of the first one will.
            start(j.of_first, j.of_last, begin * h, m * h);
            if (mode == .lstm) start(j.of_first_cell, j.of_last_cell, begin * h, m * h);
            const ahead = j.of_first + begin * h;
            var i = s.steps;
            while (i > 0) {
                i -= 1;
                const t = s.place(i) * s.batch + begin;
                const before = if (i > 0) s.place(i - 1) * s.batch + begin else 0;
                for (0..m) |r| {
                    const at = (t + r) * h;
                    const row: Row = .{
                        .grad = ahead + r * h,
                        .of_output = if (j.grads) |g| g + at else null,
                        .gates = j.reserve + (t + r) * kept * h,
                        .of_input = j.of_input + (t + r) * gates * h,
                        .of_hidden = j.of_hidden + (t + r) * gates * h,
                        .before = if (i > 0) j.outputs + (before + r) * h else j.first + (begin + r) * h,
                    };
                    switch (mode) {
                        .tanh, .relu => row.plain(h),
                        .gru => row.gru(h),
                        .lstm => {
                            const past = if (i > 0) j.cells + (before + r) * h else j.first_cell + (begin + r) * h;
                            row.lstm(h, j.of_first_cell + (begin + r) * h, j.cells + at, past);
                        },
                    }
                }
                p.multiply(&.{
                    .m = m,
                    .n = h,
                    .k = gates * h,
                    .a = j.of_hidden + t * gates * h,
                    .rsa = @intCast(gates * h),
                    .b = weight,
                    .c = ahead,
                    .rsc = @intCast(h),
                    // GRU keeps a part of the state as it was.
                    .beta = if (mode == .gru) 1 else 0,
                    .packed_n = h,
                    .packed_k = gates * h,
                });
            }
        }

        /// One example at one step.
        const Row = struct {
            grad: [*]T,
            of_output: ?[*]const T,
            gates: [*]const T,
            of_input: [*]T,
            of_hidden: [*]T,
            before: [*]const T,

            inline fn whole(r: *const Row, i: usize, left: usize) L.V {
                const g = L.load(r.grad + i, left);
                return if (r.of_output) |p| g + L.load(p + i, left) else g;
            }

            fn plain(r: *const Row, h: usize) void {
                var i: usize = 0;
                while (i < h) : (i += L.lanes) {
                    const left = h - i;
                    const g = r.whole(i, left);
                    const y = L.load(r.gates + i, left);
                    const zero = L.one(0);
                    const slope = if (mode == .tanh) g * (L.one(1) - y * y) else @select(T, y <= zero, zero, g);
                    L.store(r.of_input + i, slope, left);
                }
            }

            fn lstm(r: *const Row, h: usize, of_cell: [*]T, cell: [*]const T, past: [*]const T) void {
                var i: usize = 0;
                while (i < h) : (i += L.lanes) {
                    const left = h - i;
                    const one = L.one(1);
                    const g = r.whole(i, left);
                    const in = L.load(r.gates + i, left);
                    const forget = L.load(r.gates + h + i, left);
                    const new = L.load(r.gates + 2 * h + i, left);
                    const shown = L.load(r.gates + 3 * h + i, left);
                    const bent = L.tanh(L.load(cell + i, left));
                    const c = L.load(of_cell + i, left) + g * shown * (one - bent * bent);
                    L.store(r.of_input + i, c * new * in * (one - in), left);
                    L.store(r.of_input + h + i, c * L.load(past + i, left) * forget * (one - forget), left);
                    L.store(r.of_input + 2 * h + i, c * in * (one - new * new), left);
                    L.store(r.of_input + 3 * h + i, g * bent * shown * (one - shown), left);
                    L.store(of_cell + i, c * forget, left);
                }
            }

            fn gru(r: *const Row, h: usize) void {
                var i: usize = 0;
                while (i < h) : (i += L.lanes) {
                    const left = h - i;
                    const one = L.one(1);
                    const g = r.whole(i, left);
                    const reset = L.load(r.gates + i, left);
                    const keep = L.load(r.gates + h + i, left);
                    const new = L.load(r.gates + 2 * h + i, left);
                    const part = L.load(r.gates + 3 * h + i, left);
                    const of_new = g * (one - keep) * (one - new * new);
                    const of_keep = g * (L.load(r.before + i, left) - new) * keep * (one - keep);
                    const of_reset = of_new * part * reset * (one - reset);
                    inline for (.{ r.of_input, r.of_hidden }) |to| {
                        L.store(to + i, of_reset, left);
                        L.store(to + h + i, of_keep, left);
                    }
                    L.store(r.of_input + 2 * h + i, of_new, left);
                    L.store(r.of_hidden + 2 * h + i, of_new * reset, left);
                    L.store(r.grad + i, g * keep, left);
                }
            }
        };
    };
}
