//! Sorts rows of (key, value) pairs, the least significant digit first, of equal keys the one that stood first. A pass
//! has three kernels: digits are counted in tiles, the counts become places, and the pairs move.
const std = @import("std");
const block = @import("block_sums.zig");
const element = @import("element.zig");
const thread = @import("thread.zig");

const Pointer = element.Pointer;

const items = 8;
const warps = block.threads / thread.warp;
pub const digits = 256;
/// Pairs that a block takes at once.
pub const tile = block.threads * items;

pub const Pass = extern struct {
    keys: u64,
    values: u64,
    to_keys: u64,
    to_values: u64,
    /// For each row, digit and tile, and for each row and digit.
    counts: u64,
    totals: u64,
    /// Pairs and tiles of a row.
    count: u32,
    tiles: u32,
    shift: u32,
};

inline fn words(at: u64) Pointer(u32) {
    return @ptrFromInt(at);
}

/// Where a digit of the block's row is counted.
inline fn row_of(p: *const Pass, digit: u32) u64 {
    return (@as(u64, thread.block_y()) * digits + digit) * p.tiles;
}

pub fn Radix(comptime K: type) type {
    return struct {
        inline fn keys_at(at: u64, p: *const Pass) Pointer(K) {
            return @ptrFromInt(at + @as(u64, thread.block_y()) * p.count * @sizeOf(K));
        }

        inline fn values_at(at: u64, p: *const Pass) Pointer(u32) {
            return @ptrFromInt(at + @as(u64, thread.block_y()) * p.count * 4);
        }

        inline fn digit_of(p: *const Pass, key: K) u32 {
            return @as(u32, @truncate(key >> @truncate(p.shift))) % digits;
        }

        var counted: [digits]u32 addrspace(.shared) = undefined;

        /// A block for each tile (x) of each row (y).
        pub fn count(p: *const Pass) callconv(.kernel) void {
            const t = thread.index();
            counted[t] = 0;
            thread.barrier();
            const keys = keys_at(p.keys, p);
            var i = thread.block() * tile + t;
            const end = @min(p.count, (thread.block() + 1) * tile);
            while (i < end) : (i += block.threads) {
                _ = @atomicRmw(u32, &counted[digit_of(p, keys[i])], .Add, 1, .monotonic);
            }
            thread.barrier();
            words(p.counts)[row_of(p, t) + thread.block()] = counted[t];
        }

        /// A block for each digit (x) of each row (y): counts become what the tiles before have.
        pub fn place(p: *const Pass) callconv(.kernel) void {
            const counts = words(p.counts) + row_of(p, thread.block());
            var sum: u32 = 0;
            var first: u32 = 0;
            while (first < p.tiles) : (first += block.threads) {
                const i = first + thread.index();
                const s = block.sums(if (i < p.tiles) counts[i] else 0);
                if (i < p.tiles) counts[i] = sum + s.before;
                sum += s.total;
            }
            if (thread.index() == 0) words(p.totals)[thread.block_y() * digits + thread.block()] = sum;
        }

        var places: [warps * digits]u32 addrspace(.shared) = undefined;
        var bases: [digits]u32 addrspace(.shared) = undefined;
        var tile_keys: [tile]K addrspace(.shared) = undefined;
        var tile_values: [tile]u32 addrspace(.shared) = undefined;

        /// A block for each tile (x) of each row (y). Each warp takes a part of the tile, 32 pairs after another, so
        /// that a pair's place within the tile is what the warps before, the steps before and the lanes before have
        /// of its digit. The tile is put in order in shared memory first: its pairs of a digit then lie side by side.
        pub fn move(p: *const Pass) callconv(.kernel) void {
            const t = thread.index();
            const own = t / thread.warp * digits;
            const first = thread.block() * tile;
            const here = @min(tile, p.count - first);
            inline for (0..warps) |w| places[w * digits + t] = 0;
            thread.barrier();
            var keys: [items]K = undefined;
            var values: [items]u32 = undefined;
            var ranks: [items]u32 = undefined;
            inline for (0..items) |j| {
                const i = t / thread.warp * (tile / warps) + j * thread.warp + thread.lane();
                const valid = i < here;
                keys[j] = if (valid) keys_at(p.keys, p)[first + i] else std.math.maxInt(K);
                values[j] = if (valid) values_at(p.values, p)[first + i] else 0;
                ranks[j] = rank(own + digit_of(p, keys[j]), digit_of(p, keys[j]), valid);
            }
            thread.barrier();
            var sum: u32 = 0;
            inline for (0..warps) |w| {
                const n = places[w * digits + t];
                places[w * digits + t] = sum;
                sum += n;
            }
            const within = block.sums(sum).before;
            const before = block.sums(words(p.totals)[thread.block_y() * digits + t]).before;
            bases[t] = before + words(p.counts)[row_of(p, t) + thread.block()] -% within;
            inline for (0..warps) |w| places[w * digits + t] += within;
            thread.barrier();
            inline for (0..items) |j| {
                const i = t / thread.warp * (tile / warps) + j * thread.warp + thread.lane();
                if (i < here) {
                    const to = places[own + digit_of(p, keys[j])] + ranks[j];
                    tile_keys[to] = keys[j];
                    tile_values[to] = values[j];
                }
            }
            thread.barrier();
            inline for (0..items) |j| {
                const i = j * block.threads + t;
                if (i < here) {
                    const key = tile_keys[i];
                    const to = bases[digit_of(p, key)] +% i;
                    keys_at(p.to_keys, p)[to] = key;
                    values_at(p.to_values, p)[to] = tile_values[i];
                }
            }
        }

        /// How many pairs of the same digit this warp had before, and counts this one's.
        inline fn rank(at: u32, digit: u32, valid: bool) u32 {
            var same = thread.ballot(valid);
            inline for (0..8) |b| {
                const set = digit >> b & 1 != 0;
                const with = thread.ballot(set);
                same &= if (set) with else ~with;
            }
            const before = @popCount(same & ((@as(u32, 1) << @truncate(thread.lane())) - 1));
            const seen = places[at];
            thread.meet();
            if (valid and before == 0) places[at] = seen + @popCount(same);
            thread.meet();
            return seen + before;
        }
    };
}
