//! Takes the calls of operators on a device: what the frame says becomes the arguments of GPU kernels.
const std = @import("std");
const abi = @import("abi");
const abi_cuda = @import("abi_cuda");
const ops = @import("ops");
const context = @import("context.zig");
const driver = @import("driver.zig");
const faults = @import("faults.zig");
const fr = @import("../core/frame.zig");
const Lock = @import("lock.zig").Lock;
const beside = @import("beside.zig");
const memory = @import("memory.zig");
const modules = @import("modules.zig");
const matmul = @import("launch_matmul.zig");
const pointwise = @import("launch_pointwise.zig");
const reduce = @import("launch_reduce.zig");
const scan = @import("launch_scan.zig");
const softmax = @import("launch_softmax.zig");
const random = @import("launch_random.zig");
const range = @import("launch_range.zig");

pub const Failure = context.Failure || error{ Unsupported, InvalidDistribution, OutOfMemory };

/// One call: where it runs, and what it was given.
pub const Call = struct {
    kernel: u32,
    frame: *fr.Frame,
    device: *const context.Device,
    stream: driver.Stream,
    /// Set once a kernel of this call may have written.
    launched: *bool,

    pub fn compute(c: *const Call) Failure!abi.Compute {
        const n: usize = @intFromFloat(c.frame.compute);
        if (n >= @typeInfo(abi.Compute).@"enum".fields.len) return error.Unsupported;
        return @enumFromInt(n);
    }

    /// Launches `blocks` blocks of `threads` threads with one struct of arguments.
    pub fn start(c: *const Call, kernel: driver.Function, blocks: u64, threads: u32, args: anytype) Failure!void {
        return c.start_grid(kernel, .{ blocks, 1, 1 }, threads, args);
    }

    pub fn start_grid(
        c: *const Call,
        kernel: driver.Function,
        blocks: [3]u64,
        threads: u32,
        args: anytype,
    ) Failure!void {
        return c.start_with(kernel, blocks, threads, 0, args);
    }

    /// The same, with so many bytes of shared memory beside what the kernel has itself.
    pub fn start_with(
        c: *const Call,
        kernel: driver.Function,
        blocks: [3]u64,
        threads: u32,
        shared: u32,
        args: anytype,
    ) Failure!void {
        const cu = try context.functions();
        const list = [_]?*const anyopaque{args};
        const x: c_uint = @intCast(blocks[0]);
        const y: c_uint = @intCast(blocks[1]);
        const z: c_uint = @intCast(blocks[2]);
        c.launched.* = true;
        try context.check(cu.LaunchKernel(kernel, x, y, z, threads, 1, 1, shared, c.stream, &list, null));
    }

    /// What this call's kernels left at an address, once they are done. What a kernel found wrong comes first.
    pub fn answer(c: *const Call, comptime T: type, at: u64) Failure!T {
        const cu = try context.functions();
        var found: T = undefined;
        try context.check(cu.MemcpyDtoHAsync_v2(&found, at, @sizeOf(T), c.stream));
        try context.check(cu.StreamSynchronize(c.stream));
        try faults.check(c.device.index);
        return found;
    }

    /// Memory of the device for this call's launches alone. Given up with `memory.release` once they are queued: the
    /// stream's next owner comes after them.
    pub fn scratch(c: *const Call, bytes: u64) Failure!*memory.Block {
        return memory.allocate(c.device.index, bytes, @intFromPtr(c.stream), .driver) catch |e| {
            if (e == error.Cuda and context.code != driver.negative(driver.out_of_memory)) return error.Cuda;
            c.frame.detail[abi_cuda.ScratchDetail.bytes] = @floatFromInt(bytes);
            c.frame.detail[abi_cuda.ScratchDetail.launched] = if (c.launched.*) 1 else 0;
            return context.fail(abi_cuda.CudaStatus.no_scratch);
        };
    }
};

/// Threads of a block where nothing asks for another number.
pub const block_threads = 256;

const most_variants = 8;
const computes = @typeInfo(abi.Compute).@"enum".fields.len;
const Cell = std.atomic.Value(?*anyopaque);
const Known = [ops.kernels.len][computes][most_variants]Cell;

/// Kernels that were launched before, found without a lock.
var known: [context.max_devices]std.atomic.Value(?*Known) = @splat(.init(null));
var filling: Lock = .{};

/// `<family>_<name>_<compute>_<variant>` on the call's device.
pub fn function(
    c: *const Call,
    compute: abi.Compute,
    comptime variants: []const []const u8,
    variant: usize,
) Failure!driver.Function {
    comptime std.debug.assert(variants.len <= most_variants);
    const table = known[c.device.index].load(.acquire) orelse try make_table(c.device.index);
    const cell = &table[c.kernel][@intFromEnum(compute)][variant];
    if (cell.load(.acquire)) |found| return found;
    const k = ops.kernels[c.kernel];
    var buffer: [128]u8 = undefined;
    const words = .{ k.family, k.name, @tagName(compute) };
    const group = std.fmt.bufPrint(&buffer, "{s}_{s}_{s}", words) catch return error.Unsupported;
    const found = try modules.function(c.device.index, k.family, group, variants[variant]);
    cell.store(found, .release);
    return found;
}

/// The place of a kernel in the schema's list.
pub fn number_of(comptime family: []const u8, comptime name: []const u8) u32 {
    return comptime blk: {
        @setEvalBranchQuota(100_000);
        for (ops.kernels, 0..) |k, i| {
            if (std.mem.eql(u8, k.family, family) and std.mem.eql(u8, k.name, name)) break :blk i;
        }
        @compileError("there is no kernel " ++ family ++ "." ++ name);
    };
}

fn make_table(device: u32) Failure!*Known {
    filling.lock();
    defer filling.unlock();
    if (known[device].load(.acquire)) |table| return table;
    const table = std.heap.c_allocator.create(Known) catch return error.Unsupported;
    for (table) |*a| for (a) |*b| {
        b.* = @splat(.init(null));
    };
    known[device].store(table, .release);
    return table;
}

/// Runs a kernel on the current stream of a device. A status, or a code of the driver's.
pub fn zs_cuda_launch(kernel: u32, frame: *fr.Frame, device: u32, stream: f64) callconv(.c) i32 {
    if (kernel >= ops.kernels.len) return @intFromEnum(abi.Status.unsupported);
    run(kernel, frame, device, stream) catch |e| return switch (e) {
        error.Cuda => context.code,
        error.Unsupported => @intFromEnum(abi.Status.unsupported),
        error.InvalidDistribution => @intFromEnum(abi.Status.invalid_distribution),
        error.OutOfMemory => @intFromEnum(abi.Status.out_of_memory),
    };
    return 0;
}

fn run(kernel: u32, frame: *fr.Frame, device: u32, stream: f64) Failure!void {
    const d = try context.use(device);
    const at: u64 = @intFromFloat(stream);
    var launched = false;
    const call: Call = .{
        .kernel = kernel,
        .frame = frame,
        .device = d,
        .stream = @ptrFromInt(at),
        .launched = &launched,
    };
    const plan = plans[kernel] orelse return context.fail(abi_cuda.CudaStatus.no_kernel);
    if (plan.makes and fr.operand(frame, 0).flags != 0) return beside.run(&call, plan.run);
    return plan.run(&call);
}

/// How a kernel is launched. `makes`: the first operand is a result that is written whole. No kernel writes through
/// flags.
const Plan = struct { run: *const fn (call: *const Call) Failure!void, makes: bool };

/// Plans for some kernels of a family; without names for all that the schema has of a family of pointwise bodies, which
/// are compiled for GPUs from the CPU's.
const Planned = struct { family: []const u8, names: ?[]const []const u8, plan: Plan };

fn makes(family: []const u8, names: ?[]const []const u8, run_: @FieldType(Plan, "run")) Planned {
    return .{ .family = family, .names = names, .plan = .{ .run = run_, .makes = true } };
}

/// The first operand is not a result, or only a part of it is written.
fn writes(family: []const u8, names: []const []const u8, run_: @FieldType(Plan, "run")) Planned {
    return .{ .family = family, .names = names, .plan = .{ .run = run_, .makes = false } };
}

const planned = [_]Planned{
    makes("activation", null, pointwise.run),
    makes("unary", null, pointwise.run),
    makes("binary", null, pointwise.run),
    makes("ternary", null, pointwise.run),
    writes("copy", &.{"copy"}, pointwise.copy),
    makes("reduce", &.{ "arg_max", "arg_min", "max", "max_size", "min", "min_size", "moments", "prod" }, reduce.run),
    makes("reduce", &.{ "sum", "sum_numbers", "sum_presences", "sum_sizes", "sum_squares" }, reduce.run),
    makes("reduce", &.{"isclose"}, pointwise.run),
    // It has no result among its operands.
    writes("reduce", &.{"equal"}, @import("launch_equal.zig").run),
    makes("softmax", &.{ "log_softmax", "log_softmax_backward", "softmax", "softmax_backward" }, softmax.run),
    writes("index", &.{ "get", "put" }, @import("launch_index.zig").run),
    writes("index_mask", &.{ "count", "nonzero", "scatter", "select" }, @import("launch_mask.zig").run),
    makes("loss", &.{"nll"}, @import("launch_loss.zig").nll),
    writes("loss", &.{"nll_backward"}, @import("launch_loss.zig").nll_backward),
    makes("convolution", &.{"forward"}, @import("launch_convolution.zig").forward),
    makes("convolution", &.{"transposed"}, @import("launch_convolution.zig").transposed),
    makes("convolution", &.{"weight_gradient"}, @import("launch_convolution.zig").weight_gradient),
    writes("foreach", &.{"adagrad"}, @import("launch_foreach.zig").plan("adagrad")),
    writes("foreach", &.{"adam"}, @import("launch_foreach.zig").plan("adam")),
    writes("foreach", &.{"rmsprop"}, @import("launch_foreach.zig").plan("rmsprop")),
    writes("foreach", &.{"scale"}, @import("launch_foreach.zig").plan("scale")),
    writes("foreach", &.{"sgd"}, @import("launch_foreach.zig").plan("sgd")),
    writes("normalization", &.{"channels"}, @import("launch_normalization.zig").channels_forward),
    writes("normalization", &.{"channels_backward"}, @import("launch_normalization.zig").channels_backward),
    writes("normalization", &.{"rows"}, @import("launch_normalization.zig").rows_forward),
    writes("normalization", &.{"rows_backward"}, @import("launch_normalization.zig").rows_backward),
    makes("pooling", &.{"average"}, @import("launch_pooling.zig").average),
    makes("pooling", &.{"average_backward"}, @import("launch_pooling.zig").average_backward),
    makes("pooling", &.{"maximum"}, @import("launch_pooling.zig").maximum),
    makes("pooling", &.{"scatter"}, @import("launch_pooling.zig").scatter),
    makes("sampling", &.{"sample"}, @import("launch_sampling.zig").sample),
    makes("sampling", &.{"sample_backward"}, @import("launch_sampling.zig").sample_backward),
    writes("search", &.{"searchsorted"}, @import("launch_search.zig").run),
    writes("search", &.{"isin"}, @import("launch_search.zig").run),
    writes("sort", &.{ "pick", "sort", "topk" }, @import("launch_sort.zig").run),
    makes("matmul", &.{"gemm"}, matmul.run),
    makes("random", &.{ "bernoulli", "bernoulli_each", "cauchy", "default_range", "exponential" }, random.run),
    makes("random", &.{ "from_to", "full_64", "geometric", "largest", "log_normal" }, random.run),
    makes("random", &.{ "multinomial", "normal", "randperm", "uniform" }, random.run),
    makes("range", &.{ "arange", "spaced" }, range.run),
    makes("scan", &.{ "cummax", "cummin", "logcumsumexp", "prod", "sum" }, scan.run),
};

/// By the number of the kernel. The schema and the list above have to name the same ones.
const plans: [ops.kernels.len]?Plan = blk: {
    @setEvalBranchQuota(1_000_000);
    var table: [ops.kernels.len]?Plan = @splat(null);
    for (planned) |one| {
        for (one.names orelse &.{}) |name| table[number_of(one.family, name)] = one.plan;
        if (one.names != null) continue;
        for (ops.kernels, &table) |k, *to| if (std.mem.eql(u8, k.family, one.family)) {
            to.* = one.plan;
        };
    }
    for (ops.kernels, table) |k, plan| {
        const path = k.family ++ "." ++ k.name;
        const file = "codegen/schema/cuda-kernels.ts";
        if (k.cuda and plan == null) @compileError(file ++ " names " ++ path ++ ", which has no plan in launch.zig");
        if (!k.cuda and plan != null) @compileError("there is a plan for " ++ path ++ ", which " ++ file ++ " lacks");
    }
    break :blk table;
};
