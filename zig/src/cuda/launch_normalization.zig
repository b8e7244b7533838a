//! Normalization on a device; see gpu/normalization.zig. How channels are cut into parts depends on sizes alone.
const std = @import("std");
const abi = @import("abi");
const abi_normalization = @import("abi_normalization");
const args = @import("../gpu/normalization_args.zig");
const fr = @import("../core/frame.zig");
const launch = @import("launch.zig");
const memory = @import("memory.zig");

const Args = args.Args;
const Call = launch.Call;
const Failure = launch.Failure;
const RowsAttr = abi_normalization.NormRowsAttr;
const ChannelsAttr = abi_normalization.NormChannelsAttr;

/// Blocks that keep every device busy, and elements that are worth one.
const enough_blocks = 1024;
const least_part = 2048;
const least_column = 128;
const most_blocks = 1 << 30;

const of_rows = [_][]const u8{ "warp", "block" };
const of_rows_back = [_][]const u8{ "warp", "block", "planes", "columns", "derive" };
const of_channels = [_][]const u8{ "planes", "columns", "keep", "apply" };
const of_channels_back = [_][]const u8{ "planes", "columns", "derive", "apply" };

fn address(f: *fr.Frame, i: usize) u64 {
    const v = fr.view(f, i);
    return if (v.numel() == 0) 0 else @intFromPtr(v.data);
}

fn compute_of(d: abi.DType) Failure!abi.Compute {
    return switch (d) {
        .float32, .bfloat16, .float16 => .f32,
        .float64 => .f64,
        else => error.Unsupported,
    };
}

fn blank(d: abi.DType) Args {
    var a = std.mem.zeroes(Args);
    a.dtype = @intFromEnum(d);
    a.groups = 1;
    return a;
}

fn set_sizes(a: *Args, outer: u64, across: u64, inner: u64) void {
    a.outer = outer;
    a.channels = across;
    a.inner = inner;
    a.wide = @intFromBool(outer *| across *| inner >= 1 << 31);
    if (a.wide != 0) return;
    a.by_inner = .of(@intCast(@max(1, inner)));
    a.by_channels = .of(@intCast(@max(1, across)));
}

/// The rows of operand `in`, their statistics from `stats` on and their weights; whether there is anything to be done.
fn set_rows(f: *fr.Frame, a: *Args, in: usize, stats: usize, weight: usize) Failure!bool {
    const x = fr.view(f, in);
    if (x.rank != 2) return error.Unsupported;
    const inner = fr.to_usize(f.attrs[RowsAttr.inner]);
    a.groups = fr.to_usize(f.attrs[RowsAttr.groups]);
    a.count = x.size(0);
    a.n = x.size(1);
    if (inner == 0 or a.groups == 0 or a.n % inner != 0 or a.count % a.groups != 0) return error.Unsupported;
    a.per = a.n / inner;
    a.centered = @intFromBool(fr.attr_bool(f, RowsAttr.centered));
    a.eps = f.attrs[RowsAttr.eps];
    a.from = @intFromPtr(x.data);
    a.mean = address(f, stats);
    a.scale = address(f, stats + 1);
    a.weight = address(f, weight);
    set_sizes(a, a.count / a.groups, a.groups * a.per, inner);
    return a.count > 0 and a.n > 0;
}

fn each_row(c: *const Call, compute: abi.Compute, comptime variants: []const []const u8, a: *Args) Failure!void {
    const small = a.n <= args.warp_row;
    const rows_of_block: u64 = if (small) args.threads / 32 else 1;
    const kernel = try launch.function(c, compute, variants, if (small) 0 else 1);
    a.first = 0;
    while (a.first < a.count) : (a.first += most_blocks) {
        const count = @min(a.count - a.first, most_blocks);
        try c.start(kernel, ceil(count, rows_of_block), args.threads, a);
    }
}

pub fn rows_forward(c: *const Call) Failure!void {
    const f = c.frame;
    const to = fr.view(f, 0);
    var a = blank(to.dtype);
    a.to = @intFromPtr(to.data);
    a.bias = address(f, 5);
    if (try set_rows(f, &a, 1, 2, 4)) try each_row(c, try compute_of(to.dtype), &of_rows, &a);
}

pub fn rows_backward(c: *const Call) Failure!void {
    const f = c.frame;
    const dtype = fr.view(f, 0).dtype;
    const compute = try compute_of(dtype);
    var a = blank(dtype);
    a.to = address(f, 0);
    a.weights = address(f, 1);
    a.biases = address(f, 2);
    a.grad = @intFromPtr(fr.view(f, 3).data);
    const some = try set_rows(f, &a, 4, 5, 7);
    if (some and a.to != 0) try each_row(c, compute, &of_rows_back, &a);
    if (a.weights == 0 and a.biases == 0) return;
    a.by_row = 1;
    const bytes = set_parts(&a, compute, 2);
    const sums = try c.scratch(bytes);
    defer memory.release(sums);
    a.sums = sums.address;
    if (a.parts > 0) try gather(c, compute, &of_rows_back, 2, &a);
    try each_channel(c, compute, &of_rows_back, 4, &a);
}

/// How the elements of channels are cut; gives the bytes that `numbers` of each part take.
fn set_parts(a: *Args, compute: abi.Compute, numbers: u64) u64 {
    const length = a.outer * a.inner;
    if (length == 0 or a.channels == 0) return 1;
    const across = if (by_columns(a)) ceil(a.channels, args.columns) else a.channels;
    const least: u64 = if (by_columns(a)) least_column else least_part;
    const parts = @min(@max(1, enough_blocks / across), ceil(length, least));
    a.part = ceil(length, parts);
    a.parts = @intCast(ceil(length, a.part));
    return a.parts * a.channels * numbers * @as(u64, if (compute == .f64) 8 else 4);
}

fn by_columns(a: *const Args) bool {
    return a.inner < args.columns and a.channels > 1;
}

/// `first` is the number of the kernel that takes planes; that for columns follows.
fn gather(
    c: *const Call,
    compute: abi.Compute,
    comptime variants: []const []const u8,
    first: usize,
    a: *const Args,
) Failure!void {
    const across = if (by_columns(a)) ceil(a.channels, args.columns) else a.channels;
    const kernel = try launch.function(c, compute, variants, first + @intFromBool(by_columns(a)));
    try c.start_grid(kernel, .{ across, a.parts, 1 }, args.threads, a);
}

fn each_channel(
    c: *const Call,
    compute: abi.Compute,
    comptime variants: []const []const u8,
    which: usize,
    a: *const Args,
) Failure!void {
    const kernel = try launch.function(c, compute, variants, which);
    try c.start(kernel, ceil(a.channels, args.threads), args.threads, a);
}

fn each_element(c: *const Call, compute: abi.Compute, comptime variants: []const []const u8, a: *Args) Failure!void {
    const kernel = try launch.function(c, compute, variants, 3);
    a.count = a.outer * a.channels * a.inner;
    a.first = 0;
    while (a.first < a.count) : (a.first += most_blocks) {
        try c.start(kernel, ceil(@min(a.count - a.first, most_blocks), args.threads), args.threads, a);
    }
}

fn set_channels(f: *fr.Frame, a: *Args, in: usize, stats: usize, weight: usize) Failure!void {
    const x = fr.view(f, in);
    if (x.rank != 3) return error.Unsupported;
    a.training = @intFromBool(fr.attr_bool(f, ChannelsAttr.training));
    a.eps = f.attrs[ChannelsAttr.eps];
    a.momentum = f.attrs[ChannelsAttr.momentum];
    a.rounded = @intCast(fr.attr_int(f, ChannelsAttr.rounded));
    a.centered = 1;
    a.from = @intFromPtr(x.data);
    a.mean = address(f, stats);
    a.scale = address(f, stats + 1);
    a.weight = address(f, weight);
    set_sizes(a, x.size(0), x.size(1), x.size(2));
}

pub fn channels_forward(c: *const Call) Failure!void {
    const f = c.frame;
    const to = fr.view(f, 0);
    const compute = try compute_of(to.dtype);
    var a = blank(to.dtype);
    try set_channels(f, &a, 1, 2, 4);
    a.to = @intFromPtr(to.data);
    a.bias = address(f, 5);
    a.running = .{ address(f, 6), address(f, 7) };
    if (a.outer * a.channels * a.inner == 0) return;
    if (a.training == 0 and (a.running[0] == 0 or a.running[1] == 0)) return error.Unsupported;
    const size: u64 = if (compute == .f64) 8 else 4;
    const bytes = if (a.training != 0) set_parts(&a, compute, 3) else 0;
    const scratch = try c.scratch(2 * a.channels * size + bytes);
    defer memory.release(scratch);
    a.factors = scratch.address;
    a.levels = a.factors + a.channels * size;
    a.sums = a.levels + a.channels * size;
    if (a.training != 0) try gather(c, compute, &of_channels, 0, &a);
    try each_channel(c, compute, &of_channels, 2, &a);
    try each_element(c, compute, &of_channels, &a);
}

pub fn channels_backward(c: *const Call) Failure!void {
    const f = c.frame;
    const dtype = fr.view(f, 0).dtype;
    const compute = try compute_of(dtype);
    var a = blank(dtype);
    try set_channels(f, &a, 4, 5, 7);
    a.to = address(f, 0);
    a.weights = address(f, 1);
    a.biases = address(f, 2);
    a.grad = @intFromPtr(fr.view(f, 3).data);
    if (a.channels == 0) return;
    const size: u64 = if (compute == .f64) 8 else 4;
    const summed = a.training != 0 or a.weights != 0 or a.biases != 0;
    const bytes = if (summed) set_parts(&a, compute, 2) else 0;
    const scratch = try c.scratch(3 * a.channels * size + bytes);
    defer memory.release(scratch);
    if (a.to != 0) {
        a.factors = scratch.address;
        a.levels = a.factors + a.channels * size;
        a.slopes = a.levels + a.channels * size;
    }
    a.sums = scratch.address + 3 * a.channels * size;
    if (a.parts > 0) try gather(c, compute, &of_channels_back, 0, &a);
    try each_channel(c, compute, &of_channels_back, 2, &a);
    if (a.to != 0) try each_element(c, compute, &of_channels_back, &a);
}

fn ceil(n: u64, by: u64) u64 {
    return std.math.divCeil(u64, n, by) catch unreachable;
}
