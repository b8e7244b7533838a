//! Decompression of the GPU kernels, an object of its own that libraries without them do not have.
const std = @import("std");
const packed_family = @import("cuda/packed_family.zig");

/// As the library's root has it.
pub const panic = std.debug.no_panic;

const zstd = std.compress.zstd;
const gpa = std.heap.c_allocator;

fn unpack(bytes: [*]const u8, length: usize, text: [*]u8, text_length: usize) callconv(.c) bool {
    var in: std.Io.Reader = .fixed(bytes[0..length]);
    const buffer = gpa.alloc(u8, zstd.default_window_len + zstd.block_size_max) catch return false;
    defer gpa.free(buffer);
    var stream: zstd.Decompress = .init(&in, buffer, .{ .window_len = zstd.default_window_len });
    stream.reader.readSliceAll(text[0..text_length]) catch return false;
    return true;
}

comptime {
    @export(&unpack, .{ .name = packed_family.unpack_symbol, .visibility = .hidden });
}
