//! Steps over lists of tensors on a device: one launch for a list, whose members are told in a table that goes there
//! before; see gpu/foreach.zig. Numbers of steps that the device has take one more launch.
const std = @import("std");
const abi = @import("abi");
const args = @import("../gpu/foreach_args.zig");
const context = @import("context.zig");
const dt = @import("../core/dtype.zig");
const element = @import("../gpu/element.zig");
const fr = @import("../core/frame.zig");
const launch = @import("launch.zig");
const memory = @import("memory.zig");
const steps = @import("../cpu/foreach_steps.zig");

const Args = args.Args;
const Call = launch.Call;
const Failure = launch.Failure;
const Member = args.Member;

/// Elements of a block, and blocks of a list, of which each costs four bytes of the table.
const least_chunk = 4096;
const most_blocks = 1 << 16;

pub fn plan(comptime name: []const u8) fn (c: *const Call) Failure!void {
    return struct {
        fn run(c: *const Call) Failure!void {
            const wanted = steps.body_of(name, &c.frame.attrs);
            inline for (steps.kernels) |k| {
                if (comptime !std.mem.eql(u8, k.name, name)) continue;
                inline for (k.bodies, 0..) |Step, i| {
                    if (i == wanted) return list(c, Step, k.variants, i);
                }
            }
            return error.Unsupported;
        }
    }.run;
}

fn list(c: *const Call, comptime Step: type, comptime variants: []const []const u8, variant: usize) Failure!void {
    const per = @as(usize, Step.streams) + @intFromBool(Step.steps);
    const members = fr.count(c.frame) / per;
    if (members * per != fr.count(c.frame)) return error.Unsupported;
    const host = std.heap.c_allocator;
    const table = host.alloc(Member, members) catch return error.OutOfMemory;
    defer host.free(table);
    for ([_]abi.Compute{ .f32, .f64 }) |compute| {
        var total: u64 = 0;
        var count: usize = 0;
        for (0..members) |i| {
            const member = try member_of(c.frame, Step, i * per);
            const dtype: abi.DType = @enumFromInt(@as(u8, @intCast(member.dtype)));
            if ((dtype == .float64) != (compute == .f64)) continue;
            table[count] = member;
            count += 1;
            total += member.count;
        }
        // Empty tensors have a number of steps, too.
        if (count > 0) try of_compute(c, Step, variants, variant, compute, table[0..count], total);
    }
}

fn member_of(f: *fr.Frame, comptime Step: type, first: usize) Failure!Member {
    const model = fr.view(f, first);
    switch (model.dtype) {
        .float32, .float64, .bfloat16, .float16 => {},
        else => return error.Unsupported,
    }
    var m: Member = .{
        .data = @splat(0),
        .count = model.numel(),
        .first = 0,
        .dtype = @intFromEnum(model.dtype),
        .aligned = 1,
        .step_dtype = 0,
        .step = 0,
        .facts = .{ 0, 0 },
    };
    for (0..Step.streams) |k| {
        const v = fr.view(f, first + k);
        const flat = v.rank == 1 and (v.stride(0) == 1 or v.size(0) <= 1);
        if (v.dtype != model.dtype or !flat or v.numel() != m.count) return error.Unsupported;
        m.data[k] = @intFromPtr(v.data);
        if (!element.is_aligned(v.dtype, 4, m.data[k])) m.aligned = 0;
    }
    if (!Step.steps) return m;
    const v = fr.view(f, first + Step.streams);
    if (v.rank == 1) {
        m.facts = Step.facts(&f.attrs, v.shape[0]);
    } else {
        if (v.dtype != .float32 and v.dtype != .float64) return error.Unsupported;
        m.step = @intFromPtr(v.data);
        m.step_dtype = @intFromEnum(v.dtype);
    }
    return m;
}

fn of_compute(
    c: *const Call,
    comptime Step: type,
    comptime variants: []const []const u8,
    variant: usize,
    compute: abi.Compute,
    table: []Member,
    total: u64,
) Failure!void {
    var chunk: u64 = least_chunk;
    while (total / chunk > most_blocks) chunk *= 2;
    var blocks: usize = 0;
    var counts = false;
    for (table) |*m| {
        m.first = @intCast(blocks);
        blocks += @intCast(ceil(m.count, chunk));
        counts = counts or m.step != 0;
    }
    const bytes = table.len * @sizeOf(Member);
    const host = std.heap.c_allocator;
    const image = host.alignedAlloc(u8, .of(Member), bytes + blocks * 4) catch return error.OutOfMemory;
    defer host.free(image);
    @memcpy(image[0..bytes], std.mem.sliceAsBytes(table));
    const owners: []align(4) u8 = @alignCast(image[bytes..]);
    const numbers = std.mem.bytesAsSlice(u32, owners);
    for (table, 0..) |m, i| {
        const end = if (i + 1 < table.len) table[i + 1].first else blocks;
        @memset(numbers[m.first..end], @intCast(i));
    }
    const block = try c.scratch(image.len);
    defer memory.release(block);
    const cu = try context.functions();
    // From memory that is not pinned the driver takes a copy before it returns.
    try context.check(cu.MemcpyHtoDAsync_v2(block.address, image.ptr, image.len, c.stream));
    const a: Args = .{
        .members = block.address,
        .owners = block.address + bytes,
        .chunk = chunk,
        .count = @intCast(table.len),
        .attrs = c.frame.attrs,
    };
    if (Step.steps and counts) {
        const kernel = try launch.function(c, .f64, variants, variants.len - 1);
        try c.start(kernel, ceil(table.len, launch.block_threads), launch.block_threads, &a);
    }
    if (blocks == 0) return;
    try c.start(try launch.function(c, compute, variants, variant), blocks, launch.block_threads, &a);
}

fn ceil(n: u64, by: u64) u64 {
    return std.math.divCeil(u64, n, by) catch unreachable;
}
