//! What all entry points share: one lock, devices with their primary contexts, and handles that are known by number.
const std = @import("std");
const memory = @import("memory.zig");
const report = @import("report.zig");
const settings = @import("settings.zig");
const Lock = @import("lock.zig").Lock;

pub const gpa = std.heap.c_allocator;

pub const Code = struct {
    pub const ok: c_int = 0;
    pub const invalid_value: c_int = 1;
    pub const out_of_memory: c_int = 2;
    pub const not_initialized: c_int = 3;
    pub const no_device: c_int = 100;
    pub const invalid_device: c_int = 101;
    pub const invalid_image: c_int = 200;
    pub const invalid_context: c_int = 201;
    pub const no_binary: c_int = 209;
    pub const peer_unsupported: c_int = 217;
    pub const invalid_ptx: c_int = 218;
    pub const unsupported_ptx: c_int = 222;
    pub const invalid_handle: c_int = 400;
    pub const not_found: c_int = 500;
    pub const not_ready: c_int = 600;
    pub const peer_enabled: c_int = 704;
    pub const context_destroyed: c_int = 709;
    pub const already_registered: c_int = 712;
    pub const not_registered: c_int = 713;
    pub const not_supported: c_int = 801;
};

pub const max_devices = 8;

pub const Context = struct {
    device: u32,
    references: u32 = 0,
    /// A kernel's fault that no synchronisation has told yet, and one that was told: then every call gives it.
    pending: c_int = 0,
    sticky: c_int = 0,
    peers: u32 = 0,
};

pub var lock: Lock = .{};
pub var initialised = false;
pub var contexts: [max_devices]Context = contexts: {
    var all: [max_devices]Context = undefined;
    for (&all, 0..) |*c, n| c.* = .{ .device = n };
    break :contexts all;
};

const max_depth = 32;
threadlocal var stack: [max_depth]*Context = undefined;
threadlocal var depth: usize = 0;

pub fn current() ?*Context {
    return if (depth == 0) null else stack[depth - 1];
}

pub fn push(c: *Context) bool {
    if (depth == max_depth) return false;
    stack[depth] = c;
    depth += 1;
    return true;
}

pub fn pop() ?*Context {
    if (depth == 0) return null;
    depth -= 1;
    return stack[depth];
}

pub fn set_current(c: ?*Context) void {
    if (depth > 0) depth -= 1;
    if (c) |some| _ = push(some);
}

/// The context of a handle that a program gives.
pub fn context_of(handle: ?*anyopaque) ?*Context {
    for (&contexts) |*c| if (@as(?*anyopaque, c) == handle) return c;
    return null;
}

/// What a call returns before it does anything: a device that is lost, a library that was not initialised.
pub fn begin() c_int {
    if (settings.current.lost != 0) {
        report.say("every call fails, as was asked for: the device is lost ({d})", .{settings.current.lost});
        return @intCast(settings.current.lost);
    }
    return if (initialised) 0 else Code.not_initialized;
}

/// The current context, or why there is none to work in.
pub fn enter(context: **Context) c_int {
    const code = begin();
    if (code != 0) return code;
    const c = current() orelse return Code.invalid_context;
    if (c.references == 0) return Code.context_destroyed;
    if (c.sticky != 0) return c.sticky;
    context.* = c;
    return 0;
}

/// Tells the fault of a kernel that ran before; from now on every call gives it.
pub fn synchronise(c: *Context) c_int {
    if (c.sticky == 0) c.sticky = c.pending;
    c.pending = 0;
    return c.sticky;
}

pub fn device_count() u32 {
    return @intCast(@min(settings.current.devices, max_devices));
}

pub fn is_device(device: c_int) bool {
    return device >= 0 and device < device_count();
}

pub const Kind = enum { module, function, stream, event, host, registered, ipc };

/// Live handles: what a program gives that is not among them was never made, or is gone.
var handles: std.AutoHashMapUnmanaged(u64, Kind) = .empty;

pub fn keep(handle: *const anyopaque, kind: Kind) bool {
    handles.put(gpa, @intFromPtr(handle), kind) catch return false;
    return true;
}

pub fn is(handle: ?*const anyopaque, kind: Kind) bool {
    return handles.get(@intFromPtr(handle)) == kind;
}

pub fn drop(handle: *const anyopaque) void {
    _ = handles.remove(@intFromPtr(handle));
}

/// Frees what a device's context holds when nobody retains it any more.
pub fn destroy(c: *Context) void {
    memory.free_all(c.device);
    c.* = .{ .device = c.device };
}
