//! What TypeScript asks of a device beside kernels: memory, copies, streams and events. Handles and addresses are
//! numbers; a result below zero is a code, see abi_cuda.CudaStatus.
const std = @import("std");
const context = @import("context.zig");
const driver = @import("driver.zig");
const events = @import("events.zig");
const faults = @import("faults.zig");
const memory = @import("memory.zig");
const modules = @import("modules.zig");
const pinned = @import("pinned.zig");

fn handle(x: f64) ?*anyopaque {
    return @ptrFromInt(@as(usize, @intFromFloat(x)));
}

fn number(p: ?*anyopaque) f64 {
    return @floatFromInt(@intFromPtr(p));
}

fn address(x: f64) u64 {
    return @intFromFloat(x);
}

/// The code of what went wrong.
fn code(e: (context.Failure || std.mem.Allocator.Error)) i32 {
    return switch (e) {
        error.Cuda => context.code,
        error.OutOfMemory => driver.negative(driver.out_of_memory),
    };
}

fn coded(result: context.Failure!void) i32 {
    result catch |e| return code(e);
    return 0;
}

/// Writes where the block is, and the block as `zs_cuda_keep` and the collector want it. `there` is 1 where the driver
/// is not to be asked for more.
pub fn zs_cuda_alloc(nbytes: f64, device: u32, stream: f64, there: u32, to: *[2]f64) callconv(.c) i32 {
    _ = context.use(device) catch |e| return code(e);
    const from: memory.From = if (there == 1) .pools else .driver;
    const block = memory.allocate(device, @intFromFloat(nbytes), address(stream), from) catch |e| return code(e);
    to.* = .{ @floatFromInt(block.address), number(block) };
    return 0;
}

pub fn zs_cuda_keep(block: f64) callconv(.c) void {
    memory.keep(@ptrCast(@alignCast(handle(block).?)));
}

/// Counts a block as free that its one owner keeps; 0: it is used elsewhere.
pub fn zs_cuda_park(block: f64) callconv(.c) u32 {
    return @intFromBool(memory.park(@ptrCast(@alignCast(handle(block).?))));
}

/// Hands a parked block out again; 0: not for that.
pub fn zs_cuda_unpark(block: f64, nbytes: f64, device: u32, stream: f64) callconv(.c) u32 {
    const parked: *memory.Block = @ptrCast(@alignCast(handle(block).?));
    return @intFromBool(memory.unpark(parked, device, @intFromFloat(nbytes), address(stream)));
}

/// Called by the collector, from any thread.
fn release_block(_: ?*anyopaque, block: ?*anyopaque) callconv(.c) void {
    if (block) |b| memory.release(@ptrCast(@alignCast(b)));
}

/// A block is used on another stream than that which it was made for.
pub fn zs_cuda_record(block: f64, device: u32, stream: f64) callconv(.c) void {
    memory.record(@ptrCast(@alignCast(handle(block).?)), .{ .device = device, .stream = address(stream) });
}

pub fn zs_cuda_release_function() callconv(.c) f64 {
    return @floatFromInt(@intFromPtr(&release_block));
}

pub fn zs_cuda_live_bytes() callconv(.c) f64 {
    return @floatFromInt(memory.live());
}

/// Writes the numbers of memory.Statistics in their order. 1 for a device that was used.
pub fn zs_cuda_memory_stats(device: u32, to: [*]f64) callconv(.c) i32 {
    if (device >= context.max_devices) return 0;
    memory.statistics(device).write(to);
    return @intFromBool(context.is_used(device));
}

/// `what` is a place of memory.Reset.
pub fn zs_cuda_reset_stats(device: u32, what: u32) callconv(.c) void {
    if (device < context.max_devices) memory.reset(device, if (what == 0) .peak else .accumulated);
}

/// How many bytes the allocator may take from the driver.
pub fn zs_cuda_set_limit(device: u32, bytes: f64) callconv(.c) void {
    if (device < context.max_devices) memory.set_limit(device, address(bytes));
}

/// An allocation failed for good: writes what the driver was asked for, and the limit.
pub fn zs_cuda_refused(device: u32, nbytes: f64, to: *[2]f64) callconv(.c) void {
    const numbers = memory.refused(device, address(nbytes));
    to.* = .{ @floatFromInt(numbers[0]), @floatFromInt(numbers[1]) };
}

pub fn zs_cuda_empty_cache(device: u32) callconv(.c) i32 {
    if (!context.is_used(device)) return 0;
    _ = context.use(device) catch |e| return code(e);
    return coded(memory.empty_cache(device));
}

/// Bytes from the host. They may be overwritten as soon as this returns, unless `later` is set and they are pinned.
pub fn zs_cuda_to_device(
    to: f64,
    from: [*]const u8,
    nbytes: f64,
    device: u32,
    stream: f64,
    later: u32,
) callconv(.c) i32 {
    const cu = context.functions() catch |e| return code(e);
    _ = context.use(device) catch |e| return code(e);
    context.check(cu.MemcpyHtoDAsync_v2(address(to), from, address(nbytes), handle(stream))) catch |e| return code(e);
    return settled(@intFromPtr(from), device, stream, later);
}

/// Bytes to the host, which are there when this returns, unless `later` is set and the memory is pinned.
pub fn zs_cuda_to_host(
    to: [*]u8,
    from: f64,
    nbytes: f64,
    device: u32,
    stream: f64,
    later: u32,
) callconv(.c) i32 {
    const cu = context.functions() catch |e| return code(e);
    _ = context.use(device) catch |e| return code(e);
    context.check(cu.MemcpyDtoHAsync_v2(to, address(from), address(nbytes), handle(stream))) catch |e| return code(e);
    return settled(@intFromPtr(to), device, stream, later);
}

/// Waits for a copy that touches memory of the host; or that memory knows of it.
fn settled(host: usize, device: u32, stream: f64, later: u32) i32 {
    if (later != 0 and pinned.record(host, device, address(stream))) return 0;
    const cu = context.functions() catch |e| return code(e);
    context.check(cu.StreamSynchronize(handle(stream))) catch |e| return code(e);
    return faults.code(device);
}

/// Bytes from one place to another of a device, or of two: then on the source's stream, between the work that both
/// streams have and that which they will be given.
pub fn zs_cuda_on_device(
    to: f64,
    to_device: u32,
    to_stream: f64,
    from: f64,
    from_device: u32,
    from_stream: f64,
    nbytes: f64,
) callconv(.c) i32 {
    const n = address(nbytes);
    const target = .{ to_device, address(to_stream) };
    const source = .{ from_device, address(from_stream) };
    return coded(if (to_device == from_device)
        within(target, address(to), address(from), n)
    else
        between(target, address(to), source, address(from), n));
}

const Place = struct { u32, u64 };

fn within(place: Place, to: u64, from: u64, nbytes: u64) context.Failure!void {
    const cu = try context.functions();
    _ = try context.use(place[0]);
    try context.check(cu.MemcpyDtoDAsync_v2(to, from, nbytes, @ptrFromInt(place[1])));
}

fn between(target: Place, to: u64, source: Place, from: u64, nbytes: u64) context.Failure!void {
    const cu = try context.functions();
    try events.order(source[0], source[1], target[0], target[1]);
    const t = try context.use(target[0]);
    const s = try context.use(source[0]);
    try context.check(cu.MemcpyPeerAsync(to, t.context, from, s.context, nbytes, @ptrFromInt(source[1])));
    try events.order(target[0], target[1], source[0], source[1]);
}

/// One byte value everywhere.
pub fn zs_cuda_set(to: f64, value: u32, nbytes: f64, device: u32, stream: f64) callconv(.c) i32 {
    const cu = context.functions() catch |e| return code(e);
    _ = context.use(device) catch |e| return code(e);
    return coded(context.check(cu.MemsetD8Async(address(to), @truncate(value), address(nbytes), handle(stream))));
}

/// Waits for the work of one stream.
pub fn zs_cuda_stream_wait(device: u32, stream: f64) callconv(.c) i32 {
    const cu = context.functions() catch |e| return code(e);
    _ = context.use(device) catch |e| return code(e);
    context.check(cu.StreamSynchronize(handle(stream))) catch |e| return code(e);
    return faults.code(device);
}

/// What the driver said about the last module that it refused.
pub fn zs_cuda_log() callconv(.c) [*:0]const u8 {
    return modules.log();
}
