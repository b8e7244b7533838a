//! Scans on a device: how threads are laid over lines, and which lines are cut into parts. The cuts depend on sizes
//! alone, so that every device adds up in the same order.
const std = @import("std");
const abi = @import("abi");
const abi_scan = @import("abi_scan");
const ops = @import("ops");
const args = @import("../gpu/scan_args.zig");
const axes = @import("axes.zig");
const bodies = @import("../gpu/scan_ops.zig");
const dims = @import("../gpu/dims.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const launch = @import("launch.zig");
const memory = @import("memory.zig");
const plans = @import("../cpu/reduce_plan.zig");

const Args = args.Args;
const Axes = axes.Axes;
const Call = launch.Call;
const Compute = abi.Compute;
const Failure = launch.Failure;

/// Blocks that keep every device busy, and how many a split makes at most.
const enough_blocks = 1024;
const most_blocks = 2048;
/// Parts of a line: each begins with a look at all before it.
const most_parts = 1024;
const most_column_parts = 256;

const computes = @typeInfo(Compute).@"enum".fields.len;

/// Bits for the dtypes that the kernel for lines without gaps reads and writes.
const Dense = struct { sources: u32 = 0, targets: u32 = 0 };
const Table = [ops.kernels.len][computes]?Dense;
const known: Table = blk: {
    @setEvalBranchQuota(1_000_000);
    var t: Table = @splat(@splat(null));
    for (ops.kernels, &t) |k, *of| {
        if (!std.mem.eql(u8, k.family, "scan")) continue;
        if (is_extreme(k.name)) {
            for ([_]Compute{ .f32, .f64, .i32, .i64, .b8 }) |c| {
                of[@intFromEnum(c)] = dense_of(bodies.Extremes(true, c));
            }
        } else if (std.mem.eql(u8, k.name, "logcumsumexp")) {
            for ([_]Compute{ .f64, .c128 }) |c| of[@intFromEnum(c)] = dense_of(bodies.Totals(.sum, c));
        } else for ([_]Compute{ .f32, .f64, .i64, .c128 }) |c| of[@intFromEnum(c)] = dense_of(bodies.Totals(.sum, c));
    }
    break :blk t;
};

fn is_extreme(name: []const u8) bool {
    return std.mem.startsWith(u8, name, "cumm");
}

fn dense_of(comptime Op: type) Dense {
    var d: Dense = .{};
    for (Op.sources) |x| d.sources |= 1 << @intFromEnum(x);
    for (Op.targets) |x| d.targets |= 1 << @intFromEnum(x);
    return d;
}

const variants = [_][]const u8{ "dense", "strided", "columns" };
const dense = 0;
const strided = 1;
const columns = 2;

pub fn run(c: *const Call) Failure!void {
    const compute = try c.compute();
    const usual = known[c.kernel][@intFromEnum(compute)] orelse return error.Unsupported;
    const outs: usize = if (is_extreme(ops.kernels[c.kernel].name)) 2 else 1;
    const src = fr.view(c.frame, outs);
    const dst = fr.view(c.frame, 0);
    const dim = fr.to_usize(c.frame.attrs[abi_scan.ScanAttr.dim]);
    if (dim >= src.rank) return error.Unsupported;
    var plan: plans.Plan = undefined;
    plan.divide_lines(c.frame, outs, outs, dim);
    if (plan.kept.total == 0 or plan.reduced.total == 0) return;
    const second = fr.view(c.frame, outs - 1);
    const widths = [3]usize{ dt.size_of(src.dtype), dt.size_of(dst.dtype), dt.size_of(second.dtype) };
    const line: Axes = .of(&plan.reduced, widths);
    var a: Args = undefined;
    a.src = @intFromFloat(fr.operand(c.frame, outs).data);
    for (0..2) |k| a.dst[k] = @intFromFloat(fr.operand(c.frame, @min(k, outs - 1)).data);
    a.src_dtype = @intFromEnum(src.dtype);
    a.src_flags = src.flags;
    a.dst_dtype = @intFromEnum(dst.dtype);
    a.count = plan.reduced.total;
    for (&a.along, line.steps) |*to, step| to.* = step[0];
    const job: Job = .{ .call = c, .compute = compute, .usual = usual, .widths = widths, .outs = outs };
    try job.each(&a, .of(&plan.kept, widths));
}

const Job = struct {
    call: *const Call,
    compute: Compute,
    usual: Dense,
    widths: [3]usize,
    outs: usize,

    /// Halves the lines until a launch can take them.
    fn each(j: *const Job, a: *const Args, all: Axes) Failure!void {
        var kept = all;
        var here = a.*;
        if (kept.fits()) {
            kept.write(&here.kept);
            return j.lines(&here, &kept);
        }
        const rest = kept.halve();
        try j.each(&here, kept);
        here.src +%= rest.at[0];
        for (&here.dst, rest.at[1..]) |*to, at| to.* +%= at;
        try j.each(&here, rest.axes);
    }

    fn lines(j: *const Job, a: *Args, kept: *const Axes) Failure!void {
        a.partials = 0;
        a.totals = 0;
        const down = kept.rank > 0 and kept.nearest() < distance(a.along[0]);
        const kernel: usize = if (down) columns else if (j.is_dense(a, kept)) dense else strided;
        if (down) lay_columns(a) else lay_rows(a, if (kernel == dense) args.lanes(j.compute) else 1);
        const per_block = @as(usize, args.threads) >> @intCast(a.group);
        const across = std.math.divCeil(usize, a.kept.count, per_block) catch unreachable;
        const each_row = if (down) args.threads / per_block else 1;
        const rows = std.math.divCeil(usize, a.parts, each_row) catch unreachable;
        const function = try launch.function(j.call, j.compute, &variants, kernel);
        if (a.parts == 1) return j.call.start_grid(function, .{ across, rows, 1 }, args.threads, a);
        const block = try j.call.scratch(@as(u64, a.parts) * a.kept.count * args.widest_state);
        defer memory.release(block);
        a.partials = block.address;
        a.totals = 1;
        try j.call.start_grid(function, .{ across, rows, 1 }, args.threads, a);
        a.totals = 0;
        try j.call.start_grid(function, .{ across, rows, 1 }, args.threads, a);
    }

    /// Lines lie without gaps, from multiples of what an access takes on, in dtypes that are read without a look.
    fn is_dense(j: *const Job, a: *const Args, kept: *const Axes) bool {
        if (a.src_flags != 0 or j.usual.sources >> @truncate(a.src_dtype) & 1 == 0) return false;
        if (j.usual.targets >> @truncate(a.dst_dtype) & 1 == 0) return false;
        for ([_]u64{ a.src, a.dst[0], a.dst[1] }, j.widths, 0..) |data, width, k| {
            if (k > j.outs) continue;
            const access = @min(16, args.lanes(j.compute) * width);
            if (a.along[k] != @as(i64, @intCast(width)) or data % access != 0) return false;
            for (kept.steps[k][0..kept.rank]) |step| {
                if (@mod(step, @as(i64, @intCast(access))) != 0) return false;
            }
        }
        return true;
    }
};

/// A line of one element for all is far.
fn distance(step: i64) u64 {
    return if (step == 0) std.math.maxInt(u64) else @abs(step);
}

/// Some neighbouring threads to a line, block rows to its parts.
fn lay_rows(a: *Args, lanes: u32) void {
    a.across = 0;
    a.group = @min(8, axes.log_up(a.count / (2 * lanes)));
    const tile = lanes << @intCast(a.group);
    const per_block = @as(usize, args.threads) >> @intCast(a.group);
    const blocks = std.math.divCeil(usize, a.kept.count, per_block) catch unreachable;
    const most = if (blocks >= enough_blocks) 1 else @min(most_parts, most_blocks / blocks);
    cut(a, @min(most, a.count / (4 * tile)), tile);
}

/// Neighbouring threads to neighbouring lines, and a part to each.
fn lay_columns(a: *Args) void {
    a.across = @min(8, axes.log_up(a.kept.count));
    a.group = 8 - a.across;
    const enough = enough_blocks * args.threads;
    const most = if (a.kept.count >= enough) 1 else @min(most_column_parts, enough / a.kept.count);
    cut(a, @min(most, a.count / 32), 1);
}

fn cut(a: *Args, wanted: usize, multiple: usize) void {
    const least = std.math.divCeil(usize, a.count, dims.most_elements) catch unreachable;
    const parts = @max(wanted, least, 1);
    const step = std.math.divCeil(usize, a.count, parts) catch unreachable;
    a.step = @intCast(std.mem.alignForward(usize, step, multiple));
    a.parts = @intCast(std.math.divCeil(usize, a.count, a.step) catch unreachable);
}
