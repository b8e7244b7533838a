//! Memory of a device that several processes have.
const std = @import("std");
const context = @import("context.zig");
const driver = @import("driver.zig");
const memory = @import("memory.zig");
const Lock = @import("lock.zig").Lock;

const gpa = std.heap.c_allocator;

const lazy_peer_access: c_uint = 1;

/// Memory of another process, opened once however often its handle is given.
const Opened = struct { handle: driver.IpcHandle, device: u32, address: u64, size: usize, owners: u32 };

var lock: Lock = .{};
var opened: std.ArrayList(*Opened) = .empty;

fn result(r: context.Failure!void) i32 {
    r catch return context.code;
    return 0;
}

fn pointer(x: f64) *anyopaque {
    return @ptrFromInt(@as(usize, @intFromFloat(x)));
}

/// Writes the handle of the segment that a block lies in, 64 bytes; and how far into it the block begins.
pub fn zs_cuda_ipc_export(block: f64, handle: *driver.IpcHandle, offset: *f64) callconv(.c) i32 {
    return result(give(@ptrCast(@alignCast(pointer(block))), handle, offset));
}

fn give(block: *memory.Block, handle: *driver.IpcHandle, offset: *f64) context.Failure!void {
    _ = try context.use(block.device);
    const cu = try context.functions();
    const base = memory.segment_of(block);
    try context.check(cu.IpcGetMemHandle(handle, base));
    offset.* = @floatFromInt(block.address - base);
}

/// Opens a handle of another process: writes the address, what the release function wants, and how many bytes there
/// are.
pub fn zs_cuda_ipc_open(device: u32, handle: *const driver.IpcHandle, to: *[3]f64) callconv(.c) i32 {
    const o = open(device, handle) catch return context.code;
    to.* = .{ @floatFromInt(o.address), @floatFromInt(@intFromPtr(o)), @floatFromInt(o.size) };
    return 0;
}

fn open(device: u32, handle: *const driver.IpcHandle) context.Failure!*Opened {
    lock.lock();
    defer lock.unlock();
    for (opened.items) |o| if (o.device == device and std.mem.eql(u8, &o.handle.bytes, &handle.bytes)) {
        o.owners += 1;
        return o;
    };
    _ = try context.use(device);
    const cu = try context.functions();
    const o = gpa.create(Opened) catch return context.fail(driver.negative(driver.out_of_memory));
    errdefer gpa.destroy(o);
    opened.ensureUnusedCapacity(gpa, 1) catch return context.fail(driver.negative(driver.out_of_memory));
    o.* = .{ .handle = handle.*, .device = device, .address = 0, .size = 0, .owners = 1 };
    try context.check(cu.IpcOpenMemHandle_v2(&o.address, handle.*, lazy_peer_access));
    errdefer _ = cu.IpcCloseMemHandle(o.address);
    var base: u64 = 0;
    try context.check(cu.MemGetAddressRange_v2(&base, &o.size, o.address));
    o.size -= o.address - base;
    opened.appendAssumeCapacity(o);
    return o;
}

fn release(_: ?*anyopaque, at: ?*anyopaque) callconv(.c) void {
    const o: *Opened = @ptrCast(@alignCast(at orelse return));
    lock.lock();
    defer lock.unlock();
    o.owners -= 1;
    if (o.owners > 0) return;
    for (opened.items, 0..) |other, i| if (other == o) {
        _ = opened.swapRemove(i);
        break;
    };
    if (context.functions()) |cu| {
        if (context.use(o.device)) |_| _ = cu.IpcCloseMemHandle(o.address) else |_| {}
    } else |_| {}
    gpa.destroy(o);
}

pub fn zs_cuda_release_ipc_function() callconv(.c) f64 {
    return @floatFromInt(@intFromPtr(&release));
}
