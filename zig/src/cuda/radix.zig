//! Sorts rows of (key, value) pairs in a device's memory; see gpu/radix.zig and gpu/sort.zig.
const std = @import("std");
const abi = @import("abi");
const device = @import("../gpu/radix.zig");
const launch = @import("launch.zig");
const sort = @import("../gpu/sort.zig");

const Call = launch.Call;
const Failure = launch.Failure;

/// Kernels of sort.sort, in their order.
pub const variants = [_][]const u8{ "short", "pairs", "best", "write", "count", "place", "move" };
pub const Kernel = enum { short, pairs, best, write, count, place, move };

/// Rows of one launch: the grid's second dimension.
pub const most_rows = 32768;

pub fn function(c: *const Call, wide: bool, which: Kernel) Failure!@import("driver.zig").Function {
    var call = c.*;
    call.kernel = comptime launch.number_of("sort", "sort");
    return launch.function(&call, if (wide) .i64 else .i32, &variants, @intFromEnum(which));
}

/// Pairs in scratch memory, twice: a pass goes from one place to the other.
pub const Pairs = struct {
    /// Keys of 64 bits.
    wide: bool,
    rows: u32,
    length: u32,
    keys: [2]u64,
    values: [2]u64,
    counts: u64,
    totals: u64,
    /// Where they are now.
    now: u1 = 0,

    pub fn bytes(wide: bool, rows: u64, length: u64) u64 {
        const p: Pairs = .placed(0, wide, @intCast(rows), @intCast(length));
        return p.totals + aligned(rows * device.digits * 4);
    }

    pub fn placed(address: u64, wide: bool, rows: u32, length: u32) Pairs {
        const n = @as(u64, rows) * length;
        const key_bytes = aligned(n * @as(u64, if (wide) 8 else 4));
        const value_bytes = aligned(n * 4);
        const values = address + 2 * key_bytes;
        const counts = values + 2 * value_bytes;
        const of_row = if (length <= sort.chunk) 0 else tiles(length) * device.digits;
        return .{
            .wide = wide,
            .rows = rows,
            .length = length,
            .keys = .{ address, address + key_bytes },
            .values = .{ values, values + value_bytes },
            .counts = counts,
            .totals = counts + aligned(rows * of_row * 4),
        };
    }

    /// Sorts by the lowest `bits` bits; what is known of lines stands in `a`, for short rows.
    pub fn sort_by(p: *Pairs, c: *const Call, bits: u32) Failure!void {
        if (p.length < 2) return;
        if (p.length <= sort.chunk) return p.in_chunks(c);
        var shift: u32 = 0;
        while (shift < bits) : (shift += 8) try p.pass(c, shift);
    }

    fn pass(p: *Pairs, c: *const Call, shift: u32) Failure!void {
        const to = p.now ^ 1;
        const n: u32 = @intCast(tiles(p.length));
        const a: device.Pass = .{
            .keys = p.keys[p.now],
            .values = p.values[p.now],
            .to_keys = p.keys[to],
            .to_values = p.values[to],
            .counts = p.counts,
            .totals = p.totals,
            .count = p.length,
            .tiles = n,
            .shift = shift,
        };
        const each_tile: [3]u64 = .{ n, p.rows, 1 };
        try c.start_grid(try function(c, p.wide, .count), each_tile, sort.threads, &a);
        try c.start_grid(try function(c, p.wide, .place), .{ device.digits, p.rows, 1 }, sort.threads, &a);
        try c.start_grid(try function(c, p.wide, .move), each_tile, sort.threads, &a);
        p.now = to;
    }

    fn in_chunks(p: *Pairs, c: *const Call) Failure!void {
        const to = p.now ^ 1;
        var a = std.mem.zeroes(sort.Lines);
        a.keys = p.keys[p.now];
        a.order = p.values[p.now];
        a.to_keys = p.keys[to];
        a.to_order = p.values[to];
        a.length = p.length;
        a.wanted = p.length;
        a.room = std.math.ceilPowerOfTwoAssert(u32, p.length);
        try c.start_grid(try function(c, p.wide, .best), .{ 1, p.rows, 1 }, sort.threads, &a);
        p.now = to;
    }
};

fn tiles(length: u64) u64 {
    return std.math.divCeil(u64, length, device.tile) catch unreachable;
}

/// Any access may go to the start of a part.
pub fn aligned(n: u64) u64 {
    return std.mem.alignForward(u64, n, 256);
}
