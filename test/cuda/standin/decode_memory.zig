//! Decodes loads, stores, atomics and copies.
const std = @import("std");
const access = @import("access.zig");
const async_copies = @import("ops_async.zig");
const atomics = @import("ops_atomic.zig");
const groups = @import("ops_warpgroup.zig");
const machine = @import("machine.zig");
const memory_ops = @import("ops_memory.zig");
const operands = @import("operands.zig");
const types = @import("types.zig");
const Error = @import("module.zig").Error;
const Instruction = @import("instruction.zig").Instruction;
const Ty = types.Ty;

const scopes = [_][]const u8{ "cta", "cluster", "gpu", "sys" };
const caches = [_][]const u8{
    "ca",              "cg",             "cs",              "lu",
    "cv",              "wb",             "wt",              "L1::evict_normal",
    "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L1::evict_unchanged",
    "L2::64B",         "L2::128B",       "L2::256B",
};

fn space(i: *Instruction) types.Space {
    if (i.has("global")) return .global;
    if (i.has("const")) return .constant;
    if (i.has("shared") or i.has("shared::cta")) return .shared;
    if (i.has("local")) return .local;
    if (i.has("param") or i.has("param::entry") or i.has("param::func")) return .param;
    return .generic;
}

fn ordering(i: *Instruction) bool {
    _ = i.has("weak");
    const strong = i.has("relaxed") or i.has("acquire") or i.has("release") or i.has("acq_rel");
    const unusual = i.has("volatile") or i.has("mmio");
    i.skip_any(&scopes);
    return strong or unusual;
}

pub const Target = struct { at: u32, offset: u64, short: bool, space: types.Space, fixed: ?u64 = null };

/// The address of an operand in brackets.
pub fn target(i: *Instruction, o: operands.Operand, in: types.Space) Error!Target {
    if (o != .address) return i.refuse("no address in brackets", .{});
    const offset = o.address.offset;
    switch (o.address.base.*) {
        .register => |r| {
            const width = r.ty.width();
            if (r.ty == .pred or width < 4) return i.refuse("an address in a register of {d} bytes", .{width});
            return .{ .at = r.at, .offset = offset, .short = r.ty.width() == 4, .space = in };
        },
        .int => |n| {
            const at = try i.d.constant(8, n);
            return .{ .at = at, .offset = offset, .short = false, .space = in, .fixed = n +% offset };
        },
        .symbol => |s| {
            const p = s.place;
            const fits = in == p.space or (in == .param and p.space == .local) or
                (in == .generic and (p.space == .global or p.space == .constant));
            if (!fits) return i.refuse("a variable of another space", .{});
            const whole = s.offset +% offset;
            const known: ?u64 = if (p.space == .param) p.at +% whole else null;
            const at = try i.d.address_constant(8, p, whole);
            return .{ .at = at, .offset = 0, .short = false, .space = p.space, .fixed = known };
        },
        else => return i.refuse("no address in brackets", .{}),
    }
}

const Width = enum { v2, v4, v8 };

/// The registers of the elements, all as wide as the first.
fn registers(i: *Instruction, n: usize, count: usize, ty: Ty, form: *access.Form, into: *[8]u32) Error!void {
    const list: []operands.Operand = if (count == 1) i.args[n..][0..1] else switch (i.arg(n)) {
        .vector => |v| v,
        else => return i.refuse("{d} registers in braces are wanted", .{count}),
    };
    if (list.len != count) return i.refuse("{d} registers, not {d}", .{ list.len, count });
    form.width = 0;
    for (list) |o| if (o == .register) {
        if (o.register.ty == .pred) return i.refuse("a predicate in memory", .{});
        form.width = @intCast(o.register.ty.width());
    };
    if (form.width == 0) form.width = @intCast(ty.width());
    if (form.width < ty.bytes()) return i.refuse("a register that is too small", .{});
    const as: Ty = switch (form.width) {
        2 => .b16,
        4 => .b32,
        else => .b64,
    };
    for (list, into[0..count]) |o, *at| {
        at.* = if (o == .sink) machine.never else if (o == .register) try i.dest_of(o, as) else constant: {
            const value = if (ty.is_float()) try i.immediate(o, ty) else null;
            break :constant if (value) |v| try i.d.constant(form.width, v) else try i.source_of(o, as);
        };
    }
}

fn place(i: *Instruction, ins: *machine.Ins, form: *access.Form, at: []const u32) Error!void {
    if (at.len > 4) {
        form.many = true;
        ins.e = try i.d.extra(at);
        return;
    }
    const fields = [_]*u32{ &ins.d, &ins.b, &ins.c, &ins.e };
    for (at, 0..) |a, n| fields[n].* = a;
}

fn form_of(i: *Instruction) Error!struct { access.Form, Ty } {
    var form: access.Form = .{ .ordered = ordering(i) };
    form.space = space(i);
    _ = i.has("nc");
    i.skip_any(&caches);
    const width = i.one_of(Width);
    form.count = if (width) |v| switch (v) {
        .v2 => 2,
        .v4 => 4,
        .v8 => 8,
    } else 1;
    const ty = try i.ty();
    if (ty == .pred) return i.refuse("a predicate in memory", .{});
    form.bytes = @intCast(ty.bytes());
    form.is_signed = ty.is_signed();
    return .{ form, ty };
}

pub fn load(i: *Instruction) Error!void {
    var form, const ty = try form_of(i);
    try i.check(2);
    var at: [8]u32 = undefined;
    try registers(i, 0, form.count, ty, &form, &at);
    const from = try target(i, i.arg(1), form.space);
    form.space = from.space;
    form.short_address = from.short;
    var ins: machine.Ins = .{ .run = undefined, .a = from.at, .imm = from.offset };
    try place(i, &ins, &form, at[0..form.count]);
    if (from.space == .param) {
        if (from.fixed) |fixed| {
            const bytes = @as(u64, form.bytes) * form.count;
            if (fixed % bytes != 0) return i.refuse("a parameter at {d}, which is not aligned", .{fixed});
            if (fixed + bytes > i.d.param_bytes) return i.refuse("beyond the parameters", .{});
            ins.imm = fixed;
            ins.run = memory_ops.load_param;
        } else ins.run = memory_ops.pick(false, form);
    } else ins.run = memory_ops.pick(false, form);
    ins.x = @bitCast(form);
    try i.emit(ins);
}

pub fn store(i: *Instruction) Error!void {
    var form, const ty = try form_of(i);
    try i.check(2);
    var at: [8]u32 = undefined;
    try registers(i, 1, form.count, ty, &form, &at);
    const to = try target(i, i.arg(0), form.space);
    if (to.space == .constant or to.space == .param) return i.refuse("a store to {s} memory", .{@tagName(to.space)});
    form.space = to.space;
    form.short_address = to.short;
    var ins: machine.Ins = .{ .run = memory_ops.pick(true, form), .a = to.at, .imm = to.offset };
    try place(i, &ins, &form, at[0..form.count]);
    ins.run = memory_ops.pick(true, form);
    ins.x = @bitCast(form);
    try i.emit(ins);
}

fn atomic_of(i: *Instruction, returns: bool) Error!void {
    _ = ordering(i);
    const in = space(i);
    if (in != .global and in != .shared and in != .generic) return i.refuse("atomics in {s} memory", .{@tagName(in)});
    const op = i.one_of(atomics.Op) orelse return i.refuse("no operation", .{});
    _ = i.has("noftz");
    i.skip_any(&caches);
    const ty = try i.ty();
    const first: usize = if (returns) 1 else 0;
    try i.check(first + if (op == .cas) @as(usize, 3) else 2);
    const run = atomics.pick(op, ty) orelse return i.refuse("no .{s} of type {s}", .{ @tagName(op), @tagName(ty) });
    const at = try target(i, i.arg(first), in);
    const form: access.Form = .{ .space = at.space, .bytes = @intCast(ty.bytes()), .short_address = at.short };
    const d = if (returns) try i.dest(0, ty) else machine.never;
    const b = try i.source(first + 1, ty);
    const c = if (op == .cas) try i.source(first + 2, ty) else b;
    try i.emit(.{ .run = run, .d = d, .a = at.at, .b = b, .c = c, .x = @bitCast(form), .imm = at.offset });
}

pub fn atomic(i: *Instruction) Error!void {
    return atomic_of(i, true);
}

pub fn reduction(i: *Instruction) Error!void {
    return atomic_of(i, false);
}

pub fn fence(i: *Instruction) Error!void {
    const shows = i.has("proxy") and i.has("async");
    i.skip_any(&.{ "sc", "acq_rel", "acquire", "release", "gl", "alias", "shared::cta", "shared" });
    i.skip_any(&scopes);
    try i.check(0);
    try i.emit(.{ .run = if (shows) &groups.show else &atomics.fence });
}

/// Says where the next accesses will be; nothing depends on it.
pub fn prefetch(i: *Instruction) Error!void {
    _ = space(i);
    i.skip_any(&.{ "L1", "L2", "L2::evict_last", "L2::evict_normal" });
    try i.check(1);
    if (i.arg(0) != .address) return i.refuse("no address in brackets", .{});
}

pub fn copy_async(i: *Instruction) Error!void {
    if (!i.has("async")) return i.unknown();
    if (i.has("commit_group")) {
        try i.check(0);
        return i.emit(.{ .run = &async_copies.commit });
    }
    if (i.has("wait_all")) {
        try i.check(0);
        return i.emit(.{ .run = &async_copies.wait, .x = 1 });
    }
    if (i.has("wait_group")) {
        try i.check(1);
        return i.emit(.{ .run = &async_copies.wait, .imm = try i.known(0) });
    }
    const wide_only = i.has("cg");
    if (!wide_only and !i.has("ca")) return i.unknown();
    if (!(i.has("shared") or i.has("shared::cta")) or !i.has("global")) return i.unknown();
    i.skip_any(&caches);
    if (i.args.len < 3) return i.refuse("{d} operands,", .{i.args.len});
    try i.check(@min(i.args.len, 4));
    const bytes = try i.known(2);
    const fits = bytes == 16 or (!wide_only and (bytes == 4 or bytes == 8));
    if (!fits) return i.refuse("a copy of {d} bytes", .{bytes});
    const to = try target(i, i.arg(0), .shared);
    const from = try target(i, i.arg(1), .global);
    if (from.short) return i.refuse("a global address of 32 bits", .{});
    const sized = if (i.args.len == 4) try i.source(3, .u32) else 0;
    const short: u32 = if (to.short) 0x100 else 0;
    try i.emit(.{
        .run = &async_copies.start,
        .a = to.at,
        .b = from.at,
        .c = sized,
        .e = @truncate(to.offset),
        .x = @as(u32, @intCast(bytes)) | short,
        .imm = from.offset,
    });
}
