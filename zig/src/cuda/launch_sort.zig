//! Sorting on a device; see gpu/sort.zig. Lines of up to a chunk are sorted in shared memory. Of longer ones a few are
//! found chunk by chunk, each of which gives its best; all of them, and single elements, by a radix sort of pairs.
const std = @import("std");
const abi = @import("abi");
const abi_sort = @import("abi_sort");
const args = @import("../gpu/args.zig");
const device = @import("../gpu/sort.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const keys = @import("../cpu/sort_keys.zig");
const launch = @import("launch.zig");
const memory = @import("memory.zig");
const pieces = @import("pieces.zig");
const radix = @import("radix.zig");

const Call = launch.Call;
const Failure = launch.Failure;
const Space = iter.Space;

const pick_variants = [_][]const u8{"pick"};

/// Each chunk gives so many at most; of more a radix sort finds them sooner.
const best_most = 256;
/// Pairs in scratch memory at once, where lines can be taken one after another.
const most_pairs = 1 << 24;

pub fn run(c: *const Call) Failure!void {
    const f = c.frame;
    const source = fr.view(f, 2);
    const dim = fr.to_usize(f.attrs[abi_sort.SortAttr.dim]);
    if (dim >= source.rank) return error.Unsupported;
    const picks = c.kernel == comptime launch.number_of("sort", "pick");
    const whole = c.kernel == comptime launch.number_of("sort", "sort");
    const n = source.size(dim);
    const wanted = if (whole) n else fr.to_usize(f.attrs[abi_sort.SortAttr.wanted]);
    if (wanted > n or n > pieces.most_elements) return error.Unsupported;
    var space: Space = .{ .operands = 3, .rank = 0, .total = 1 };
    for (0..source.rank) |r| {
        const d = source.rank - 1 - r;
        if (d == dim) continue;
        space.total *= source.size(d);
        if (source.size(d) == 1) continue;
        space.sizes[space.rank] = source.size(d);
        for (0..3) |k| space.strides[k][space.rank] = fr.view(f, operand_of[k]).stride(d);
        space.rank += 1;
    }
    if (space.total == 0 or n == 0 or (wanted == 0 and !picks)) return;
    space.coalesce();
    var job: Job = .{
        .call = c,
        .wide = dt.size_of(source.dtype) == 8,
        .bits = keys.key_bits(source.dtype),
        .a = std.mem.zeroes(device.Lines),
    };
    const a = &job.a;
    a.dtype = @intFromEnum(source.dtype);
    a.bytes = @intCast(dt.size_of(source.dtype));
    a.descending = @intFromBool(fr.attr_bool(f, abi_sort.SortAttr.descending));
    a.length = @intCast(n);
    a.wanted = @intCast(wanted);
    a.pick = if (picks) @intCast(fr.attr_int(f, abi_sort.SortAttr.pick)) else 0;
    for (0..3) |k| {
        const v = fr.view(f, operand_of[k]);
        // What is picked is one element: its operands have no line.
        a.steps[k] = if (k > 0 and picks) 0 else v.stride(dim);
        job.data[k] = @intFromPtr(v.data);
    }
    a.across = @intFromBool(space.total > 1 and @abs(space.strides[0][0]) < @abs(a.steps[0]));
    try pieces.each(&space, false, &job, Job.piece);
}

/// The source, the values, the places.
const operand_of = [_]usize{ 2, 0, 1 };

const Job = struct {
    call: *const Call,
    a: device.Lines,
    wide: bool,
    bits: u32,
    data: [3]u64 = undefined,

    fn piece(j: *Job, space: *const Space, offsets: *const pieces.Offsets) Failure!void {
        const a = &j.a;
        a.rank = @intCast(space.rank);
        pieces.divisors(space, &a.sizes);
        for (0..3) |k| {
            for (0..space.rank) |d| a.strides[k][d] = space.strides[k][d];
        }
        const sizes = [_]i64{ a.bytes, a.bytes, 8 };
        const bases = [_]*u64{ &a.source, &a.values, &a.places };
        for (bases, 0..) |b, k| b.* = j.data[k] +% @as(u64, @bitCast(offsets[k] * sizes[k]));
        if (a.length <= device.chunk and a.pick == 0) return j.short(@intCast(space.total));
        const each = @max(1, @min(radix.most_rows, most_pairs / a.length));
        a.first = 0;
        while (a.first < space.total) : (a.first += a.rows) {
            a.rows = @intCast(@min(each, space.total - a.first));
            if (a.pick == 0 and a.wanted <= best_most and a.wanted < a.length) try j.few() else try j.all();
        }
    }

    fn short(j: *Job, rows: u32) Failure!void {
        const a = &j.a;
        a.first = 0;
        a.rows = rows;
        a.room = std.math.ceilPowerOfTwoAssert(u32, a.length);
        const blocks = std.math.divCeil(u32, rows, device.chunk / a.room) catch unreachable;
        try j.call.start(try radix.function(j.call, j.wide, .short), blocks, device.threads, a);
    }

    fn key_bytes(j: *const Job) u64 {
        return if (j.wide) 8 else 4;
    }

    /// The first of all chunks, again the first of these, until one chunk is left.
    fn few(j: *Job) Failure!void {
        var a = j.a;
        a.room = device.chunk;
        const most = chunks(a.length) * a.wanted;
        const key_part = radix.aligned(a.rows * most * j.key_bytes());
        const order_part = radix.aligned(a.rows * most * 4);
        const block = try j.call.scratch(2 * (key_part + order_part));
        defer memory.release(block);
        const best = try radix.function(j.call, j.wide, .best);
        var side: u64 = 0;
        while (true) {
            a.to_keys = block.address + side * (key_part + order_part);
            a.to_order = a.to_keys + key_part;
            const n = chunks(a.length);
            try j.call.start_grid(best, .{ n, a.rows, 1 }, device.threads, &a);
            a.keys = a.to_keys;
            a.order = a.to_order;
            a.length = @intCast(n * a.wanted);
            side ^= 1;
            if (n == 1) break;
        }
        try j.write(&a);
    }

    fn chunks(n: u64) u64 {
        return std.math.divCeil(u64, n, device.chunk) catch unreachable;
    }

    fn all(j: *Job) Failure!void {
        var a = j.a;
        const block = try j.call.scratch(radix.Pairs.bytes(j.wide, a.rows, a.length));
        defer memory.release(block);
        var pairs: radix.Pairs = .placed(block.address, j.wide, a.rows, a.length);
        a.to_keys = pairs.keys[0];
        a.to_order = pairs.values[0];
        const blocks = std.math.divCeil(u64, a.length, device.threads) catch unreachable;
        try j.call.start_grid(try radix.function(j.call, j.wide, .pairs), .{ blocks, a.rows, 1 }, device.threads, &a);
        try pairs.sort_by(j.call, j.bits);
        a.keys = pairs.keys[pairs.now];
        a.order = pairs.values[pairs.now];
        if (a.pick == 0) return j.write(&a);
        const compute: abi.Compute = if (j.wide) .i64 else .i32;
        try j.call.start(try launch.function(j.call, compute, &pick_variants, 0), a.rows, device.threads, &a);
    }

    fn write(j: *Job, a: *const device.Lines) Failure!void {
        const blocks = std.math.divCeil(u64, a.wanted, device.threads) catch unreachable;
        try j.call.start_grid(try radix.function(j.call, j.wide, .write), .{ blocks, a.rows, 1 }, device.threads, a);
    }
};
