//! What TypeScript asks of a device beside kernels: memory, copies, streams and events. Handles and addresses are
//! numbers; a result below zero is a code, see abi.CudaStatus.
const std = @import("std");
const context = @import("context.zig");
const driver = @import("driver.zig");
const faults = @import("faults.zig");
const memory = @import("memory.zig");
const modules = @import("modules.zig");

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

/// Writes where the block is, and the block as `zs_cuda_keep` and the collector want it.
pub fn zs_cuda_alloc(nbytes: f64, device: u32, stream: f64, to: *[2]f64) callconv(.c) i32 {
    _ = context.use(device) catch |e| return code(e);
    const block = memory.allocate(device, @intFromFloat(nbytes), address(stream)) catch |e| return code(e);
    to.* = .{ @floatFromInt(block.address), number(block) };
    return 0;
}

pub fn zs_cuda_keep(block: f64) callconv(.c) void {
    memory.keep(@ptrCast(@alignCast(handle(block).?)));
}

/// Called by the collector, from any thread.
fn release_block(_: ?*anyopaque, block: ?*anyopaque) callconv(.c) void {
    if (block) |b| memory.release(@ptrCast(@alignCast(b)));
}

pub fn zs_cuda_release_function() callconv(.c) f64 {
    return @floatFromInt(@intFromPtr(&release_block));
}

pub fn zs_cuda_live_bytes() callconv(.c) f64 {
    return @floatFromInt(memory.live());
}

/// Writes the numbers of memory.Statistics in their order.
pub fn zs_cuda_memory_stats(device: u32, to: [*]f64) callconv(.c) i32 {
    if (device >= context.max_devices) return 0;
    const s = memory.statistics(device);
    inline for (@typeInfo(memory.Statistics).@"struct".fields, 0..) |field, i| {
        to[i] = @floatFromInt(@field(s, field.name));
    }
    return 0;
}

pub fn zs_cuda_reset_peak(device: u32) callconv(.c) void {
    if (device < context.max_devices) memory.reset_peak(device);
}

pub fn zs_cuda_empty_cache(device: u32) callconv(.c) i32 {
    if (!context.is_used(device)) return 0;
    _ = context.use(device) catch |e| return code(e);
    return coded(memory.empty_cache(device));
}

/// Bytes from the host; they may be overwritten as soon as this returns.
pub fn zs_cuda_to_device(to: f64, from: [*]const u8, nbytes: f64, device: u32, stream: f64) callconv(.c) i32 {
    const cu = context.functions() catch |e| return code(e);
    _ = context.use(device) catch |e| return code(e);
    return coded(context.check(cu.MemcpyHtoDAsync_v2(address(to), from, address(nbytes), handle(stream))));
}

/// Bytes to the host, which are there when this returns.
pub fn zs_cuda_to_host(to: [*]u8, from: f64, nbytes: f64, device: u32, stream: f64) callconv(.c) i32 {
    const cu = context.functions() catch |e| return code(e);
    _ = context.use(device) catch |e| return code(e);
    context.check(cu.MemcpyDtoHAsync_v2(to, address(from), address(nbytes), handle(stream))) catch |e| return code(e);
    context.check(cu.StreamSynchronize(handle(stream))) catch |e| return code(e);
    return faults.code(device);
}

/// Bytes from one place to another of a device, or of two.
pub fn zs_cuda_on_device(
    to: f64,
    to_device: u32,
    from: f64,
    from_device: u32,
    nbytes: f64,
    stream: f64,
) callconv(.c) i32 {
    const cu = context.functions() catch |e| return code(e);
    const source = context.use(from_device) catch |e| return code(e);
    const target = context.use(to_device) catch |e| return code(e);
    const s = handle(stream);
    const n = address(nbytes);
    return coded(context.check(if (source == target)
        cu.MemcpyDtoDAsync_v2(address(to), address(from), n, s)
    else
        cu.MemcpyPeerAsync(address(to), target.context, address(from), source.context, n, s)));
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
