//! The GPU kernels, as data of an object of their own: the library's root compiles beside them, and only the linker
//! waits. Made by the build, a file for each family; none in a library without GPU kernels.
const families = @import("ptx").families;
const packed_family = @import("cuda/packed_family.zig");

const rows: [families.len]packed_family.PackedFamily = blk: {
    var all: [families.len]packed_family.PackedFamily = undefined;
    for (families, &all) |name, *row| {
        const bytes = @embedFile("ptx_" ++ name);
        row.* = .{ .name = name.ptr, .name_length = name.len, .bytes = bytes, .length = bytes.len };
    }
    break :blk all;
};

/// Compiled only where there is something to unpack.
fn unpack() ?*const packed_family.Unpack {
    if (families.len == 0) return null;
    return @extern(*const packed_family.Unpack, .{ .name = packed_family.unpack_symbol, .visibility = .hidden });
}

const archive: packed_family.Archive = .{ .rows = &rows, .count = rows.len, .unpack = unpack() };

comptime {
    @export(&archive, .{ .name = packed_family.archive_symbol, .visibility = .hidden });
}
