//! Random numbers on a device: what torch's generators give there, number for number, for the same seed and the same
//! count of processors.
const std = @import("std");
const abi = @import("abi");
const abi_cuda = @import("abi_cuda");
const abi_random = @import("abi_random");
const args = @import("../gpu/args.zig");
const beside = @import("beside.zig");
const context = @import("context.zig");
const draws = @import("launch_draws.zig");
const driver = @import("driver.zig");
const dt = @import("../core/dtype.zig");
const faults = @import("faults.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const launch = @import("launch.zig");
const ops = @import("ops");
const philox = @import("../cpu/philox.zig");
const Fill = @import("../gpu/random_args.zig").Fill;

const Attr = abi_random.RandomAttr;
const Call = launch.Call;
const Failure = launch.Failure;
const Shares = philox.Shares;

pub fn generator(f: *const fr.Frame) *philox.State {
    return @ptrFromInt(fr.to_usize(fr.attr(f, Attr.generator)));
}

const Kernel = enum {
    uniform,
    normal,
    log_normal,
    exponential,
    cauchy,
    geometric,
    bernoulli,
    bernoulli_each,
    from_to,
    full_64,
    default_range,
    randperm,
    multinomial,
    largest,
};

pub fn run(c: *const Call) Failure!void {
    const kernel = std.meta.stringToEnum(Kernel, ops.kernels[c.kernel].name) orelse return error.Unsupported;
    switch (kernel) {
        .from_to, .full_64, .default_range => try integers(c, kernel),
        .randperm => try draws.permutation(c),
        .multinomial => try draws.multinomial(c),
        .largest => try draws.largest(c),
        .bernoulli_each => try fill(c, &.{"fill"}, 0, real_compute(c), &try chances(c), 4),
        else => try reals(c, kernel),
    }
}

/// Doubles are drawn for doubles, floats for everything else.
fn real_compute(c: *const Call) abi.Compute {
    return if (fr.view(c.frame, 0).dtype == .float64) .f64 else .f32;
}

fn empty_fill() Fill {
    var a: Fill = std.mem.zeroes(Fill);
    a.range = 1;
    a.run = 1;
    return a;
}

fn reals(c: *const Call, kernel: Kernel) Failure!void {
    const d = fr.view(c.frame, 0).dtype;
    var a = empty_fill();
    a.numbers[0] = fr.attr(c.frame, Attr.first);
    a.numbers[1] = fr.attr(c.frame, Attr.second);
    if (kernel == .uniform) {
        // The bounds, and their distance, are numbers of the output's dtype.
        const from, const to = .{ as_element(d, a.numbers[0]), as_element(d, a.numbers[1]) };
        a.numbers = .{ from, to, as_element(d, to - from), 0 };
    }
    const neighbours = if (kernel == .bernoulli) fr.attr(c.frame, Attr.third) else 0;
    if (neighbours != 0) {
        a.run = @intFromFloat(neighbours);
        // For dropout floats are drawn for doubles, too: they are less than a double where less than the next float.
        if (d == .float64) a.numbers[0] = float_from(a.numbers[0]);
        return fill(c, &.{ "fill", "kept" }, 1, .f32, &a, 4);
    }
    const compute = real_compute(c);
    try fill(c, &.{"fill"}, 0, compute, &a, if (compute == .f64) 2 else 4);
}

/// The least float that is not less.
fn float_from(x: f64) f32 {
    const near: f32 = @floatCast(x);
    return if (near < x) std.math.nextAfter(f32, near, std.math.inf(f32)) else near;
}

fn as_element(d: abi.DType, x: f64) f64 {
    return switch (d) {
        .float64 => x,
        inline .bfloat16, .float16 => |k| dt.load(k, .f32, dt.store(k, .f32, @floatCast(x))),
        else => @as(f32, @floatCast(x)),
    };
}

fn chances(c: *const Call) Failure!Fill {
    var a = empty_fill();
    const v = fr.view(c.frame, 1);
    a.chance.data = @intFromPtr(v.data);
    a.chance.dtype = @intFromEnum(v.dtype);
    a.chance.flags = v.flags;
    a.record = try faults.address(c.device.index);
    a.fault = @intFromFloat(fr.attr(c.frame, Attr.first));
    return a;
}

const from_to_kernel = launch.number_of("random", "from_to");

/// Small ranges are cut from 32 bits.
const least_long = 1 << 28;

fn integers(c: *const Call, kernel: Kernel) Failure!void {
    const d = fr.view(c.frame, 0).dtype;
    var a = empty_fill();
    var long = d == .int64 or d == .float64;
    switch (kernel) {
        .from_to => {
            a.from = @bitCast(word(c.frame, 1));
            a.range = word(c.frame, 2);
            if (a.range == 0) return error.Unsupported;
            long = a.range >= least_long;
        },
        .full_64 => {
            a.range = 0;
            long = true;
        },
        else => a.range = whole_range(d) orelse return error.Unsupported,
    }
    var as = c.*;
    as.kernel = from_to_kernel;
    try fill(&as, &.{ "short", "long" }, @intFromBool(long), .i64, &a, if (long) 2 else 4);
}

fn word(f: *fr.Frame, operand: usize) u64 {
    return @as(*align(1) const u64, @ptrCast(fr.view(f, operand).data)).*;
}

/// How many numbers there are from 0 to the largest of a dtype, or to 2^digits.
fn whole_range(d: abi.DType) ?u64 {
    return switch (d) {
        .bool => 2,
        .float16 => (1 << 11) + 1,
        .bfloat16 => (1 << 8) + 1,
        .float32 => (1 << 24) + 1,
        .float64 => (1 << 53) + 1,
        inline .uint8, .int8, .int16, .int32, .int64 => |k| @as(u64, std.math.maxInt(dt.Stored(k))) + 1,
        else => null,
    };
}

/// Fills the output, in the order of its memory.
fn fill(
    c: *const Call,
    comptime variants: []const []const u8,
    variant: usize,
    compute: abi.Compute,
    a: *const Fill,
    unit: u64,
) Failure!void {
    const operands: usize = if (a.chance.data != 0) 2 else 1;
    var space: iter.Space = undefined;
    space.init(c.frame, operands);
    if (space.total == 0) return;
    if (space.rank > args.max_dims and operands == 1) return beside.run(c, run);
    const out = fr.view(c.frame, 0);
    const function = try launch.function(c, compute, variants, variant);
    var first = a.*;
    first.out.data = @intFromPtr(out.data);
    first.out.dtype = @intFromEnum(out.dtype);
    try each(c, function, &first, &space, unit);
}

/// Elements of one launch, and how many bytes they may lie apart: torch halves a larger output, too, and each half
/// takes its numbers after the whole has.
const most: u64 = std.math.maxInt(i32);

fn each(c: *const Call, function: driver.Function, a: *const Fill, space: *const iter.Space, unit: u64) Failure!void {
    const shares = try shares_of(c, space.total, if (space.operands == 2) 4 else unit);
    // A chance for each element: ten numbers are taken, whatever is needed of them.
    const state = generator(c.frame).take(if (space.operands == 2) 10 else shares.taken);
    const wide = split_dim(space, a) orelse return one(c, function, a, space, state, shares.blocks);
    var parts = [2]Fill{ a.*, a.* };
    const counts = [2]u64{ space.sizes[wide] / 2, space.sizes[wide] - space.sizes[wide] / 2 };
    parts[1].out.data +%= distance(space.strides[0][wide], counts[0], a.out.dtype);
    if (space.operands == 2) parts[1].chance.data +%= distance(space.strides[1][wide], counts[0], a.chance.dtype);
    for (&parts, counts) |*part, count| {
        var smaller = space.*;
        smaller.total = space.total / space.sizes[wide] * count;
        smaller.sizes[wide] = count;
        try each(c, function, part, &smaller, unit);
    }
}

/// The dimension to halve; null when 31 bits are enough.
fn split_dim(space: *const iter.Space, a: *const Fill) ?usize {
    var fits = space.total <= most;
    var widest: usize = 0;
    var far: u64 = 0;
    var k: usize = 0;
    const sizes = [2]u64{ size_of(a.out.dtype), size_of(a.chance.dtype) };
    while (k < space.operands) : (k += 1) {
        var reach: u64 = 1;
        var d = space.rank;
        while (d > 0) {
            d -= 1;
            const extent = (space.sizes[d] - 1) * @abs(space.strides[k][d]) * sizes[k];
            reach += extent;
            if (extent <= far) continue;
            far = extent;
            widest = d;
        }
        fits = fits and reach <= most;
    }
    return if (fits) null else widest;
}

fn size_of(dtype: u32) u64 {
    return dt.size_of(@enumFromInt(@as(u8, @truncate(dtype))));
}

fn distance(stride: isize, count: u64, dtype: u32) u64 {
    return @bitCast(stride *% @as(i64, @intCast(count * size_of(dtype))));
}

const threads_per_multiprocessor = 39;

pub fn shares_of(c: *const Call, count: u64, unit: u64) Failure!Shares {
    const q = driver.queries() orelse return context.fail(abi_cuda.CudaStatus.not_open);
    var threads: c_int = 0;
    try context.check(q.DeviceGetAttribute(&threads, threads_per_multiprocessor, c.device.handle));
    return .of(count, unit, c.device.multiprocessors, @intCast(threads));
}

fn one(
    c: *const Call,
    function: driver.Function,
    given: *const Fill,
    space: *const iter.Space,
    state: philox.State,
    blocks: u32,
) Failure!void {
    if (space.rank > args.max_dims) return error.Unsupported;
    var a = given.*;
    a.count = @intCast(space.total);
    a.rank = @intCast(space.rank);
    a.seed = state.seed;
    a.place = state.offset / 4;
    for (0..space.rank) |d| {
        a.sizes[d] = .of(@intCast(space.sizes[d]));
        a.out.strides[d] = @intCast(space.strides[0][d]);
        if (space.operands == 2) a.chance.strides[d] = @intCast(space.strides[1][d]);
    }
    // With a chance for each element every thread has four elements.
    const needed = std.math.divCeil(u64, space.total, 4 * Shares.threads) catch unreachable;
    try c.start(function, if (space.operands == 2) needed else blocks, Shares.threads, &a);
}
