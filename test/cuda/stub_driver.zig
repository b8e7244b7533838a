//! A stand-in for the CUDA driver library: one made-up device, or what ZENSOR_STUB_CUDA asks for.
const std = @import("std");

extern "c" fn getenv(name: [*:0]const u8) ?[*:0]const u8;

fn asked(mode: []const u8) bool {
    const text = getenv("ZENSOR_STUB_CUDA") orelse return false;
    return std.mem.eql(u8, std.mem.span(text), mode);
}

var initialised = false;
var contexts: i32 = 0;

export fn cuInit(flags: c_uint) c_int {
    if (asked("broken")) return 999;
    if (asked("no-device")) return 100;
    initialised = flags == 0;
    return if (initialised) 0 else 1;
}

export fn cuDriverGetVersion(version: *c_int) c_int {
    version.* = 12040;
    return 0;
}

export fn cuDeviceGetCount(count: *c_int) c_int {
    if (!initialised) return 3;
    count.* = if (asked("empty")) 0 else 1;
    return 0;
}

export fn cuDeviceGet(device: *c_int, ordinal: c_int) c_int {
    if (ordinal != 0) return 101;
    device.* = 7;
    return 0;
}

export fn cuDeviceGetName(name: [*]u8, length: c_int, device: c_int) c_int {
    if (device != 7) return 101;
    const text = "Zensor Stub GPU\x00";
    if (length < text.len) return 1;
    @memcpy(name[0..text.len], text);
    return 0;
}

export fn cuDeviceTotalMem_v2(bytes: *usize, device: c_int) c_int {
    if (device != 7) return 101;
    bytes.* = 6 << 30;
    return 0;
}

export fn cuDeviceGetAttribute(value: *c_int, attribute: c_int, device: c_int) c_int {
    if (device != 7) return 101;
    value.* = switch (attribute) {
        16 => 34,
        75 => 7,
        76 => 5,
        else => return 1,
    };
    return 0;
}

export fn cuGetErrorString(code: c_int, text: *?[*:0]const u8) c_int {
    text.* = switch (code) {
        1 => "invalid argument",
        100 => "no CUDA-capable device is detected",
        101 => "invalid device ordinal",
        700 => "an illegal memory access was encountered",
        999 => "unknown error",
        else => return 1,
    };
    return 0;
}

export fn cuDevicePrimaryCtxRetain(context: *?*anyopaque, device: c_int) c_int {
    if (device != 7) return 101;
    contexts += 1;
    context.* = @ptrFromInt(0x1000);
    return 0;
}

export fn cuDevicePrimaryCtxRelease_v2(device: c_int) c_int {
    if (device != 7 or contexts == 0) return 101;
    contexts -= 1;
    return 0;
}

export fn cuCtxPushCurrent_v2(context: ?*anyopaque) c_int {
    return if (@intFromPtr(context) == 0x1000) 0 else 201;
}

export fn cuCtxPopCurrent_v2(context: *?*anyopaque) c_int {
    context.* = @ptrFromInt(0x1000);
    return 0;
}

export fn cuCtxSynchronize() c_int {
    if (contexts != 1) return 201;
    return if (asked("fault")) 700 else 0;
}

export fn cuMemGetInfo_v2(free: *usize, total: *usize) c_int {
    free.* = 5 << 30;
    total.* = 6 << 30;
    return 0;
}
