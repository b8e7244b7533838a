//! Device code that reads and writes elements at positions that index tensors give: see cpu/index.zig for the layout.
const std = @import("std");
const abi = @import("abi");
const abi_index = @import("abi_index");
const args = @import("args.zig");
const combine = @import("../cpu/index_combine.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const fault = @import("fault.zig");
const thread = @import("thread.zig");

const Compute = abi.Compute;
const Mode = abi_index.IndexMode;
const Pointer = element.Pointer;

/// As many as there are dimensions.
pub const max_indices = abi.max_rank;

/// One index tensor and the dimension that it indexes; the stride is the indexed tensor's.
pub const Index = extern struct { data: u64, size: i64, stride: i64, narrow: u32, dim: u32 };

/// No offset: optional numbers would go by memory.
const lost = std.math.minInt(i64);

/// Arguments are copied for each launch: nearly always there are few indices.
pub const few_indices = 4;

pub fn List(comptime most: usize) type {
    return extern struct {
        record: u64,
        fault: u32,
        wrap: u32,
        count: u32,
        each: [most]Index,

        /// How far from the indexed tensor's first element the indices at a position lead; `lost` when one is outside.
        inline fn offset(list: *const @This(), position: i64) i64 {
            var sum: i64 = 0;
            for (0..list.count) |k| {
                const x = &list.each[k];
                const given: i64 = if (x.narrow != 0)
                    @as(Pointer(i32), @ptrFromInt(x.data))[@bitCast(position)]
                else
                    @as(Pointer(i64), @ptrFromInt(x.data))[@bitCast(position)];
                const at = if (given < 0 and list.wrap != 0) given + x.size else given;
                if (@as(u64, @bitCast(at)) >= @as(u64, @bitCast(x.size))) {
                    fault.tell(list.record, list.fault, given, x.dim, x.size);
                    return lost;
                }
                sum += at * x.stride;
            }
            return sum;
        }
    };
}

/// Elements are moved as they are: units of 1, 2, 4, 8 or 16 bytes.
pub fn Get(comptime most: usize) type {
    return extern struct {
        dense: u64,
        indexed: u64,
        bytes: u32,
        count: u32,
        rank: u32,
        sizes: [args.max_dims]args.Divisor,
        /// Of the dense side, the indexed tensor, and the positions.
        strides: [3][args.max_dims]i32,
        list: List(most),
    };
}

/// The widths of units that a kernel takes, by the compute type that it is named after.
pub fn unit_compute(bytes: usize) ?Compute {
    return switch (bytes) {
        1, 2, 4 => .i32,
        8 => .i64,
        16 => .c128,
        else => null,
    };
}

fn Unit(comptime bytes: usize) type {
    return if (bytes == 16) @Vector(4, u32) else std.meta.Int(.unsigned, 8 * bytes);
}

/// What one access takes of units of so many bytes: those of 16 may lie on multiples of 8.
pub fn access(bytes: usize, to: u64, from: u64) u32 {
    return if (bytes == 16 and (to | from) % 16 != 0) 8 else @intCast(bytes);
}

inline fn unit(comptime bytes: usize, base: u64, at: i64) Pointer(Unit(bytes)) {
    return @ptrFromInt(base +% @as(u64, @bitCast(at * @as(i64, bytes))));
}

/// Copies one unit, `bytes` at a time.
pub inline fn move(comptime c: Compute, bytes: u32, to: u64, to_at: i64, from: u64, from_at: i64) void {
    switch (c) {
        .i32 => switch (bytes) {
            inline 1, 2 => |n| unit(n, to, to_at)[0] = unit(n, from, from_at)[0],
            else => unit(4, to, to_at)[0] = unit(4, from, from_at)[0],
        },
        .i64 => unit(8, to, to_at)[0] = unit(8, from, from_at)[0],
        else => if (bytes == 16) {
            unit(16, to, to_at)[0] = unit(16, from, from_at)[0];
        } else inline for (0..2) |half| {
            unit(8, to, 2 * to_at + half)[0] = unit(8, from, 2 * from_at + half)[0];
        },
    }
}

fn Reader(comptime c: Compute, comptime most: usize) type {
    return struct {
        fn kernel(a: *const Get(most)) callconv(.kernel) void {
            const i = thread.block() * thread.threads() + thread.index();
            if (i >= a.count) return;
            var at: [3]i32 = @splat(0);
            var rest = i;
            for (0..a.rank) |d| {
                const quotient = a.sizes[d].divide(rest);
                const remainder: i32 = @intCast(rest - quotient * a.sizes[d].size);
                inline for (&at, 0..) |*o, k| o.* += remainder * a.strides[k][d];
                rest = quotient;
            }
            const base = a.list.offset(at[2]);
            if (base == lost) return;
            move(c, a.bytes, a.dense, at[0], a.indexed, base + at[1]);
        }
    };
}

/// A write. Its space has key dimensions, along which the element that is written to may be the same, and row
/// dimensions, along which it is not. First each point of the key dimensions gets a key, where it writes to; the keys
/// are sorted; then the points with one key, which stand in their order, are combined by one thread for each element
/// of the row. So results depend on nothing but the operands. Where the last one stays and keys are not too many,
/// points claim their key instead, and the one that comes last writes.
pub fn Keys(comptime most: usize) type {
    return extern struct {
        /// Where keys go, and the numbers of their points.
        keys: u64,
        points: u64,
        /// By key the number of the last point, from one on; 0 without claims.
        claims: u64,
        wide: u32,
        count: u32,
        rank: u32,
        sizes: [args.max_dims]args.Divisor,
        /// Of the indexed tensor, divided like the indices' by what they have in common, and of the positions.
        strides: [2][args.max_dims]i64,
        list: List(most),
    };
}

/// Sorts behind all others: its index lies outside.
pub const outside = std.math.maxInt(u64);

fn KeyWriter(comptime most: usize) type {
    return struct {
        fn write_keys(a: *const Keys(most)) callconv(.kernel) void {
            const i = thread.block() * thread.threads() + thread.index();
            if (i >= a.count) return;
            var at: [2]i64 = @splat(0);
            var rest = i;
            for (0..a.rank) |d| {
                const quotient = a.sizes[d].divide(rest);
                const remainder: i64 = @intCast(rest - quotient * a.sizes[d].size);
                inline for (&at, 0..) |*o, k| o.* += remainder * a.strides[k][d];
                rest = quotient;
            }
            const base = a.list.offset(at[1]);
            const key: u64 = if (base == lost) outside else @bitCast(base + at[0]);
            if (a.wide != 0) {
                @as(Pointer(u64), @ptrFromInt(a.keys))[i] = key;
            } else @as(Pointer(u32), @ptrFromInt(a.keys))[i] = @truncate(key);
            if (a.claims != 0) {
                if (key == outside) return;
                _ = @atomicRmw(u32, &@as(Pointer(u32), @ptrFromInt(a.claims))[key], .Max, i + 1, .monotonic);
                return;
            }
            @as(Pointer(u32), @ptrFromInt(a.points))[i] = i;
        }
    };
}

pub const Apply = extern struct {
    dense: u64,
    indexed: u64,
    keys: u64,
    points: u64,
    claims: u64,
    /// How many segments are long, and the first slot of each.
    long_count: u64,
    long_list: u64,
    /// What keys were divided by.
    scale: u64,
    wide: u32,
    dtype: u32,
    bytes: u32,
    mode: u32,
    count: u32,
    rows: u32,
    /// Threads side by side in a row, a power of two.
    row_threads: u32,
    key_rank: u32,
    row_rank: u32,
    key_sizes: [args.max_dims]args.Divisor,
    row_sizes: [args.max_dims]args.Divisor,
    /// Of the dense side.
    key_strides: [args.max_dims]i64,
    /// Of the dense side and of the indexed tensor.
    row_strides: [2][args.max_dims]i64,
};

/// Points with one key from which on a whole block combines them.
pub const long = apply_threads;
pub const apply_threads = 256;

fn Writer(comptime c: Compute) type {
    const V = dt.Computed(c);
    const Any = element.Any(c);
    return struct {
        inline fn key(a: *const Apply, slot: u32) u64 {
            if (a.wide != 0) return @as(Pointer(u64), @ptrFromInt(a.keys))[slot];
            const short = @as(Pointer(u32), @ptrFromInt(a.keys))[slot];
            return if (short == std.math.maxInt(u32)) outside else short;
        }

        /// The dense side's element of a slot, less what the row adds.
        inline fn source(a: *const Apply, slot: u32) i64 {
            return source_of(a, @as(Pointer(u32), @ptrFromInt(a.points))[slot]);
        }

        inline fn source_of(a: *const Apply, point: u32) i64 {
            var rest = point;
            var at: i64 = 0;
            for (0..a.key_rank) |d| {
                const quotient = a.key_sizes[d].divide(rest);
                at += @as(i64, rest - quotient * a.key_sizes[d].size) * a.key_strides[d];
                rest = quotient;
            }
            return at;
        }

        inline fn row(a: *const Apply, r: u32) [2]i64 {
            var rest = r;
            var at: [2]i64 = @splat(0);
            for (0..a.row_rank) |d| {
                const quotient = a.row_sizes[d].divide(rest);
                const remainder: i64 = rest - quotient * a.row_sizes[d].size;
                inline for (&at, 0..) |*o, k| o.* += remainder * a.row_strides[k][d];
                rest = quotient;
            }
            return at;
        }

        /// Offsets are in bytes by now: they need more than the 32 bits that loads take.
        inline fn load(a: *const Apply, base: u64, at: i64) V {
            return Any.load(base +% @as(u64, @bitCast(at * a.bytes)), a.dtype, 0, 0);
        }

        inline fn store(a: *const Apply, at: i64, x: V) void {
            Any.store(a.indexed +% @as(u64, @bitCast(at * a.bytes)), a.dtype, 0, x);
        }

        inline fn target(a: *const Apply, own: u64) i64 {
            return @bitCast(own * a.scale);
        }

        /// One thread for a slot and an element of the row: the segment's first slot does the work.
        fn apply(a: *const Apply) callconv(.kernel) void {
            const t = thread.index();
            const slot = thread.block() * (apply_threads / a.row_threads) + t / a.row_threads;
            if (slot >= a.count) return;
            const own = key(a, slot);
            if (own == outside) return;
            const first = thread.block_y() * a.row_threads + t % a.row_threads;
            if (a.mode == @intFromEnum(Mode.assign)) {
                if (a.claims != 0) {
                    if (@as(Pointer(u32), @ptrFromInt(a.claims))[own] != slot + 1) return;
                } else if (slot + 1 < a.count and key(a, slot + 1) == own) return;
                const from = if (a.claims != 0) source_of(a, slot) else source(a, slot);
                var r = first;
                while (r < a.rows) : (r += thread.blocks_y() * a.row_threads) {
                    const at = row(a, r);
                    store(a, target(a, own) + at[1], load(a, a.dense, from + at[0]));
                }
                return;
            }
            if (slot > 0 and key(a, slot - 1) == own) return;
            // Keys are sorted: the first and the last tell how long the segment is.
            if (a.count - slot >= long and key(a, slot + long - 1) == own) {
                if (first == 0) {
                    const n = @atomicRmw(u32, &@as(Pointer(u32), @ptrFromInt(a.long_count))[0], .Add, 1, .monotonic);
                    @as(Pointer(u32), @ptrFromInt(a.long_list))[n] = slot;
                }
                return;
            }
            var r = first;
            while (r < a.rows) : (r += thread.blocks_y() * a.row_threads) {
                const at = row(a, r);
                const to = target(a, own) + at[1];
                var x = load(a, a.indexed, to);
                var s = slot;
                while (s < a.count and key(a, s) == own) : (s += 1) {
                    x = combined(a, x, load(a, a.dense, source(a, s) + at[0]));
                }
                store(a, to, x);
            }
        }

        inline fn combined(a: *const Apply, x: V, y: V) V {
            return combine.Values(c).apply(@enumFromInt(@as(u8, @truncate(a.mode))), x, y);
        }

        var partial: [apply_threads]V addrspace(.shared) = undefined;

        /// A block for a long segment: its threads combine every n-th point each, then in pairs.
        fn apply_long(a: *const Apply) callconv(.kernel) void {
            const t = thread.index();
            const lanes = apply_threads / a.row_threads;
            const lane = t / a.row_threads;
            const segments = @as(Pointer(u32), @ptrFromInt(a.long_count))[0];
            var n = thread.block();
            while (n < segments) : (n += thread.blocks()) {
                const slot = @as(Pointer(u32), @ptrFromInt(a.long_list))[n];
                const own = key(a, slot);
                const end = last_of(a, slot, own);
                var base = thread.block_y() * a.row_threads;
                while (base < a.rows) : (base += thread.blocks_y() * a.row_threads) {
                    const r = base + t % a.row_threads;
                    const at = row(a, @min(r, a.rows - 1));
                    var x = load(a, a.dense, source(a, slot + lane) + at[0]);
                    var s = slot + lane + lanes;
                    while (s < end) : (s += lanes) x = combined(a, x, load(a, a.dense, source(a, s) + at[0]));
                    partial[t] = x;
                    thread.barrier();
                    var half = lanes / 2;
                    while (half > 0) : (half /= 2) {
                        if (lane < half) partial[t] = combined(a, partial[t], partial[t + half * a.row_threads]);
                        thread.barrier();
                    }
                    if (lane == 0 and r < a.rows) {
                        const to = target(a, own) + at[1];
                        store(a, to, combined(a, load(a, a.indexed, to), partial[t]));
                    }
                    thread.barrier();
                }
            }
        }

        /// The end of a segment that begins at a slot, by halving.
        inline fn last_of(a: *const Apply, slot: u32, own: u64) u32 {
            var low = slot + 1;
            var high = a.count;
            while (low < high) {
                const middle = low + (high - low) / 2;
                if (key(a, middle) == own) low = middle + 1 else high = middle;
            }
            return low;
        }
    };
}

pub fn exports() void {
    for ([_]Compute{ .i32, .i64, .c128 }) |c| {
        const name = "index_get_" ++ @tagName(c);
        export_kernel(&Reader(c, few_indices).kernel, name ++ "_few", Get(few_indices));
        export_kernel(&Reader(c, max_indices).kernel, name ++ "_many", Get(max_indices));
    }
    export_kernel(&KeyWriter(few_indices).write_keys, "index_put_i32_few", Keys(few_indices));
    export_kernel(&KeyWriter(max_indices).write_keys, "index_put_i32_many", Keys(max_indices));
    for (@typeInfo(Compute).@"enum".fields) |f| {
        const W = Writer(@enumFromInt(f.value));
        export_kernel(&W.apply, "index_put_" ++ f.name ++ "_apply", Apply);
        export_kernel(&W.apply_long, "index_put_" ++ f.name ++ "_long", Apply);
    }
}
