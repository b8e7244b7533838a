//! Sorting and the largest or smallest elements along a dimension. Operand 0 receives the values, operand 1 the int64
//! positions, operand 2 is read. Attribute 0: the dimension, 1: descending, 2: how many are wanted (topk)
//! or which rank (pick), 3: what is picked.
const std = @import("std");
const abi = @import("abi");
const abi_sort = @import("abi_sort");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const keys = @import("sort_keys.zig");
const parallel = @import("../core/parallel.zig");
const plans = @import("reduce_plan.zig");

const Plan = plans.Plan;
const Walk = plans.Walk;
const element = plans.element;

pub fn sort(f: *fr.Frame) abi.Status {
    return start(f, false, false);
}

/// The first `k` of the sorted line, equal ones in the order of their positions.
pub fn topk(f: *fr.Frame) abi.Status {
    return start(f, true, false);
}

/// One element of each line, as attribute 3 says which: see `Pick`.
pub fn pick(f: *fr.Frame) abi.Status {
    return start(f, true, true);
}

const Pick = abi_sort.SortPick;

fn start(f: *fr.Frame, partial: bool, picks: bool) abi.Status {
    switch (fr.view(f, 2).dtype) {
        inline else => |d| {
            const Key = comptime keys.KeyOf(d);
            if (Key == null) return .unsupported;
            const K = Key.?;
            const descending = f.attrs[abi_sort.SortAttr.descending] != 0;
            const read = if (descending) keys.reader(d, K, true) else keys.reader(d, K, false);
            // Of floats the greatest key is that of NaN.
            const floating = d == .float16 or d == .bfloat16 or d == .float32 or d == .float64;
            const widest = std.math.maxInt(std.meta.Int(.unsigned, 8 * @sizeOf(dt.Stored(d))));
            const nan: ?K = if (floating) widest else null;
            const code = if (picks) fr.to_usize(f.attrs[abi_sort.SortAttr.pick]) else 0;
            if (code >= @typeInfo(Pick).@"enum".fields.len) return .bad_argument;
            const job: Lines(K).Order = .{
                .read = read,
                .pick = @enumFromInt(code),
                .nan = nan,
            };
            return Lines(K).run(f, job, partial);
        },
    }
}

fn Lines(comptime K: type) type {
    const Pair = keys.Pair(K);
    const block = 1024;
    const insertion_limit = 64;

    return struct {
        const Job = struct {
            plan: *const Plan,
            values: fr.View,
            indices: fr.View,
            src: fr.View,
            read: keys.Reader(K),
            wanted: usize,
            pick: Pick,
            nan: ?K,
            failed: *std.atomic.Value(bool),
        };

        /// What depends on the dtype, and which element is taken.
        const Order = struct {
            read: keys.Reader(K),
            pick: Pick,
            nan: ?K,
        };

        fn run(f: *fr.Frame, order: Order, partial: bool) abi.Status {
            const src = fr.view(f, 2);
            const dim = fr.to_usize(f.attrs[abi_sort.SortAttr.dim]);
            if (dim >= src.rank) return .bad_argument;
            var plan: Plan = undefined;
            plan.open_lines(f, 2, 2, dim, 1);
            const n = plan.reduced.total;
            const wanted = if (partial) fr.to_usize(f.attrs[abi_sort.SortAttr.wanted]) else n;
            if (wanted > n or n > std.math.maxInt(u32)) return .bad_argument;
            if (plan.kept.total == 0 or wanted == 0) return .ok;
            var failed: std.atomic.Value(bool) = .init(false);
            const job: Job = .{
                .plan = &plan,
                .values = fr.view(f, 0),
                .indices = fr.view(f, 1),
                .src = src,
                .read = order.read,
                .wanted = wanted,
                .pick = order.pick,
                .nan = order.nan,
                .failed = &failed,
            };
            parallel.parallel_for(plan.kept.total, @max(1, 4096 / n), job, lines);
            return if (failed.load(.acquire)) .out_of_memory else .ok;
        }

        fn lines(j: Job, begin: usize, end: usize) void {
            var walk: Walk = undefined;
            walk.open(&j.plan.kept, 0, begin);
            const n = j.plan.reduced.total;
            if (n <= keys.few and j.pick == .none) {
                for (begin..end) |_| {
                    short(j, &walk, n);
                    walk.advance(1);
                }
                return;
            }
            const least = j.pick == .none and j.wanted <= insertion_limit and j.wanted < n;
            const room: usize = if (least) 0 else 2 * n;
            const scratch = parallel.Scratch.acquire(@max(1, room * @sizeOf(Pair))) orelse {
                j.failed.store(true, .release);
                return;
            };
            defer scratch.release();
            const pairs = scratch.slice(Pair, room);
            for (begin..end) |_| {
                if (j.pick != .none and j.pick != .mode and n <= keys.few) {
                    picked_of_few(j, &walk, n);
                } else if (j.pick != .none) {
                    picked(j, &walk, pairs[0..n], pairs[n..]);
                } else if (least) few_of(j, &walk) else if (j.wanted * 4 < n) {
                    some_of(j, &walk, pairs[0..n], pairs[n..]);
                } else whole(j, &walk, pairs[0..n], pairs[n..]);
                walk.advance(1);
            }
        }

        fn source(j: Job, walk: *const Walk, at: usize) [*]const u8 {
            const offset = j.plan.reduced.in[0] * @as(isize, @intCast(at));
            return element(j.src.data, walk.in + offset, dt.size_of(j.src.dtype));
        }

        /// Up to here a search for each place is quicker than the places of all.
        const few_wanted = 8;

        /// A short line: only positions are put in order.
        fn short(j: Job, walk: *const Walk, n: usize) void {
            var all: [keys.few]K align(64) = undefined;
            j.read(&all, source(j, walk, 0), j.plan.reduced.in[0], n);
            var order: [keys.few]u8 = undefined;
            if (j.wanted <= few_wanted and j.wanted < n) {
                keys.least(K, &all, n, order[0..j.wanted]);
            } else {
                var places: [keys.few]K align(64) = undefined;
                keys.ranks(K, &all, n, &places);
                for (places[0..n], 0..) |to, i| order[@intCast(to)] = @intCast(i);
            }
            write(j, walk, order[0..j.wanted]);
        }

        /// Sorts the line and writes as much of it as is wanted.
        fn whole(j: Job, walk: *const Walk, pairs: []Pair, spare: []Pair) void {
            var buffer: [block]K = undefined;
            var at: usize = 0;
            while (at < pairs.len) {
                const n = @min(block, pairs.len - at);
                j.read(&buffer, source(j, walk, at), j.plan.reduced.in[0], n);
                for (buffer[0..n], pairs[at..][0..n], at..) |k, *p, i| p.* = .{ .key = k, .at = @intCast(i) };
                at += n;
            }
            write(j, walk, keys.sort(K, pairs, spare)[0..j.wanted]);
        }

        /// A short list is kept sorted while the line passes by; most elements are no match for its last one.
        fn few_of(j: Job, walk: *const Walk) void {
            var best: [insertion_limit]Pair = undefined;
            var count: usize = 0;
            var buffer: [block]K = undefined;
            const total = j.plan.reduced.total;
            var at: usize = 0;
            while (at < total) {
                const n = @min(block, total - at);
                j.read(&buffer, source(j, walk, at), j.plan.reduced.in[0], n);
                for (buffer[0..n], at..) |k, i| {
                    if (count == j.wanted and k >= best[count - 1].key) continue;
                    var place = if (count < j.wanted) count else count - 1;
                    if (count < j.wanted) count += 1;
                    while (place > 0 and best[place - 1].key > k) : (place -= 1) best[place] = best[place - 1];
                    best[place] = .{ .key = k, .at = @intCast(i) };
                }
                at += n;
            }
            write(j, walk, best[0..j.wanted]);
        }

        /// Finds the last wanted key digit by digit, collects what comes before it, and sorts only that.
        fn some_of(j: Job, walk: *const Walk, room: []Pair, spare: []Pair) void {
            const all = @as([*]K, @ptrCast(spare.ptr))[0..room.len];
            j.read(all.ptr, source(j, walk, 0), j.plan.reduced.in[0], all.len);
            var ties = j.wanted;
            const last = keys.select(K, all, @as([*]K, @ptrCast(room.ptr)), &ties);
            var n: usize = 0;
            for (all, 0..) |k, i| {
                if (k > last) continue;
                if (k == last) {
                    if (ties == 0) continue;
                    ties -= 1;
                }
                room[n] = .{ .key = k, .at = @intCast(i) };
                n += 1;
            }
            write(j, walk, keys.sort(K, room[0..n], spare));
        }

        fn picked(j: Job, walk: *const Walk, room: []Pair, spare: []Pair) void {
            const all = @as([*]K, @ptrCast(spare.ptr))[0..room.len];
            j.read(all.ptr, source(j, walk, 0), j.plan.reduced.in[0], all.len);
            const at = if (j.pick == .mode) blk: {
                for (room, all, 0..) |*p, k, i| p.* = .{ .key = k, .at = @intCast(i) };
                break :blk longest(keys.sort(K, room, spare), j.nan);
            } else if (rank_of(j, all)) |rank|
                ranked(all, @ptrCast(room.ptr), rank)
            else
                std.mem.indexOfScalar(K, all, j.nan.?).?;
            write(j, walk, &[_]Pair{.{ .key = 0, .at = @intCast(at) }});
        }

        fn picked_of_few(j: Job, walk: *const Walk, n: usize) void {
            var all: [keys.few]K align(64) = undefined;
            var places: [keys.few]K align(64) = undefined;
            j.read(&all, source(j, walk, 0), j.plan.reduced.in[0], n);
            const at = if (rank_of(j, all[0..n])) |rank| blk: {
                keys.ranks(K, &all, n, &places);
                break :blk std.mem.indexOfScalar(K, places[0..n], @intCast(rank - 1)).?;
            } else std.mem.indexOfScalar(K, all[0..n], j.nan.?).?;
            write(j, walk, &[_]u8{@intCast(at)});
        }

        /// The rank (from one) of what is picked; null where that is the first NaN.
        fn rank_of(j: Job, all: []const K) ?usize {
            if (j.pick == .kth) return j.wanted;
            var none: usize = 0;
            if (j.nan) |nan| for (all) |k| {
                none += @intFromBool(k == nan);
            };
            if (j.pick == .median) return if (none > 0) null else (all.len + 1) / 2;
            return if (none == all.len) null else (all.len - none + 1) / 2;
        }

        /// Where the element is that stands at a rank when the line is sorted; `spare` has room for all.
        fn ranked(all: []const K, spare: [*]K, rank: usize) usize {
            var ties = rank;
            const wanted = keys.select(K, all, spare, &ties);
            var at: usize = 0;
            while (true) : (at += 1) {
                at = std.mem.indexOfScalarPos(K, all, at, wanted).?;
                ties -= 1;
                if (ties == 0) return at;
            }
        }

        /// The last place of the most frequent key, of equally frequent ones the least. No NaN equals another.
        fn longest(sorted: []const Pair, nan: ?K) usize {
            var best: usize = 0;
            var at: usize = 0;
            var i: usize = 0;
            while (i < sorted.len) {
                var end = i + 1;
                const alone = if (nan) |k| sorted[i].key == k else false;
                while (!alone and end < sorted.len and sorted[end].key == sorted[i].key) end += 1;
                if (end - i > best) {
                    best = end - i;
                    at = sorted[end - 1].at;
                }
                i = end;
            }
            return at;
        }

        /// Values and positions; `order` holds positions, or pairs with them.
        fn write(j: Job, walk: *const Walk, order: anytype) void {
            switch (dt.size_of(j.src.dtype)) {
                inline 1, 2, 4, 8 => |size| move(std.meta.Int(.unsigned, 8 * size), j, walk, order),
                else => unreachable,
            }
            const step = j.plan.reduced.out[1][0];
            for (order, 0..) |p, i| {
                const to = element(j.indices.data, walk.out[1] + step * @as(isize, @intCast(i)), 8);
                @as(*align(1) i64, @ptrCast(to)).* = place_of(p);
            }
        }

        fn move(comptime U: type, j: Job, walk: *const Walk, order: anytype) void {
            const step = j.plan.reduced.out[0][0];
            for (order, 0..) |p, i| {
                const to = element(j.values.data, walk.out[0] + step * @as(isize, @intCast(i)), @sizeOf(U));
                const from: *align(1) const U = @ptrCast(source(j, walk, place_of(p)));
                @as(*align(1) U, @ptrCast(to)).* = from.*;
            }
        }

        inline fn place_of(p: anytype) u32 {
            return if (@TypeOf(p) == u8) p else p.at;
        }
    };
}
