//! Products of matrices on a device: how the factors are read, which tiles suit, and in how many launches.
const std = @import("std");
const abi = @import("abi");
const args = @import("../gpu/matmul_args.zig");
const driver = @import("driver.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const launch = @import("launch.zig");
const memory = @import("memory.zig");
const tensor = @import("launch_tensor.zig");
const Frame = @import("../cpu/matmul_frame.zig").Product;

const Call = launch.Call;
const Failure = launch.Failure;
const Product = args.Product;

const variants = [_][]const u8{ "large", "small", "combine" };
const large = 0;
const small = 1;
const combine = 2;

/// Rows, columns or terms of one launch: 32 bits are enough for all that it counts.
const most = 1 << 30;
/// Blocks of a launch in its third direction.
const most_layers = 65535;
/// Terms that are worth a block of their own, when few blocks would have all.
const least_terms = 256;
const most_scratch = 64 << 20;

/// A product in memory; strides are in bytes: of the batch, rows and columns.
pub const Problem = struct {
    compute: abi.Compute,
    dtype: abi.DType,
    size: i64,
    batch: u64,
    m: u64,
    n: u64,
    k: u64,
    data: [4]u64,
    strides: [4][3]i64,
    alpha: [2]f64,
    beta: [2]f64,

    const c = 0;
    const a = 1;
    const b = 2;
    const d = 3;

    fn of(f: *fr.Frame) Failure!Problem {
        const p = Frame.of(f) orelse return error.Unsupported;
        const alpha = f.attrs[abi.MatmulAttr.alpha..][0..2].*;
        const size: i64 = @intCast(dt.size_of(p.dtype));
        var r: Problem = .{
            .compute = try compute_of(p.dtype),
            .dtype = p.dtype,
            .size = size,
            .batch = p.batch,
            .m = p.m,
            .n = p.n,
            // Factors that count nothing are not read.
            .k = if (alpha[0] == 0 and alpha[1] == 0) 0 else p.k,
            .data = undefined,
            .strides = undefined,
            .alpha = alpha,
            .beta = f.attrs[abi.MatmulAttr.beta..][0..2].*,
        };
        for (&r.data, &r.strides, p.data, p.strides) |*data, *to, from, strides| {
            data.* = @intFromPtr(from);
            for (to, strides) |*x, s| x.* = s * size;
        }
        return r;
    }

    fn starts(p: *const Problem) bool {
        return p.beta[0] != 0 or p.beta[1] != 0;
    }

    /// The same product with rows and columns exchanged.
    fn turned(p: *const Problem) Problem {
        var r = p.*;
        r.m = p.n;
        r.n = p.m;
        r.data = .{ p.data[c], p.data[b], p.data[a], p.data[d] };
        for ([_]usize{ c, b, a, d }, &r.strides) |from, *to| {
            const s = p.strides[from];
            to.* = .{ s[0], s[2], s[1] };
        }
        return r;
    }

    /// From so many rows, columns or terms on.
    fn beyond(p: *const Problem, row: u64, column: u64, term: u64, layer: u64) Problem {
        var r = p.*;
        const steps = [4][3]u64{
            .{ layer, row, column }, .{ layer, row, term }, .{ layer, term, column }, .{ layer, row, column },
        };
        for (&r.data, p.strides, steps) |*data, strides, counts| {
            for (strides, counts) |stride, count| data.* +%= @bitCast(stride *% @as(i64, @intCast(count)));
        }
        return r;
    }
};

fn compute_of(d: abi.DType) Failure!abi.Compute {
    return switch (d) {
        .float32, .bfloat16, .float16 => .f32,
        .float64 => .f64,
        .uint8, .int8, .int16, .int32 => .i32,
        .int64 => .i64,
        .complex64 => .c64,
        .complex128 => .c128,
        else => error.Unsupported,
    };
}

pub fn run(call: *const Call) Failure!void {
    const p: Problem = try .of(call.frame);
    if (p.batch == 0 or p.m == 0 or p.n == 0) return;
    const turn = p.strides[Problem.c][1] == p.size and p.strides[Problem.c][2] != p.size;
    try each(call, &if (turn) p.turned() else p);
}

/// Halves the product until 32 bits are enough.
fn each(call: *const Call, p: *const Problem) Failure!void {
    var first = p.*;
    var rest: Problem = undefined;
    if (p.m > most) {
        first.m = p.m / 2;
        rest = p.beyond(first.m, 0, 0, 0);
        rest.m = p.m - first.m;
    } else if (p.n > most) {
        first.n = p.n / 2;
        rest = p.beyond(0, first.n, 0, 0);
        rest.n = p.n - first.n;
    } else if (p.k > most) {
        first.k = p.k / 2;
        rest = p.beyond(0, 0, first.k, 0);
        rest.k = p.k - first.k;
        rest.data[Problem.d] = p.data[Problem.c];
        rest.strides[Problem.d] = p.strides[Problem.c];
        rest.beta = .{ 1, 0 };
    } else if (p.batch > most_layers) {
        first.batch = most_layers;
        rest = p.beyond(0, 0, 0, most_layers);
        rest.batch = p.batch - most_layers;
    } else return one(call, p);
    try each(call, &first);
    try each(call, &rest);
}

/// A number as its bytes in a compute type.
fn number(compute: abi.Compute, x: [2]f64) [2]u64 {
    var bytes: [2]u64 = @splat(0);
    switch (compute) {
        inline else => |to| {
            const T = dt.Computed(to);
            const value: T = if (comptime dt.is_complex(T))
                .{ .re = @floatCast(x[0]), .im = @floatCast(x[1]) }
            else if (@typeInfo(T) == .float) @floatCast(x[0]) else dt.integer(T, dt.integer(i64, x[0]));
            @memcpy(std.mem.asBytes(&bytes)[0..@sizeOf(T)], std.mem.asBytes(&value));
        },
    }
    return bytes;
}

/// How a factor is read: in the direction in which it lies, in pieces of 16 bytes where all of them are aligned.
fn factor(p: *const Problem, which: usize, outer_dim: usize, outer_size: u64, wide: u32) args.Factor {
    const s = p.strides[which];
    const outer = if (outer_size == 1) 0 else s[outer_dim];
    const inner = if (p.k <= 1) 0 else s[3 - outer_dim];
    const batch = if (p.batch == 1) 0 else s[0];
    const inwards = inner == p.size or (outer != p.size and @abs(inner) < @abs(outer));
    const next, const across = if (inwards) .{ inner, outer } else .{ outer, inner };
    const whole = next == p.size and is_aligned(p, wide, p.data[which], .{ across, batch });
    return .{
        .data = p.data[which],
        .batch = batch,
        .outer = outer,
        .inner = inner,
        .dtype = @intFromEnum(p.dtype),
        .along = if (inwards) .inner else .outer,
        .whole = @intFromBool(whole),
    };
}

fn is_aligned(p: *const Problem, wide: u32, address: u64, strides: [2]i64) bool {
    const piece = wide * @as(u64, @intCast(p.size));
    return address % piece == 0 and @abs(strides[0]) % piece == 0 and @abs(strides[1]) % piece == 0;
}

fn matrix(p: *const Problem, which: usize, wide: u32) args.Matrix {
    const s = p.strides[which];
    return .{
        .data = p.data[which],
        .batch = s[0],
        .row = s[1],
        .column = s[2],
        .dtype = @intFromEnum(p.dtype),
        .whole = @intFromBool(s[2] == p.size and is_aligned(p, wide, p.data[which], .{ s[1], s[0] })),
    };
}

fn ceil(a: u64, b: u64) u64 {
    return std.math.divCeil(u64, a, b) catch unreachable;
}

/// The kernel that suits a product, its tiles, and how many elements it reads and writes at once.
const Way = struct {
    function: driver.Function,
    side: u64,
    factor: u32,
    result: u32,

    fn of(call: *const Call, p: *const Problem, bytes: u32) Failure!Way {
        const processors: u64 = call.device.multiprocessors;
        if (tensor.takes(call.device, p.dtype)) {
            const big = suits(p, args.tensor_sides[0], processors);
            return .{
                .function = try tensor.function(call.device.index, p.dtype, big),
                .side = args.tensor_sides[@intFromBool(!big)],
                .factor = args.tensor_wide,
                .result = 4,
            };
        }
        const shapes = [2]args.Shape{ .of(bytes, 2), .of(bytes, 1) };
        const which: usize = if (suits(p, shapes[0].side(), processors)) large else small;
        const shape = shapes[which];
        return .{
            .function = try launch.function(call, p.compute, &variants, which),
            .side = shape.side(),
            .factor = shape.wide,
            .result = shape.wide,
        };
    }

    /// Large tiles read each factor less often; small ones keep all processors at work, and waste less at the edges.
    fn suits(p: *const Problem, side: u64, processors: u64) bool {
        if (p.m <= side / 2 or p.n <= side / 2) return false;
        return ceil(p.m, side) * ceil(p.n, side) * p.batch >= processors;
    }
};

fn one(call: *const Call, p: *const Problem) Failure!void {
    const bytes: u32 = switch (p.compute) {
        inline else => |x| @sizeOf(dt.Computed(x)),
    };
    const way: Way = try .of(call, p, bytes);
    const rows = ceil(p.m, way.side);
    const columns = ceil(p.n, way.side);
    var a: Product = .{
        .a = factor(p, Problem.a, 1, p.m, way.factor),
        .b = factor(p, Problem.b, 2, p.n, way.factor),
        .c = matrix(p, Problem.c, way.result),
        .d = matrix(p, Problem.d, way.result),
        .m = @intCast(p.m),
        .n = @intCast(p.n),
        .k = @intCast(p.k),
        .splits = 1,
        .k_each = @intCast(p.k),
        .tile_rows = @intCast(rows),
        .tile_columns = @intCast(columns),
        .starts = @intFromBool(p.starts()),
        .alpha = number(p.compute, p.alpha),
        .beta = number(p.compute, p.beta),
    };
    const blocks = rows * columns;
    const splits = splits_of(p, blocks * p.batch, call.device.multiprocessors, bytes);
    if (splits == 1) return call.start_grid(way.function, .{ blocks, 1, p.batch }, args.threads, &a);
    try in_parts(call, p, &a, way.function, .{ blocks, splits, bytes });
}

/// A long sum in few tiles is shared by several blocks.
fn splits_of(p: *const Problem, blocks: u64, processors: u64, bytes: u32) u64 {
    if (blocks >= processors) return 1;
    const results = p.batch * p.m * p.n * bytes;
    const wanted = @min(2 * processors / blocks, p.k / least_terms, most_layers / p.batch, most_scratch / results);
    return @max(1, wanted);
}

fn in_parts(
    call: *const Call,
    p: *const Problem,
    whole: *const Product,
    function: driver.Function,
    counts: [3]u64,
) Failure!void {
    const blocks, const wanted, const bytes = counts;
    // Whole pieces of any dtype in each part.
    const each_part = std.mem.alignForward(u64, ceil(p.k, wanted), 16);
    const splits = ceil(p.k, each_part);
    const layer: i64 = @intCast(p.m * p.n * bytes);
    const parts = try call.scratch(p.batch * splits * @as(u64, @intCast(layer)));
    defer memory.release(parts);
    const native = switch (p.compute) {
        inline else => |x| @intFromEnum(dt.native_dtype(x)),
    };
    const row: i64 = @intCast(p.n * bytes);
    var a = whole.*;
    a.splits = @intCast(splits);
    a.k_each = @intCast(each_part);
    a.c = .{
        .data = parts.address,
        .batch = layer,
        .row = row,
        .column = @intCast(bytes),
        .dtype = native,
        .whole = @intFromBool(@mod(row, 16) == 0 and @mod(layer, 16) == 0),
    };
    a.starts = 0;
    a.alpha = number(p.compute, .{ 1, 0 });
    try call.start_grid(function, .{ blocks, 1, p.batch * splits }, args.threads, &a);
    var sum = whole.*;
    sum.splits = a.splits;
    sum.a = .{
        .data = parts.address,
        .batch = layer * @as(i64, @intCast(splits)),
        .outer = 0,
        .inner = layer,
        .dtype = native,
        .along = .outer,
        .whole = 0,
    };
    const adds = try launch.function(call, p.compute, &variants, combine);
    try call.start_grid(adds, .{ ceil(p.m * p.n, launch.block_threads), 1, p.batch }, launch.block_threads, &sum);
}
