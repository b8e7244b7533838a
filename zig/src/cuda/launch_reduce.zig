//! Reductions on a device: which threads work on which elements, and in how many launches. The cuts depend on sizes
//! alone, so that every device adds up in the same order.
const std = @import("std");
const abi = @import("abi");
const ops = @import("ops");
const args = @import("../gpu/reduce_args.zig");
const axes = @import("axes.zig");
const bodies = @import("../cpu/reduce_ops.zig");
const context = @import("context.zig");
const driver = @import("driver.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const launch = @import("launch.zig");
const Lock = @import("lock.zig").Lock;
const memory = @import("memory.zig");
const plans = @import("../cpu/reduce_plan.zig");
const states = @import("../gpu/reduce_ops.zig");

const Args = args.Args;
const Axes = axes.Axes;
const Call = launch.Call;
const Failure = launch.Failure;

/// Blocks that keep every device busy, one after another; of the long ones that a split makes fewer do.
const enough_blocks = args.most_blocks;
const most_blocks = enough_blocks / 2;
/// With more of them next to each other, a split into so few would be uneven.
const few_blocks = 64;
/// Of elements that a thread of an output reads, where there are outputs enough.
const bytes_of_thread = 256;
/// Elements of a thread that are worth a part of its own.
const worth = 16;

const computes = @typeInfo(abi.Compute).@"enum".fields.len;

/// A bit for each dtype that the kernel for elements without gaps takes.
const Fast = [ops.kernels.len][computes]u32;
const fast: Fast = blk: {
    @setEvalBranchQuota(1_000_000);
    var t: Fast = @splat(@splat(0));
    for (ops.kernels, &t) |k, *of| {
        if (!std.mem.eql(u8, k.family, "reduce")) continue;
        if (std.mem.startsWith(u8, k.name, "arg_")) {
            for ([_]abi.Compute{ .f32, .f64, .i32, .i64, .u64, .b8 }) |c| {
                of[@intFromEnum(c)] = bits(states.Extreme(true, c).fast);
            }
        } else if (std.mem.eql(u8, k.name, "moments")) {
            of[@intFromEnum(abi.Compute.f64)] = bits(states.Moments.fast);
        } else if (@hasDecl(bodies, k.name)) {
            const Body = @field(bodies, k.name);
            for (Body.computes) |c| of[@intFromEnum(c)] = bits(states.Values(Body, c).fast);
        }
    }
    break :blk t;
};

fn bits(comptime list: []const abi.DType) u32 {
    var mask: u32 = 0;
    for (list) |d| mask |= 1 << @intFromEnum(d);
    return mask;
}

const variants = [_][]const u8{ "dense", "strided", "join" };
const dense = 0;
const strided = 1;
const join = 2;

pub fn run(c: *const Call) Failure!void {
    const name = ops.kernels[c.kernel].name;
    const places = std.mem.startsWith(u8, name, "arg_");
    const outs: usize = if (places or std.mem.eql(u8, name, "moments")) 2 else 1;
    const compute = try c.compute();
    if (fast[c.kernel][@intFromEnum(compute)] == 0) return error.Unsupported;
    var plan: plans.Plan = undefined;
    plan.divide(c.frame, outs, outs);
    if (plan.kept.total == 0 or (places and plan.reduced.total == 0)) return;
    if (places and plan.reduced.rank > 1) return error.Unsupported;
    const src = fr.view(c.frame, outs);
    const second = fr.view(c.frame, outs - 1);
    const size = dt.size_of(src.dtype);
    const widths = [3]usize{ size, dt.size_of(fr.view(c.frame, 0).dtype), dt.size_of(second.dtype) };
    var a: Args = undefined;
    a.src = @intFromFloat(fr.operand(c.frame, outs).data);
    a.src_dtype = @intFromEnum(src.dtype);
    a.src_flags = src.flags;
    for (0..2) |k| {
        const i = @min(k, outs - 1);
        a.dst[k] = @intFromFloat(fr.operand(c.frame, i).data);
        a.dst_dtype[k] = @intFromEnum(fr.view(c.frame, i).dtype);
    }
    a.attrs = c.frame.attrs[0..2].*;
    a.position = 0;
    const job: Job = .{ .call = c, .compute = compute, .size = size };
    try job.each(&a, .of(&plan.kept, widths), &.of(&plan.reduced, widths));
}

const Job = struct {
    call: *const Call,
    compute: abi.Compute,
    /// Bytes of an element.
    size: usize,

    /// Halves the outputs until a launch can take them.
    fn each(j: *const Job, a: *const Args, all: Axes, reduced: *const Axes) Failure!void {
        var kept = all;
        var here = a.*;
        if (kept.fits()) {
            kept.write(&here.kept);
            return j.outputs(&here, &kept, reduced);
        }
        const rest = kept.halve();
        try j.each(&here, kept, reduced);
        here.src +%= rest.at[0];
        for (&here.dst, rest.at[1..]) |*to, at| to.* +%= at;
        try j.each(&here, rest.axes, reduced);
    }

    /// All of some outputs: one launch, or parts and what joins them.
    fn outputs(j: *const Job, a: *Args, kept: *const Axes, reduced: *const Axes) Failure!void {
        a.partials = 0;
        a.counters = args.no_counters;
        a.first_part = 0;
        a.all_parts = 0;
        const launches = try j.pieces(a, kept, reduced.*, true);
        if (a.all_parts == 1) {
            _ = try j.pieces(a, kept, reduced.*, false);
            return;
        }
        const parts = a.all_parts;
        const block = try j.call.scratch(@as(u64, parts) * a.kept.count * args.widest_state);
        defer memory.release(block);
        a.partials = block.address;
        a.first_part = 0;
        a.counters = if (launches == 1) counters.of(j.call) else args.no_counters;
        var first = a.*;
        _ = try j.pieces(&first, kept, reduced.*, false);
        if (a.counters != args.no_counters) return;
        a.step = parts;
        a.across = 0;
        a.group = @min(8, axes.log_up(parts / 2));
        try j.start(join, a, .{ .kernel = join, .group = a.group, .across = 0, .parts = 1, .step = parts });
    }

    /// Goes through the reduced elements by what a launch can take: counts the parts, or launches. Gives how many
    /// launches there are.
    fn pieces(j: *const Job, a: *Args, kept: *const Axes, all: Axes, counts: bool) Failure!u32 {
        var reduced = all;
        if (!reduced.fits()) {
            const rest = reduced.halve();
            const src = a.src;
            const position = a.position;
            const before = try j.pieces(a, kept, reduced, counts);
            a.src +%= rest.at[0];
            a.position += @intCast(rest.elements);
            const after = try j.pieces(a, kept, rest.axes, counts);
            a.src = src;
            a.position = position;
            return before + after;
        }
        const form = j.form_of(a, kept, &reduced);
        if (counts) {
            a.all_parts += @intCast(form.parts);
            return 1;
        }
        reduced.write(&a.reduced);
        a.step = @intCast(form.step);
        a.across = form.across;
        a.group = form.group;
        try j.start(form.kernel, a, form);
        a.first_part += @intCast(form.parts);
        return 1;
    }

    fn start(j: *const Job, kernel: usize, a: *const Args, form: Form) Failure!void {
        const function = try launch.function(j.call, j.compute, &variants, kernel);
        const blocks = std.math.divCeil(usize, a.kept.count, form.per_block()) catch unreachable;
        try j.call.start_grid(function, .{ blocks, form.parts, 1 }, args.threads, a);
    }

    fn form_of(j: *const Job, a: *const Args, kept: *const Axes, reduced: *const Axes) Form {
        const count = reduced.count();
        const all = kept.count();
        var form: Form = .{ .kernel = strided, .group = 0, .across = 0, .parts = 1, .step = count };
        var lanes: usize = 1;
        const short = count <= 8 and all >= 64;
        if (kept.rank > 0 and (short or kept.nearest() < reduced.nearest())) {
            // Neighbouring threads work on neighbouring outputs, those of a group on rows of them.
            const rows: u32 = @min(3, axes.log_up(count / worth));
            form.across = @min(8 - rows, axes.log_up(all));
            form.group = 8 - form.across;
        } else {
            if (j.is_dense(a, kept, reduced)) {
                form.kernel = dense;
                lanes = @max(1, 16 / j.size);
            }
            form.group = @min(8, axes.log_up(count / @max(4, 2 * lanes)));
            // Fewer threads of an output have more elements each and less to join, while there are blocks enough.
            const least = @max(2, axes.log_up(count * j.size / bytes_of_thread));
            while (form.group > least and all >> @intCast(9 - form.group) >= enough_blocks) form.group -= 1;
        }
        const threads = @as(usize, 1) << @intCast(form.group);
        const blocks = std.math.divCeil(usize, all, form.per_block()) catch unreachable;
        const most: usize = if (blocks > few_blocks) enough_blocks else most_blocks;
        const parts = @min(most / blocks, count / (threads * @max(lanes, worth)));
        if (blocks >= enough_blocks or parts < 2) return form;
        const step = std.math.divCeil(usize, count, parts) catch unreachable;
        form.step = std.mem.alignForward(usize, step, threads * lanes);
        form.parts = std.math.divCeil(usize, count, form.step) catch unreachable;
        return form;
    }

    /// Every output's elements lie without gaps, from a multiple of 16 bytes on.
    fn is_dense(j: *const Job, a: *const Args, kept: *const Axes, reduced: *const Axes) bool {
        if (reduced.rank != 1 or reduced.steps[0][0] != @as(i64, @intCast(j.size))) return false;
        const mask = fast[j.call.kernel][@intFromEnum(j.compute)];
        if (a.src_flags != 0 or mask >> @truncate(a.src_dtype) & 1 == 0 or a.src % 16 != 0) return false;
        for (kept.steps[0][0..kept.rank]) |step| {
            if (@mod(step, 16) != 0) return false;
        }
        return true;
    }
};

/// The streams whose reductions have counters of their own: launches of one stream follow each other.
const counters = struct {
    var lock: Lock = .{};
    var taken: [context.max_devices][args.counter_rows]?driver.Stream = @splat(@splat(null));

    fn of(c: *const Call) u32 {
        lock.lock();
        defer lock.unlock();
        for (&taken[c.device.index], 0..) |*row, i| {
            if (row.* == null) row.* = c.stream;
            if (row.*.? == c.stream) return @intCast(i * args.most_blocks);
        }
        return args.no_counters;
    }
};

/// How threads are laid over outputs and their elements.
const Form = struct {
    kernel: usize,
    group: u32,
    across: u32,
    parts: usize,
    step: usize,

    /// Outputs of a block.
    fn per_block(f: *const Form) usize {
        return @as(usize, args.threads) >> @intCast(f.group);
    }
};
