//! What kernels found that they must not do: one record for each device, which every call that waits for the device
//! looks at. The device goes on; the call that finds a record full fails once, and the record is empty again.
const std = @import("std");
const abi_cuda = @import("abi_cuda");
const context = @import("context.zig");
const Lock = @import("lock.zig").Lock;
const Record = @import("../gpu/fault.zig").Record;

/// Pinned memory, mapped for all contexts: under unified addressing it has one address for the host and all devices.
const portable_and_mapped = 3;
const bytes = 4096;

var records: [context.max_devices]std.atomic.Value(?*volatile Record) = @splat(.init(null));
var making: Lock = .{};

/// What the last failure of this thread told.
threadlocal var last: [4]f64 = @splat(0);

/// The record of a device, which is current, for the arguments of a kernel that calls `tell`.
pub fn address(device: u32) context.Failure!u64 {
    if (records[device].load(.acquire)) |r| return @intFromPtr(r);
    making.lock();
    defer making.unlock();
    if (records[device].load(.acquire)) |r| return @intFromPtr(r);
    const cu = try context.functions();
    var memory: ?*anyopaque = null;
    try context.check(cu.MemHostAlloc(&memory, bytes, portable_and_mapped));
    const r: *volatile Record = @ptrCast(@alignCast(memory.?));
    r.* = std.mem.zeroes(Record);
    records[device].store(r, .release);
    return @intFromPtr(r);
}

/// After the device was waited for: 0, or `CudaStatus.fault` when a kernel told one.
pub fn code(device: u32) i32 {
    if (device >= context.max_devices) return 0;
    const r = records[device].load(.acquire) orelse return 0;
    if (@atomicLoad(u32, &r.state, .acquire) != Record.full) return 0;
    const found: [4]f64 = .{
        @floatFromInt(r.kind),
        @floatFromInt(r.numbers[0]),
        @floatFromInt(r.numbers[1]),
        @floatFromInt(r.numbers[2]),
    };
    // Of several threads that wait one fails.
    if (@cmpxchgStrong(u32, &r.state, Record.full, Record.empty, .acq_rel, .monotonic) != null) return 0;
    last = found;
    return abi_cuda.CudaStatus.fault;
}

/// The same, for callers inside the library.
pub fn check(device: u32) context.Failure!void {
    const found = code(device);
    if (found != 0) return context.fail(found);
}

pub fn zs_cuda_fault(to: *[4]f64) callconv(.c) void {
    to.* = last;
}
