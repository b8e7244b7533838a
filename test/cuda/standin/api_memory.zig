//! Entry points that allocate, copy and fill memory.
const std = @import("std");
const later = @import("later.zig");
const memory = @import("memory.zig");
const report = @import("report.zig");
const settings = @import("settings.zig");
const state = @import("state.zig");
const streams = @import("api_stream.zig");
const Code = state.Code;
const Context = state.Context;

const gpa = state.gpa;

/// The code of an allocation that was asked to fail, or that has no room.
fn refuses(c: *const Context, bytes: usize) bool {
    const s = &settings.current;
    if (s.out_of_memory) return true;
    if (s.allocations_left != settings.none) {
        if (s.allocations_left == 0) return true;
        s.allocations_left -= 1;
    }
    const used = memory.used(c.device);
    return bytes > @min(s.memory, s.bytes_limit) -| used;
}

export fn cuMemAlloc_v2(pointer: ?*u64, bytes: usize) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    const to = pointer orelse return Code.invalid_value;
    if (bytes == 0) return Code.invalid_value;
    if (refuses(c, bytes)) {
        report.say("cuMemAlloc of {d} bytes: out of memory, {d} bytes are used", .{ bytes, memory.used(c.device) });
        return Code.out_of_memory;
    }
    to.* = memory.allocate(bytes, c.device) orelse return Code.out_of_memory;
    return 0;
}

export fn cuMemFree_v2(pointer: u64) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    if (pointer == 0) return 0;
    const a = memory.find(pointer) orelse return wrong(pointer, "cuMemFree");
    if (a.base != pointer or a.of_module or a.imported) return wrong(pointer, "cuMemFree");
    later.finish_all();
    _ = memory.free(pointer);
    return 0;
}

/// An address that is no allocation's, told in words.
fn wrong(address: u64, call: []const u8) c_int {
    var buffer: [200]u8 = undefined;
    report.say("{s} of 0x{x}: {s}", .{ call, address, memory.describe(address, &buffer) });
    return Code.invalid_value;
}

export fn cuMemGetAddressRange_v2(base: ?*u64, size: ?*usize, pointer: u64) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    const a = memory.find(pointer) orelse return Code.not_found;
    if (base) |to| to.* = a.base;
    if (size) |to| to.* = a.size;
    return 0;
}

const Hosts = std.AutoHashMapUnmanaged(u64, usize);
/// Sizes of pinned and of registered host memory, by address.
var pinned: Hosts = .empty;
var registered: Hosts = .empty;

export fn cuMemHostAlloc(pointer: ?*?*anyopaque, bytes: usize, flags: c_uint) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    const to = pointer orelse return Code.invalid_value;
    if (bytes == 0 or flags > 7) return Code.invalid_value;
    if (settings.current.out_of_memory) return Code.out_of_memory;
    const room = gpa.alignedAlloc(u8, .fromByteUnits(4096), bytes) catch return Code.out_of_memory;
    pinned.put(gpa, @intFromPtr(room.ptr), bytes) catch {
        gpa.free(room);
        return Code.out_of_memory;
    };
    report.count("host_allocations", 1);
    to.* = room.ptr;
    return 0;
}

export fn cuMemFreeHost(pointer: ?*anyopaque) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    later.finish_all();
    const found = pinned.fetchRemove(@intFromPtr(pointer)) orelse return Code.invalid_value;
    const room: [*]align(4096) u8 = @ptrFromInt(found.key);
    gpa.free(room[0..found.value]);
    report.uncount("host_allocations", 1);
    return 0;
}

export fn cuMemHostRegister_v2(pointer: ?*anyopaque, bytes: usize, flags: c_uint) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    if (pointer == null or bytes == 0 or flags > 15) return Code.invalid_value;
    const found = registered.getOrPut(gpa, @intFromPtr(pointer)) catch return Code.out_of_memory;
    if (found.found_existing) return Code.already_registered;
    found.value_ptr.* = bytes;
    return 0;
}

export fn cuMemHostUnregister(pointer: ?*anyopaque) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    if (pointer == null) return Code.invalid_value;
    return if (registered.remove(@intFromPtr(pointer))) 0 else Code.not_registered;
}

/// Pinned memory has one address for the host and for kernels, which run while nobody allocates.
pub fn pinned_at(at: u64, bytes: u32) ?[*]u8 {
    var each = pinned.iterator();
    while (each.next()) |e| {
        const base = e.key_ptr.*;
        if (at >= base and at - base < e.value_ptr.* and bytes <= e.value_ptr.* - (at - base)) return @ptrFromInt(at);
    }
    return null;
}

fn host_range(pointer: u64) ?struct { base: u64, size: u64 } {
    for ([_]*const Hosts{ &pinned, &registered }) |list| {
        var each = list.iterator();
        while (each.next()) |e| {
            const base = e.key_ptr.*;
            if (pointer >= base and pointer - base < e.value_ptr.*) return .{ .base = base, .size = e.value_ptr.* };
        }
    }
    return null;
}

fn put(to: *anyopaque, value: anytype) void {
    @as(*align(1) @TypeOf(value), @ptrCast(to)).* = value;
}

export fn cuPointerGetAttribute(data: ?*anyopaque, attribute: c_int, pointer: u64) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    const code = state.begin();
    if (code != 0) return code;
    const to = data orelse return Code.invalid_value;
    const device: ?*memory.Allocation = memory.find(pointer);
    const host = host_range(pointer);
    if (device == null and host == null) return Code.invalid_value;
    const base = if (device) |a| a.base else host.?.base;
    const size = if (device) |a| a.size else host.?.size;
    switch (attribute) {
        1 => put(to, @as(?*anyopaque, &state.contexts[if (device) |a| a.device else 0])),
        2 => put(to, @as(c_uint, if (device != null) 2 else 1)),
        3 => put(to, pointer),
        4 => if (device != null) return Code.invalid_value else put(to, pointer),
        7 => put(to, base),
        8 => put(to, @as(c_int, 0)),
        9 => put(to, @as(c_int, if (device) |a| @intCast(a.device) else 0)),
        11 => put(to, base),
        12 => put(to, @as(u64, size)),
        else => return Code.invalid_value,
    }
    return 0;
}

const Way = enum { to_device, to_host, on_device };

/// Checks and does one copy; those that wait tell what kernels before them did.
fn copy(way: Way, to: u64, from: u64, bytes: usize, stream: ?*anyopaque, waits: bool) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    var code = state.enter(&c);
    if (code != 0) return code;
    if (!streams.valid(stream)) return Code.invalid_handle;
    if (waits) {
        later.finish(c, null);
        code = state.synchronise(c);
        if (code != 0) return code;
    }
    if (bytes == 0) return 0;
    if (to == 0 or from == 0) return Code.invalid_value;
    const target_device = way != .to_host;
    const source_device = way != .to_device;
    if (target_device and !memory.holds(to, bytes)) return wrong(to, "a copy to device memory");
    if (source_device and !memory.holds(from, bytes)) return wrong(from, "a copy from device memory");
    if (!target_device and to >= memory.tag) return wrong(to, "a copy to host memory");
    if (!source_device and from >= memory.tag) return wrong(from, "a copy from host memory");
    const t: [*]u8 = if (target_device) memory.host(to) else @ptrFromInt(to);
    const f: [*]const u8 = if (source_device) memory.host(from) else @ptrFromInt(from);
    report.count("copies", 1);
    report.count("copied_bytes", bytes);
    const move: Move = .{ .to = t, .from = f, .bytes = bytes };
    if (waits or !settings.current.later) {
        move.run(c);
    } else if (way == .to_device and host_range(from) == null) {
        // As the driver does it: memory that is not pinned is read before the call returns.
        const staged = gpa.dupe(u8, f[0..bytes]) catch return Code.out_of_memory;
        const kept: Move = .{ .to = t, .from = staged.ptr, .bytes = bytes, .owned = true };
        later.give(c, stream, Move.kept, std.mem.asBytes(&kept));
    } else if (way == .to_host and host_range(to) == null) {
        later.finish(c, stream);
        move.run(c);
    } else later.give(c, stream, Move.kept, std.mem.asBytes(&move));
    return 0;
}

const Move = struct {
    to: [*]u8,
    from: [*]const u8,
    bytes: usize,
    owned: bool = false,

    fn run(m: Move, c: *Context) void {
        // After a kernel's fault nothing runs any more until somebody is told.
        if (c.pending == 0) @memmove(m.to[0..m.bytes], m.from[0..m.bytes]);
        if (m.owned) gpa.free(m.from[0..m.bytes]);
    }

    fn kept(c: *Context, data: []const u8) void {
        std.mem.bytesToValue(Move, data[0..@sizeOf(Move)]).run(c);
    }
};

export fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) c_int {
    return copy(.to_device, to, from, bytes, null, true);
}

export fn cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) c_int {
    return copy(.to_host, to, from, bytes, null, true);
}

export fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) c_int {
    return copy(.on_device, to, from, bytes, null, false);
}

export fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: ?*anyopaque) c_int {
    return copy(.to_device, to, from, bytes, stream, false);
}

export fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: ?*anyopaque) c_int {
    return copy(.to_host, to, from, bytes, stream, false);
}

export fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: ?*anyopaque) c_int {
    return copy(.on_device, to, from, bytes, stream, false);
}

export fn cuMemcpyPeerAsync(
    to: u64,
    to_context: ?*anyopaque,
    from: u64,
    from_context: ?*anyopaque,
    bytes: usize,
    stream: ?*anyopaque,
) c_int {
    const t = state.context_of(to_context) orelse return Code.invalid_context;
    const f = state.context_of(from_context) orelse return Code.invalid_context;
    {
        state.lock.lock();
        defer state.lock.unlock();
        if (bytes > 0) {
            const a = memory.find(to) orelse return wrong(to, "cuMemcpyPeerAsync");
            const b = memory.find(from) orelse return wrong(from, "cuMemcpyPeerAsync");
            if (a.device != t.device or b.device != f.device) return Code.invalid_value;
        }
    }
    return copy(.on_device, to, from, bytes, stream, false);
}

fn fill(comptime T: type, to: u64, value: T, count: usize, stream: ?*anyopaque) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    if (!streams.valid(stream)) return Code.invalid_handle;
    if (count == 0) return 0;
    const bytes = std.math.mul(usize, count, @sizeOf(T)) catch return Code.invalid_value;
    if (to % @sizeOf(T) != 0) return Code.invalid_value;
    if (!memory.holds(to, bytes)) return wrong(to, "a fill of device memory");
    const items: [*]T = @ptrCast(@alignCast(memory.host(to)));
    const Fill = struct {
        items: []T,
        value: T,

        fn run(context: *Context, data: []const u8) void {
            const f = std.mem.bytesToValue(@This(), data[0..@sizeOf(@This())]);
            if (context.pending == 0) @memset(f.items, f.value);
        }
    };
    later.give(c, stream, Fill.run, std.mem.asBytes(&Fill{ .items = items[0..count], .value = value }));
    return 0;
}

export fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: ?*anyopaque) c_int {
    return fill(u8, to, value, count, stream);
}

export fn cuMemsetD8_v2(to: u64, value: u8, count: usize) c_int {
    return fill(u8, to, value, count, null);
}

export fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: ?*anyopaque) c_int {
    return fill(u16, to, value, count, stream);
}

export fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: ?*anyopaque) c_int {
    return fill(u32, to, value, count, stream);
}

export fn cuMemsetD32_v2(to: u64, value: u32, count: usize) c_int {
    return fill(u32, to, value, count, null);
}
