//! The steps of a recurrent layer.
const std = @import("std");
const abi = @import("abi");
const fr = @import("../core/frame.zig");
const parallel = @import("../core/parallel.zig");
const products = @import("products.zig");
const sizes = @import("recurrent_sizes.zig");

pub fn Forward(comptime T: type, comptime mode: sizes.Mode) type {
    const L = sizes.Lines(T);
    const gates = sizes.gates_of(mode);
    const kept = sizes.kept_of(mode);
    return struct {
        const Job = struct {
            s: sizes.Sizes,
            outputs: [*]T,
            last: [*]T,
            last_cell: [*]T,
            reserve: [*]T,
            cells: [*]T,
            input: [*]const T,
            first: [*]const T,
            first_cell: [*]const T,
            added: ?[*]const T,
            weight: [*]const T,
            failed: std.atomic.Value(bool) = .init(false),
        };

        pub fn run(f: *fr.Frame) abi.Status {
            const s = sizes.Sizes.of(f, 0) orelse return .bad_argument;
            const state = s.batch * s.hidden;
            const cell = if (mode == .lstm) state else 0;
            const counts = [_]usize{
                s.steps * state,         state, cell, s.steps * state * kept,      s.steps * cell,
                s.steps * state * gates, state, cell, gates * s.hidden * s.hidden,
            };
            for (counts, 0..) |n, i| if (!sizes.fits(f, i, n)) return .bad_argument;
            const added = fr.view(f, 9);
            if (added.numel() != 0 and added.numel() != s.hidden) return .bad_argument;
            var job: Job = .{
                .s = s,
                .outputs = fr.view(f, 0).ptr(T),
                .last = fr.view(f, 1).ptr(T),
                .last_cell = fr.view(f, 2).ptr(T),
                .reserve = fr.view(f, 3).ptr(T),
                .cells = fr.view(f, 4).ptr(T),
                .input = fr.view(f, 5).ptr(T),
                .first = fr.view(f, 6).ptr(T),
                .first_cell = fr.view(f, 7).ptr(T),
                .weight = fr.view(f, 8).ptr(T),
                .added = if (added.numel() == 0) null else added.ptr(T),
            };
            const work = @max(1, s.steps * s.hidden * s.hidden * gates);
            parallel.parallel_for(s.batch, @max(8, (1 << 20) / work), &job, some);
            return if (job.failed.load(.acquire)) .out_of_memory else .ok;
        }

        /// Some examples through all steps.
        fn some(j: *Job, begin: usize, end: usize) void {
            const s = &j.s;
            const h = s.hidden;
            const p = products.of(T);
            const m = end - begin;
            const packed_size = std.mem.alignForward(usize, p.packed_size(gates * h, h), 64);
            const total = packed_size + if (mode == .gru) m * gates * h else 0;
            const scratch = parallel.Scratch.acquire(total * @sizeOf(T)) orelse return j.failed.store(true, .release);
            defer scratch.release();
            const weight = scratch.slice(T, total).ptr;
            p.pack(gates * h, h, j.weight, 1, @intCast(h), weight);
            var state = j.first + begin * h;
            var cell = j.first_cell + if (mode == .lstm) begin * h else 0;
            for (0..s.steps) |i| {
                const t = s.place(i) * s.batch + begin;
                const input = j.input + t * gates * h;
                const line = j.reserve + t * kept * h;
                const out = j.outputs + t * h;
                // The product of GRU is kept apart from what the input contributes.
                const to = if (mode == .gru) weight + packed_size else line;
                if (mode != .gru) @memcpy(to[0 .. m * gates * h], input[0 .. m * gates * h]);
                p.multiply(&.{
                    .m = m,
                    .n = gates * h,
                    .k = h,
                    .a = state,
                    .rsa = @intCast(h),
                    .b = weight,
                    .c = to,
                    .rsc = @intCast(gates * h),
                    .beta = if (mode == .gru) 0 else 1,
                    .packed_n = gates * h,
                    .packed_k = h,
                });
                const cells = j.cells + if (mode == .lstm) t * h else 0;
                for (0..m) |r| {
                    const row = line + r * kept * h;
                    switch (mode) {
                        .tanh, .relu => plain(row, out + r * h, h),
                        .lstm => lstm(row, cell + r * h, cells + r * h, out + r * h, h),
                        .gru => {
                            const o = r * gates * h;
                            gru(row, input + o, to + o, state + r * h, out + r * h, j.added, h);
                        },
                    }
                }
                state = out;
                if (mode == .lstm) cell = cells;
            }
            @memcpy(j.last[begin * h .. end * h], state[0 .. m * h]);
            if (mode == .lstm) @memcpy(j.last_cell[begin * h .. end * h], cell[0 .. m * h]);
        }

        fn plain(row: [*]T, out: [*]T, h: usize) void {
            var i: usize = 0;
            while (i < h) : (i += L.lanes) {
                const x = L.load(row + i, h - i);
                const zero = L.one(0);
                const y = if (mode == .tanh) L.tanh(x) else @select(T, x < zero, zero, x);
                L.store(row + i, y, h - i);
                L.store(out + i, y, h - i);
            }
        }

        fn lstm(row: [*]T, before: [*]const T, cell: [*]T, out: [*]T, h: usize) void {
            var i: usize = 0;
            while (i < h) : (i += L.lanes) {
                const left = h - i;
                const in = L.sigmoid(L.load(row + i, left));
                const forget = L.sigmoid(L.load(row + h + i, left));
                const new = L.tanh(L.load(row + 2 * h + i, left));
                const shown = L.sigmoid(L.load(row + 3 * h + i, left));
                const c = forget * L.load(before + i, left) + in * new;
                L.store(row + i, in, left);
                L.store(row + h + i, forget, left);
                L.store(row + 2 * h + i, new, left);
                L.store(row + 3 * h + i, shown, left);
                L.store(cell + i, c, left);
                L.store(out + i, shown * L.tanh(c), left);
            }
        }

        fn gru(
            row: [*]T,
            input: [*]const T,
            product: [*]const T,
            before: [*]const T,
            out: [*]T,
            added: ?[*]const T,
            h: usize,
        ) void {
            var i: usize = 0;
            while (i < h) : (i += L.lanes) {
                const left = h - i;
                const reset = L.sigmoid(L.load(input + i, left) + L.load(product + i, left));
                const keep = L.sigmoid(L.load(input + h + i, left) + L.load(product + h + i, left));
                var part = L.load(product + 2 * h + i, left);
                if (added) |p| part += L.load(p + i, left);
                const new = L.tanh(L.load(input + 2 * h + i, left) + reset * part);
                L.store(row + i, reset, left);
                L.store(row + h + i, keep, left);
                L.store(row + 2 * h + i, new, left);
                L.store(row + 3 * h + i, part, left);
                L.store(out + i, new + keep * (L.load(before + i, left) - new), left);
            }
        }
    };
}
