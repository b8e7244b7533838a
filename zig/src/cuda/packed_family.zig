//! What the object of GPU kernels and the library's root agree on: rows, the last of which has no name.

/// A family as the library holds it: its name, and bytes in the format that archive.zig describes.
pub const PackedFamily = extern struct {
    name: ?[*:0]const u8,
    bytes: [*]const u8,
    length: usize,

    pub const end: PackedFamily = .{ .name = null, .bytes = "", .length = 0 };
};
