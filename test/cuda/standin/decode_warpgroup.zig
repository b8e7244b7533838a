//! Decodes what the warps of a group do together.
const group = @import("ops_warpgroup.zig");
const types = @import("types.zig");
const Error = @import("module.zig").Error;
const Instruction = @import("instruction.zig").Instruction;

pub fn decode(i: *Instruction) Error!void {
    if (!i.has("sync") or !i.has("aligned")) return i.unknown();
    if (i.has("fence")) {
        try i.check(0);
        return i.emit(.{ .run = &group.begin });
    }
    if (i.has("commit_group")) {
        try i.check(0);
        return i.emit(.{ .run = &group.commit });
    }
    if (i.has("wait_group")) {
        try i.check(1);
        return i.emit(.{ .run = &group.wait, .imm = try i.known(0) });
    }
    if (i.has("mma_async")) return product(i);
    return i.unknown();
}

const Shape = enum {
    m64n8k16,
    m64n16k16,
    m64n32k16,
    m64n64k16,
    m64n128k16,
    m64n256k16,
    m64n8k8,
    m64n16k8,
    m64n32k8,
    m64n64k8,
    m64n128k8,
    m64n256k8,
};

/// `wgmma.mma_async` with both factors in shared memory: sums, descriptions, whether sums are added to, signs, and of
/// 16-bit elements turns.
fn product(i: *Instruction) Error!void {
    const shape = i.one_of(Shape) orelse return i.refuse("no shape that is known", .{});
    const columns = @as(u16, 8) << @intCast(@intFromEnum(shape) % 6);
    const depth: u32 = if (@intFromEnum(shape) < 6) 16 else 8;
    if (try i.ty() != .f32) return i.refuse("sums are f32 here", .{});
    const ty = try i.ty();
    const fits = if (depth == 16) ty == .f16 or ty == .bf16 else ty == .tf32;
    if (ty != try i.ty() or !fits) return i.refuse("no product of these types", .{});
    try i.check(if (ty == .tf32) 6 else 8);
    if (i.arg(0) != .vector or i.arg(0).vector.len != columns / 2) {
        return i.refuse("{d} registers of sums are wanted", .{columns / 2});
    }
    var places: [128]u32 = undefined;
    for (i.arg(0).vector, 0..) |o, n| places[n] = try i.dest_of(o, .f32);
    for ([_]usize{ 3, 4, 5 }) |n| if (try i.known(n) != 1) return i.refuse("operand {d} must be 1", .{n + 1});
    const form: group.Form = .{
        .columns = columns,
        .a_turned = ty != .tf32 and try i.known(6) != 0,
        .b_turned = ty != .tf32 and try i.known(7) != 0,
        .size = @intCast(ty.bytes()),
    };
    try i.emit(.{
        .run = &group.start,
        .a = try i.source(1, .b64),
        .b = try i.source(2, .b64),
        .e = try i.d.extra(places[0 .. columns / 2]),
        .x = @bitCast(form),
        .imm = @intFromEnum(ty),
    });
}
