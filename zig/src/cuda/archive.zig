//! The GPU kernels as they lie in the library: for each family a compressed list of functions in PTX, of which a module
//! takes those that it needs. `scripts/ptx/pack.ts` writes it.
//!
//!     packed    plain length, then in one Zstandard frame:
//!     family    length and text of what a module begins with, then functions until the end:
//!               lengths of the name and the text, how many other functions it calls and their numbers, name, text
//!
//! All numbers are u32 in little endian.
const std = @import("std");
const Unpack = @import("packed_family.zig").Unpack;

const gpa = std.heap.c_allocator;

pub const Error = error{ NoSuchKernel, BadArchive, OutOfMemory };

const Function = struct { name: []const u8, text: []const u8, calls: []align(1) const u32 };

pub const Family = struct {
    begin: []const u8,
    functions: []const Function,
    /// Numbers of functions by name.
    names: std.StringHashMapUnmanaged(u32),

    /// The text of a module with the kernels `<group>_<variant>` and all that they call.
    pub fn module(f: *const Family, group: []const u8) Error![:0]const u8 {
        var text: std.ArrayList(u8) = .empty;
        errdefer text.deinit(gpa);
        try text.appendSlice(gpa, f.begin);
        const done = try gpa.alloc(bool, f.functions.len);
        defer gpa.free(done);
        @memset(done, false);
        var found = false;
        for (f.functions, 0..) |function, i| {
            if (!is_of(function.name, group)) continue;
            found = true;
            try f.append(&text, done, @intCast(i));
        }
        if (!found) return error.NoSuchKernel;
        return text.toOwnedSliceSentinel(gpa, 0);
    }

    fn append(f: *const Family, text: *std.ArrayList(u8), done: []bool, i: u32) Error!void {
        if (i >= f.functions.len) return error.BadArchive;
        if (done[i]) return;
        done[i] = true;
        for (f.functions[i].calls) |called| try f.append(text, done, called);
        try text.appendSlice(gpa, f.functions[i].text);
    }
};

fn is_of(name: []const u8, group: []const u8) bool {
    if (!std.mem.startsWith(u8, name, group) or name.len == group.len or name[group.len] != '_') return false;
    return std.mem.indexOfScalarPos(u8, name, group.len + 1, '_') == null;
}

const Reader = struct {
    bytes: []const u8,
    at: usize = 0,

    fn take(r: *Reader, n: usize) Error![]const u8 {
        if (n > r.bytes.len - r.at) return error.BadArchive;
        defer r.at += n;
        return r.bytes[r.at..][0..n];
    }
    fn number(r: *Reader) Error!u32 {
        return std.mem.readInt(u32, (try r.take(4))[0..4], .little);
    }
};

/// Unpacks a family; what it gives stays for as long as the process runs.
pub fn open(bytes: []const u8, unpack: *const Unpack) Error!Family {
    var r: Reader = .{ .bytes = bytes };
    const text = try gpa.alloc(u8, try r.number());
    errdefer gpa.free(text);
    const rest = bytes[r.at..];
    if (!unpack(rest.ptr, rest.len, text.ptr, text.len)) return error.BadArchive;
    return parse(text);
}

fn parse(bytes: []const u8) Error!Family {
    var r: Reader = .{ .bytes = bytes };
    const begin = try r.take(try r.number());
    var functions: std.ArrayList(Function) = .empty;
    var names: std.StringHashMapUnmanaged(u32) = .empty;
    while (r.at < bytes.len) {
        const name_length = try r.number();
        const text_length = try r.number();
        const calls = try r.take(4 * @as(usize, try r.number()));
        const name = try r.take(name_length);
        try names.put(gpa, name, @intCast(functions.items.len));
        const list = std.mem.bytesAsSlice(u32, calls);
        try functions.append(gpa, .{ .name = name, .text = try r.take(text_length), .calls = list });
    }
    return .{ .begin = begin, .functions = functions.items, .names = names };
}
