//! Names of files and directories that change hands in one step: a name that nothing has is taken, or two are
//! exchanged. What the C library's rename does, to replace whatever is there, others have already.
const std = @import("std");
const builtin = @import("builtin");
const jb = @import("job.zig");

const c = std.c;

/// The names are exchanged; otherwise the new one must not exist.
const exchange = 2;

const darwin = struct {
    extern "c" fn renamex_np(from: [*:0]const u8, to: [*:0]const u8, flags: c_uint) c_int;
};

/// Gives what is at one path the name of another: 0 only when nothing has that, `exchange` lets both trade names.
/// Returns 0, -errno, or `unsupported` where the system has no such call.
pub fn zs_io_rename(from: f64, to: f64, how: f64) callconv(.c) i32 {
    const unsupported: i32 = @intFromFloat(jb.Status.unsupported);
    const addresses = [2]usize{ jb.whole(from) orelse 0, jb.whole(to) orelse 0 };
    if (addresses[0] == 0 or addresses[1] == 0) return -1;
    const old: [*:0]const u8 = @ptrFromInt(addresses[0]);
    const new: [*:0]const u8 = @ptrFromInt(addresses[1]);
    const trades = how == exchange;
    switch (builtin.os.tag) {
        .linux => {
            const linux = std.os.linux;
            const here: usize = @bitCast(@as(isize, linux.AT.FDCWD));
            // By its number: C libraries had no function of this name before glibc 2.28 and musl 1.2.6.
            const flags: usize = if (trades) 2 else 1;
            const result = linux.syscall5(.renameat2, here, @intFromPtr(old), here, @intFromPtr(new), flags);
            return -@as(i32, @intFromEnum(linux.errno(result)));
        },
        .macos => {
            if (darwin.renamex_np(old, new, if (trades) 2 else 4) == 0) return 0;
            return -@as(i32, @intCast(c._errno().*));
        },
        else => return unsupported,
    }
}

test "a name is taken once, and two names are exchanged" {
    if (builtin.os.tag != .linux) return error.SkipZigTest;
    var buffers: [3][64]u8 = undefined;
    var names: [3][:0]u8 = undefined;
    var at: [3]f64 = undefined;
    for (&buffers, 0..) |*buffer, i| {
        names[i] = try std.fmt.bufPrintZ(buffer, "/tmp/zs-name-test-{d}-{d}", .{ c.getpid(), i });
        at[i] = @floatFromInt(@intFromPtr(names[i].ptr));
    }
    defer for (names) |name| {
        _ = c.rmdir(name);
    };
    for (names[0..2]) |name| try std.testing.expectEqual(@as(c_int, 0), c.mkdir(name, 0o700));
    const exists: i32 = @intFromFloat(jb.errnoOf(.EXIST));
    const missing: i32 = @intFromFloat(jb.errnoOf(.NOENT));
    try std.testing.expectEqual(exists, zs_io_rename(at[0], at[1], 0));
    try std.testing.expectEqual(missing, zs_io_rename(at[0], at[2], exchange));
    try std.testing.expectEqual(@as(i32, 0), zs_io_rename(at[0], at[1], exchange));
    try std.testing.expectEqual(@as(i32, 0), zs_io_rename(at[0], at[2], 0));
    try std.testing.expectEqual(missing, zs_io_rename(at[0], at[2], 0));
}
