//! Locks of the system's on directories: who writes in one holds it. The system takes a lock away from a process that
//! ends; a thread that ends, as that of a Worker that is terminated, gives its own back here.
const std = @import("std");
const builtin = @import("builtin");
const jb = @import("job.zig");

const c = std.c;
const posix_host = builtin.os.tag != .windows and builtin.os.tag != .wasi;

/// Descriptors of the locks that this thread holds; 0 is a free place.
threadlocal var held: [16]c_int = @splat(0);
threadlocal var watched = false;
var key: if (posix_host) c.pthread_key_t else void = undefined;
/// 0: no key yet, 1: somebody makes it, 2: there is one, 3: there is none to be had.
var key_state = std.atomic.Value(u8).init(0);

fn threadEnds(_: *anyopaque) callconv(.c) void {
    for (&held) |*fd| {
        if (fd.* > 0) _ = c.close(fd.*);
        fd.* = 0;
    }
}

/// Sees to it that this thread's locks end with it.
fn watch() void {
    if (watched) return;
    if (key_state.cmpxchgStrong(0, 1, .acquire, .monotonic) == null) {
        const made = c.pthread_key_create(&key, threadEnds) == .SUCCESS;
        key_state.store(if (made) 2 else 3, .release);
    }
    while (key_state.load(.acquire) == 1) std.atomic.spinLoopHint();
    if (key_state.load(.acquire) == 2) watched = c.pthread_setspecific(key, &held) == 0;
}

fn remember(fd: c_int) void {
    watch();
    for (&held) |*place| if (place.* == 0) {
        place.* = fd;
        return;
    };
}

/// Opens a directory and locks it, without waiting. Returns the descriptor that `zs_io_unlock` takes, or -errno:
/// EWOULDBLOCK (EAGAIN) when somebody else has it.
pub fn zs_io_lock(path: f64) callconv(.c) i32 {
    if (!posix_host) return @intFromFloat(jb.Status.unsupported);
    const address = jb.whole(path) orelse return -1;
    if (address == 0) return -1;
    const o: c.O = .{ .CLOEXEC = true, .DIRECTORY = true };
    const fd = c.open(@as([*:0]const u8, @ptrFromInt(address)), o, @as(c_uint, 0));
    if (fd < 0) return @intFromFloat(jb.lastError());
    while (c.flock(fd, c.LOCK.EX | c.LOCK.NB) != 0) {
        const code = jb.lastError();
        if (code == jb.errnoOf(.INTR)) continue;
        _ = c.close(fd);
        return @intFromFloat(code);
    }
    remember(fd);
    return fd;
}

/// Gives a lock back.
pub fn zs_io_unlock(fd: f64) callconv(.c) void {
    if (!posix_host) return;
    const number: c_int = @intCast(@min(jb.whole(fd) orelse return, std.math.maxInt(c_int)));
    for (&held) |*place| if (place.* == number and number > 0) {
        place.* = 0;
        _ = c.close(number);
        return;
    };
}

test "a directory has one lock, which ends with its thread" {
    if (!posix_host) return error.SkipZigTest;
    var name_buffer: [64]u8 = undefined;
    const name = try std.fmt.bufPrintZ(&name_buffer, "/tmp/zs-lock-test-{d}", .{c.getpid()});
    try std.testing.expectEqual(@as(c_int, 0), c.mkdir(name, 0o700));
    defer _ = c.rmdir(name);
    const at: f64 = @floatFromInt(@intFromPtr(name.ptr));
    const taken = struct {
        fn f(path: f64, fd: *i32) void {
            fd.* = zs_io_lock(path);
        }
    }.f;
    const first = zs_io_lock(at);
    try std.testing.expect(first > 0);
    try std.testing.expectEqual(@as(i32, @intFromFloat(jb.errnoOf(.AGAIN))), zs_io_lock(at));
    zs_io_unlock(@floatFromInt(first));
    var other: i32 = -1;
    const thread = try std.Thread.spawn(.{}, taken, .{ at, &other });
    thread.join();
    try std.testing.expect(other > 0);
    const again = zs_io_lock(at);
    try std.testing.expect(again > 0);
    zs_io_unlock(@floatFromInt(again));
}
