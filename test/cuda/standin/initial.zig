//! The values that a module's variables begin with.
const std = @import("std");
const lexer = @import("lexer.zig");
const modules = @import("module.zig");
const Cursor = modules.Cursor;
const Error = modules.Error;
const Module = modules.Module;
const Variable = modules.Variable;

/// Writes a variable's value; every variable has its address already.
pub fn fill(m: *Module, v: *const Variable, to: []u8) Error!void {
    @memset(to, 0);
    if (v.init.len == 0) return;
    var c: Cursor = .{ .module = m, .list = v.init };
    var at: usize = 0;
    try values(&c, v, to, &at);
    if (c.i < c.list.len) return c.refuse("'{s}' has a value that is not known", .{v.name});
}

fn values(c: *Cursor, v: *const Variable, to: []u8, at: *usize) Error!void {
    if (!c.take("{")) return scalar(c, v, to, at);
    while (!c.take("}")) {
        try values(c, v, to, at);
        if (c.take("}")) break;
        try c.expect(",");
    }
}

fn scalar(c: *Cursor, v: *const Variable, to: []u8, at: *usize) Error!void {
    const bytes = v.ty.bytes();
    if (at.* + bytes > to.len) return c.refuse("'{s}' has more values than room", .{v.name});
    var value = try constant(c, v);
    while (!c.done() and (c.peek().is("+") or c.peek().is("-"))) {
        const minus = c.next().is("-");
        const more = try constant(c, v);
        value = if (minus) value -% more else value +% more;
    }
    @memcpy(to[at.*..][0..bytes], std.mem.asBytes(&value)[0..bytes]);
    at.* += bytes;
}

fn constant(c: *Cursor, v: *const Variable) Error!u64 {
    if (c.take("-")) return 0 -% try constant(c, v);
    const t = c.next();
    if (t.kind == .number) {
        const value = lexer.literal(t.text) orelse return c.refuse("'{s}' is no number", .{t.text});
        if (c.take("(")) return masked(c, value, v);
        return switch (value) {
            .int => |n| n,
            .f32 => |n| n,
            .f64 => |n| if (v.ty == .f32) @as(u32, @bitCast(@as(f32, @floatCast(@as(f64, @bitCast(n)))))) else n,
        };
    }
    if (t.is("generic")) {
        try c.expect("(");
        const address = try symbol(c, try c.word());
        try c.expect(")");
        return address;
    }
    if (t.kind == .word) return symbol(c, t.text);
    return c.refuse("'{s}' is no value", .{t.text});
}

/// `0xFF00(name)`: the bits of an address that a mask names.
fn masked(c: *Cursor, mask: lexer.Literal, v: *const Variable) Error!u64 {
    const address = try constant(c, v);
    try c.expect(")");
    if (mask != .int or mask.int == 0) return c.refuse("a mask that is none", .{});
    return (address & mask.int) >> @intCast(@ctz(mask.int));
}

fn symbol(c: *Cursor, name: []const u8) Error!u64 {
    const other = c.module.variables.get(name) orelse
        return c.refuse("'{s}' is no variable of this module", .{name});
    if (other.space != .global and other.space != .constant) return c.refuse("'{s}' has no constant address", .{name});
    return other.address;
}
