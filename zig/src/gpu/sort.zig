//! Device code of sorting: lines of a tensor along one dimension as keys, short ones sorted in shared memory at once,
//! long ones by radix.zig, and what is made of sorted lines.
const std = @import("std");
const abi = @import("abi");
const abi_sort = @import("abi_sort");
const args = @import("args.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const keys_of = @import("../cpu/sort_keys.zig");
const moves = @import("index.zig");
const radix = @import("radix.zig");
const thread = @import("thread.zig");

const Compute = abi.Compute;
const Pick = abi_sort.SortPick;
const Pointer = element.Pointer;

pub const threads = 256;
/// Pairs that a block sorts in shared memory.
pub const chunk = 1024;
/// The value of a pair that fills up a chunk: behind all others of its key.
const nothing = std.math.maxInt(u32);

/// Lines of a tensor, and where their results go.
pub const Lines = extern struct {
    source: u64,
    values: u64,
    places: u64,
    /// Along the line: of the source, the values and the places.
    steps: [3]i64,
    /// Rows of pairs in scratch memory.
    keys: u64,
    order: u64,
    to_keys: u64,
    to_order: u64,
    dtype: u32,
    bytes: u32,
    descending: u32,
    pick: u32,
    /// Elements of a line, how many of the sorted ones are wanted, or which rank is.
    length: u32,
    wanted: u32,
    /// Lines of this launch, and those before them.
    rows: u32,
    first: u32,
    /// A power of two, lines side by side in a block's chunk have it as their size.
    room: u32,
    /// Neighbours in memory are those of other lines.
    across: u32,
    rank: u32,
    sizes: [args.max_dims]args.Divisor,
    strides: [3][args.max_dims]i64,

    /// Where a line begins, for the source, the values and the places.
    inline fn line(a: *const Lines, row: u32) [3]i64 {
        var at: [3]i64 = @splat(0);
        var rest = a.first + row;
        for (0..a.rank) |d| {
            const quotient = a.sizes[d].divide(rest);
            const remainder: i64 = rest - quotient * a.sizes[d].size;
            inline for (&at, 0..) |*o, k| o.* += remainder * a.strides[k][d];
            rest = quotient;
        }
        return at;
    }
};

/// A compute type stands for the dtypes whose keys have as many bits: i32 for up to 32, i64 for 64.
fn Sort(comptime c: Compute) type {
    const K = if (c == .i64) u64 else u32;
    return struct {
        const R = radix.Radix(K);

        var keys: [chunk]K addrspace(.shared) = undefined;
        var order: [chunk]u32 addrspace(.shared) = undefined;

        inline fn key_at(a: *const Lines, at: i64) K {
            return read(a.source +% @as(u64, @bitCast(at * a.bytes)), a.dtype, a.descending);
        }

        /// A function of its own, for it is long.
        noinline fn read(at: u64, dtype: u32, descending: u32) K {
            @setEvalBranchQuota(100_000);
            switch (@as(abi.DType, @enumFromInt(@as(u8, @truncate(dtype))))) {
                inline else => |d| {
                    if (comptime (keys_of.KeyOf(d) orelse void) != K) return 0;
                    const key = keys_of.key_of(d, @as(Pointer(dt.Stored(d)), @ptrFromInt(at))[0]);
                    return if (descending != 0) ~key else key;
                },
            }
        }

        /// Sorts each aligned part of `room` pairs of the chunk, a power of two, by exchanges of ever nearer pairs.
        inline fn in_chunk(room: u32) void {
            const t = thread.index();
            var size: u32 = 2;
            while (size <= room) : (size *= 2) {
                var distance = size / 2;
                while (distance > 0) : (distance /= 2) {
                    inline for (0..chunk / threads / 2) |e| {
                        const pair = @as(u32, e) * threads + t;
                        const i = 2 * pair - (pair & (distance - 1));
                        const j = i + distance;
                        const rising = i & (room - 1) & size == 0;
                        const x = keys[i];
                        const y = keys[j];
                        const later = x > y or (x == y and order[i] > order[j]);
                        if (later == rising) {
                            keys[i] = y;
                            keys[j] = x;
                            const o = order[i];
                            order[i] = order[j];
                            order[j] = o;
                        }
                    }
                    thread.barrier();
                }
            }
        }

        /// Whole lines of up to a chunk's size, several in a block: from the tensor to the results.
        fn short(a: *const Lines) callconv(.kernel) void {
            const t = thread.index();
            const together = chunk / a.room;
            const first = thread.block() * together;
            inline for (0..chunk / threads) |e| {
                const n = @as(u32, e) * threads + t;
                const row = if (a.across != 0) n & (together - 1) else n / a.room;
                const i = if (a.across != 0) n / together else n & (a.room - 1);
                const valid = first + row < a.rows and i < a.length;
                const at = row * a.room + i;
                keys[at] = if (valid) key_at(a, a.line(first + row)[0] + i * a.steps[0]) else std.math.maxInt(K);
                order[at] = if (valid) i else nothing;
            }
            thread.barrier();
            in_chunk(a.room);
            inline for (0..chunk / threads) |e| {
                const n = @as(u32, e) * threads + t;
                const row = if (a.across != 0) n & (together - 1) else n / a.room;
                const i = if (a.across != 0) n / together else n & (a.room - 1);
                if (first + row < a.rows and i < a.wanted) write_one(a, first + row, i, order[row * a.room + i]);
            }
        }

        inline fn write_one(a: *const Lines, row: u32, i: u32, from: u32) void {
            const at = a.line(row);
            const to = at[1] + i * a.steps[1];
            moves.move(c, a.bytes, a.values, to, a.source, at[0] + from * a.steps[0]);
            @as(Pointer(i64), @ptrFromInt(a.places))[@bitCast(at[2] + i * a.steps[2])] = from;
        }

        inline fn pairs_of(a: *const Lines, row: u32) u64 {
            return @as(u64, row) * a.length;
        }

        /// A line as pairs: a block (x) for its elements, a row of blocks (y) for a line.
        fn pairs(a: *const Lines) callconv(.kernel) void {
            const i = thread.block() * threads + thread.index();
            if (i >= a.length) return;
            const row = thread.block_y();
            const at = pairs_of(a, row) + i;
            @as(Pointer(K), @ptrFromInt(a.to_keys))[at] = key_at(a, a.line(row)[0] + i * a.steps[0]);
            @as(Pointer(u32), @ptrFromInt(a.to_order))[at] = i;
        }

        /// The first `wanted` pairs of each chunk (x) of a line (y), in order; from the tensor, or from pairs.
        fn best(a: *const Lines) callconv(.kernel) void {
            const t = thread.index();
            const row = thread.block_y();
            const first = thread.block() * a.room;
            const from = if (a.keys == 0) a.line(row)[0] else 0;
            inline for (0..chunk / threads) |e| {
                const n = @as(u32, e) * threads + t;
                const i = first + n;
                const valid = n < a.room and i < a.length;
                if (a.keys == 0) {
                    keys[n] = if (valid) key_at(a, from + i * a.steps[0]) else std.math.maxInt(K);
                    order[n] = if (valid) i else nothing;
                } else {
                    const at = pairs_of(a, row) + i;
                    keys[n] = if (valid) @as(Pointer(K), @ptrFromInt(a.keys))[at] else std.math.maxInt(K);
                    order[n] = if (valid) @as(Pointer(u32), @ptrFromInt(a.order))[at] else nothing;
                }
            }
            thread.barrier();
            in_chunk(a.room);
            const to = (@as(u64, row) * thread.blocks() + thread.block()) * a.wanted;
            inline for (0..chunk / threads) |e| {
                const n = @as(u32, e) * threads + t;
                if (n < a.wanted) {
                    @as(Pointer(K), @ptrFromInt(a.to_keys))[to + n] = keys[n];
                    @as(Pointer(u32), @ptrFromInt(a.to_order))[to + n] = order[n];
                }
            }
        }

        /// The first `wanted` of sorted pairs as results: a block (x) for the pairs, a row of blocks (y) for a line.
        fn write(a: *const Lines) callconv(.kernel) void {
            const i = thread.block() * threads + thread.index();
            if (i >= a.wanted) return;
            const row = thread.block_y();
            write_one(a, row, i, @as(Pointer(u32), @ptrFromInt(a.order))[pairs_of(a, row) + i]);
        }

        /// One element of a sorted line, by a block.
        fn pick(a: *const Lines) callconv(.kernel) void {
            const row = thread.block();
            const all = @as(Pointer(K), @ptrFromInt(a.keys)) + pairs_of(a, row);
            const how: Pick = @enumFromInt(@as(u8, @truncate(a.pick)));
            const at = if (how == .mode) longest(a, all) else rank_of(a, all, how);
            if (thread.index() != 0) return;
            write_one(a, row, 0, @as(Pointer(u32), @ptrFromInt(a.order))[pairs_of(a, row) + at]);
        }

        /// Floats alone have a key for NaN, their greatest.
        inline fn nan_of(a: *const Lines) ?K {
            return switch (@as(abi.DType, @enumFromInt(@as(u8, @truncate(a.dtype))))) {
                .float16, .bfloat16 => 0xffff,
                .float32 => 0xffff_ffff,
                .float64 => std.math.maxInt(K),
                else => null,
            };
        }

        /// The first place of a key, or where it would stand.
        inline fn lower(all: Pointer(K), end: u32, key: K) u32 {
            var low: u32 = 0;
            var high = end;
            while (low < high) {
                const middle = low + (high - low) / 2;
                if (all[middle] < key) low = middle + 1 else high = middle;
            }
            return low;
        }

        inline fn rank_of(a: *const Lines, all: Pointer(K), how: Pick) u32 {
            if (how == .kth) return a.wanted - 1;
            const numbers = if (nan_of(a)) |nan| lower(all, a.length, nan) else a.length;
            if (how == .median) return if (numbers < a.length) numbers else (a.length - 1) / 2;
            return if (numbers == 0) 0 else (numbers - 1) / 2;
        }

        var longest_of: [threads]u64 addrspace(.shared) = undefined;

        /// The last place of the most frequent key, of equally frequent ones the least. No NaN equals another.
        inline fn longest(a: *const Lines, all: Pointer(K)) u32 {
            const t = thread.index();
            var found: u64 = 0;
            var i = t;
            while (i < a.length) : (i += threads) {
                const key = all[i];
                const alone = if (nan_of(a)) |nan| key == nan else false;
                if (!alone and i + 1 < a.length and all[i + 1] == key) continue;
                const run: u64 = if (alone) 1 else i + 1 - lower(all, i, key);
                found = @max(found, run << 32 | ~i);
            }
            longest_of[t] = found;
            thread.barrier();
            var half: u32 = threads / 2;
            while (half > 0) : (half /= 2) {
                if (t < half) longest_of[t] = @max(longest_of[t], longest_of[t + half]);
                thread.barrier();
            }
            return ~@as(u32, @truncate(longest_of[0]));
        }
    };
}

pub fn exports() void {
    for ([_]Compute{ .i32, .i64 }) |c| {
        const S = Sort(c);
        const name = "sort_sort_" ++ @tagName(c) ++ "_";
        export_kernel(&S.short, name ++ "short", Lines);
        export_kernel(&S.pairs, name ++ "pairs", Lines);
        export_kernel(&S.best, name ++ "best", Lines);
        export_kernel(&S.write, name ++ "write", Lines);
        export_kernel(&S.R.count, name ++ "count", radix.Pass);
        export_kernel(&S.R.place, name ++ "place", radix.Pass);
        export_kernel(&S.R.move, name ++ "move", radix.Pass);
        export_kernel(&S.pick, "sort_pick_" ++ @tagName(c) ++ "_pick", Lines);
    }
}
