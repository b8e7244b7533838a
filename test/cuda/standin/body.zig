//! Bodies of functions: declarations, labels, nested blocks and instructions.
const std = @import("std");
const control = @import("ops_control.zig");
const decode = @import("decode.zig");
const lexer = @import("lexer.zig");
const machine = @import("machine.zig");
const modules = @import("module.zig");
const operands = @import("operands.zig");
const table = @import("table.zig");
const types = @import("types.zig");
const Cursor = modules.Cursor;
const Decoder = decode.Decoder;
const Error = modules.Error;
const Instruction = @import("instruction.zig").Instruction;
const Ty = types.Ty;

pub fn entry(d: *Decoder, f: *const modules.Function, params: []const machine.Param) Error!void {
    try d.scopes.append(d.arena, .empty);
    for (f.params, params) |v, p| {
        try d.define(0, v.name, .{ .place = .{ .space = .param, .at = p.offset, .size = p.size } });
    }
    d.current = null;
    try block(d, f);
    try d.code.append(d.arena, .{ .run = control.exit });
    _ = d.scopes.pop();
}

pub fn function(d: *Decoder, inst: *decode.Instance) Error!void {
    const f = inst.function;
    if (!f.defined) return d.refuse(0, "function '{s}' is not defined", .{f.name});
    inst.start = @intCast(d.code.items.len);
    try d.scopes.append(d.arena, .empty);
    for (f.params, inst.params) |v, p| try d.define(0, v.name, .{ .place = p });
    for (f.results, inst.results) |v, p| try d.define(0, v.name, .{ .place = p });
    d.current = inst;
    try block(d, f);
    try d.code.append(d.arena, .{ .run = control.give_back, .a = inst.return_at });
    _ = d.scopes.pop();
}

fn block(d: *Decoder, f: *const modules.Function) Error!void {
    if (f.body.len == 0) return;
    var c: Cursor = .{ .module = d.module, .list = f.body };
    const labels = d.labels.items.len;
    const fixups = d.fixups.items.len;
    while (c.i < c.list.len) try statement(d, &c);
    try d.resolve(labels, fixups, true);
}

fn statement(d: *Decoder, c: *Cursor) Error!void {
    const t = c.next();
    if (t.is(";")) return;
    if (t.is("{")) {
        try d.scopes.append(d.arena, .empty);
        const labels = d.labels.items.len;
        const fixups = d.fixups.items.len;
        while (!c.take("}")) {
            if (c.i >= c.list.len) return c.refuse("a block does not end", .{});
            try statement(d, c);
        }
        try d.resolve(labels, fixups, false);
        _ = d.scopes.pop();
        return;
    }
    // A suffix may hold two colons.
    const scoped = c.i + 1 < c.list.len and c.list[c.i + 1].is(":");
    if (t.kind == .word and c.i < c.list.len and c.peek().is(":") and !scoped) {
        c.i += 1;
        if (c.i < c.list.len and c.peek().is(".branchtargets")) return targets(d, c, t);
        return d.label(t.text);
    }
    if (t.kind == .word and t.text[0] == '.') return directive(d, c, t);
    c.i -= 1;
    try instruction(d, c);
}

fn targets(d: *Decoder, c: *Cursor, name: lexer.Token) Error!void {
    c.i += 1;
    const first: u32 = @intCast(d.extras.items.len);
    var count: u32 = 0;
    while (true) : (count += 1) {
        _ = try d.extra(&.{0});
        const t = c.next();
        try d.fix_extra(first + count, t.text, t.at);
        if (!c.take(",")) break;
    }
    try c.expect(";");
    try d.define(name.at, name.text, .{ .table = .{ .first = first, .count = count + 1 } });
}

fn directive(d: *Decoder, c: *Cursor, t: lexer.Token) Error!void {
    if (t.is(".reg")) return registers(d, c);
    if (t.is(".loc")) {
        while (c.peek().kind == .number) c.i += 1;
        if (!c.take(",")) return;
        return c.refuse("a .loc of inlined code: strip the debug information", .{});
    }
    if (t.is(".pragma")) {
        while (!c.take(";")) c.i += 1;
        return;
    }
    const space = modules.space_of(t.text) orelse return c.refuse("unknown directive '{s}'", .{t.text});
    while (true) {
        const v = try modules.declared(c, space);
        switch (space) {
            .shared => if (v.init.len > 0) return c.refuse("'{s}': shared memory has no first value", .{v.name}) else {
                try d.define(t.at, v.name, .{ .place = try d.shared_place(&v) });
            },
            .local, .param => try d.define(t.at, v.name, .{ .place = d.local_place(&v) }),
            // The module has it already.
            else => {},
        }
        if (!c.take(",")) break;
        return c.refuse("one variable for each declaration", .{});
    }
    try c.expect(";");
}

fn registers(d: *Decoder, c: *Cursor) Error!void {
    const word = try c.word();
    const ty = Ty.parse(word[1..]) orelse return c.refuse("unknown type '{s}'", .{word});
    while (true) {
        const at = c.peek().at;
        const name = try c.word();
        if (c.take("<")) {
            const count = try c.small();
            try c.expect(">");
            if (count > 1 << 16 or d.file_top > 1 << 30) return c.refuse("{d} registers", .{count});
            try d.define(at, name, .{ .registers = .{ .first = family(d, ty, count), .count = count, .ty = ty } });
        } else {
            try d.define(at, name, .{ .register = .{ .at = d.slot_of(ty), .ty = ty } });
        }
        if (!c.take(",")) break;
    }
    try c.expect(";");
}

/// Places one after the other.
fn family(d: *Decoder, ty: Ty, count: u32) u32 {
    d.register_count += count;
    const bytes: u32 = if (ty == .pred) 4 else ty.width() * machine.lanes;
    const at = d.file_top;
    d.file_top = std.mem.alignForward(u32, at + bytes * count, 64);
    return at;
}

/// The instruction's name and suffixes; `.L2::128B` is one suffix.
fn words(i: *Instruction, c: *Cursor) Error!void {
    const word = try c.word();
    var parts = std.mem.splitScalar(u8, word, '.');
    i.name = parts.first();
    while (true) {
        while (parts.next()) |p| {
            if (i.count == i.suffixes.len) return i.refuse("too many suffixes", .{});
            i.suffixes[i.count] = p;
            i.count += 1;
        }
        if (!c.take(":")) return;
        try c.expect(":");
        const more = c.next().text;
        if (i.count == 0) return i.refuse("'::' after no suffix", .{});
        parts = std.mem.splitScalar(u8, more, '.');
        const last = &i.suffixes[i.count - 1];
        last.* = try std.fmt.allocPrint(i.d.arena, "{s}::{s}", .{ last.*, parts.first() });
    }
}

fn instruction(d: *Decoder, c: *Cursor) Error!void {
    var i: Instruction = .{ .d = d, .name = "", .at = c.peek().at };
    if (c.take("@")) {
        if (c.take("!")) i.flip = machine.full;
        const name = c.next().text;
        const r = d.find_register(name) orelse return c.refuse("'{s}' is no predicate", .{name});
        if (r.ty != .pred) return c.refuse("'{s}' is no predicate", .{name});
        i.guard = r.at;
    }
    try words(&i, c);
    var args: std.ArrayList(operands.Operand) = .empty;
    while (!c.take(";")) {
        if (c.i >= c.list.len) return c.refuse("an instruction does not end", .{});
        try args.append(d.arena, try operands.parse(d, c));
        if (c.take(";")) break;
        try c.expect(",");
    }
    i.args = args.items;
    try table.decode(&i);
}
