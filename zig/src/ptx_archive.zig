//! The GPU kernels, as data of an object of their own: the library's root compiles beside them, and only the linker
//! waits. Made by the build; empty in a library without GPU kernels.
const text = @embedFile("ptx");
const bytes: [text.len]u8 = text.*;
const length: usize = text.len;

comptime {
    @export(&bytes, .{ .name = "zs_ptx", .visibility = .hidden });
    @export(&length, .{ .name = "zs_ptx_length", .visibility = .hidden });
}
