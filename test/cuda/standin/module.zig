//! A module's text taken apart: its variables with their values, and its functions as ranges of tokens.
const std = @import("std");
const lexer = @import("lexer.zig");
const types = @import("types.zig");
const Token = lexer.Token;
const Ty = types.Ty;

pub const Error = lexer.Error;

pub const Variable = struct {
    name: []const u8,
    space: types.Space,
    ty: Ty,
    size: u32,
    /// Bytes of one element, more than the type's for a vector.
    element: u32 = 1,
    alignment: u32,
    /// `.extern .shared x[]`: as many bytes as the launch gives.
    dynamic: bool = false,
    /// Tokens of the value, none when it is zero.
    init: []const Token = &.{},
    /// In device memory, once the module is loaded.
    address: u64 = 0,
};

pub const Function = struct {
    name: []const u8,
    entry: bool,
    params: []Variable,
    results: []Variable,
    body: []const Token = &.{},
    defined: bool = false,
    max_threads: u32 = 1024,
    required: [3]u32 = .{ 0, 0, 0 },
};

pub const Module = struct {
    arena: std.mem.Allocator,
    source: []const u8,
    version: u32 = 0,
    target: u32 = 0,
    /// For devices of the target alone, as the letter `a` says.
    is_exact: bool = false,
    variables: std.StringArrayHashMapUnmanaged(Variable) = .empty,
    functions: std.StringArrayHashMapUnmanaged(Function) = .empty,
    problem: []const u8 = "",

    pub fn refuse(m: *Module, at: u32, comptime format: []const u8, args: anytype) Error {
        const words = std.fmt.allocPrint(m.arena, format, args) catch return error.OutOfMemory;
        const line = lexer.line_of(m.source, at);
        m.problem = std.fmt.allocPrint(m.arena, "line {d}: {s}", .{ line, words }) catch return error.OutOfMemory;
        return error.Ptx;
    }
};

/// A place in a list of tokens.
pub const Cursor = struct {
    module: *Module,
    list: []const Token,
    i: usize = 0,

    pub fn peek(c: *const Cursor) Token {
        return if (c.i < c.list.len) c.list[c.i] else c.list[c.list.len - 1];
    }

    pub fn next(c: *Cursor) Token {
        const t = c.peek();
        c.i += 1;
        return t;
    }

    pub fn done(c: *const Cursor) bool {
        return c.i >= c.list.len or c.list[c.i].kind == .end;
    }

    pub fn take(c: *Cursor, text: []const u8) bool {
        if (c.done() or !c.peek().is(text)) return false;
        c.i += 1;
        return true;
    }

    pub fn expect(c: *Cursor, text: []const u8) Error!void {
        if (!c.take(text)) return c.refuse("expected '{s}', not '{s}'", .{ text, c.peek().text });
    }

    pub fn word(c: *Cursor) Error![]const u8 {
        const t = c.next();
        if (t.kind != .word) return c.refuse("expected a name, not '{s}'", .{t.text});
        return t.text;
    }

    pub fn number(c: *Cursor) Error!u64 {
        const t = c.next();
        const value = if (t.kind == .number) lexer.literal(t.text) else null;
        if (value) |v| if (v == .int) return v.int;
        return c.refuse("expected a whole number, not '{s}'", .{t.text});
    }

    pub fn small(c: *Cursor) Error!u32 {
        return std.math.cast(u32, try c.number()) orelse c.refuse("a number that is too large", .{});
    }

    pub fn refuse(c: *const Cursor, comptime format: []const u8, args: anytype) Error {
        const at = if (c.i == 0) c.peek().at else c.list[@min(c.i, c.list.len) - 1].at;
        return c.module.refuse(at, format, args);
    }
};

pub fn parse(arena: std.mem.Allocator, source: []const u8, m: *Module) Error!void {
    m.* = .{ .arena = arena, .source = source };
    var bad_at: u32 = 0;
    const list = lexer.tokens(arena, source, &bad_at) catch |e| switch (e) {
        error.Ptx => return m.refuse(bad_at, "no word of PTX begins here", .{}),
        else => |other| return other,
    };
    var c: Cursor = .{ .module = m, .list = list };
    while (!c.done()) try top(&c);
    if (m.version == 0) return m.refuse(0, "no .version", .{});
    if (m.target == 0) return m.refuse(0, "no .target", .{});
}

fn top(c: *Cursor) Error!void {
    const m = c.module;
    const t = c.next();
    if (t.is(".version")) {
        var parts = std.mem.splitScalar(u8, c.next().text, '.');
        const major = std.fmt.parseInt(u8, parts.first(), 10) catch return c.refuse("a version that is none", .{});
        const minor = std.fmt.parseInt(u8, parts.next() orelse "", 10) catch
            return c.refuse("a version that is none", .{});
        m.version = @as(u32, major) * 10 + minor;
    } else if (t.is(".target")) {
        const name = try c.word();
        if (!std.mem.startsWith(u8, name, "sm_")) return c.refuse("target '{s}'", .{name});
        const digits = std.mem.trimEnd(u8, name[3..], "af");
        m.is_exact = std.mem.endsWith(u8, name, "a");
        m.target = std.fmt.parseInt(u32, digits, 10) catch return c.refuse("target '{s}'", .{name});
        while (c.take(",")) _ = try c.word();
    } else if (t.is(".address_size")) {
        if (try c.number() != 64) return c.refuse("only .address_size 64 exists here", .{});
    } else if (t.is(".file")) {
        while (c.peek().kind == .number or c.peek().kind == .text or c.peek().is(",")) c.i += 1;
    } else if (t.is(".section")) {
        while (!c.done() and !c.take("}")) c.i += 1;
    } else {
        c.i -= 1;
        try declaration(c);
    }
}

/// A variable or a function, with its linkage.
fn declaration(c: *Cursor) Error!void {
    var external = false;
    while (true) {
        if (c.take(".visible") or c.take(".weak") or c.take(".common")) continue;
        if (c.take(".extern")) {
            external = true;
            continue;
        }
        break;
    }
    if (c.take(".entry")) return function(c, true);
    if (c.take(".func")) return function(c, false);
    if (space_of(c.peek().text)) |space| {
        c.i += 1;
        if (space == .param or space == .local) return c.refuse("'{s}' at the level of a module", .{c.peek().text});
        return variables(c, space, external);
    }
    _ = c.next();
    return c.refuse("unknown directive '{s}'", .{c.list[c.i - 1].text});
}

pub fn space_of(word: []const u8) ?types.Space {
    const names = [_][]const u8{ ".global", ".const", ".shared", ".local", ".param" };
    const spaces = [_]types.Space{ .global, .constant, .shared, .local, .param };
    for (names, spaces) |name, space| if (std.mem.eql(u8, word, name)) return space;
    return null;
}

fn variables(c: *Cursor, space: types.Space, external: bool) Error!void {
    const m = c.module;
    var v = try declared(c, space);
    while (true) {
        if (external and !v.dynamic) return c.refuse("'{s}' is external: nothing defines it", .{v.name});
        if (v.dynamic and space != .shared) return c.refuse("'{s}' has no size", .{v.name});
        const slot = try m.variables.getOrPut(m.arena, v.name);
        if (slot.found_existing) return c.refuse("'{s}' is declared twice", .{v.name});
        slot.value_ptr.* = v;
        if (!c.take(",")) break;
        try shape(c, &v);
    }
    try c.expect(";");
}

/// One variable after its state space: alignment, type, name, shape and value.
pub fn declared(c: *Cursor, space: types.Space) Error!Variable {
    var v: Variable = .{ .name = "", .space = space, .ty = .b8, .size = 0, .alignment = 0 };
    var vector: u32 = 1;
    while (c.peek().kind == .word and c.peek().text[0] == '.') {
        const word = c.next().text;
        if (std.mem.eql(u8, word, ".align")) {
            v.alignment = try c.small();
            const valid = v.alignment > 0 and v.alignment <= 4096 and std.math.isPowerOfTwo(v.alignment);
            if (!valid) return c.refuse("an alignment of {d}", .{v.alignment});
        } else if (std.mem.eql(u8, word, ".ptr")) {
            if (space_of(c.peek().text) != null) c.i += 1;
            if (c.take(".align")) _ = try c.small();
        } else if (std.mem.eql(u8, word, ".v2")) {
            vector = 2;
        } else if (std.mem.eql(u8, word, ".v4")) {
            vector = 4;
        } else if (std.mem.startsWith(u8, word, ".attribute")) {
            return c.refuse("'{s}' is not known", .{word});
        } else v.ty = Ty.parse(word[1..]) orelse return c.refuse("unknown type '{s}'", .{word});
    }
    v.alignment = @max(v.alignment, v.ty.bytes() * vector);
    v.element = v.ty.bytes() * vector;
    try shape(c, &v);
    const on_chip = space == .shared or space == .local or space == .param;
    if (on_chip and v.size > 1 << 20) return c.refuse("'{s}' has {d} bytes", .{ v.name, v.size });
    return v;
}

fn shape(c: *Cursor, v: *Variable) Error!void {
    v.name = try c.word();
    v.init = &.{};
    v.dynamic = false;
    var size: u64 = v.element;
    while (c.take("[")) {
        if (c.take("]")) {
            v.dynamic = true;
            size = 0;
            continue;
        }
        size = std.math.mul(u64, size, try c.number()) catch return c.refuse("'{s}' is too large", .{v.name});
        try c.expect("]");
    }
    v.size = std.math.cast(u32, size) orelse return c.refuse("'{s}' is too large", .{v.name});
    if (c.take("=")) {
        const start = c.i;
        var depth: u32 = 0;
        while (!c.done()) {
            const t = c.peek();
            if (depth == 0 and (t.is(";") or t.is(","))) break;
            if (t.is("{") or t.is("(")) depth += 1;
            if (t.is("}") or t.is(")")) depth -|= 1;
            c.i += 1;
        }
        v.init = c.list[start..c.i];
    }
}

fn formals(c: *Cursor) Error![]Variable {
    var list: std.ArrayList(Variable) = .empty;
    if (!c.take("(")) return &.{};
    if (c.take(")")) return &.{};
    while (true) {
        if (c.take(".reg")) return c.refuse("parameters in registers are not known", .{});
        try c.expect(".param");
        const v = try declared(c, .param);
        if (v.dynamic) return c.refuse("'{s}' has no size", .{v.name});
        try list.append(c.module.arena, v);
        if (!c.take(",")) break;
    }
    try c.expect(")");
    return list.items;
}

fn function(c: *Cursor, entry: bool) Error!void {
    const m = c.module;
    var f: Function = .{ .name = "", .entry = entry, .params = &.{}, .results = &.{} };
    if (!entry and c.peek().is("(")) f.results = try formals(c);
    f.name = try c.word();
    f.params = try formals(c);
    try limits(c, &f);
    const slot = try m.functions.getOrPut(m.arena, f.name);
    if (!c.take(";")) {
        try c.expect("{");
        const start = c.i;
        var depth: u32 = 1;
        while (depth > 0) {
            if (c.done()) return c.refuse("the body of '{s}' does not end", .{f.name});
            const t = c.next();
            if (t.is("{")) depth += 1;
            if (t.is("}")) depth -= 1;
        }
        f.body = c.list[start .. c.i - 1];
        f.defined = true;
    }
    if (slot.found_existing) {
        if (slot.value_ptr.defined and f.defined) return c.refuse("'{s}' is defined twice", .{f.name});
        if (!f.defined) return;
    }
    slot.value_ptr.* = f;
}

fn limits(c: *Cursor, f: *Function) Error!void {
    while (c.peek().kind == .word) {
        const word = c.next().text;
        if (std.mem.eql(u8, word, ".noreturn")) continue;
        const required = std.mem.eql(u8, word, ".reqntid");
        const maximum = std.mem.eql(u8, word, ".maxntid");
        const other = std.mem.eql(u8, word, ".minnctapersm") or std.mem.eql(u8, word, ".maxnreg");
        if (!required and !maximum and !other) return c.refuse("unknown directive '{s}'", .{word});
        var numbers: [3]u32 = .{ try c.small(), 1, 1 };
        var n: usize = 1;
        while (c.take(",")) : (n += 1) {
            if (n == 3) return c.refuse("'{s}' takes three numbers at most", .{word});
            numbers[n] = try c.small();
        }
        if (required) f.required = numbers;
        if (required or maximum) f.max_threads = numbers[0] *| numbers[1] *| numbers[2];
    }
}
