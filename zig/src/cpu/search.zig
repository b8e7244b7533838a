//! Positions in sorted rows, found by halving. Operands are dense. Operand 0 receives positions (int64 or int32) or
//! truth values, 1 has the sorted rows, 2 what is looked for, 3 (where there is one) int64 places of each row's order.
const std = @import("std");
const abi = @import("abi");
const abi_search = @import("abi_search");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const order = @import("search_order.zig");
const parallel = @import("../core/parallel.zig");

/// Values worth handing to another thread.
const grain = 2048;

/// The first position whose element is not less than each value, or with attribute `right` is greater. NaN is greater
/// than everything.
pub fn searchsorted(f: *fr.Frame) abi.Status {
    return typed(f, .positions);
}

/// Whether each value is in the one sorted row.
pub fn isin(f: *fr.Frame) abi.Status {
    return typed(f, .presence);
}

const Mode = order.Mode;

fn typed(f: *fr.Frame, comptime mode: Mode) abi.Status {
    return switch (fr.view(f, 1).dtype) {
        .float32 => Search(f32, mode).run(f),
        .float64 => Search(f64, mode).run(f),
        .int64 => Search(i64, mode).run(f),
        else => .unsupported,
    };
}

fn Search(comptime T: type, comptime mode: Mode) type {
    return struct {
        const Self = @This();

        sorted: [*]align(1) const T,
        values: [*]align(1) const T,
        places: ?[*]align(1) const i64,
        out: [*]u8,
        narrow: bool,
        right: bool,
        /// Elements of a sorted row, and values that are looked for in each.
        length: usize,
        per_row: usize,
        bad: std.atomic.Value(bool),

        fn run(f: *fr.Frame) abi.Status {
            const rows = fr.view(f, 1);
            const values = fr.view(f, 2);
            const count = values.numel();
            const length = fr.to_usize(f.attrs[abi_search.SearchAttr.length]);
            const per_row = fr.to_usize(f.attrs[abi_search.SearchAttr.per_row]);
            const ordered = f.attrs[abi_search.SearchAttr.ordered] != 0;
            if (values.dtype != rows.dtype or fr.view(f, 0).numel() != count) return .bad_argument;
            if (count == 0) return .ok;
            if (per_row == 0 or rows.numel() < length * (((count - 1) / per_row) + 1)) return .bad_argument;
            if (ordered and fr.view(f, 3).numel() != rows.numel()) return .bad_argument;
            var job: Self = .{
                .sorted = @ptrCast(rows.data),
                .values = @ptrCast(values.data),
                .places = if (ordered) @ptrCast(fr.view(f, 3).data) else null,
                .out = fr.view(f, 0).data,
                .narrow = fr.view(f, 0).dtype == .int32,
                .right = f.attrs[abi_search.SearchAttr.right] != 0,
                .length = length,
                .per_row = per_row,
                .bad = .init(false),
            };
            parallel.parallel_for(count, grain, &job, tasks);
            return if (job.bad.load(.acquire)) .bad_argument else .ok;
        }

        fn tasks(job: *Self, begin: usize, end: usize) void {
            var i = begin;
            while (i < end) {
                const row = i / job.per_row;
                const stop = @min(end, (row + 1) * job.per_row);
                if (job.is_sorted(row * job.length, stop - i)) while (i + together <= stop) : (i += together) {
                    job.several(i, row * job.length);
                };
                while (i < stop) : (i += 1) job.one(i, row * job.length);
            }
        }

        /// Whether a row is in order, if it is worth to look before so many searches. Where it is not, what is found
        /// depends on which elements are looked at.
        fn is_sorted(job: *const Self, base: usize, searches: usize) bool {
            const least = @max(together, job.length / 16);
            if (job.places != null or job.length == 0 or searches < least) return false;
            const row = job.sorted + base;
            var ordered = row[0] == row[0];
            for (row[1..job.length], row[0 .. job.length - 1]) |b, a| ordered = ordered and a <= b;
            return ordered;
        }

        /// Searches side by side: no step of one waits for those of another, and none has a branch to foresee.
        const together = 8;

        fn several(job: *Self, i: usize, base: usize) void {
            const row = job.sorted + base;
            var low: [together]usize = @splat(0);
            var left = job.length;
            while (left > 1) {
                const half = left / 2;
                inline for (0..together) |k| {
                    const further: usize = @intFromBool(job.beyond(row[low[k] + half - 1], job.values[i + k]));
                    low[k] += half & (0 -% further);
                }
                left -= half;
            }
            inline for (0..together) |k| low[k] += @intFromBool(job.beyond(row[low[k]], job.values[i + k]));
            inline for (0..together) |k| job.found(i + k, base, low[k]);
        }

        inline fn beyond(job: *const Self, at: T, x: T) bool {
            return order.beyond(mode, at, x, job.right);
        }

        fn one(job: *Self, i: usize, base: usize) void {
            const x = job.values[i];
            var low: usize = 0;
            var high: usize = job.length;
            while (low < high) {
                const middle = low + (high - low) / 2;
                const at = job.element(base, middle) orelse return job.bad.store(true, .release);
                if (job.beyond(at, x)) low = middle + 1 else high = middle;
            }
            job.found(i, base, low);
        }

        inline fn found(job: *Self, i: usize, base: usize, low: usize) void {
            if (mode == .presence) {
                job.out[i] = @intFromBool(low < job.length and job.sorted[base + low] == job.values[i]);
            } else if (job.narrow) {
                @as([*]align(1) i32, @ptrCast(job.out))[i] = @intCast(low);
            } else {
                @as([*]align(1) i64, @ptrCast(job.out))[i] = @intCast(low);
            }
        }

        /// The element at a position of a row's order.
        inline fn element(job: *const Self, base: usize, position: usize) ?T {
            const places = job.places orelse return job.sorted[base + position];
            const place = places[base + position];
            if (place < 0 or place >= job.length) return null;
            return job.sorted[base + @as(usize, @intCast(place))];
        }
    };
}
