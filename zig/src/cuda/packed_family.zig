//! What the objects of GPU kernels and the library's root agree on.

/// Fills `text` with what `bytes` hold compressed; false when they do not hold as much. ptx_unpack.zig has it.
pub const Unpack = fn (bytes: [*]const u8, length: usize, text: [*]u8, text_length: usize) callconv(.c) bool;
pub const unpack_symbol = "zs_ptx_unpack";

/// A family as the library holds it: its name, and bytes in the format that archive.zig describes.
pub const PackedFamily = extern struct {
    name: [*]const u8,
    name_length: usize,
    bytes: [*]const u8,
    length: usize,
};

/// All families: none, and nothing to unpack them with, in a library without GPU kernels. ptx_archive.zig has it.
pub const Archive = extern struct {
    rows: [*]const PackedFamily,
    count: usize,
    unpack: ?*const Unpack,
};
pub const archive_symbol = "zs_ptx";
