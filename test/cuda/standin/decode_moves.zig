//! Decodes comparisons, choices, moves and conversions.
const std = @import("std");
const arithmetic = @import("decode_arithmetic.zig");
const convert = @import("ops_convert.zig");
const int = @import("ops_int.zig");
const logic = @import("ops_logic.zig");
const machine = @import("machine.zig");
const operands = @import("operands.zig");
const spaces = @import("ops_spaces.zig");
const types = @import("types.zig");
const Error = @import("module.zig").Error;
const Instruction = @import("instruction.zig").Instruction;
const Ty = types.Ty;

/// Emits a comparison of operands 1 and 2 to a predicate, combined with operand 3.
fn compare(i: *Instruction, ty: Ty, how: types.Compare, flags: u32, yes: u32, no: u32) Error!void {
    const combine: u32 = if (i.has("and")) 1 else if (i.has("or")) 2 else if (i.has("xor")) 3 else 0;
    try i.check(if (combine == 0) 3 else 4);
    const run = logic.pick_setp(ty, how) orelse
        return i.refuse("no comparison .{s} of type {s}", .{ @tagName(how), @tagName(ty) });
    const other = if (combine == 0) 0 else try i.source(3, .pred);
    const a = try i.source(1, ty);
    const b = try i.source(2, ty);
    try i.emit(.{ .run = run, .d = yes, .e = no, .a = a, .b = b, .c = other, .x = flags | combine });
}

fn comparison(i: *Instruction) Error!types.Compare {
    return i.one_of(types.Compare) orelse i.refuse("no comparison", .{});
}

pub fn setp(i: *Instruction) Error!void {
    const how = try comparison(i);
    const flags: u32 = if (i.has("ftz")) logic.flush_flag else 0;
    const ty = try i.ty();
    const first, const second = i.split(0);
    const yes = try i.dest_of(first, .pred);
    const no = if (second) |o| try i.dest_of(o, .pred) else machine.never;
    return compare(i, ty, how, flags, yes, no);
}

pub fn set(i: *Instruction) Error!void {
    const how = try comparison(i);
    const flags: u32 = if (i.has("ftz")) logic.flush_flag else 0;
    const to = try i.ty();
    const from = try i.ty();
    const held = i.d.predicate_slot();
    try compare(i, from, how, flags, held, machine.never);
    const yes: u64 = switch (to) {
        .f32 => 0x3F80_0000,
        .f16 => 0x3C00,
        .bf16 => 0x3F80,
        .u32, .s32, .u16, .s16 => 0xFFFF_FFFF,
        else => return i.refuse("a result of type {s}", .{@tagName(to)}),
    };
    const run: machine.Handler = if (to.width() == 2) logic.spread16 else logic.spread32;
    try i.emit(.{ .run = run, .d = try i.dest(0, to), .a = held, .imm = yes });
}

pub fn selp(i: *Instruction) Error!void {
    const ty = try i.ty();
    try i.check(4);
    const c = try i.source(3, .pred);
    if (ty == .pred) return i.refuse("a choice of predicates", .{});
    const run = logic.pick_select(ty.width());
    try i.emit(.{ .run = run, .d = try i.dest(0, ty), .a = try i.source(1, ty), .b = try i.source(2, ty), .c = c });
}

pub fn slct(i: *Instruction) Error!void {
    _ = i.has("ftz");
    const ty = try i.ty();
    const by = try i.ty();
    try i.check(4);
    const run = logic.pick_choose(ty.width(), by) orelse return i.refuse("a choice by {s}", .{@tagName(by)});
    const d = try i.dest(0, ty);
    try i.emit(.{ .run = run, .d = d, .a = try i.source(1, ty), .b = try i.source(2, ty), .c = try i.source(3, by) });
}

pub fn mov(i: *Instruction) Error!void {
    const ty = try i.ty();
    try i.check(2);
    if (ty == .pred) {
        const a = try i.source(1, .pred);
        return i.emit(.{ .run = logic.pick_logic(.mov), .d = try i.dest(0, .pred), .a = a, .b = a });
    }
    if (i.arg(0) == .vector) return pack(i, ty, i.arg(0).vector, false);
    if (i.arg(1) == .vector) return pack(i, ty, i.arg(1).vector, true);
    const d = try i.dest(0, ty);
    if (i.arg(1) == .clock) {
        const wide = i.arg(1).clock == .clock64 or i.arg(1).clock == .globaltimer;
        if (wide != (ty.width() == 8)) return i.refuse("a clock of another size", .{});
        return i.emit(.{ .run = spaces.pick_clock(i.arg(1).clock), .d = d });
    }
    const run = int.pick_unary(.copy, bits_of(ty)) orelse return i.refuse("no mov of type {s}", .{@tagName(ty)});
    try i.emit(.{ .run = run, .d = d, .a = try i.source(1, ty) });
}

fn bits_of(ty: Ty) Ty {
    return switch (ty.width()) {
        2 => .b16,
        4 => .b32,
        else => .b64,
    };
}

fn pack(i: *Instruction, ty: Ty, parts: []operands.Operand, join: bool) Error!void {
    const whole = ty.bytes();
    if (parts.len == 0 or whole % parts.len != 0) return i.refuse("{d} parts", .{parts.len});
    const part: Ty = switch (whole / parts.len) {
        2 => .b16,
        4 => .b32,
        else => return i.refuse("parts of {d} bytes", .{whole / parts.len}),
    };
    const run = convert.pick_packing(part.bytes(), whole, join) orelse
        return i.refuse("{d} parts of {d} bytes", .{ parts.len, whole });
    var places: [4]u32 = undefined;
    for (parts, 0..) |o, n| {
        places[n] = if (join) try i.source_of(o, part) else if (o == .sink) machine.never else try i.dest_of(o, part);
    }
    const x = try i.d.extra(places[0..parts.len]);
    if (join) return i.emit(.{ .run = run, .d = try i.dest(0, ty), .x = x });
    return i.emit(.{ .run = run, .a = try i.source(1, ty), .x = x });
}

fn conversion_form(i: *Instruction) convert.Form {
    var form: convert.Form = .{};
    const words = [_][]const u8{ "rni", "rzi", "rmi", "rpi", "rna" };
    const kinds = [_]types.Rounding{ .nearest, .zero, .down, .up, .away };
    for (words, kinds, 0..) |word, kind, n| if (i.has(word)) {
        form.rounding = kind;
        form.whole = n < 4;
        form.relu = i.has("relu");
        form.flush = i.has("ftz");
        form.saturate = i.has("sat");
        return form;
    };
    form.rounding = arithmetic.rounding(i);
    form.relu = i.has("relu");
    form.flush = i.has("ftz");
    form.saturate = i.has("sat");
    return form;
}

/// Bytes of a lane in an operand's register, which a conversion may use in part.
fn register_width(i: *Instruction, n: usize, ty: Ty) Error!u32 {
    return switch (i.arg(n)) {
        .register => |r| if (r.ty == .pred or r.ty.width() < ty.width())
            i.refuse("a register of type {s} where {s} is wanted", .{ @tagName(r.ty), @tagName(ty) })
        else
            r.ty.width(),
        else => ty.width(),
    };
}

pub fn cvt(i: *Instruction) Error!void {
    var form = conversion_form(i);
    const to = try i.ty();
    const from = try i.ty();
    if (to == .pred or from == .pred) return i.refuse("a conversion of predicates", .{});
    if (to == .f16x2 or to == .bf16x2) {
        try i.check(3);
        if (from != .f32) return i.refuse("pairs are made of f32", .{});
        const d = try i.dest(0, to);
        const a = try i.source(1, .f32);
        const run = convert.pick_pair(to).?;
        return i.emit(.{ .run = run, .d = d, .a = a, .b = try i.source(2, .f32), .x = @bitCast(form) });
    }
    try i.check(2);
    if (from == .tf32 or from == .f16x2 or from == .bf16x2) return i.refuse("from type {s}", .{@tagName(from)});
    const to_width = try register_width(i, 0, to);
    const from_width = try register_width(i, 1, from);
    form.from = from;
    form.to = to;
    form.from_width = @intCast(from_width);
    const d = if (i.arg(0) == .register) i.arg(0).register.at else try i.dest(0, to);
    const a = if (i.arg(1) == .register) i.arg(1).register.at else try i.source(1, from);
    try i.emit(.{ .run = convert.pick(form, to_width), .d = d, .a = a, .x = @bitCast(form) });
}

fn window_of(i: *Instruction) Error!u64 {
    if (i.has("global") or i.has("const")) return 0;
    if (i.has("shared") or i.has("shared::cta")) return machine.shared_window;
    if (i.has("local")) return machine.local_window;
    if (i.has("param")) return machine.param_window;
    return i.refuse("no state space", .{});
}

pub fn cvta(i: *Instruction) Error!void {
    const back = i.has("to");
    const window = try window_of(i);
    const ty = try i.ty();
    try i.check(2);
    if (ty != .u64) return i.refuse("addresses have 64 bits", .{});
    const d = try i.dest(0, .u64);
    const a = try i.source(1, .u64);
    const b = try i.d.constant(8, window);
    const run = int.pick_binary(if (back) .sub else .add, .u64).?;
    try i.emit(.{ .run = run, .d = d, .a = a, .b = b });
}

pub fn isspacep(i: *Instruction) Error!void {
    const window = try window_of(i);
    try i.check(2);
    try i.emit(.{ .run = &spaces.is_in, .d = try i.dest(0, .pred), .a = try i.source(1, .u64), .imm = window });
}
