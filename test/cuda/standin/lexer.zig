//! PTX text as words, numbers and signs. Dots belong to words: an instruction with its suffixes is one word.
const std = @import("std");

pub const Kind = enum { word, number, sign, text, end };

pub const Token = struct {
    kind: Kind,
    text: []const u8,
    /// Byte offset in the source.
    at: u32,

    pub fn is(t: Token, text: []const u8) bool {
        return t.kind != .text and std.mem.eql(u8, t.text, text);
    }
};

pub const Error = error{ Ptx, OutOfMemory };

fn in_word(c: u8) bool {
    return switch (c) {
        'a'...'z', 'A'...'Z', '0'...'9', '_', '$', '%', '.' => true,
        else => c >= 0x80,
    };
}

/// Where the blanks and comments that start at `from` end; null for a comment that never ends.
fn skip(source: []const u8, from: usize) ?usize {
    var i = from;
    while (i < source.len) {
        if (std.ascii.isWhitespace(source[i])) {
            i += 1;
        } else if (std.mem.startsWith(u8, source[i..], "//")) {
            i = std.mem.indexOfScalarPos(u8, source, i, '\n') orelse source.len;
        } else if (std.mem.startsWith(u8, source[i..], "/*")) {
            i = 2 + (std.mem.indexOfPos(u8, source, i + 2, "*/") orelse return null);
        } else break;
    }
    return i;
}

/// All tokens, an end token last. On an error `bad_at` is the offset of what is wrong.
pub fn tokens(gpa: std.mem.Allocator, source: []const u8, bad_at: *u32) Error![]Token {
    var list: std.ArrayList(Token) = .empty;
    var i: usize = 0;
    while (true) {
        bad_at.* = @intCast(@min(i, source.len));
        i = skip(source, i) orelse return error.Ptx;
        if (i >= source.len) break;
        const start = i;
        bad_at.* = @intCast(i);
        const c = source[i];
        var kind: Kind = .sign;
        if (c == '"') {
            i = 1 + (std.mem.indexOfScalarPos(u8, source, i + 1, '"') orelse return error.Ptx);
            kind = .text;
        } else if (in_word(c)) {
            while (i < source.len and in_word(source[i])) i += 1;
            kind = if (std.ascii.isDigit(c)) .number else .word;
        } else if (std.mem.indexOfScalar(u8, "{}()[]<>,;:=+-@!|~*/&^", c) != null) {
            i += 1;
        } else return error.Ptx;
        try list.append(gpa, .{ .kind = kind, .text = source[start..i], .at = @intCast(start) });
    }
    try list.append(gpa, .{ .kind = .end, .text = "", .at = @intCast(source.len) });
    return list.items;
}

/// The line of an offset, counted from 1.
pub fn line_of(source: []const u8, at: u32) u32 {
    return @intCast(1 + std.mem.count(u8, source[0..@min(at, source.len)], "\n"));
}

/// The statement that begins at an offset, without what follows its semicolon.
pub fn statement(source: []const u8, at: u32) []const u8 {
    const rest = source[@min(at, source.len)..];
    const end = std.mem.indexOfAny(u8, rest, ";\n") orelse rest.len;
    return std.mem.trim(u8, rest[0..@min(end, 200)], " \t\r");
}

pub const Literal = union(enum) { int: u64, f32: u32, f64: u64 };

/// The value of a number token; null when it is none.
pub fn literal(word: []const u8) ?Literal {
    if (word.len == 10 and word[0] == '0' and (word[1] == 'f' or word[1] == 'F')) {
        return .{ .f32 = std.fmt.parseInt(u32, word[2..], 16) catch return null };
    }
    if (word.len == 18 and word[0] == '0' and (word[1] == 'd' or word[1] == 'D')) {
        return .{ .f64 = std.fmt.parseInt(u64, word[2..], 16) catch return null };
    }
    const digits = if (word.len > 1 and word[word.len - 1] == 'U') word[0 .. word.len - 1] else word;
    if (std.mem.startsWith(u8, digits, "0x") or std.mem.startsWith(u8, digits, "0X")) {
        return .{ .int = std.fmt.parseInt(u64, digits[2..], 16) catch return null };
    }
    if (std.mem.startsWith(u8, digits, "0b") or std.mem.startsWith(u8, digits, "0B")) {
        return .{ .int = std.fmt.parseInt(u64, digits[2..], 2) catch return null };
    }
    if (std.mem.indexOfScalar(u8, digits, '.') != null) {
        return .{ .f64 = @bitCast(std.fmt.parseFloat(f64, digits) catch return null) };
    }
    const octal = digits.len > 1 and digits[0] == '0';
    return .{ .int = std.fmt.parseInt(u64, digits, if (octal) 8 else 10) catch return null };
}
