//! Opens a shared library at run time, on every system that zensor is built for.
const std = @import("std");
const builtin = @import("builtin");

const windows = builtin.os.tag == .windows;

pub const Library = struct {
    handle: *anyopaque,

    /// Null when there is no such library, or none that this process can load.
    pub fn open(name: [*:0]const u8) ?Library {
        const handle = if (windows) LoadLibraryA(name) else dlopen(name, lazy_local);
        return .{ .handle = handle orelse return null };
    }

    pub fn open_first(names: []const [*:0]const u8) ?Library {
        for (names) |name| if (open(name)) |found| return found;
        return null;
    }

    pub fn close(library: Library) void {
        if (windows) {
            _ = FreeLibrary(library.handle);
        } else {
            _ = dlclose(library.handle);
        }
    }

    pub fn symbol(library: Library, name: [*:0]const u8) ?*const anyopaque {
        return if (windows) GetProcAddress(library.handle, name) else dlsym(library.handle, name);
    }

    /// Fills a struct of function pointers from the symbols that its fields are named after; false when one is missing.
    pub fn bind(library: Library, comptime Functions: type, prefix: []const u8, into: *Functions) bool {
        inline for (@typeInfo(Functions).@"struct".fields) |field| {
            var buffer: [128]u8 = undefined;
            const name = std.fmt.bufPrintZ(&buffer, "{s}{s}", .{ prefix, field.name }) catch return false;
            const address = library.symbol(name) orelse return false;
            @field(into, field.name) = @ptrCast(@alignCast(address));
        }
        return true;
    }
};

/// RTLD_LAZY; symbols stay out of the global scope (RTLD_LOCAL is 0 or the default everywhere).
const lazy_local: c_int = 1;

extern "c" fn dlopen(name: [*:0]const u8, mode: c_int) ?*anyopaque;
extern "c" fn dlsym(handle: *anyopaque, name: [*:0]const u8) ?*anyopaque;
extern "c" fn dlclose(handle: *anyopaque) c_int;
extern "kernel32" fn LoadLibraryA(name: [*:0]const u8) callconv(.winapi) ?*anyopaque;
extern "kernel32" fn GetProcAddress(handle: *anyopaque, name: [*:0]const u8) callconv(.winapi) ?*anyopaque;
extern "kernel32" fn FreeLibrary(handle: *anyopaque) callconv(.winapi) c_int;

test "a library that does not exist" {
    try std.testing.expect(Library.open("libzensor-no-such-library.so.9") == null);
}

test "symbols of the C library" {
    if (builtin.os.tag != .linux) return error.SkipZigTest;
    const library = Library.open("libc.so.6") orelse return error.SkipZigTest;
    defer library.close();
    const Functions = struct { len: *const fn ([*:0]const u8) callconv(.c) usize };
    var functions: Functions = undefined;
    try std.testing.expect(library.bind(Functions, "str", &functions));
    try std.testing.expectEqual(@as(usize, 5), functions.len("hello"));
    const Missing = struct { no_such_function: *const fn () callconv(.c) void };
    var missing: Missing = undefined;
    try std.testing.expect(!library.bind(Missing, "str", &missing));
}
