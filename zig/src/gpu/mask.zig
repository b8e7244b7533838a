//! Device code of masks: tiles of a mask are counted, the counts become places, and each tile moves the elements that
//! it chooses. Masks are bytes without gaps, nonzero for true.
const std = @import("std");
const abi = @import("abi");
const args = @import("args.zig");
const block = @import("block_sums.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const moves = @import("index.zig");
const thread = @import("thread.zig");

const Compute = abi.Compute;
const Pointer = element.Pointer;

/// Bytes that a thread takes, with one access where the mask is aligned.
const items = 8;
pub const tile = block.threads * items;

pub const Args = extern struct {
    mask: u64,
    length: u64,
    tiles: u64,
    /// For each tile its count, then its place; the sum of all stands behind them. 64 bits each.
    counts: u64,
    to: u64,
    from: u64,
    /// How many elements the shorter of `to` and `from` has.
    room: u64,
    bytes: u32,
    rank: u32,
    /// Of coordinates in the result, and the mask's sizes, the innermost first.
    steps: [2]i64,
    sizes: [abi.max_rank]u64,
};

inline fn counts(a: *const Args) Pointer(u64) {
    return @ptrFromInt(a.counts);
}

/// A bit for each of the thread's bytes that is true.
inline fn chosen(a: *const Args) u32 {
    const at = @as(u64, thread.block()) * tile + thread.index() * items;
    if (at >= a.length) return 0;
    var bits: u32 = 0;
    if (at + items <= a.length and a.mask % items == 0) {
        const word = @as(Pointer(u64), @ptrFromInt(a.mask + at))[0];
        inline for (0..items) |k| bits |= @as(u32, @intFromBool(word >> (8 * k) & 0xff != 0)) << k;
        return bits;
    }
    const mask: Pointer(u8) = @ptrFromInt(a.mask + at);
    inline for (0..items) |k| {
        if (at + k < a.length and mask[k] != 0) bits |= 1 << k;
    }
    return bits;
}

/// A block for each tile.
fn count(a: *const Args) callconv(.kernel) void {
    const s = block.sums(@popCount(chosen(a)));
    if (thread.index() == 0) counts(a)[thread.block()] = s.total;
}

/// One block: counts become places.
fn place(a: *const Args) callconv(.kernel) void {
    var sum: u64 = 0;
    var first: u64 = 0;
    while (first < a.tiles) : (first += block.threads) {
        const i = first + thread.index();
        const s = block.sums(if (i < a.tiles) @truncate(counts(a)[i]) else 0);
        if (i < a.tiles) counts(a)[i] = sum + s.before;
        sum += s.total;
    }
    if (thread.index() == 0) counts(a)[a.tiles] = sum;
}

const Way = enum { select, scatter };

/// A block for each tile: the chosen elements come one after another on one side.
fn Mover(comptime c: Compute, comptime way: Way) type {
    return struct {
        fn move(a: *const Args) callconv(.kernel) void {
            const bits = chosen(a);
            var packed_at = counts(a)[thread.block()] + block.sums(@popCount(bits)).before;
            const at = @as(u64, thread.block()) * tile + thread.index() * items;
            inline for (0..items) |k| {
                if (bits >> k & 1 != 0 and packed_at < a.room) {
                    const loose: i64 = @bitCast(at + k);
                    const dense: i64 = @bitCast(packed_at);
                    switch (way) {
                        .select => moves.move(c, a.bytes, a.to, dense, a.from, loose),
                        .scatter => moves.move(c, a.bytes, a.to, loose, a.from, dense),
                    }
                    packed_at += 1;
                }
            }
        }
    };
}

/// A block for each tile: the coordinates of the true elements.
fn coordinates(a: *const Args) callconv(.kernel) void {
    const bits = chosen(a);
    var row = counts(a)[thread.block()] + block.sums(@popCount(bits)).before;
    const at = @as(u64, thread.block()) * tile + thread.index() * items;
    const out: Pointer(i64) = @ptrFromInt(a.to);
    for (0..items) |k| {
        if (bits >> @truncate(k) & 1 == 0 or row >= a.room) continue;
        var rest = at + k;
        for (0..a.rank) |d| {
            const column: i64 = a.rank - 1 - @as(i64, @intCast(d));
            const quotient = divided(rest, a.sizes[d]);
            const to = @as(i64, @bitCast(row)) * a.steps[0] + column * a.steps[1];
            out[@bitCast(to)] = @bitCast(rest - quotient * a.sizes[d]);
            rest = quotient;
        }
        row += 1;
    }
}

/// 32 bits are enough nearly always, and are divided several times faster.
inline fn divided(n: u64, size: u64) u64 {
    if ((n | size) >> 32 == 0) return @as(u32, @truncate(n)) / @as(u32, @truncate(size));
    return n / size;
}

pub fn exports() void {
    export_kernel(&count, "index_mask_count_b8_count", Args);
    export_kernel(&place, "index_mask_count_b8_place", Args);
    export_kernel(&coordinates, "index_mask_nonzero_i64_move", Args);
    for ([_]Compute{ .i32, .i64, .c128 }) |c| {
        export_kernel(&Mover(c, .select).move, "index_mask_select_" ++ @tagName(c) ++ "_move", Args);
        export_kernel(&Mover(c, .scatter).move, "index_mask_scatter_" ++ @tagName(c) ++ "_move", Args);
    }
}
