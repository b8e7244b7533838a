//! Owners of mappings, and files that lose pages while they are mapped.
const std = @import("std");
const builtin = @import("builtin");
const mappings = @import("mappings.zig");

const c = std.c;

test "a mapping has as many owners as were added" {
    if (builtin.os.tag == .windows or builtin.os.tag == .wasi) return error.SkipZigTest;
    const length = std.heap.pageSize();
    const m: c.MAP = .{ .TYPE = .PRIVATE, .ANONYMOUS = true };
    const mapped = c.mmap(null, length, .{ .READ = true, .WRITE = true }, m, -1, 0);
    try std.testing.expect(mapped != c.MAP_FAILED);
    const start = @intFromPtr(mapped);
    const before = mappings.maps();
    mappings.add(start, length, 0, null, -1);
    try std.testing.expect(mappings.keep(start));
    try std.testing.expectEqual(@as(i32, 0), mappings.drop(start, length));
    @as(*u8, @ptrCast(mapped)).* = 1;
    try std.testing.expectEqual(@as(i32, 0), mappings.drop(start, length));
    try std.testing.expectEqual(before, mappings.maps());
    try std.testing.expect(!mappings.keep(start));
}

test "a file that shrinks gives zeros and its path" {
    if (builtin.os.tag != .linux and !builtin.os.tag.isDarwin()) return error.SkipZigTest;
    var buffer: [64]u8 = undefined;
    const name = try std.fmt.bufPrintZ(&buffer, "/tmp/zs-shrink-test-{d}", .{c.getpid()});
    defer _ = c.unlink(name);
    const fd = c.open(name, .{ .ACCMODE = .RDWR, .CREAT = true }, @as(c_uint, 0o600));
    try std.testing.expect(fd >= 0);
    defer _ = c.close(fd);
    const length = 4 * std.heap.pageSize();
    try std.testing.expectEqual(@as(c_int, 0), c.ftruncate(fd, @intCast(length)));
    const mapped = c.mmap(null, length, .{ .READ = true, .WRITE = true }, .{ .TYPE = .SHARED }, fd, 0);
    const start = @intFromPtr(mapped);
    mappings.add(start, length, 0, name, -1);
    defer _ = mappings.drop(start, length);
    const view: [*]volatile u8 = @ptrCast(mapped);
    view[0] = 7;
    try std.testing.expectEqual(@as(c_int, 0), c.ftruncate(fd, 1));
    try std.testing.expectEqual(@as(u8, 0), view[length - 1]);
    try std.testing.expect(mappings.faulted());
    const fault = mappings.take().?;
    try std.testing.expectEqualStrings(name, std.mem.span(fault.path));
    try std.testing.expect(fault.shorter);
    try std.testing.expect(mappings.take() == null);
    try std.testing.expectEqual(@as(u8, 7), view[0]);
    if (builtin.os.tag != .linux) return;
    // The file again: it still lacks the page, and then it has it.
    try std.testing.expectEqual(@as(u8, 0), view[length - 1]);
    try std.testing.expect(mappings.take() != null);
    try std.testing.expectEqual(@as(c_int, 0), c.ftruncate(fd, @intCast(length)));
    view[length - 1] = 5;
    try std.testing.expect(mappings.take() == null);
    var last: [1]u8 = undefined;
    try std.testing.expectEqual(@as(isize, 1), c.pread(fd, &last, 1, @intCast(length - 1)));
    try std.testing.expectEqual(@as(u8, 5), last[0]);
}

test "pages that cannot be put aside fail at every use" {
    if (builtin.os.tag != .linux) return error.SkipZigTest;
    var buffer: [64]u8 = undefined;
    const name = try std.fmt.bufPrintZ(&buffer, "/tmp/zs-lost-test-{d}", .{c.getpid()});
    defer _ = c.unlink(name);
    const fd = c.open(name, .{ .ACCMODE = .RDWR, .CREAT = true }, @as(c_uint, 0o600));
    try std.testing.expect(fd >= 0);
    defer _ = c.close(fd);
    const length = 2 * std.heap.pageSize();
    try std.testing.expectEqual(@as(c_int, 0), c.ftruncate(fd, @intCast(length)));
    // More than there are places for.
    var views: [mappings.most_tails + 2][*]volatile u8 = undefined;
    for (&views) |*view| {
        const mapped = c.mmap(null, length, .{ .READ = true, .WRITE = true }, .{ .TYPE = .SHARED }, fd, 0);
        try std.testing.expect(mapped != c.MAP_FAILED);
        view.* = @ptrCast(mapped);
        mappings.add(@intFromPtr(mapped), length, 0, name, -1);
    }
    defer for (views) |view| {
        _ = mappings.drop(@intFromPtr(view), length);
    };
    try std.testing.expectEqual(@as(c_int, 0), c.ftruncate(fd, 1));
    for (views) |view| view[length - 1] = 3;
    try std.testing.expect(mappings.take() != null);
    try std.testing.expectEqual(@as(c_int, 0), c.ftruncate(fd, @intCast(length)));
    for (views, 0..) |view, i| {
        try std.testing.expectEqual(@as(u8, 0), view[length - 1]);
        try std.testing.expectEqual(i >= mappings.most_tails, mappings.take() != null);
    }
    // The pages before them are still the file's.
    views[views.len - 1][0] = 9;
    try std.testing.expectEqual(@as(u8, 9), views[0][0]);
    try std.testing.expect(mappings.take() == null);
}
