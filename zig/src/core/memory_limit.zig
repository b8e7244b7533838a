//! How much memory this process may have: the machine's, its container's or its own limit, whichever is least.
const std = @import("std");
const builtin = @import("builtin");

const unlimited = std.math.maxInt(usize);

/// Bytes, or the largest number where nothing is known.
pub fn total() usize {
    return switch (builtin.os.tag) {
        .linux => linuxTotal(),
        .macos, .ios => macTotal(),
        .windows => windowsTotal(),
        else => unlimited,
    };
}

fn linuxTotal() usize {
    var least: usize = unlimited;
    var info: std.os.linux.Sysinfo = undefined;
    if (std.os.linux.sysinfo(&info) == 0) least = @as(usize, info.totalram) *| info.mem_unit;
    for ([_]std.os.linux.rlimit_resource{ .AS, .DATA }) |resource| {
        var limit: std.os.linux.rlimit = undefined;
        if (std.os.linux.getrlimit(resource, &limit) == 0) least = @min(least, limit.cur);
    }
    var text: [4096]u8 = undefined;
    return @min(least, containerLimit(read("/proc/self/cgroup", &text) orelse return least));
}

/// The least limit of the control groups that /proc/self/cgroup names, and of those that they are in.
fn containerLimit(groups: []const u8) usize {
    var least: usize = unlimited;
    var lines = std.mem.splitScalar(u8, groups, '\n');
    while (lines.next()) |line| {
        var fields = std.mem.splitScalar(u8, line, ':');
        _ = fields.next() orelse continue;
        const controllers = fields.next() orelse continue;
        const path = fields.rest();
        if (controllers.len == 0) {
            least = @min(least, groupLimit("/sys/fs/cgroup", path, "memory.max"));
        } else if (std.mem.eql(u8, controllers, "memory")) {
            least = @min(least, groupLimit("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
        }
    }
    return least;
}

fn groupLimit(mount: []const u8, path: []const u8, file: []const u8) usize {
    var least: usize = unlimited;
    // Within a container the path may be one of the machine's, which is not there: its parents end at the mount.
    var group = std.mem.trimEnd(u8, path, "/");
    while (true) {
        var name: [1024]u8 = undefined;
        var text: [64]u8 = undefined;
        const full = std.fmt.bufPrintZ(&name, "{s}{s}/{s}", .{ mount, group, file }) catch return least;
        if (read(full, &text)) |limit| least = @min(least, parse(limit));
        group = group[0 .. std.mem.lastIndexOfScalar(u8, group, '/') orelse return least];
    }
}

fn parse(text: []const u8) usize {
    return std.fmt.parseInt(usize, std.mem.trim(u8, text, " \n"), 10) catch unlimited;
}

fn read(path: [*:0]const u8, buffer: []u8) ?[]u8 {
    const linux = std.os.linux;
    const opened = linux.open(path, .{ .ACCMODE = .RDONLY, .CLOEXEC = true }, 0);
    if (linux.errno(opened) != .SUCCESS) return null;
    defer _ = linux.close(@intCast(opened));
    const n = linux.read(@intCast(opened), buffer.ptr, buffer.len);
    return if (linux.errno(n) == .SUCCESS) buffer[0..n] else null;
}

fn macTotal() usize {
    var bytes: u64 = 0;
    var size: usize = @sizeOf(u64);
    if (std.c.sysctlbyname("hw.memsize", &bytes, &size, null, 0) != 0) return unlimited;
    return bytes;
}

fn windowsTotal() usize {
    var kilobytes: u64 = 0;
    if (GetPhysicallyInstalledSystemMemory(&kilobytes) == 0) return unlimited;
    return kilobytes *| 1024;
}
extern "kernel32" fn GetPhysicallyInstalledSystemMemory(kilobytes: *u64) callconv(.winapi) c_int;

test "a machine has memory" {
    if (builtin.os.tag != .linux) return;
    try std.testing.expect(total() > 1 << 20);
    try std.testing.expect(total() < 1 << 50);
}

test "limits are numbers or none" {
    try std.testing.expectEqual(4096, parse("4096\n"));
    try std.testing.expectEqual(unlimited, parse("max\n"));
    if (builtin.os.tag == .linux) try std.testing.expectEqual(unlimited, containerLimit("0::/no/such/group\nx\n"));
}
