//! Events of the driver: what users record, and those that say when a block's last use has passed. Only the latter are
//! kept for reuse.
const std = @import("std");
const abi = @import("abi");
const context = @import("context.zig");
const driver = @import("driver.zig");
const faults = @import("faults.zig");
const Lock = @import("lock.zig").Lock;

const gpa = std.heap.c_allocator;

const no_timing: c_uint = 2;
const not_ready: driver.Result = 600;
const most_spare = 64;

/// Where work goes.
pub const Use = struct { device: u32, stream: u64 };

var lock: Lock = .{};
var spare: [context.max_devices]std.ArrayList(driver.Event) = @splat(.empty);

fn take(device: u32) context.Failure!driver.Event {
    {
        lock.lock();
        defer lock.unlock();
        if (spare[device].pop()) |event| return event;
    }
    const cu = try context.functions();
    var event: driver.Event = null;
    try context.check(cu.EventCreate(&event, no_timing));
    return event;
}

/// Gives up an event that was recorded.
pub fn give(device: u32, event: driver.Event) void {
    {
        lock.lock();
        defer lock.unlock();
        const list = &spare[device];
        if (list.items.len < most_spare) if (list.append(gpa, event)) |_| return else |_| {};
    }
    const cu = context.functions() catch return;
    _ = cu.EventDestroy_v2(event);
}

/// What a stream has to do now, as an event. The device becomes the current one.
pub fn mark(device: u32, stream: u64) context.Failure!driver.Event {
    _ = try context.use(device);
    const cu = try context.functions();
    const event = try take(device);
    errdefer give(device, event);
    try context.check(cu.EventRecord(event, @ptrFromInt(stream)));
    return event;
}

/// Whether what was marked is done. What the driver says beside that (a fault) is told elsewhere.
pub fn passed(event: driver.Event) bool {
    const cu = context.functions() catch return true;
    return cu.EventQuery(event) != not_ready;
}

pub fn wait(event: driver.Event) context.Failure!void {
    const cu = try context.functions();
    try context.check(cu.EventSynchronize(event));
}

/// The work that `stream` is given from now on waits for what `other` has been given, maybe on another device.
pub fn order(device: u32, stream: u64, other_device: u32, other: u64) context.Failure!void {
    if (device == other_device and stream == other) return;
    const event = try mark(other_device, other);
    defer give(other_device, event);
    _ = try context.use(device);
    const cu = try context.functions();
    try context.check(cu.StreamWaitEvent(@ptrFromInt(stream), event, 0));
}

/// An event of a user's.
const Held = struct { device: u32, event: driver.Event };

fn held(x: f64) *Held {
    return @ptrFromInt(@as(usize, @intFromFloat(x)));
}

fn stream_of(x: f64) driver.Stream {
    return @ptrFromInt(@as(usize, @intFromFloat(x)));
}

fn result(r: context.Failure!void) i32 {
    r catch return context.code;
    return 0;
}

/// Writes the event as the functions below want it, and the driver's own handle. Bits of `flags`: 1 the host sleeps
/// while it waits, 2 without times, 4 for other processes.
pub fn zs_cuda_event_create(device: u32, flags: u32, to: *[2]f64) callconv(.c) i32 {
    return result(create(device, flags, to));
}

fn create(device: u32, flags: u32, to: *[2]f64) context.Failure!void {
    _ = try context.use(device);
    const cu = try context.functions();
    const h = gpa.create(Held) catch return context.fail(driver.negative(driver.out_of_memory));
    errdefer gpa.destroy(h);
    h.* = .{ .device = device, .event = null };
    try context.check(cu.EventCreate(&h.event, flags));
    to.* = .{ @floatFromInt(@intFromPtr(h)), @floatFromInt(@intFromPtr(h.event)) };
}

fn release(_: ?*anyopaque, at: ?*anyopaque) callconv(.c) void {
    const h: *Held = @ptrCast(@alignCast(at orelse return));
    if (context.functions()) |cu| {
        if (context.use(h.device)) |_| _ = cu.EventDestroy_v2(h.event) else |_| {}
    } else |_| {}
    gpa.destroy(h);
}

pub fn zs_cuda_release_event_function() callconv(.c) f64 {
    return @floatFromInt(@intFromPtr(&release));
}

pub fn zs_cuda_event_record(event: f64, stream: f64) callconv(.c) i32 {
    const cu = context.functions() catch return context.code;
    _ = context.use(held(event).device) catch return context.code;
    return result(context.check(cu.EventRecord(held(event).event, stream_of(stream))));
}

/// A stream, maybe of another device, waits for an event.
pub fn zs_cuda_event_wait(event: f64, device: u32, stream: f64) callconv(.c) i32 {
    const cu = context.functions() catch return context.code;
    _ = context.use(device) catch return context.code;
    return result(context.check(cu.StreamWaitEvent(stream_of(stream), held(event).event, 0)));
}

/// 1 when all that was recorded is done, 0 when not, or a code.
pub fn zs_cuda_event_query(event: f64) callconv(.c) i32 {
    const cu = context.functions() catch return context.code;
    _ = context.use(held(event).device) catch return context.code;
    return asked(cu.EventQuery(held(event).event));
}

fn asked(r: driver.Result) i32 {
    return if (r == 0) 1 else if (r == not_ready) 0 else driver.negative(r);
}

pub fn zs_cuda_event_synchronize(event: f64) callconv(.c) i32 {
    _ = context.use(held(event).device) catch return context.code;
    const code = result(wait(held(event).event));
    return if (code != 0) code else faults.code(held(event).device);
}

/// Writes the milliseconds between two events.
pub fn zs_cuda_event_elapsed(start: f64, end: f64, to: *f64) callconv(.c) i32 {
    const cu = context.functions() catch return context.code;
    _ = context.use(held(start).device) catch return context.code;
    var milliseconds: f32 = 0;
    const r = cu.EventElapsedTime(&milliseconds, held(start).event, held(end).event);
    to.* = milliseconds;
    return driver.negative(r);
}

/// Of each priority of a device as many streams as torch makes; then they are given out again, to all threads of the
/// program. They live as long as that: work on them may outlast whoever asked for one.
const Pool = struct { streams: [32]driver.Stream = @splat(null), next: usize = 0 };
const most_priorities = 8;
var pools: [context.max_devices][most_priorities]Pool = @splat(@splat(.{}));

/// Writes the handle of a stream that does not wait for the default stream. `priority`: 0, or below it.
pub fn zs_cuda_stream_create(device: u32, priority: i32, to: *f64) callconv(.c) i32 {
    return result(next_stream(device, priority, to));
}

fn next_stream(device: u32, priority: i32, to: *f64) context.Failure!void {
    _ = try context.use(device);
    const cu = try context.functions();
    lock.lock();
    defer lock.unlock();
    const pool = &pools[device][@min(@abs(priority), most_priorities - 1)];
    const stream = &pool.streams[pool.next % pool.streams.len];
    if (stream.* == null) try context.check(cu.StreamCreateWithPriority(stream, 1, priority));
    pool.next += 1;
    to.* = @floatFromInt(@intFromPtr(stream.*));
}

/// Writes the lowest and the highest priority: the higher, the lower the number.
pub fn zs_cuda_priorities(device: u32, to: *[2]f64) callconv(.c) i32 {
    const cu = context.functions() catch return context.code;
    _ = context.use(device) catch return context.code;
    var least: c_int = 0;
    var greatest: c_int = 0;
    const r = cu.CtxGetStreamPriorityRange(&least, &greatest);
    to.* = .{ @floatFromInt(least), @floatFromInt(greatest) };
    return driver.negative(r);
}

/// 1 when a stream has done all its work, 0 when not, or a code.
pub fn zs_cuda_stream_query(device: u32, stream: f64) callconv(.c) i32 {
    const cu = context.functions() catch return context.code;
    _ = context.use(device) catch return context.code;
    return asked(cu.StreamQuery(stream_of(stream)));
}

pub fn zs_cuda_stream_order(device: u32, stream: f64, other_device: u32, other: f64) callconv(.c) i32 {
    return result(order(device, @intFromFloat(stream), other_device, @intFromFloat(other)));
}
