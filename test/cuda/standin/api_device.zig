//! Entry points about the library, devices and contexts.
const std = @import("std");
const later = @import("later.zig");
const memory = @import("memory.zig");
const settings = @import("settings.zig");
const state = @import("state.zig");
const Code = state.Code;
const Context = state.Context;

const device_name = "zensor stand-in (emulated)";

export fn cuInit(flags: c_uint) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    if (flags != 0) return Code.invalid_value;
    if (settings.current.init_error != 0) return @intCast(settings.current.init_error);
    if (settings.current.lost != 0) return @intCast(settings.current.lost);
    if (settings.current.devices == 0) return Code.no_device;
    state.initialised = true;
    return 0;
}

export fn cuDriverGetVersion(version: ?*c_int) c_int {
    const to = version orelse return Code.invalid_value;
    to.* = @intCast(settings.current.version);
    return 0;
}

export fn cuDeviceGetCount(count: ?*c_int) c_int {
    const code = state.begin();
    if (code != 0) return code;
    const to = count orelse return Code.invalid_value;
    to.* = @intCast(state.device_count());
    return 0;
}

export fn cuDeviceGet(device: ?*c_int, ordinal: c_int) c_int {
    const code = state.begin();
    if (code != 0) return code;
    const to = device orelse return Code.invalid_value;
    if (!state.is_device(ordinal)) return Code.invalid_device;
    to.* = ordinal;
    return 0;
}

fn about(device: c_int) c_int {
    const code = state.begin();
    if (code != 0) return code;
    return if (state.is_device(device)) 0 else Code.invalid_device;
}

export fn cuDeviceGetName(name: ?[*]u8, length: c_int, device: c_int) c_int {
    const code = about(device);
    if (code != 0) return code;
    const to = name orelse return Code.invalid_value;
    if (length <= 0) return Code.invalid_value;
    const n = @min(device_name.len, @as(usize, @intCast(length)) - 1);
    @memcpy(to[0..n], device_name[0..n]);
    to[n] = 0;
    return 0;
}

export fn cuDeviceGetUuid_v2(uuid: ?*[16]u8, device: c_int) c_int {
    const code = about(device);
    if (code != 0) return code;
    const to = uuid orelse return Code.invalid_value;
    to.* = "zensor-standin-0".*;
    to[15] += @intCast(device);
    return 0;
}

export fn cuDeviceTotalMem_v2(bytes: ?*usize, device: c_int) c_int {
    const code = about(device);
    if (code != 0) return code;
    const to = bytes orelse return Code.invalid_value;
    to.* = settings.current.memory;
    return 0;
}

pub const max_shared = 48 << 10;

/// What a block may be given when its kernel asks for it, on devices of the generations 7.5, 8.0 and 9.0.
pub fn max_shared_opted() u32 {
    const capability = settings.current.capability;
    return if (capability < 80) 64 << 10 else if (capability < 90) 163 << 10 else 227 << 10;
}

/// Attributes by the driver's numbers; those that are not here are 0.
fn attribute_value(attribute: c_int) c_int {
    return switch (attribute) {
        1, 2, 3 => 1024,
        4 => 64,
        5 => std.math.maxInt(i32),
        6, 7 => 65535,
        8 => max_shared,
        9 => 65536,
        10 => 32,
        11 => std.math.maxInt(i32),
        12, 82 => 65536,
        13, 36 => 1_000_000,
        14 => 512,
        15, 19, 31, 41, 78, 95 => 1,
        16 => settings.processors,
        37 => 256,
        38 => 4 << 20,
        39 => 2048,
        40 => 2,
        75 => @intCast(settings.current.capability / 10),
        76 => @intCast(settings.current.capability % 10),
        81 => @intCast(max_shared_opted() + 1024),
        97 => @intCast(max_shared_opted()),
        106 => 32,
        111 => 1024,
        else => 0,
    };
}

export fn cuDeviceGetAttribute(value: ?*c_int, attribute: c_int, device: c_int) c_int {
    const code = about(device);
    if (code != 0) return code;
    const to = value orelse return Code.invalid_value;
    if (attribute < 1 or attribute > 160) return Code.invalid_value;
    to.* = attribute_value(attribute);
    return 0;
}

export fn cuDevicePrimaryCtxRetain(context: ?*?*anyopaque, device: c_int) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    const code = about(device);
    if (code != 0) return code;
    const to = context orelse return Code.invalid_value;
    const c = &state.contexts[@intCast(device)];
    c.references += 1;
    to.* = c;
    return 0;
}

export fn cuDevicePrimaryCtxRelease_v2(device: c_int) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    const code = about(device);
    if (code != 0) return code;
    const c = &state.contexts[@intCast(device)];
    if (c.references == 0) return Code.invalid_context;
    c.references -= 1;
    if (c.references == 0) state.destroy(c);
    return 0;
}

export fn cuDevicePrimaryCtxGetState(device: c_int, flags: ?*c_uint, active: ?*c_int) c_int {
    const code = about(device);
    if (code != 0) return code;
    const a = active orelse return Code.invalid_value;
    if (flags) |f| f.* = 0;
    a.* = @intFromBool(state.contexts[@intCast(device)].references > 0);
    return 0;
}

export fn cuDevicePrimaryCtxReset_v2(device: c_int) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    const code = about(device);
    if (code != 0) return code;
    const c = &state.contexts[@intCast(device)];
    const references = c.references;
    state.destroy(c);
    c.references = references;
    return 0;
}

export fn cuCtxSetCurrent(context: ?*anyopaque) c_int {
    const code = state.begin();
    if (code != 0) return code;
    if (context == null) {
        state.set_current(null);
        return 0;
    }
    const c = state.context_of(context) orelse return Code.invalid_context;
    if (c.references == 0) return Code.context_destroyed;
    state.set_current(c);
    return 0;
}

export fn cuCtxGetCurrent(context: ?*?*anyopaque) c_int {
    const code = state.begin();
    if (code != 0) return code;
    const to = context orelse return Code.invalid_value;
    to.* = state.current();
    return 0;
}

export fn cuCtxPushCurrent_v2(context: ?*anyopaque) c_int {
    const code = state.begin();
    if (code != 0) return code;
    const c = state.context_of(context) orelse return Code.invalid_context;
    if (c.references == 0) return Code.invalid_context;
    return if (state.push(c)) 0 else Code.invalid_value;
}

export fn cuCtxPopCurrent_v2(context: ?*?*anyopaque) c_int {
    const code = state.begin();
    if (code != 0) return code;
    const c = state.pop() orelse return Code.invalid_context;
    if (context) |to| to.* = c;
    return 0;
}

export fn cuCtxSynchronize() c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    later.finish_all();
    return state.synchronise(c);
}

export fn cuCtxGetDevice(device: ?*c_int) c_int {
    const code = state.begin();
    if (code != 0) return code;
    const to = device orelse return Code.invalid_value;
    const c = state.current() orelse return Code.invalid_context;
    to.* = @intCast(c.device);
    return 0;
}

export fn cuDeviceCanAccessPeer(can: ?*c_int, device: c_int, peer: c_int) c_int {
    const code = about(device);
    if (code != 0) return code;
    const to = can orelse return Code.invalid_value;
    if (!state.is_device(peer)) return Code.invalid_device;
    to.* = @intFromBool(device != peer);
    return 0;
}

export fn cuCtxEnablePeerAccess(peer: ?*anyopaque, flags: c_uint) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    if (flags != 0) return Code.invalid_value;
    const other = state.context_of(peer) orelse return Code.invalid_context;
    if (other == c) return Code.invalid_context;
    const bit = @as(u32, 1) << @intCast(other.device);
    if (c.peers & bit != 0) return Code.peer_enabled;
    c.peers |= bit;
    return 0;
}

export fn cuMemGetInfo_v2(free: ?*usize, total: ?*usize) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    if (free) |to| to.* = settings.current.memory -| memory.used(c.device);
    if (total) |to| to.* = settings.current.memory;
    return 0;
}
