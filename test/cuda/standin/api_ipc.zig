//! Entry points that share device memory between processes, on Linux: the first handle of an allocation moves its
//! pages, at their place, into a file without a name that other processes map.
const std = @import("std");
const builtin = @import("builtin");
const memory = @import("memory.zig");
const report = @import("report.zig");
const state = @import("state.zig");
const Code = state.Code;
const Context = state.Context;

const linux = builtin.os.tag == .linux;

extern "c" fn memfd_create(name: [*:0]const u8, flags: c_uint) c_int;
extern "c" fn ftruncate(fd: c_int, bytes: i64) c_int;
extern "c" fn mmap(at: ?*anyopaque, bytes: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) usize;
extern "c" fn open(path: [*:0]const u8, flags: c_int, ...) c_int;
extern "c" fn close(fd: c_int) c_int;
extern "c" fn getpid() c_int;

const read_write = 3;
const shared = 1;
const fixed = 16;
const close_on_exec: c_uint = 1;
const failed = std.math.maxInt(usize);

const magic = 0x7A73_6970_6331;

/// What the 64 bytes of a handle hold.
const Handle = extern struct { magic: u64, pid: c_int, fd: c_int, size: u64, room: u64, rest: [32]u8 };

comptime {
    std.debug.assert(@sizeOf(Handle) == 64);
}

/// Files of shared allocations, by address.
var files: std.AutoHashMapUnmanaged(u64, c_int) = .empty;

fn share(a: *const memory.Allocation) ?c_int {
    if (!linux) return null;
    if (files.get(a.base)) |fd| return fd;
    const fd = memfd_create("standin", close_on_exec);
    if (fd < 0) return null;
    const bytes = memory.host(a.base);
    if (ftruncate(fd, @intCast(a.room)) != 0) return given_up(fd);
    const other = mmap(null, a.room, read_write, shared, fd, 0);
    if (other == failed) return given_up(fd);
    const copy: [*]u8 = @ptrFromInt(other);
    @memcpy(copy[0..a.room], bytes[0..a.room]);
    const moved = mmap(bytes, a.room, read_write, shared | fixed, fd, 0);
    std.heap.page_allocator.rawFree(copy[0..a.room], .fromByteUnits(4096), 0);
    if (moved == failed) return given_up(fd);
    files.put(state.gpa, a.base, fd) catch return given_up(fd);
    return fd;
}

fn given_up(fd: c_int) ?c_int {
    _ = close(fd);
    return null;
}

export fn cuIpcGetMemHandle(handle: ?*align(1) Handle, pointer: u64) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    const to = handle orelse return Code.invalid_value;
    const a = memory.find(pointer) orelse return Code.invalid_value;
    if (a.of_module or a.imported) return Code.invalid_value;
    const fd = share(a) orelse return Code.not_supported;
    to.* = .{ .magic = magic, .pid = getpid(), .fd = fd, .size = a.size, .room = a.room, .rest = @splat(0) };
    return 0;
}

/// The handle comes by value, as the driver has it.
const Given = extern struct { bytes: [64]u8 };

export fn cuIpcOpenMemHandle_v2(pointer: ?*u64, handle: Given, flags: c_uint) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    const to = pointer orelse return Code.invalid_value;
    const h: Handle = @bitCast(handle.bytes);
    if (h.magic != magic or flags > 1) return Code.invalid_value;
    // As the driver has it: a handle is for other processes.
    if (!linux or h.pid == getpid()) return Code.invalid_context;
    var path: [64]u8 = undefined;
    const name = std.fmt.bufPrintZ(&path, "/proc/{d}/fd/{d}", .{ h.pid, h.fd }) catch return Code.invalid_value;
    const fd = open(name, 2);
    if (fd < 0) return Code.invalid_value;
    defer _ = close(fd);
    const at = mmap(null, h.room, read_write, shared, fd, 0);
    if (at == failed) return Code.out_of_memory;
    to.* = memory.import(at, h.size, h.room, c.device) orelse return Code.out_of_memory;
    return 0;
}

export fn cuIpcCloseMemHandle(pointer: u64) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    const a = memory.find(pointer) orelse return Code.invalid_value;
    if (a.base != pointer or !a.imported) return Code.invalid_value;
    _ = memory.free(pointer);
    return 0;
}

/// Closes the file of an allocation that is freed.
pub fn forget(base: u64) void {
    const found = files.fetchRemove(base) orelse return;
    _ = close(found.value);
}
