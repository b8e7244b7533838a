//! A tool of the build: gives GPU kernels their exported names. Zig exports a function as an alias of one with a
//! private name, but PTX knows no aliases of kernels. So the alias goes, and the function takes its name.
//!
//! Usage: name_kernels <in.ll> <out.ll>
const std = @import("std");

const max_bytes = 64 << 20;

pub fn main(init: std.process.Init) !void {
    const allocator = init.arena.allocator();
    const args = try init.minimal.args.toSlice(allocator);
    if (args.len != 3) return error.TwoFilesAreNeeded;
    const cwd = std.Io.Dir.cwd();
    const text = try cwd.readFileAlloc(init.io, args[1], allocator, .limited(max_bytes));
    try cwd.writeFile(init.io, .{ .sub_path = args[2], .data = try rename(allocator, text) });
}

/// The length of the global name at the start of a text, `@name` or `@"any text"`; 0 when there is none.
fn name_length(text: []const u8) usize {
    if (text.len < 2 or text[0] != '@') return 0;
    if (text[1] == '"') {
        const end = std.mem.indexOfScalarPos(u8, text, 2, '"') orelse return 0;
        return end + 1;
    }
    var n: usize = 1;
    while (n < text.len) : (n += 1) {
        if (!std.ascii.isAlphanumeric(text[n]) and std.mem.indexOfScalar(u8, "_.$-", text[n]) == null) break;
    }
    return n;
}

fn is_alias(line: []const u8) bool {
    return name_length(line) > 0 and std.mem.indexOf(u8, line, " alias ") != null;
}

/// Exported names by the private names that they stand for.
fn aliases(allocator: std.mem.Allocator, text: []const u8) !std.StringHashMapUnmanaged([]const u8) {
    var found: std.StringHashMapUnmanaged([]const u8) = .empty;
    var lines = std.mem.splitScalar(u8, text, '\n');
    while (lines.next()) |line| {
        if (!is_alias(line)) continue;
        const at = std.mem.lastIndexOf(u8, line, "ptr @") orelse return error.UnknownAlias;
        const target = line[at + 4 ..];
        try found.put(allocator, target[0..name_length(target)], line[0..name_length(line)]);
    }
    return found;
}

pub fn rename(allocator: std.mem.Allocator, text: []const u8) ![]const u8 {
    var names = try aliases(allocator, text);
    defer names.deinit(allocator);
    var out: std.ArrayList(u8) = .empty;
    errdefer out.deinit(allocator);
    var lines = std.mem.splitScalar(u8, text, '\n');
    while (lines.next()) |line| {
        if (is_alias(line)) continue;
        var rest = line;
        const kernel = "define private ptx_kernel ";
        if (std.mem.startsWith(u8, line, kernel)) {
            try out.appendSlice(allocator, "define ptx_kernel ");
            rest = line[kernel.len..];
        }
        try append_renamed(allocator, &out, rest, &names);
        if (lines.peek() != null) try out.append(allocator, '\n');
    }
    return out.toOwnedSlice(allocator);
}

fn append_renamed(
    allocator: std.mem.Allocator,
    out: *std.ArrayList(u8),
    line: []const u8,
    names: *const std.StringHashMapUnmanaged([]const u8),
) !void {
    var rest = line;
    while (std.mem.indexOfScalar(u8, rest, '@')) |at| {
        try out.appendSlice(allocator, rest[0..at]);
        const name = rest[at..][0..@max(1, name_length(rest[at..]))];
        try out.appendSlice(allocator, names.get(name) orelse name);
        rest = rest[at + name.len ..];
    }
    try out.appendSlice(allocator, rest);
}

test "kernels take the names of their aliases" {
    const before =
        \\@k_exp = alias void (i64), ptr @"a.kernel(\22exp\22)"
        \\@plain = global i32 0
        \\define private ptx_kernel void @"a.kernel(\22exp\22)"(i64 %0) {
        \\  call void @helper()
        \\  store ptr @"a.kernel(\22exp\22)", ptr @plain
        \\}
        \\define private void @helper() {
        \\}
    ;
    const after =
        \\@plain = global i32 0
        \\define ptx_kernel void @k_exp(i64 %0) {
        \\  call void @helper()
        \\  store ptr @k_exp, ptr @plain
        \\}
        \\define private void @helper() {
        \\}
    ;
    const got = try rename(std.testing.allocator, before);
    defer std.testing.allocator.free(got);
    try std.testing.expectEqualStrings(after, got);
}
