//! Products of matrices on a device: how the factors are read, which tiles suit, and in how many launches.
const std = @import("std");
const abi = @import("abi");
const args = @import("../gpu/matmul_args.zig");
const driver = @import("driver.zig");
const dt = @import("../core/dtype.zig");
const launch = @import("launch.zig");
const library = @import("launch_cublas.zig");
const memory = @import("memory.zig");
const tensor = @import("launch_tensor.zig");
const problem = @import("matmul_problem.zig");

const Call = launch.Call;
const Failure = launch.Failure;
const Problem = problem.Problem;
const Product = args.Product;
const number = problem.number;

const variants = [_][]const u8{ "large", "small", "combine", "vector" };
const large = 0;
const small = 1;
const combine = 2;
const vector = 3;

/// Rows, columns or terms of one launch: 32 bits are enough for all that it counts.
const most = @import("pieces.zig").most_elements;
/// Blocks of a launch in its third direction.
const most_layers = 65535;
const most_scratch = 64 << 20;

pub fn run(call: *const Call) Failure!void {
    const p: Problem = try .of(call.frame);
    if (p.batch == 0 or p.m == 0 or p.n == 0) return;
    const by_columns = p.strides[Problem.c][1] == p.size and p.strides[Problem.c][2] != p.size;
    // A product of a vector and a matrix is one of a matrix and a vector, exchanged.
    const turn = if (p.m == 1 or p.n == 1) p.n != 1 else by_columns;
    const by_rows = if (turn) p.turned() else p;
    if (!try library.run(call, &by_rows)) try each(call, &by_rows);
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

/// How a factor is read: in the direction in which it lies, in pieces of 16 bytes where all of them are aligned.
fn factor(p: *const Problem, which: usize, outer_dim: usize, way: args.Reads) args.Factor {
    const outer_size = if (which == Problem.a) p.m else p.n;
    const wide = way.wide;
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
        .next = next,
        .ahead = inner * way.depth,
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
    rows: u64,
    columns: u64,
    factor: args.Reads,
    result: u32,
    shared: u32 = 0,
    /// Terms that are worth a block of their own, when few blocks would have all; how many blocks a processor has.
    least_terms: u64 = 256,
    resident: u64 = 2,

    fn of(call: *const Call, p: *const Problem, bytes: u32) Failure!Way {
        const processors: u64 = call.device.multiprocessors;
        const alone: args.Reads = .{ .wide = args.Shape.of(bytes, 1).wide, .depth = 0 };
        if (p.n == 1) return .{
            .function = try launch.function(call, p.compute, &variants, vector),
            .rows = ceil(p.m, args.vector_rows(factor(p, Problem.a, 1, alone).along)),
            .columns = 1,
            .factor = alone,
            .result = 1,
        };
        if (tensor.kind_of(call.device, p.dtype)) |kind| {
            if (try of_groups(call, p, kind)) |way| return way;
            const big = suits(p, args.tensor_sides[0], processors);
            const side = args.tensor_sides[@intFromBool(!big)];
            return .{
                .function = try tensor.function(call.device, kind, big),
                .rows = ceil(p.m, side),
                .columns = ceil(p.n, side),
                .factor = kind.reads(),
                .result = kind.results(),
                .shared = kind.shared_bytes(side),
            };
        }
        const shapes = [2]args.Shape{ .of(bytes, 2), .of(bytes, 1) };
        const which: usize = if (suits(p, shapes[0].side(), processors)) large else small;
        const shape = shapes[which];
        return .{
            .function = try launch.function(call, p.compute, &variants, which),
            .rows = ceil(p.m, shape.side()),
            .columns = ceil(p.n, shape.side()),
            .factor = .{ .wide = shape.wide, .depth = shape.depth() },
            .result = shape.wide,
        };
    }

    /// Groups of warps multiply faster than anything else, where their tiles keep enough processors at work.
    fn of_groups(call: *const Call, p: *const Problem, kind: args.Kind) Failure!?Way {
        const Group = args.Group;
        if (!tensor.has_groups(call.device, kind)) return null;
        const size = group_size(p, call.device.multiprocessors) orelse return null;
        const tile = Group.tiles[size];
        const reads = Group.reads(kind);
        const a = factor(p, Problem.a, 1, reads);
        const b = factor(p, Problem.b, 2, reads);
        if (a.whole == 0 or b.whole == 0) return null;
        if (kind == .tf32 and !(is_even(p, &a, p.m) and is_even(p, &b, p.n))) return null;
        return .{
            .function = try tensor.group_function(call.device.index, kind, size, a.along, b.along),
            .rows = ceil(p.m, tile.rows),
            .columns = ceil(p.n, tile.columns),
            .factor = reads,
            .result = 4,
            .shared = tile.shared_bytes(kind),
            .least_terms = Group.least_terms,
            .resident = 1,
        };
    }

    /// Which tiles of groups are done first; a processor has one of them at a time. Null where small tiles of another
    /// kind leave fewer processors idle.
    fn group_size(p: *const Problem, processors: u64) ?usize {
        const Group = args.Group;
        var best: ?usize = null;
        var least: u64 = std.math.maxInt(u64);
        for (Group.tiles, 0..) |tile, size| {
            if (p.m <= tile.rows / 2 or p.n <= tile.columns / 2) continue;
            const tiles = ceil(p.m, tile.rows) * ceil(p.n, tile.columns) * p.batch;
            const parts = @max(1, p.k / Group.least_terms);
            if (8 * tiles * parts < processors) continue;
            const rest = tiles % processors;
            const time = tiles / processors * tile.cycles(processors, processors) +
                if (rest > 0) tile.cycles(rest, processors) else 0;
            if (time >= least) continue;
            best = size;
            least = time;
        }
        return best;
    }

    /// Whether a factor ends where a piece of 16 bytes does: those of tf32 are read as a whole or not at all.
    fn is_even(p: *const Problem, f: *const args.Factor, outer: u64) bool {
        return (if (f.along == .inner) p.k else outer) % 4 == 0;
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
    var a: Product = .{
        .a = factor(p, Problem.a, 1, way.factor),
        .b = factor(p, Problem.b, 2, way.factor),
        .c = matrix(p, Problem.c, way.result),
        .d = matrix(p, Problem.d, way.result),
        .m = @intCast(p.m),
        .n = @intCast(p.n),
        .k = @intCast(p.k),
        .splits = 1,
        .k_each = @intCast(p.k),
        .tile_rows = @intCast(way.rows),
        .tile_columns = @intCast(way.columns),
        .starts = @intFromBool(p.starts()),
        .alpha = number(p.compute, p.alpha),
        .beta = number(p.compute, p.beta),
    };
    const blocks = way.rows * way.columns;
    const splits = splits_of(p, &way, call.device.multiprocessors, bytes);
    const grid = [3]u64{ blocks, 1, p.batch };
    if (splits == 1) return call.start_with(way.function, grid, args.threads, way.shared, &a);
    try in_parts(call, p, &a, &way, .{ splits, bytes });
}

/// A long sum in few tiles is shared by several blocks.
fn splits_of(p: *const Problem, way: *const Way, processors: u64, bytes: u32) u64 {
    const blocks = way.rows * way.columns * p.batch;
    if (blocks >= processors) return 1;
    const results = p.batch * p.m * p.n * bytes;
    const at_once = way.resident * processors / blocks;
    return @max(1, @min(at_once, p.k / way.least_terms, most_layers / p.batch, most_scratch / results));
}

/// What beta multiplies, put into the result.
pub fn begin(call: *const Call, p: *const Problem) Failure!void {
    const a: Product = .{
        .a = std.mem.zeroes(args.Factor),
        .b = std.mem.zeroes(args.Factor),
        .c = matrix(p, Problem.c, 1),
        .d = matrix(p, Problem.d, 1),
        .m = @intCast(p.m),
        .n = @intCast(p.n),
        .k = 0,
        .splits = 0,
        .k_each = 0,
        .tile_rows = 0,
        .tile_columns = 0,
        .starts = 1,
        .alpha = number(p.compute, .{ 1, 0 }),
        .beta = number(p.compute, .{ 1, 0 }),
    };
    const adds = try launch.function(call, p.compute, &variants, combine);
    try call.start_grid(adds, .{ ceil(p.m * p.n, launch.block_threads), 1, p.batch }, launch.block_threads, &a);
}

fn in_parts(
    call: *const Call,
    p: *const Problem,
    whole: *const Product,
    way: *const Way,
    counts: [2]u64,
) Failure!void {
    const wanted, const bytes = counts;
    const blocks = way.rows * way.columns;
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
    try call.start_with(way.function, .{ blocks, 1, p.batch * splits }, args.threads, way.shared, &a);
    var sum = whole.*;
    sum.splits = a.splits;
    sum.a = .{
        .data = parts.address,
        .batch = layer * @as(i64, @intCast(splits)),
        .outer = 0,
        .inner = layer,
        .next = 0,
        .ahead = 0,
        .dtype = native,
        .along = .outer,
        .whole = 0,
    };
    const adds = try launch.function(call, p.compute, &variants, combine);
    try call.start_grid(adds, .{ ceil(p.m * p.n, launch.block_threads), 1, p.batch }, launch.block_threads, &sum);
}
