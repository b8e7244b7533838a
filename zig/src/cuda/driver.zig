//! CUDA through its driver library alone, which is looked for when somebody asks: nothing links it, so that the same
//! zensor runs with and without a GPU, and no toolkit is needed.
const std = @import("std");
const abi_cuda = @import("abi_cuda");
const builtin = @import("builtin");
const faults = @import("faults.zig");
const Library = @import("loader.zig").Library;

const Code = abi_cuda.CudaStatus;

/// The driver's result codes; 0 is success.
pub const Result = c_int;
pub const Device = c_int;
pub const Context = ?*anyopaque;
pub const Module = ?*anyopaque;
pub const Function = ?*anyopaque;
pub const Stream = ?*anyopaque;
pub const Event = ?*anyopaque;
/// An address in a device's memory.
pub const Pointer = u64;

pub const out_of_memory: Result = 2;

/// Memory of a device as other processes are told of it.
pub const IpcHandle = extern struct { bytes: [64]u8 };

/// What is used of the driver, by the names of its symbols without "cu".
pub const Functions = struct {
    Init: *const fn (flags: c_uint) callconv(.c) Result,
    DriverGetVersion: *const fn (version: *c_int) callconv(.c) Result,
    DeviceGetCount: *const fn (count: *c_int) callconv(.c) Result,
    DeviceGet: *const fn (device: *Device, ordinal: c_int) callconv(.c) Result,
    DeviceGetName: *const fn (name: [*]u8, length: c_int, device: Device) callconv(.c) Result,
    DeviceTotalMem_v2: *const fn (bytes: *usize, device: Device) callconv(.c) Result,
    DeviceGetAttribute: *const fn (value: *c_int, attribute: c_int, device: Device) callconv(.c) Result,
    GetErrorString: *const fn (code: Result, text: *?[*:0]const u8) callconv(.c) Result,
    DevicePrimaryCtxRetain: *const fn (context: *Context, device: Device) callconv(.c) Result,
    DevicePrimaryCtxRelease_v2: *const fn (device: Device) callconv(.c) Result,
    CtxPushCurrent_v2: *const fn (context: Context) callconv(.c) Result,
    CtxPopCurrent_v2: *const fn (context: *Context) callconv(.c) Result,
    CtxSynchronize: *const fn () callconv(.c) Result,
    MemGetInfo_v2: *const fn (free: *usize, total: *usize) callconv(.c) Result,
};

/// The same, for tensors.
pub const Work = struct {
    CtxSetCurrent: *const fn (context: Context) callconv(.c) Result,
    MemAlloc_v2: *const fn (pointer: *Pointer, bytes: usize) callconv(.c) Result,
    MemFree_v2: *const fn (pointer: Pointer) callconv(.c) Result,
    MemHostAlloc: *const fn (pointer: *?*anyopaque, bytes: usize, flags: c_uint) callconv(.c) Result,
    MemFreeHost: *const fn (pointer: *anyopaque) callconv(.c) Result,
    MemcpyHtoDAsync_v2: *const fn (to: Pointer, from: *const anyopaque, bytes: usize, s: Stream) callconv(.c) Result,
    MemcpyDtoHAsync_v2: *const fn (to: *anyopaque, from: Pointer, bytes: usize, s: Stream) callconv(.c) Result,
    MemcpyDtoDAsync_v2: *const fn (to: Pointer, from: Pointer, bytes: usize, s: Stream) callconv(.c) Result,
    MemcpyPeerAsync: *const fn (
        to: Pointer,
        to_context: Context,
        from: Pointer,
        from_context: Context,
        bytes: usize,
        s: Stream,
    ) callconv(.c) Result,
    MemsetD8Async: *const fn (to: Pointer, value: u8, count: usize, s: Stream) callconv(.c) Result,
    ModuleLoadDataEx: *const fn (
        module: *Module,
        image: [*:0]const u8,
        count: c_uint,
        options: ?[*]const c_uint,
        values: ?[*]?*anyopaque,
    ) callconv(.c) Result,
    ModuleGetFunction: *const fn (function: *Function, module: Module, name: [*:0]const u8) callconv(.c) Result,
    FuncSetAttribute: *const fn (function: Function, attribute: c_int, value: c_int) callconv(.c) Result,
    LaunchKernel: *const fn (
        function: Function,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        s: Stream,
        arguments: ?[*]const ?*const anyopaque,
        extra: ?[*]?*anyopaque,
    ) callconv(.c) Result,
    StreamCreateWithPriority: *const fn (s: *Stream, flags: c_uint, priority: c_int) callconv(.c) Result,
    StreamSynchronize: *const fn (s: Stream) callconv(.c) Result,
    StreamQuery: *const fn (s: Stream) callconv(.c) Result,
    StreamWaitEvent: *const fn (s: Stream, event: Event, flags: c_uint) callconv(.c) Result,
    EventCreate: *const fn (event: *Event, flags: c_uint) callconv(.c) Result,
    EventDestroy_v2: *const fn (event: Event) callconv(.c) Result,
    EventRecord: *const fn (event: Event, s: Stream) callconv(.c) Result,
    EventQuery: *const fn (event: Event) callconv(.c) Result,
    EventSynchronize: *const fn (event: Event) callconv(.c) Result,
    EventElapsedTime: *const fn (milliseconds: *f32, start: Event, end: Event) callconv(.c) Result,
    CtxGetStreamPriorityRange: *const fn (least: *c_int, greatest: *c_int) callconv(.c) Result,
    IpcGetMemHandle: *const fn (handle: *IpcHandle, pointer: Pointer) callconv(.c) Result,
    IpcOpenMemHandle_v2: *const fn (pointer: *Pointer, handle: IpcHandle, flags: c_uint) callconv(.c) Result,
    IpcCloseMemHandle: *const fn (pointer: Pointer) callconv(.c) Result,
    MemGetAddressRange_v2: *const fn (base: *Pointer, size: *usize, pointer: Pointer) callconv(.c) Result,
};

const default_names: []const [*:0]const u8 = switch (builtin.os.tag) {
    .windows => &.{"nvcuda.dll"},
    .linux => &.{ "libcuda.so.1", "libcuda.so" },
    else => &.{},
};

const State = enum(u32) { unknown, opening, open, failed };

var state: std.atomic.Value(State) = .init(.unknown);
var failure: i32 = Code.no_library;
var driver: Functions = undefined;
/// What tensors need; `.missing_function` at the first use when the driver lacks some of it.
var work_functions: Work = undefined;
var has_work = false;

fn open(path: ?[*:0]const u8) i32 {
    const found = if (path) |p| Library.open(p) else Library.open_first(default_names);
    const l = found orelse return Code.no_library;
    if (!l.bind(Functions, "cu", &driver)) {
        l.close();
        return Code.missing_function;
    }
    has_work = l.bind(Work, "cu", &work_functions);
    // From here on the library stays loaded: a driver that was initialised cannot be unloaded safely.
    return driver.Init(0);
}

/// Loads and initialises the driver once; `path` names another library than the usual one, null the usual one.
/// 0, a code of the driver, -1 without a library, -2 when the library lacks a function.
pub fn zs_cuda_open(path: ?[*:0]const u8) callconv(.c) i32 {
    while (true) switch (state.load(.acquire)) {
        .open => return 0,
        .failed => return failure,
        .opening => std.atomic.spinLoopHint(),
        .unknown => {
            if (state.cmpxchgStrong(.unknown, .opening, .acquire, .monotonic) != null) continue;
            failure = open(path);
            state.store(if (failure == 0) .open else .failed, .release);
        },
    };
}

/// The driver's codes are positive: below zero they are told from a value.
pub fn negative(result: i32) i32 {
    return if (result > 0) Code.driver_code - result else result;
}

fn is_open() bool {
    return state.load(.acquire) == .open;
}

/// What tensors are worked on with; null without a driver that can.
pub fn work() ?*const Work {
    return if (is_open() and has_work) &work_functions else null;
}

/// The driver's other functions; null without a driver.
pub fn queries() ?*const Functions {
    return if (is_open()) &driver else null;
}

/// The number of devices, or a negative code.
pub fn zs_cuda_device_count() callconv(.c) i32 {
    if (!is_open()) return Code.not_open;
    var count: c_int = 0;
    const result = driver.DeviceGetCount(&count);
    return if (result == 0) count else negative(result);
}

/// The driver's CUDA version as 1000 * major + 10 * minor, or a negative code.
pub fn zs_cuda_driver_version() callconv(.c) i32 {
    if (!is_open()) return Code.not_open;
    var version: c_int = 0;
    const result = driver.DriverGetVersion(&version);
    return if (result == 0) version else negative(result);
}

fn device_at(index: u32, device: *Device) i32 {
    if (!is_open()) return Code.not_open;
    // The driver takes a signed number; what does not fit it is an ordinal that does not exist.
    const ordinal = std.math.cast(c_int, index) orelse std.math.maxInt(c_int);
    return driver.DeviceGet(device, ordinal);
}

/// Writes the device's name, NUL-terminated.
pub fn zs_cuda_device_name(index: u32, to: [*]u8, capacity: u32) callconv(.c) i32 {
    if (capacity == 0) return Code.not_open;
    var device: Device = undefined;
    const result = device_at(index, &device);
    if (result != 0) return result;
    const length: c_int = @intCast(@min(capacity, 4096));
    const named = driver.DeviceGetName(to, length, device);
    to[@intCast(length - 1)] = 0;
    return named;
}

/// Bytes of memory that the device has, or a negative code.
pub fn zs_cuda_total_memory(index: u32) callconv(.c) f64 {
    var device: Device = undefined;
    var bytes: usize = 0;
    var result = device_at(index, &device);
    if (result == 0) result = driver.DeviceTotalMem_v2(&bytes, device);
    return if (result == 0) @floatFromInt(bytes) else @floatFromInt(negative(result));
}

/// A device attribute by the driver's number for it, or a negative code.
pub fn zs_cuda_attribute(index: u32, attribute: u32) callconv(.c) i32 {
    var device: Device = undefined;
    var value: c_int = 0;
    var result = device_at(index, &device);
    const number = std.math.cast(c_int, attribute) orelse std.math.maxInt(c_int);
    if (result == 0) result = driver.DeviceGetAttribute(&value, number, device);
    return if (result == 0) value else negative(result);
}

const Job = enum { synchronize, memory };

/// Runs a job inside the device's primary context, which other libraries in this process share.
fn in_context(index: u32, job: Job, numbers: [*]f64) i32 {
    var device: Device = undefined;
    var result = device_at(index, &device);
    if (result != 0) return result;
    var context: Context = null;
    result = driver.DevicePrimaryCtxRetain(&context, device);
    if (result != 0) return result;
    defer _ = driver.DevicePrimaryCtxRelease_v2(device);
    result = driver.CtxPushCurrent_v2(context);
    if (result != 0) return result;
    var free: usize = 0;
    var total: usize = 0;
    result = switch (job) {
        .synchronize => driver.CtxSynchronize(),
        .memory => driver.MemGetInfo_v2(&free, &total),
    };
    if (job == .memory) {
        numbers[0] = @floatFromInt(free);
        numbers[1] = @floatFromInt(total);
    }
    const popped = driver.CtxPopCurrent_v2(&context);
    return if (result != 0) result else popped;
}

/// Waits until the device has done all its work.
pub fn zs_cuda_synchronize(index: u32) callconv(.c) i32 {
    var nothing: [2]f64 = undefined;
    const result = in_context(index, .synchronize, &nothing);
    return if (result != 0) result else faults.code(index);
}

/// Writes free and total bytes of the device as two numbers.
pub fn zs_cuda_memory_info(index: u32, to: [*]f64) callconv(.c) i32 {
    return in_context(index, .memory, to);
}

/// The driver's sentence for one of its codes.
pub fn zs_cuda_error_text(code: i32) callconv(.c) [*:0]const u8 {
    const unknown = "unrecognized error code";
    if (!is_open() and failure <= 0) return unknown;
    var text: ?[*:0]const u8 = null;
    if (driver.GetErrorString(code, &text) != 0) return unknown;
    return text orelse unknown;
}

test "without a driver every question has an answer" {
    try std.testing.expectEqual(Code.no_library, zs_cuda_open("libzensor-no-such-driver.so.1"));
    try std.testing.expectEqual(Code.no_library, zs_cuda_open(null));
    try std.testing.expectEqual(Code.not_open, zs_cuda_device_count());
    try std.testing.expectEqual(Code.not_open, zs_cuda_driver_version());
    var name: [8]u8 = undefined;
    try std.testing.expectEqual(Code.not_open, zs_cuda_device_name(0, &name, name.len));
    try std.testing.expect(zs_cuda_total_memory(0) < 0);
    try std.testing.expectEqual(Code.not_open, zs_cuda_attribute(0, 75));
    try std.testing.expectEqual(Code.not_open, zs_cuda_synchronize(0));
    var numbers: [2]f64 = undefined;
    try std.testing.expectEqual(Code.not_open, zs_cuda_memory_info(0, &numbers));
    try std.testing.expect(std.mem.len(zs_cuda_error_text(2)) > 0);
}
