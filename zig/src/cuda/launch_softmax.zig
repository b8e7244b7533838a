//! Softmax and its relatives on a device: how threads are laid over lines, and in how many launches.
const std = @import("std");
const abi_softmax = @import("abi_softmax");
const args = @import("../gpu/softmax_args.zig");
const axes = @import("axes.zig");
const dims = @import("../gpu/dims.zig");
const dt = @import("../core/dtype.zig");
const element = @import("../gpu/element.zig");
const fr = @import("../core/frame.zig");
const launch = @import("launch.zig");
const ops = @import("ops");

const Args = args.Args;
const Call = launch.Call;
const Failure = launch.Failure;

const variants = [_][]const u8{ "held", "long", "strided" };
const held = 0;
const long = 1;
const strided = 2;

/// Elements [outer][size][inner] of dense operands.
const Layout = struct {
    outer: usize = 1,
    size: usize = 1,
    inner: usize = 1,
    bytes: usize,
    operands: usize,
};

pub fn run(c: *const Call) Failure!void {
    const first = fr.view(c.frame, 0);
    const compute = try c.compute();
    const floats = compute == .f32 or compute == .f64;
    if (!floats or !element.is_dense(compute, first.dtype)) return error.Unsupported;
    const dim = fr.attr_int(c.frame, abi_softmax.SoftmaxAttr.dim);
    const backward = std.mem.endsWith(u8, ops.kernels[c.kernel].name, "_backward");
    var l: Layout = .{ .bytes = dt.size_of(first.dtype), .operands = if (backward) 3 else 2 };
    for (0..first.rank) |d| {
        const part = if (d < dim) &l.outer else if (d == dim) &l.size else &l.inner;
        part.* *= first.size(d);
    }
    if (l.outer * l.size * l.inner == 0) return;
    var a: Args = undefined;
    for (0..l.operands) |k| a.data[k] = @intFromFloat(fr.operand(c.frame, k).data);
    a.dtype = @intFromEnum(first.dtype);
    a.size = l.size;
    a.step = l.inner * l.bytes;
    a.outer_step = l.size * a.step;
    const function = try launch.function(c, compute, &variants, lay(&a, &l));
    if (l.inner > dims.most_elements) return each_outer(c, function, &a, &l);
    // A launch takes as many sets of neighbouring lines as it can count.
    const most = dims.most_elements / l.inner;
    var done: usize = 0;
    while (done < l.outer) {
        const n = @min(most, l.outer - done);
        try start(c, function, &a, &l, done * a.outer_step, n * l.inner, l.inner);
        done += n;
    }
}

fn each_outer(c: *const Call, function: anytype, a: *const Args, l: *const Layout) Failure!void {
    for (0..l.outer) |o| {
        var done: usize = 0;
        while (done < l.inner) {
            const n = @min(dims.most_elements, l.inner - done);
            try start(c, function, a, l, o * a.outer_step + done * l.bytes, n, n);
            done += n;
        }
    }
}

/// `lines` lines from `at` bytes on, of which `inner` begin next to each other.
fn start(
    c: *const Call,
    function: anytype,
    all: *const Args,
    l: *const Layout,
    at: usize,
    lines: usize,
    inner: usize,
) Failure!void {
    var a = all.*;
    for (a.data[0..l.operands]) |*data| data.* += at;
    a.lines = @intCast(lines);
    a.inner = .of(@intCast(inner));
    const threads: u32 = if (a.group == args.most_group) 1 << args.most_group else args.threads;
    const per_block = threads >> @truncate(a.group);
    try c.start(function, std.math.divCeil(usize, lines, per_block) catch unreachable, threads, &a);
}

/// Chooses the kernel, and the threads of a line.
fn lay(a: *Args, l: *const Layout) usize {
    a.across = 0;
    if (l.inner > 1) {
        // Neighbouring threads read neighbouring elements: of a few lines next to each other many rows at once.
        const log_inner = axes.log_up(l.inner);
        const many = log_inner >= 6;
        const rows = @min(if (many) 3 else 8 - log_inner, axes.log_up(l.size / @as(usize, if (many) 16 else 2)));
        a.across = @min(8 - rows, axes.log_up(l.outer * l.inner));
        a.group = 8 - a.across;
        return strided;
    }
    a.group = @min(args.most_group, axes.log_up(l.size / 8));
    // What is read at once, as `element.Several` wants it.
    const alignment = 4 * l.bytes;
    for (a.data[0..l.operands]) |data| if (data % alignment != 0) return strided;
    if (a.outer_step % alignment != 0) return strided;
    const most = if (l.bytes == 8) args.held(8, l.operands) else args.held(4, l.operands);
    if (l.size > most << args.most_group) return if (l.size <= dims.most_elements) long else strided;
    const least = axes.log_up(std.math.divCeil(usize, l.size, most) catch unreachable);
    // Few threads have less to join, and those of a warp need not wait for others.
    a.group = @max(@min(a.group, @max(2, axes.log_up(l.size / 32)), 5), least);
    return held;
}
