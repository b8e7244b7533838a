//! Decodes arithmetic, logic, shifts and bit fields.
const std = @import("std");
const float = @import("ops_float.zig");
const int = @import("ops_int.zig");
const logics = @import("ops_logic.zig");
const types = @import("types.zig");
const Error = @import("module.zig").Error;
const Instruction = @import("instruction.zig").Instruction;
const Ty = types.Ty;

/// The rounding that a suffix names.
pub fn rounding(i: *Instruction) types.Rounding {
    if (i.has("rn")) return .nearest;
    if (i.has("rz")) return .zero;
    if (i.has("rm")) return .down;
    if (i.has("rp")) return .up;
    return .nearest;
}

fn float_form(i: *Instruction) float.Form {
    i.skip_any(&.{ "approx", "full" });
    return .{
        .rounding = rounding(i),
        .flush = i.has("ftz"),
        .saturate = i.has("sat"),
        .nan = i.has("NaN"),
        .relu = i.has("relu"),
    };
}

fn emit_float(i: *Instruction, op: float.Op, ty: Ty, form: float.Form, count: usize) Error!void {
    try i.check(count + 1);
    const run = float.pick(op, ty, form) orelse return i.refuse("no {s} of type {s}", .{ i.name, @tagName(ty) });
    const d = try i.dest(0, ty);
    const a = try i.source(1, ty);
    const b = if (count > 1) try i.source(2, ty) else a;
    const c = if (count > 2) try i.source(3, ty) else a;
    try i.emit(.{ .run = run, .d = d, .a = a, .b = b, .c = c, .x = @bitCast(form) });
}

/// A type that may stand behind a saturation: only the float forms know one.
fn typed(i: *Instruction) Error!struct { Ty, float.Form } {
    const form = float_form(i);
    return .{ try i.ty(), form };
}

fn emit_binary(i: *Instruction, op: int.Binary, ty: Ty, result: Ty, second: Ty) Error!void {
    try i.check(3);
    const run = int.pick_binary(op, ty) orelse return i.refuse("no {s} of type {s}", .{ i.name, @tagName(ty) });
    try i.emit(.{ .run = run, .d = try i.dest(0, result), .a = try i.source(1, ty), .b = try i.source(2, second) });
}

fn float_op(i: *Instruction) ?float.Op {
    return std.meta.stringToEnum(float.Op, i.name);
}

/// The only form a whole number has is a plain one.
fn plain(i: *Instruction, form: float.Form) Error!void {
    if (!form.plain()) return i.refuse("a suffix for floats", .{});
}

pub fn add_sub(i: *Instruction) Error!void {
    if (i.has("cc")) return emit_carried(i, int.carry_out);
    const ty, const form = try typed(i);
    if (ty.is_float()) return emit_float(i, float_op(i).?, ty, form, 2);
    const subtract = i.name[0] == 's';
    if (form.saturate and ty == .s32) {
        try i.check(3);
        const run = if (subtract) &int.saturated_sub else &int.saturated_add;
        return i.emit(.{ .run = run, .d = try i.dest(0, ty), .a = try i.source(1, ty), .b = try i.source(2, ty) });
    }
    try plain(i, form);
    return emit_binary(i, if (subtract) .sub else .add, ty, ty, ty);
}

pub fn carried(i: *Instruction) Error!void {
    return emit_carried(i, int.carry_in | (if (i.has("cc")) int.carry_out else 0));
}

fn emit_carried(i: *Instruction, flags: u32) Error!void {
    const multiply = i.name[0] == 'm';
    const op: int.Carried = switch (i.name[0]) {
        'a' => .add,
        's' => .sub,
        else => if (i.has("hi")) .mad_hi else .mad_lo,
    };
    if (op == .mad_lo) _ = i.has("lo");
    const ty = try i.ty();
    try i.check(if (multiply) 4 else 3);
    const run = int.pick_carried(op, ty) orelse return i.refuse("no carry for type {s}", .{@tagName(ty)});
    const c = if (multiply) try i.source(3, ty) else 0;
    const d = try i.dest(0, ty);
    try i.emit(.{ .run = run, .d = d, .a = try i.source(1, ty), .b = try i.source(2, ty), .c = c, .x = flags });
}

fn doubled(ty: Ty) Ty {
    return switch (ty) {
        .u16 => .u32,
        .s16 => .s32,
        .u32 => .u64,
        else => .s64,
    };
}

pub fn mul(i: *Instruction) Error!void {
    const wide = i.has("wide");
    const high = i.has("hi");
    const low = i.has("lo");
    const ty, const form = try typed(i);
    if (ty.is_float()) {
        if (wide or high or low) return i.refuse("half of a float's product", .{});
        return emit_float(i, .mul, ty, form, 2);
    }
    try plain(i, form);
    if (!wide and !high and !low) return i.refuse("neither .lo nor .hi nor .wide", .{});
    if (wide) return emit_binary(i, .mul_wide, ty, doubled(ty), ty);
    return emit_binary(i, if (high) .mul_hi else .mul, ty, ty, ty);
}

pub fn mad(i: *Instruction) Error!void {
    if (i.has("cc")) return emit_carried(i, int.carry_out);
    const wide = i.has("wide");
    const high = i.has("hi");
    const low = i.has("lo");
    const ty, const form = try typed(i);
    if (ty.is_float()) return emit_float(i, .fma, ty, form, 3);
    try plain(i, form);
    if (!wide and !high and !low) return i.refuse("neither .lo nor .hi nor .wide", .{});
    const result = if (wide) doubled(ty) else ty;
    try emit_ternary(i, if (wide) .mad_wide else if (high) .mad_hi else .mad, ty, result);
}

fn emit_ternary(i: *Instruction, op: int.Ternary, ty: Ty, result: Ty) Error!void {
    try i.check(4);
    const run = int.pick_ternary(op, ty) orelse return i.refuse("no {s} of type {s}", .{ i.name, @tagName(ty) });
    const d = try i.dest(0, result);
    const c = try i.source(3, result);
    try i.emit(.{ .run = run, .d = d, .a = try i.source(1, ty), .b = try i.source(2, ty), .c = c });
}

pub fn sad(i: *Instruction) Error!void {
    const ty = try i.ty();
    return emit_ternary(i, .sad, ty, ty);
}

pub fn fma(i: *Instruction) Error!void {
    const ty, const form = try typed(i);
    return emit_float(i, .fma, ty, form, 3);
}

/// div, rem, min, max, copysign
pub fn two(i: *Instruction) Error!void {
    const ty, const form = try typed(i);
    if (ty.is_float()) {
        const op = float_op(i) orelse return i.refuse("no {s} of type {s}", .{ i.name, @tagName(ty) });
        return emit_float(i, op, ty, form, 2);
    }
    try plain(i, form);
    const op = std.meta.stringToEnum(int.Binary, i.name) orelse
        return i.refuse("no {s} of type {s}", .{ i.name, @tagName(ty) });
    if (ty == .b16 or ty == .b32 or ty == .b64) return i.refuse("{s} of bits", .{i.name});
    return emit_binary(i, op, ty, ty, ty);
}

pub fn logic(i: *Instruction) Error!void {
    const ty = try i.ty();
    if (ty == .pred) {
        try i.check(3);
        const run = logics.pick_logic(std.meta.stringToEnum(logics.Logic, i.name).?);
        const a = try i.source(1, .pred);
        const b = try i.source(2, .pred);
        return i.emit(.{ .run = run, .d = try i.dest(0, .pred), .a = a, .b = b });
    }
    if (ty.is_float()) return i.refuse("{s} of floats", .{i.name});
    return emit_binary(i, std.meta.stringToEnum(int.Binary, i.name).?, ty, ty, ty);
}

pub fn one(i: *Instruction) Error!void {
    const ty, const form = try typed(i);
    if (ty.is_float()) {
        const op = float_op(i) orelse return i.refuse("no {s} of type {s}", .{ i.name, @tagName(ty) });
        return emit_float(i, op, ty, form, 1);
    }
    try plain(i, form);
    try i.check(2);
    if (ty == .pred and i.name[0] == 'n' and i.name[1] == 'o') {
        const a = try i.source(1, .pred);
        return i.emit(.{ .run = logics.pick_logic(.not), .d = try i.dest(0, .pred), .a = a, .b = a });
    }
    const op = std.meta.stringToEnum(int.Unary, i.name) orelse return i.unknown();
    const run = int.pick_unary(op, ty) orelse return i.refuse("no {s} of type {s}", .{ i.name, @tagName(ty) });
    try i.emit(.{ .run = run, .d = try i.dest(0, ty), .a = try i.source(1, ty) });
}

/// Results of 32 bits, whatever is counted.
pub fn bit_count(i: *Instruction) Error!void {
    const amount = i.has("shiftamt");
    const ty = try i.ty();
    try i.check(2);
    const op: int.Unary = if (amount) .bfind_shift else std.meta.stringToEnum(int.Unary, i.name).?;
    if (ty.bytes() < 4) return i.refuse("no {s} of type {s}", .{ i.name, @tagName(ty) });
    const run = int.pick_unary(op, ty) orelse return i.refuse("no {s} of type {s}", .{ i.name, @tagName(ty) });
    try i.emit(.{ .run = run, .d = try i.dest(0, .u32), .a = try i.source(1, ty) });
}

pub fn shift(i: *Instruction) Error!void {
    const ty = try i.ty();
    if (ty.is_float()) return i.refuse("a shift of floats", .{});
    return emit_binary(i, std.meta.stringToEnum(int.Binary, i.name).?, ty, ty, .u32);
}

fn emit_field(i: *Instruction, op: int.Field, ty: Ty, kinds: []const Ty, x: u32, imm: u64) Error!void {
    const run = int.pick_field(op, ty) orelse return i.refuse("no {s} of type {s}", .{ i.name, @tagName(ty) });
    var from: [4]u32 = @splat(0);
    for (kinds, 0..) |kind, n| from[n] = try i.source(n + 1, kind);
    const d = try i.dest(0, ty);
    try i.emit(.{ .run = run, .d = d, .a = from[0], .b = from[1], .c = from[2], .e = from[3], .x = x, .imm = imm });
}

pub fn funnel(i: *Instruction) Error!void {
    const left = i.has("l");
    if (!left and !i.has("r")) return i.refuse("no direction", .{});
    const clamp = i.has("clamp");
    if (!clamp and !i.has("wrap")) return i.refuse("neither .clamp nor .wrap", .{});
    const ty = try i.ty();
    try i.check(4);
    return emit_field(i, if (left) .shf_l else .shf_r, ty, &.{ .b32, .b32, .u32 }, @intFromBool(clamp), 0);
}

pub fn permute(i: *Instruction) Error!void {
    const ty = try i.ty();
    const names = [_][]const u8{ "f4e", "b4e", "rc8", "ecl", "ecr", "rc16" };
    var mode: u32 = 0;
    for (names, 1..) |name, n| if (i.has(name)) {
        mode = @intCast(n);
    };
    try i.check(4);
    return emit_field(i, .prmt, ty, &.{ .b32, .b32, .b32 }, mode, 0);
}

pub fn lookup(i: *Instruction) Error!void {
    const ty = try i.ty();
    try i.check(5);
    return emit_field(i, .lop3, ty, &.{ .b32, .b32, .b32 }, 0, try i.known(4));
}

pub fn bit_mask(i: *Instruction) Error!void {
    const clamp = i.has("clamp");
    if (!clamp and !i.has("wrap")) return i.refuse("neither .clamp nor .wrap", .{});
    const ty = try i.ty();
    try i.check(3);
    return emit_field(i, .bmsk, ty, &.{ .b32, .b32 }, @intFromBool(clamp), 0);
}

pub fn field(i: *Instruction) Error!void {
    const ty = try i.ty();
    if (i.name[2] == 'e') {
        try i.check(4);
        return emit_field(i, .bfe, ty, &.{ ty, .u32, .u32 }, 0, 0);
    }
    try i.check(5);
    return emit_field(i, .bfi, ty, &.{ ty, ty, .u32, .u32 }, 0, 0);
}

pub fn classify(i: *Instruction) Error!void {
    const class = i.one_of(float.Class) orelse return i.refuse("no class of numbers", .{});
    const ty = try i.ty();
    try i.check(2);
    const run = float.pick_class(ty) orelse return i.refuse("no {s} of type {s}", .{ i.name, @tagName(ty) });
    try i.emit(.{ .run = run, .d = try i.dest(0, .pred), .a = try i.source(1, ty), .x = @intFromEnum(class) });
}
