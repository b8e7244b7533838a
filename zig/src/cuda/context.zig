//! A device as tensors use it: its primary context, taken at the first use and shared with other libraries of the
//! process, and what has to be known of it.
const std = @import("std");
const abi_cuda = @import("abi_cuda");
const driver = @import("driver.zig");
const Lock = @import("lock.zig").Lock;

pub const max_devices = 32;

const attribute_multiprocessors = 16;
const attribute_major = 75;
const attribute_minor = 76;

pub const Device = struct {
    index: u32,
    handle: driver.Device,
    context: driver.Context,
    multiprocessors: u32,
    /// 80 for 8.0.
    capability: u32,
    /// Whether the driver reads PTX 8.0, which kernels for one kind of device are written in.
    is_recent: bool,
};

var devices: [max_devices]Device = undefined;
var ready: [max_devices]std.atomic.Value(bool) = @splat(.init(false));
var opening: Lock = .{};

/// An error of the driver, or a code of abi_cuda.CudaStatus.
pub const Failure = error{Cuda};

/// The code behind the last `error.Cuda` of this thread.
pub threadlocal var code: i32 = 0;

pub fn fail(result: i32) Failure {
    code = result;
    return error.Cuda;
}

pub fn check(result: driver.Result) Failure!void {
    if (result != 0) return fail(driver.negative(result));
}

/// The functions, once the driver is open.
pub fn functions() Failure!*const driver.Work {
    return driver.work() orelse fail(abi_cuda.CudaStatus.missing_function);
}

/// Makes a device the current one of this thread.
pub fn use(index: u32) Failure!*Device {
    const cu = try functions();
    if (index >= max_devices) return fail(abi_cuda.CudaStatus.not_open);
    if (!ready[index].load(.acquire)) try retain(index);
    const d = &devices[index];
    try check(cu.CtxSetCurrent(d.context));
    return d;
}

fn retain(index: u32) Failure!void {
    opening.lock();
    defer opening.unlock();
    if (ready[index].load(.acquire)) return;
    const q = driver.queries() orelse return fail(abi_cuda.CudaStatus.not_open);
    var d: Device = .{
        .index = index,
        .handle = 0,
        .context = null,
        .multiprocessors = 1,
        .capability = 0,
        .is_recent = false,
    };
    try check(q.DeviceGet(&d.handle, @intCast(index)));
    try check(q.DevicePrimaryCtxRetain(&d.context, d.handle));
    var count: c_int = 1;
    try check(q.DeviceGetAttribute(&count, attribute_multiprocessors, d.handle));
    d.multiprocessors = @intCast(@max(1, count));
    var numbers: [2]c_int = @splat(0);
    try check(q.DeviceGetAttribute(&numbers[0], attribute_major, d.handle));
    try check(q.DeviceGetAttribute(&numbers[1], attribute_minor, d.handle));
    d.capability = @intCast(@max(0, numbers[0] * 10 + numbers[1]));
    var version: c_int = 0;
    try check(q.DriverGetVersion(&version));
    d.is_recent = version >= 12000;
    devices[index] = d;
    ready[index].store(true, .release);
}

/// Whether a device was used yet.
pub fn is_used(index: u32) bool {
    return index < max_devices and ready[index].load(.acquire);
}
