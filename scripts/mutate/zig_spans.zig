//! Prints the nodes of a Zig file for zig-tree.ts, one a line: kind, first byte, byte after the last, byte of the token
//! that names it.
const std = @import("std");

pub fn main(init: std.process.Init) !void {
    const arena = init.arena.allocator();
    const args = try init.minimal.args.toSlice(arena);
    const text = try std.Io.Dir.cwd().readFileAlloc(init.io, args[1], arena, .unlimited);
    const tree = try std.zig.Ast.parse(arena, try arena.dupeZ(u8, text), .zig);
    var buffer: [4096]u8 = undefined;
    var out = std.Io.File.stdout().writer(init.io, &buffer);
    for (1..tree.nodes.len) |i| {
        const node: std.zig.Ast.Node.Index = @enumFromInt(i);
        const last = tree.lastToken(node);
        const end = tree.tokenStart(last) + tree.tokenSlice(last).len;
        const first = tree.tokenStart(tree.firstToken(node));
        const name = tree.tokenStart(tree.nodeMainToken(node));
        try out.interface.print("{s} {d} {d} {d}\n", .{ @tagName(tree.nodeTag(node)), first, end, name });
    }
    try out.interface.flush();
}
