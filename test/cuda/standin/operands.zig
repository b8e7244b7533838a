//! Operands of instructions, as they are written.
const std = @import("std");
const decode = @import("decode.zig");
const lexer = @import("lexer.zig");
const machine = @import("machine.zig");
const modules = @import("module.zig");
const types = @import("types.zig");
const Cursor = modules.Cursor;
const Decoder = decode.Decoder;
const Error = modules.Error;

pub const Clock = enum { clock, clock_hi, clock64, globaltimer, globaltimer_lo, globaltimer_hi };

pub const Operand = union(enum) {
    register: decode.Register,
    /// `!%p`
    negated: decode.Register,
    /// `%r|%p`
    pair: struct { first: *Operand, second: *Operand },
    int: u64,
    f32: u32,
    f64: u64,
    special: machine.Special,
    clock: Clock,
    /// A variable's place with an offset.
    symbol: struct { place: decode.Place, offset: u64 },
    vector: []Operand,
    address: struct { base: *Operand, offset: u64 },
    /// A label, a function or something else that only the instruction can tell.
    name: []const u8,
    list: []Operand,
    sink,
};

fn special_of(name: []const u8) ?machine.Special {
    var buffer: [32]u8 = undefined;
    if (name.len > buffer.len) return null;
    const words = buffer[0 .. name.len - 1];
    @memcpy(words, name[1..]);
    std.mem.replaceScalar(u8, words, '.', '_');
    return std.meta.stringToEnum(machine.Special, words);
}

fn box(d: *Decoder, o: Operand) Error!*Operand {
    const p = try d.arena.create(Operand);
    p.* = o;
    return p;
}

pub fn parse(d: *Decoder, c: *Cursor) Error!Operand {
    const first = try single(d, c);
    if (!c.take("|")) return first;
    return .{ .pair = .{ .first = try box(d, first), .second = try box(d, try single(d, c)) } };
}

fn several(d: *Decoder, c: *Cursor, end: []const u8) Error![]Operand {
    var list: std.ArrayList(Operand) = .empty;
    while (!c.take(end)) {
        try list.append(d.arena, try parse(d, c));
        if (c.take(end)) break;
        try c.expect(",");
    }
    return list.items;
}

fn single(d: *Decoder, c: *Cursor) Error!Operand {
    if (c.take("{")) return .{ .vector = try several(d, c, "}") };
    if (c.take("(")) return .{ .list = try several(d, c, ")") };
    if (c.take("[")) return address(d, c);
    if (c.take("!")) {
        const name = c.next().text;
        const r = d.find_register(name) orelse return c.refuse("'{s}' is no register", .{name});
        return .{ .negated = r };
    }
    if (c.take("-")) {
        const t = c.next();
        const value = lexer.literal(t.text) orelse return c.refuse("'{s}' is no number", .{t.text});
        return switch (value) {
            .int => |n| .{ .int = 0 -% n },
            .f32 => |n| .{ .f32 = n ^ 0x8000_0000 },
            .f64 => |n| .{ .f64 = n ^ (1 << 63) },
        };
    }
    const t = c.next();
    if (t.kind == .number) {
        return switch (lexer.literal(t.text) orelse return c.refuse("'{s}' is no number", .{t.text})) {
            .int => |n| .{ .int = n },
            .f32 => |n| .{ .f32 = n },
            .f64 => |n| .{ .f64 = n },
        };
    }
    if (t.kind != .word) return c.refuse("'{s}' is no operand", .{t.text});
    return named(d, c, t.text);
}

fn named(d: *Decoder, c: *Cursor, name: []const u8) Error!Operand {
    if (std.mem.eql(u8, name, "_")) return .sink;
    if (std.mem.eql(u8, name, "WARP_SZ")) return .{ .int = machine.lanes };
    if (d.find_register(name)) |r| return .{ .register = r };
    if (name[0] == '%') {
        if (special_of(name)) |s| return .{ .special = s };
        if (std.meta.stringToEnum(Clock, name[1..])) |k| return .{ .clock = k };
        return c.refuse("unknown register '{s}'", .{name});
    }
    const place = try d.find_place(name) orelse return .{ .name = name };
    return .{ .symbol = .{ .place = place, .offset = try offset(c) } };
}

/// What follows a base: `+8`, `-8`, `+-8`, or nothing.
fn offset(c: *Cursor) Error!u64 {
    var sum: u64 = 0;
    while (!c.done() and (c.peek().is("+") or c.peek().is("-"))) {
        var minus = c.next().is("-");
        if (c.take("-")) minus = !minus;
        const n = try c.number();
        sum = if (minus) sum -% n else sum +% n;
    }
    return sum;
}

fn address(d: *Decoder, c: *Cursor) Error!Operand {
    const base = try single(d, c);
    const more = try offset(c);
    try c.expect("]");
    switch (base) {
        .register, .int, .symbol => {},
        else => return c.refuse("no address stands in these brackets", .{}),
    }
    return .{ .address = .{ .base = try box(d, base), .offset = more } };
}
