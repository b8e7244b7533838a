//! A tool of the build: gives GPU kernels their exported names, and their argument. Zig exports a function as an alias
//! of one with a private name, but PTX knows no aliases of kernels. So the alias goes, and the function takes its name.
//! A kernel takes a pointer; what it points at shall come by value, as Zig cannot say: `<name>$bytes` is its size.
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

const Names = std.StringHashMapUnmanaged([]const u8);

const bytes_suffix = "$bytes\"";

/// What the aliases of a module say.
const Aliases = struct {
    /// Exported names by the private names that they stand for; of several the first.
    exported: Names = .empty,
    /// Further names of kernels by the first: bodies that come out the same are one function to the compiler.
    further: std.StringHashMapUnmanaged(std.ArrayList([]const u8)) = .empty,
    /// Bytes of arguments by exported names of kernels.
    bytes: Names = .empty,

    fn read(allocator: std.mem.Allocator, text: []const u8) !Aliases {
        var a: Aliases = .{};
        var constants: Names = .empty;
        var lines = std.mem.splitScalar(u8, text, '\n');
        while (lines.next()) |line| {
            const name = line[0..name_length(line)];
            if (std.mem.indexOf(u8, line, " constant i64 ")) |at| {
                const value = line[at + " constant i64 ".len ..];
                try constants.put(allocator, name, value[0 .. std.mem.indexOfScalar(u8, value, ',') orelse value.len]);
            }
            if (!is_alias(line)) continue;
            const at = std.mem.lastIndexOf(u8, line, "ptr @") orelse return error.UnknownAlias;
            const target = line[at + 4 ..][0..name_length(line[at + 4 ..])];
            if (std.mem.endsWith(u8, name, bytes_suffix)) {
                const kernel = try std.mem.concat(allocator, u8, &.{ "@", name[2 .. name.len - bytes_suffix.len] });
                try a.bytes.put(allocator, kernel, constants.get(target) orelse return error.UnknownSize);
            } else if (a.exported.get(target)) |first| {
                const entry = try a.further.getOrPut(allocator, first);
                if (!entry.found_existing) entry.value_ptr.* = .empty;
                try entry.value_ptr.append(allocator, name);
            } else try a.exported.put(allocator, target, name);
        }
        return a;
    }
};

pub fn rename(allocator: std.mem.Allocator, text: []const u8) ![]const u8 {
    const names = try Aliases.read(allocator, text);
    var out: std.ArrayList(u8) = .empty;
    errdefer out.deinit(allocator);
    var lines = std.mem.splitScalar(u8, text, '\n');
    while (lines.next()) |line| {
        if (is_alias(line)) continue;
        if (std.mem.startsWith(u8, line, definition)) {
            const first = name_of(&names, line);
            const begin = @intFromPtr(line.ptr) - @intFromPtr(text.ptr);
            const end = (std.mem.indexOfPos(u8, text, begin, "\n}") orelse return error.UnfinishedKernel) + 2;
            const further = if (first) |f| names.further.get(f) else null;
            if (further) |list| for (list.items) |name| {
                try append_kernel(allocator, &out, text[begin..end], name, &names);
            };
            try append_kernel(allocator, &out, text[begin..end], first, &names);
            while (lines.peek()) |next| {
                if (@intFromPtr(next.ptr) - @intFromPtr(text.ptr) >= end) break;
                _ = lines.next();
            }
            continue;
        }
        try append_renamed(allocator, &out, line, &names.exported);
        if (lines.peek() != null) try out.append(allocator, '\n');
    }
    return out.toOwnedSlice(allocator);
}

const definition = "define private ptx_kernel ";

/// The exported name of what a line defines.
fn name_of(names: *const Aliases, line: []const u8) ?[]const u8 {
    const at = std.mem.indexOfScalar(u8, line, '@') orelse return null;
    return names.exported.get(line[at..][0..name_length(line[at..])]);
}

fn append_kernel(
    allocator: std.mem.Allocator,
    out: *std.ArrayList(u8),
    text: []const u8,
    name: ?[]const u8,
    names: *const Aliases,
) !void {
    try out.appendSlice(allocator, "define ptx_kernel ");
    const whole = try by_value(allocator, text[definition.len..], name, names);
    try append_renamed(allocator, out, whole, &names.exported);
    try out.append(allocator, '\n');
}

/// The rest of a kernel, `void @name(ptr %0) ...`, under an exported name and with the argument by value.
fn by_value(allocator: std.mem.Allocator, text: []const u8, name: ?[]const u8, names: *const Aliases) ![]const u8 {
    const at = std.mem.indexOfScalar(u8, text, '@') orelse return text;
    const end = at + name_length(text[at..]);
    const exported = name orelse return text;
    const bytes = names.bytes.get(exported) orelse return error.UnknownSize;
    const argument = std.mem.indexOfPos(u8, text, end, "%0)") orelse return error.OneArgumentIsTaken;
    const parts = .{ text[0..at], exported, bytes, text[argument..] };
    return std.fmt.allocPrint(allocator, "{s}{s}(ptr byval([{s} x i8]) align 8 {s}", parts);
}

fn append_renamed(
    allocator: std.mem.Allocator,
    out: *std.ArrayList(u8),
    line: []const u8,
    names: *const Names,
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

test "kernels take the names of their aliases, and their argument by value" {
    const before =
        \\@bytes.k = private unnamed_addr constant i64 24, align 8
        \\@k_exp = alias void (i64), ptr @"a.kernel(\22exp\22)"
        \\@"k_exp$bytes" = alias i64, ptr @bytes.k
        \\@k_also = alias void (i64), ptr @"a.kernel(\22exp\22)"
        \\@"k_also$bytes" = alias i64, ptr @bytes.k
        \\@plain = global i32 0
        \\define private ptx_kernel void @"a.kernel(\22exp\22)"(ptr nonnull readonly %0) {
        \\  call void @helper()
        \\}
        \\define private void @helper() {
        \\}
    ;
    const after =
        \\@bytes.k = private unnamed_addr constant i64 24, align 8
        \\@plain = global i32 0
        \\define ptx_kernel void @k_also(ptr byval([24 x i8]) align 8 %0) {
        \\  call void @helper()
        \\}
        \\define ptx_kernel void @k_exp(ptr byval([24 x i8]) align 8 %0) {
        \\  call void @helper()
        \\}
        \\define private void @helper() {
        \\}
    ;
    var arena: std.heap.ArenaAllocator = .init(std.testing.allocator);
    defer arena.deinit();
    try std.testing.expectEqualStrings(after, try rename(arena.allocator(), before));
}
