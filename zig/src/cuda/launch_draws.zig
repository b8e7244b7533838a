//! Permutations and draws by weight on a device.
const std = @import("std");
const abi = @import("abi");
const context = @import("context.zig");
const Draw = @import("../gpu/random_args.zig").Draw;
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const launch = @import("launch.zig");
const memory = @import("memory.zig");
const philox = @import("../cpu/philox.zig");
const random = @import("launch_random.zig");

const Call = launch.Call;
const Failure = launch.Failure;
const gpa = std.heap.c_allocator;

fn compute_of(f: *fr.Frame) Failure!abi.Compute {
    return switch (fr.view(f, 1).dtype) {
        .float32 => .f32,
        .float64 => .f64,
        else => error.Unsupported,
    };
}

fn draw_of(f: *fr.Frame) Draw {
    const to = fr.view(f, 0);
    const weights = fr.view(f, 1);
    return .{
        .to = @intFromPtr(to.data),
        .weights = @intFromPtr(weights.data),
        .sums = 0,
        .wrong = 0,
        .rows = @intCast(weights.size(0)),
        .count = @intCast(weights.size(1)),
        .samples = @intCast(to.size(1)),
        .seed = 0,
        .place = 0,
    };
}

pub fn largest(c: *const Call) Failure!void {
    const a = draw_of(c.frame);
    if (a.samples > a.count) return error.Unsupported;
    if (a.rows == 0 or a.samples == 0) return;
    const function = try launch.function(c, try compute_of(c.frame), &.{"rows"}, 0);
    try c.start(function, a.rows, launch.block_threads, &a);
}

const sample_threads = 128;
const most_rows = 65535;

/// The sums of all rows lie in scratch memory; whether the weights are probabilities has to be known at once.
pub fn multinomial(c: *const Call) Failure!void {
    var a = draw_of(c.frame);
    if (a.rows == 0 or a.samples == 0) return;
    const compute = try compute_of(c.frame);
    const names: []const []const u8 = comptime &.{ "sums", "sample" };
    const add = try launch.function(c, compute, names, 0);
    const sample = try launch.function(c, compute, names, 1);
    const bytes = @as(u64, a.rows) * a.count * dt.size_of(fr.view(c.frame, 1).dtype);
    const room = try c.scratch(bytes + 16);
    defer memory.release(room);
    a.wrong = room.address;
    a.sums = room.address + 16;
    const cu = try context.functions();
    try context.check(cu.MemsetD8Async(a.wrong, 0, 16, c.stream));
    try c.start(add, a.rows, launch.block_threads, &a);
    const wrong = try c.answer(u32, a.wrong);
    if (wrong != 0) {
        c.frame.detail[0] = @floatFromInt(wrong);
        return error.InvalidDistribution;
    }
    const rows = @min(a.rows, most_rows);
    const state = random.generator(c.frame).take(((a.rows - 1) / rows + 1) * 4);
    a.seed = state.seed;
    a.place = state.offset / 4;
    const across = std.math.divCeil(u64, a.samples, sample_threads) catch unreachable;
    const all = a.rows;
    var first: u32 = 0;
    while (first < all) : (first += most_rows) {
        try c.start_grid(sample, .{ across, @min(most_rows, all - first), 1 }, sample_threads, &a);
        a.place += 1;
        const size = dt.size_of(fr.view(c.frame, 1).dtype);
        a.to += @as(u64, most_rows) * a.samples * 8;
        for ([_]*u64{ &a.weights, &a.sums }) |at| at.* += @as(u64, most_rows) * a.count * size;
    }
}

/// Numbers sorted by random keys, where few of the keys are expected to be equal; those that are get mixed. The keys
/// are made on the host, which has the same generator, as the order has to be known before anything is written.
pub fn permutation(c: *const Call) Failure!void {
    const out = fr.view(c.frame, 0);
    const n = out.numel();
    if (n == 0) return;
    const order = gpa.alloc(u64, n) catch return error.OutOfMemory;
    defer gpa.free(order);
    const keys = gpa.alloc(u64, n) catch return error.OutOfMemory;
    defer gpa.free(keys);
    try sorted_by_keys(c, keys, order);
    const size = dt.size_of(out.dtype);
    const bytes = gpa.alloc(u8, n * size) catch return error.OutOfMemory;
    defer gpa.free(bytes);
    switch (out.dtype) {
        .bool, .complex64, .complex128, .float8_e4m3fn, .float8_e5m2 => return error.Unsupported,
        inline else => |d| for (order, 0..) |x, i| {
            const value = dt.store(d, .i64, @intCast(x));
            @memcpy(bytes[i * size ..][0..size], std.mem.asBytes(&value));
        },
    }
    const cu = try context.functions();
    try context.check(cu.MemcpyHtoDAsync_v2(@intFromPtr(out.data), bytes.ptr, bytes.len, c.stream));
    try context.check(cu.StreamSynchronize(c.stream));
}

fn sorted_by_keys(c: *const Call, keys: []u64, order: []u64) Failure!void {
    const n = keys.len;
    const bits = key_bits(n);
    // Keys are integers of 32 or 64 bits, from the least to one before the largest: both are cut from 64 bits.
    const range: u64 = if (bits > 32) std.math.maxInt(u64) else std.math.maxInt(u32);
    const mask = if (bits == 64) ~@as(u64, 0) else (@as(u64, 1) << @intCast(bits)) - 1;
    const shares = try random.shares_of(c, n, 2);
    const state = random.generator(c.frame).take(shares.taken);
    // A thread has every `all`-th element.
    const all = @as(usize, shares.blocks) * philox.Shares.threads;
    for (keys, 0..) |*key, i| {
        const w = philox.words(state.seed, i % all, state.offset / 4 + i / all / 2);
        key.* = philox.pair(w)[i / all % 2] % range & mask;
    }
    for (order, 0..) |*x, i| x.* = i;
    // Places tell equal keys apart, so that an unstable sort, whose code is a third as long, gives one order.
    std.sort.pdq(u64, order, keys, struct {
        fn less(list: []const u64, a: u64, b: u64) bool {
            return list[a] < list[b] or (list[a] == list[b] and a < b);
        }
    }.less);
    const mixing = random.generator(c.frame).take(n);
    var i: usize = 0;
    while (i < n) {
        var end = i + 1;
        while (end < n and keys[order[end]] == keys[order[i]]) end += 1;
        mix(order[i..end], mixing, i);
        i = end;
    }
}

/// Of as many bits that with a probability of 0.9 no twelve keys are equal.
fn key_bits(n: usize) u32 {
    const count: f64 = @floatFromInt(n);
    const bits = @ceil(@log2(count - (6 * count * count + 1) / (@log(0.9) * 12)));
    return @intFromFloat(@max(1, @min(64, bits)));
}

fn mix(island: []u64, state: philox.State, stream: u64) void {
    var drawn: u64 = 0;
    var i = island.len - 1;
    while (i > 0) : (i -= 1) {
        const w = philox.words(state.seed, stream, state.offset / 4 + drawn / 4);
        std.mem.swap(u64, &island[i], &island[w[drawn % 4] % (i + 1)]);
        drawn += 1;
    }
}
