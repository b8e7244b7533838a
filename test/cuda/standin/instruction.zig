//! One instruction while it is decoded: its suffixes, each of which must be understood, and its operands as places
//! in the register file.
const std = @import("std");
const decode = @import("decode.zig");
const lexer = @import("lexer.zig");
const logic = @import("ops_logic.zig");
const machine = @import("machine.zig");
const modules = @import("module.zig");
const operands = @import("operands.zig");
const types = @import("types.zig");
const Decoder = decode.Decoder;
const Error = modules.Error;
const Operand = operands.Operand;
const Ty = types.Ty;

pub const Instruction = struct {
    d: *Decoder,
    name: []const u8,
    suffixes: [12][]const u8 = undefined,
    understood: [12]bool = @splat(false),
    count: usize = 0,
    guard: u32 = 0,
    flip: u32 = 0,
    at: u32,
    args: []Operand = &.{},

    pub fn refuse(i: *Instruction, comptime format: []const u8, args: anytype) Error {
        const text = lexer.statement(i.d.module.source, i.at);
        return i.d.refuse(i.at, format ++ " in \"{s}\"", args ++ .{text});
    }

    pub fn unknown(i: *Instruction) Error {
        return i.refuse("unknown instruction '{s}'", .{i.name});
    }

    /// Whether the instruction has a suffix, which is understood from now on.
    pub fn has(i: *Instruction, suffix: []const u8) bool {
        for (i.suffixes[0..i.count], 0..) |s, n| {
            if (i.understood[n] or !std.mem.eql(u8, s, suffix)) continue;
            i.understood[n] = true;
            return true;
        }
        return false;
    }

    /// The first suffix not understood yet that names a value of an enum.
    pub fn one_of(i: *Instruction, comptime E: type) ?E {
        for (i.suffixes[0..i.count], 0..) |s, n| {
            if (i.understood[n]) continue;
            const value = std.meta.stringToEnum(E, s) orelse continue;
            i.understood[n] = true;
            return value;
        }
        return null;
    }

    pub fn skip_any(i: *Instruction, comptime words: []const []const u8) void {
        inline for (words) |word| _ = i.has(word);
    }

    pub fn ty(i: *Instruction) Error!Ty {
        return i.one_of(Ty) orelse i.refuse("no type", .{});
    }

    /// Every suffix must be understood, and as many operands be there as are wanted.
    pub fn check(i: *Instruction, wanted: usize) Error!void {
        for (i.suffixes[0..i.count], 0..) |s, n| {
            if (!i.understood[n]) return i.refuse("unknown suffix '.{s}'", .{s});
        }
        if (i.args.len != wanted) return i.refuse("{d} operands, not {d},", .{ i.args.len, wanted });
    }

    pub fn emit(i: *Instruction, ins: machine.Ins) Error!void {
        var made = ins;
        made.guard = i.guard;
        made.flip = i.flip;
        made.at = i.at;
        try i.d.code.append(i.d.arena, made);
    }

    fn fits(i: *Instruction, r: decode.Register, wanted: Ty) Error!u32 {
        const same = (r.ty == .pred) == (wanted == .pred) and r.ty.width() == wanted.width();
        if (!same) return i.refuse("a register of type {s} where {s} is wanted", .{
            @tagName(r.ty), @tagName(wanted),
        });
        return r.at;
    }

    /// An operand, before it is known whether there are as many.
    pub fn arg(i: *const Instruction, n: usize) Operand {
        return if (n < i.args.len) i.args[n] else .sink;
    }

    /// Where a result goes.
    pub fn dest(i: *Instruction, n: usize, wanted: Ty) Error!u32 {
        return i.dest_of(i.arg(n), wanted);
    }

    pub fn dest_of(i: *Instruction, o: Operand, wanted: Ty) Error!u32 {
        return switch (o) {
            .register => |r| i.fits(r, wanted),
            .sink => i.d.slot_of(wanted),
            else => i.refuse("a result that is no register", .{}),
        };
    }

    pub fn source(i: *Instruction, n: usize, wanted: Ty) Error!u32 {
        return i.source_of(i.arg(n), wanted);
    }

    pub fn source_of(i: *Instruction, o: Operand, wanted: Ty) Error!u32 {
        const width: u32 = if (wanted == .pred) 1 else wanted.width();
        switch (o) {
            .register => |r| return i.fits(r, wanted),
            .negated => |r| {
                const from = try i.fits(r, .pred);
                if (wanted != .pred) return i.refuse("a negated predicate where {s} is wanted", .{@tagName(wanted)});
                const to = i.d.predicate_slot();
                const run = logic.pick_logic(.not);
                try i.d.code.append(i.d.arena, .{ .run = run, .d = to, .a = from, .at = i.at });
                return to;
            },
            .special => |s| {
                const at = try i.d.special(s);
                if (width == 4) return at;
                return i.refuse("a special register where {s} is wanted", .{@tagName(wanted)});
            },
            .symbol => |s| {
                if (width < 4 or wanted.is_float()) return i.refuse("an address of {d} bytes", .{width});
                return i.d.address_constant(width, s.place, s.offset);
            },
            else => return i.d.constant(width, try i.immediate(o, wanted)),
        }
    }

    /// The bits of a number, as the type wants them.
    pub fn immediate(i: *Instruction, o: Operand, wanted: Ty) Error!u64 {
        switch (o) {
            .int => |n| {
                if (wanted == .f32) return @as(u32, @bitCast(@as(f32, @floatFromInt(@as(i64, @bitCast(n))))));
                if (wanted == .f64) return @bitCast(@as(f64, @floatFromInt(@as(i64, @bitCast(n)))));
                return n;
            },
            .f32 => |n| {
                if (wanted == .f64) return @bitCast(@as(f64, @as(f32, @bitCast(n))));
                return n;
            },
            .f64 => |n| {
                if (wanted == .f32) return @as(u32, @bitCast(@as(f32, @floatCast(@as(f64, @bitCast(n))))));
                return n;
            },
            .name => |name| return i.refuse("'{s}' is not known", .{name}),
            else => return i.refuse("an operand of another kind", .{}),
        }
    }

    /// A number that must be known when the module is loaded.
    pub fn known(i: *Instruction, n: usize) Error!u64 {
        if (i.arg(n) == .int) return i.arg(n).int;
        return i.refuse("operand {d} must be a number", .{n + 1});
    }

    /// The two halves of `%r|%p`, the second null without one.
    pub fn split(i: *Instruction, n: usize) struct { Operand, ?Operand } {
        return switch (i.arg(n)) {
            .pair => |p| .{ p.first.*, p.second.* },
            else => |o| .{ o, null },
        };
    }
};
