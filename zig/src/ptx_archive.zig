//! The GPU kernels, as data of an object of their own: the library's root compiles beside them, and only the linker
//! waits. Made by the build, a file for each family; none in a library without GPU kernels.
const families = @import("ptx").families;
const PackedFamily = @import("cuda/packed_family.zig").PackedFamily;

const table: [families.len + 1]PackedFamily = blk: {
    var rows: [families.len + 1]PackedFamily = undefined;
    for (families, rows[0..families.len]) |name, *row| {
        const bytes = @embedFile("ptx_" ++ name);
        row.* = .{ .name = (name ++ "\x00").ptr, .bytes = bytes, .length = bytes.len };
    }
    rows[families.len] = .end;
    break :blk rows;
};

comptime {
    @export(&table, .{ .name = "zs_ptx", .visibility = .hidden });
}
