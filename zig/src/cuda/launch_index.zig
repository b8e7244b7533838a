//! Reads and writes at given positions on a device; see gpu/index.zig.
const std = @import("std");
const abi = @import("abi");
const abi_index = @import("abi_index");
const combine = @import("../cpu/index_combine.zig");
const context = @import("context.zig");
const device = @import("../gpu/index.zig");
const dt = @import("../core/dtype.zig");
const faults = @import("faults.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const launch = @import("launch.zig");
const memory = @import("memory.zig");
const pieces = @import("pieces.zig");
const radix = @import("radix.zig");

const Call = launch.Call;
const Failure = launch.Failure;
const Space = iter.Space;

const first_index = 3;
/// Operands of the space.
const dense = 0;
const indexed = 1;
const position = 2;

const get_variants = [_][]const u8{ "few", "many" };
const put_variants = [_][]const u8{ "apply", "long", "few", "many" };

pub fn run(c: *const Call) Failure!void {
    var job: Job = undefined;
    job.call = c;
    job.space.init(c.frame, 3);
    if (job.space.total == 0) return;
    try job.open();
    if (c.kernel == comptime launch.number_of("index", "get")) {
        job.widen();
        return pieces.each(&job.space, true, &job, Job.get);
    }
    const code: u8 = @intCast(fr.attr_int(c.frame, abi_index.IndexAttr.mode));
    if (code >= @typeInfo(abi_index.IndexMode).@"enum".fields.len) return error.Unsupported;
    job.mode = @enumFromInt(code);
    if (job.mode == .assign) job.widen();
    try pieces.each(&job.space, false, &job, Job.put);
}

const List = device.List(device.max_indices);

/// As many index tensors as a kernel takes.
fn short(comptime most: usize, list: *const List) device.List(most) {
    return .{
        .record = list.record,
        .fault = list.fault,
        .wrap = list.wrap,
        .count = list.count,
        .each = list.each[0..most].*,
    };
}

const Job = struct {
    call: *const Call,
    space: Space,
    list: List,
    /// Addresses of the dense side and of the indexed tensor.
    data: [2]u64,
    dtype: abi.DType,
    /// Of an element, or of the units that elements are moved in.
    bytes: usize,
    mode: abi_index.IndexMode,

    fn open(j: *Job) Failure!void {
        const f = j.call.frame;
        const n = fr.count(f);
        if (n <= first_index or n - first_index > device.max_indices) return error.Unsupported;
        j.list = .{
            .record = try faults.address(j.call.device.index),
            .fault = @intCast(fr.attr_int(f, abi_index.IndexAttr.fault)),
            .wrap = @intFromBool(fr.attr_bool(f, abi_index.IndexAttr.wrap)),
            .count = @intCast(n - first_index),
            .each = undefined,
        };
        for (j.list.each[0..j.list.count], first_index..) |*x, k| {
            const v = fr.view(f, k);
            if (v.dtype != .int64 and v.dtype != .int32) return error.Unsupported;
            x.* = .{
                .data = @intFromPtr(v.data),
                .size = fr.to_int(v.shape[abi_index.IndexFact.size]),
                .stride = v.stride(1),
                .narrow = @intFromBool(v.dtype == .int32),
                .dim = @intCast(fr.to_int(v.shape[abi_index.IndexFact.dim])),
            };
        }
        j.dtype = fr.view(f, indexed).dtype;
        j.bytes = dt.size_of(j.dtype);
        for (&j.data, 0..) |*d, k| d.* = @intFromPtr(fr.view(f, k).data);
    }

    /// Where whole runs of elements have one index, they are moved in larger units.
    fn widen(j: *Job) void {
        const s = &j.space;
        if (s.strides[position][0] != 0 or s.strides[dense][0] != 1 or s.strides[indexed][0] != 1) return;
        var wide: usize = 16;
        while (wide > j.bytes) : (wide /= 2) if (j.divides(wide / j.bytes, wide)) break;
        const ratio: u31 = @intCast(wide / j.bytes);
        if (ratio < 2) return;
        s.sizes[0] /= ratio;
        s.total /= ratio;
        for (1..s.rank) |d| {
            for ([_]usize{ dense, indexed }) |k| s.strides[k][d] = @divExact(s.strides[k][d], ratio);
        }
        for (j.list.each[0..j.list.count]) |*x| x.stride = @divExact(x.stride, ratio);
        j.bytes = wide;
    }

    fn divides(j: *const Job, ratio: usize, wide: usize) bool {
        const s = &j.space;
        if (s.sizes[0] % ratio != 0) return false;
        for (j.data) |at| if (at % wide != 0) return false;
        for (1..s.rank) |d| {
            for ([_]usize{ dense, indexed }) |k| if (@abs(s.strides[k][d]) % ratio != 0) return false;
        }
        for (j.list.each[0..j.list.count]) |*x| if (@abs(x.stride) % ratio != 0) return false;
        return true;
    }

    fn address(j: *const Job, operand: usize, offsets: *const pieces.Offsets) u64 {
        return j.data[operand] +% @as(u64, @bitCast(offsets[operand] * @as(i64, @intCast(j.bytes))));
    }

    /// The index tensors from a position on.
    fn from(j: *const Job, offset: i64) List {
        var list = j.list;
        for (list.each[0..list.count]) |*x| {
            x.data +%= @bitCast(offset * @as(i64, if (x.narrow != 0) 4 else 8));
        }
        return list;
    }

    fn get(j: *Job, space: *const Space, offsets: *const pieces.Offsets) Failure!void {
        if (j.list.count <= device.few_indices) return j.get_with(device.few_indices, 0, space, offsets);
        try j.get_with(device.max_indices, 1, space, offsets);
    }

    fn get_with(
        j: *Job,
        comptime most: usize,
        variant: usize,
        space: *const Space,
        offsets: *const pieces.Offsets,
    ) Failure!void {
        const list = j.from(offsets[position]);
        var a: device.Get(most) = .{
            .dense = j.address(dense, offsets),
            .indexed = j.address(indexed, offsets),
            .bytes = device.access(j.bytes, j.address(dense, offsets), j.address(indexed, offsets)),
            .count = @intCast(space.total),
            .rank = @intCast(space.rank),
            .sizes = undefined,
            .strides = undefined,
            .list = short(most, &list),
        };
        pieces.divisors(space, &a.sizes);
        for (0..3) |k| {
            for (0..space.rank) |d| a.strides[k][d] = @intCast(space.strides[k][d]);
        }
        const compute = device.unit_compute(j.bytes) orelse return error.Unsupported;
        const kernel = try launch.function(j.call, compute, &get_variants, variant);
        try j.call.start(kernel, blocks(space.total, launch.block_threads), launch.block_threads, &a);
    }

    fn put(j: *Job, space: *const Space, offsets: *const pieces.Offsets) Failure!void {
        var p: Put = .{ .job = j, .keys = .{ .operands = 3 }, .rows = .{ .operands = 3 } };
        p.keys.rank = 0;
        p.rows.rank = 0;
        for (0..space.rank) |d| {
            const repeats = space.strides[position][d] == 0 and space.strides[indexed][d] != 0;
            const to = if (repeats) &p.rows else &p.keys;
            to.sizes[to.rank] = space.sizes[d];
            for (0..3) |k| to.strides[k][to.rank] = space.strides[k][d];
            to.rank += 1;
        }
        pieces.shrink(&p.keys);
        pieces.shrink(&p.rows);
        try p.run(offsets);
    }
};

fn blocks(n: usize, each: usize) usize {
    return std.math.divCeil(usize, n, each) catch unreachable;
}

/// Keys that are claimed at most, in all or for each point: of more the table costs more than a sort.
const most_claims = 1 << 16;
const most_claims_each = 16;

/// A write: what depends on the piece.
const Put = struct {
    job: *const Job,
    /// The dimensions along which targets may be the same, and the others.
    keys: Space,
    rows: Space,

    fn run(p: *const Put, offsets: *const pieces.Offsets) Failure!void {
        const c = p.job.call;
        const scale = p.common();
        const most = p.highest() / scale;
        // The highest key of all is that of an index outside.
        const wide = most >= std.math.maxInt(u32) - 1;
        const n: u32 = @intCast(p.keys.total);
        const claimed = p.job.mode == .assign and n > 1 and most < @max(most_claims, @as(u64, n) * most_claims_each);
        const pair_bytes = radix.Pairs.bytes(wide, 1, n);
        const list_bytes = if (claimed) (most + 1) * 4 else 256 + (n / device.long + 1) * 4;
        const block = try c.scratch(pair_bytes + list_bytes);
        defer memory.release(block);
        var pairs: radix.Pairs = .placed(block.address, wide, 1, n);
        // Behind the pairs stand claims, or how many segments are long, and which.
        const list = block.address + pair_bytes;
        const cu = try context.functions();
        try context.check(cu.MemsetD8Async(list, 0, if (claimed) list_bytes else 4, c.stream));
        try p.start_keys(offsets, &pairs, scale, if (claimed) list else 0);
        if (!claimed) try pairs.sort_by(c, 64 - @clz(most + 1));
        try p.start_apply(offsets, &pairs, scale, list, claimed);
    }

    /// What all targets' distances have in common: keys are divided by it, and sorted in fewer passes.
    fn common(p: *const Put) u64 {
        var found: u64 = 0;
        for (0..p.keys.rank) |d| found = std.math.gcd(found, @abs(p.keys.strides[indexed][d]));
        for (p.job.list.each[0..p.job.list.count]) |*x| {
            if (x.stride != 0) found = if (found == 0) @abs(x.stride) else std.math.gcd(found, @abs(x.stride));
        }
        return @max(1, found);
    }

    fn highest(p: *const Put) u64 {
        var sum: u64 = 0;
        for (0..p.keys.rank) |d| sum += @abs(p.keys.strides[indexed][d]) * (p.keys.sizes[d] - 1);
        for (p.job.list.each[0..p.job.list.count]) |*x| sum += @abs(x.stride) * @as(u64, @intCast(@max(1, x.size) - 1));
        return sum;
    }

    fn start_keys(
        p: *const Put,
        offsets: *const pieces.Offsets,
        pairs: *const radix.Pairs,
        scale: u64,
        claims: u64,
    ) Failure!void {
        if (p.job.list.count <= device.few_indices) {
            return p.start_keys_with(device.few_indices, 2, offsets, pairs, scale, claims);
        }
        try p.start_keys_with(device.max_indices, 3, offsets, pairs, scale, claims);
    }

    fn start_keys_with(
        p: *const Put,
        comptime most: usize,
        variant: usize,
        offsets: *const pieces.Offsets,
        pairs: *const radix.Pairs,
        scale: u64,
        claims: u64,
    ) Failure!void {
        const c = p.job.call;
        const divisor: i64 = @intCast(scale);
        var list = p.job.from(offsets[position]);
        for (list.each[0..list.count]) |*x| x.stride = @divExact(x.stride, divisor);
        var a: device.Keys(most) = .{
            .keys = pairs.keys[0],
            .points = pairs.values[0],
            .claims = claims,
            .wide = @intFromBool(pairs.wide),
            .count = pairs.length,
            .rank = @intCast(p.keys.rank),
            .sizes = undefined,
            .strides = undefined,
            .list = short(most, &list),
        };
        pieces.divisors(&p.keys, &a.sizes);
        for (0..p.keys.rank) |d| {
            a.strides[0][d] = @divExact(p.keys.strides[indexed][d], divisor);
            a.strides[1][d] = p.keys.strides[position][d];
        }
        const kernel = try launch.function(c, .i32, &put_variants, variant);
        try c.start(kernel, blocks(pairs.length, launch.block_threads), launch.block_threads, &a);
    }

    fn start_apply(
        p: *const Put,
        offsets: *const pieces.Offsets,
        pairs: *const radix.Pairs,
        scale: u64,
        list: u64,
        claimed: bool,
    ) Failure!void {
        const j = p.job;
        const c = j.call;
        const rows: u32 = @intCast(p.rows.total);
        const compute, const dtype = try p.element();
        var a: device.Apply = .{
            .dense = j.address(dense, offsets),
            .indexed = j.address(indexed, offsets),
            .keys = pairs.keys[pairs.now],
            .points = pairs.values[pairs.now],
            .claims = if (claimed) list else 0,
            .long_count = list,
            .long_list = list + 256,
            .scale = scale,
            .wide = @intFromBool(pairs.wide),
            .dtype = @intFromEnum(dtype),
            .bytes = @intCast(j.bytes),
            .mode = @intFromEnum(j.mode),
            .count = pairs.length,
            .rows = rows,
            .row_threads = @min(device.apply_threads, std.math.ceilPowerOfTwoAssert(u32, rows)),
            .key_rank = @intCast(p.keys.rank),
            .row_rank = @intCast(p.rows.rank),
            .key_sizes = undefined,
            .row_sizes = undefined,
            .key_strides = undefined,
            .row_strides = undefined,
        };
        pieces.divisors(&p.keys, &a.key_sizes);
        pieces.divisors(&p.rows, &a.row_sizes);
        for (0..p.keys.rank) |d| a.key_strides[d] = p.keys.strides[dense][d];
        for (0..2) |k| {
            for (0..p.rows.rank) |d| a.row_strides[k][d] = p.rows.strides[k][d];
        }
        const side = @min(65535, blocks(rows, a.row_threads));
        const slots = blocks(pairs.length, device.apply_threads / a.row_threads);
        const each = try launch.function(c, compute, &put_variants, 0);
        try c.start_grid(each, .{ slots, side, 1 }, device.apply_threads, &a);
        if (j.mode == .assign or pairs.length < device.long) return;
        // The rows' threads are few here, so that many are left for the points.
        a.row_threads = @min(32, a.row_threads);
        const long_blocks = @min(pairs.length / device.long, 4 * c.device.multiprocessors);
        const long = try launch.function(c, compute, &put_variants, 1);
        const long_side = @min(1024, blocks(rows, a.row_threads));
        try c.start_grid(long, .{ long_blocks, long_side, 1 }, device.apply_threads, &a);
    }

    /// What elements are combined in; where they are only moved, integers or pairs of their size.
    fn element(p: *const Put) Failure!struct { abi.Compute, abi.DType } {
        if (p.job.mode != .assign) return .{ combine.type_of(p.job.dtype), p.job.dtype };
        return switch (p.job.bytes) {
            1 => .{ .i32, .int8 },
            2 => .{ .i32, .int16 },
            4 => .{ .i32, .int32 },
            8 => .{ .i64, .int64 },
            16 => .{ .c128, .complex128 },
            else => error.Unsupported,
        };
    }
};
