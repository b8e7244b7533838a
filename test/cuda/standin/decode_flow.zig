//! Decodes branches, calls, barriers and what the lanes of a warp do together.
const std = @import("std");
const control = @import("ops_control.zig");
const machine = @import("machine.zig");
const matrix = @import("ops_matrix.zig");
const mem = @import("decode_memory.zig");
const memory_ops = @import("ops_memory.zig");
const operands = @import("operands.zig");
const warp = @import("ops_warp.zig");
const types = @import("types.zig");
const decode = @import("decode.zig");
const Error = @import("module.zig").Error;
const Instruction = @import("instruction.zig").Instruction;
const Ty = types.Ty;

fn name_of(i: *Instruction, n: usize) Error![]const u8 {
    return switch (i.arg(n)) {
        .name => |name| name,
        else => i.refuse("operand {d} must be a name", .{n + 1}),
    };
}

pub fn branch(i: *Instruction) Error!void {
    _ = i.has("uni");
    try i.check(1);
    try i.emit(.{ .run = &control.branch });
    try i.d.fix_last(try name_of(i, 0), i.at);
}

pub fn branch_indexed(i: *Instruction) Error!void {
    i.skip_any(&.{ "idx", "uni" });
    try i.check(2);
    const name = try name_of(i, 1);
    const list = i.d.find_table(name) orelse return i.refuse("no .branchtargets '{s}' before it", .{name});
    const a = try i.source(0, .u32);
    try i.emit(.{ .run = &control.branch_indexed, .a = a, .x = list.first, .imm = list.count });
}

fn params_of(i: *Instruction, o: operands.Operand, wanted: []const decode.Place) Error![]operands.Operand {
    if (o != .list) return i.refuse("parameters in parentheses are wanted", .{});
    if (o.list.len != wanted.len) return i.refuse("{d} parameters, not {d}", .{ o.list.len, wanted.len });
    for (o.list, wanted) |p, q| {
        const variable = p == .symbol and p.symbol.place.space == .local;
        if (!variable) return i.refuse("a parameter that is no .param variable", .{});
        if (p.symbol.place.size < q.size) return i.refuse("a parameter of {d} bytes, not {d}", .{
            p.symbol.place.size, q.size,
        });
    }
    return o.list;
}

fn copy(i: *Instruction, from: u64, to: u64, bytes: u32) Error!void {
    try i.emit(.{ .run = &memory_ops.copy_local, .imm = from, .a = @intCast(to), .x = bytes });
}

pub fn call(i: *Instruction) Error!void {
    _ = i.has("uni");
    if (i.args.len < 1 or i.args.len > 3) return i.refuse("{d} operands,", .{i.args.len});
    try i.check(i.args.len);
    const first: usize = if (i.arg(0) == .list) 1 else 0;
    if (i.args.len <= first) return i.refuse("no function,", .{});
    const name = try name_of(i, first);
    const f = i.d.module.functions.getPtr(name) orelse return i.refuse("'{s}' is no function of this module", .{name});
    if (f.entry) return i.refuse("'{s}' is a kernel", .{name});
    const to = try i.d.instance(f);
    const list = if (i.d.current) |c| &c.calls else &i.d.entry_calls;
    try list.append(i.d.arena, to);
    if (i.args.len > first + 1) {
        const given = try params_of(i, i.arg(first + 1), to.params);
        for (given, to.params) |p, q| try copy(i, p.symbol.place.at, q.at, q.size);
    } else if (to.params.len > 0) return i.refuse("no parameters,", .{});
    try i.emit(.{ .run = &control.call, .a = to.return_at });
    try i.d.calls.append(i.d.arena, .{ .ins = @intCast(i.d.code.items.len - 1), .to = to });
    if (first == 0) return;
    const results = try params_of(i, i.arg(0), to.results);
    for (results, to.results) |p, q| try copy(i, q.at, p.symbol.place.at, q.size);
}

pub fn ret(i: *Instruction) Error!void {
    _ = i.has("uni");
    try i.check(0);
    if (i.d.current) |f| return i.emit(.{ .run = &control.give_back, .a = f.return_at });
    try i.emit(.{ .run = &control.exit });
}

pub fn exit(i: *Instruction) Error!void {
    try i.check(0);
    try i.emit(.{ .run = &control.exit });
}

pub fn trap(i: *Instruction) Error!void {
    try i.check(0);
    try i.emit(.{ .run = &control.trap });
}

/// `bar.sync`, `bar.arrive`, `bar.red`, `bar.warp.sync`, and `barrier` with all of them.
pub fn barrier(i: *Instruction) Error!void {
    if (i.has("warp")) {
        if (!i.has("sync")) return i.unknown();
        try i.check(1);
        return i.emit(.{ .run = &warp.sync, .c = try i.source(0, .u32) });
    }
    _ = i.has("cta");
    var form: control.BarrierForm = .{ .aligned = i.name.len == 3 };
    if (i.has("aligned")) form.aligned = true;
    form.arrive = i.has("arrive");
    const red = i.has("red");
    if (!form.arrive and !red and !i.has("sync")) return i.unknown();
    if (red) return barrier_red(i, form);
    if (i.args.len < 1 or i.args.len > 2) return i.refuse("{d} operands,", .{i.args.len});
    try i.check(i.args.len);
    form.counted = i.args.len == 2;
    if (form.arrive and !form.counted) return i.refuse("no count of threads,", .{});
    const b = if (form.counted) try i.source(1, .u32) else 0;
    try i.emit(.{ .run = &control.barrier, .a = try i.source(0, .u32), .b = b, .x = @bitCast(form) });
}

fn barrier_red(i: *Instruction, start: control.BarrierForm) Error!void {
    var form = start;
    const ty = if (i.has("popc")) popc: {
        form.reduce = .popc;
        break :popc Ty.u32;
    } else if (i.has("and")) Ty.pred else if (i.has("or")) Ty.pred else return i.unknown();
    if (ty == .pred) form.reduce = if (i.understood[i.count - 2] and i.suffixes[i.count - 2][0] == 'a') .all else .any;
    if (try i.ty() != ty) return i.refuse("a result of another type", .{});
    if (i.args.len < 3 or i.args.len > 4) return i.refuse("{d} operands,", .{i.args.len});
    try i.check(i.args.len);
    form.counted = i.args.len == 4;
    const b = if (form.counted) try i.source(2, .u32) else 0;
    const c = try i.source(i.args.len - 1, .pred);
    const d = try i.dest(0, ty);
    try i.emit(.{ .run = &control.barrier, .d = d, .a = try i.source(1, .u32), .b = b, .c = c, .x = @bitCast(form) });
}

pub fn nanosleep(i: *Instruction) Error!void {
    if (try i.ty() != .u32) return i.refuse("a time of another type", .{});
    try i.check(1);
    try i.emit(.{ .run = &warp.sleep, .a = try i.source(0, .u32) });
}

fn synced(i: *Instruction) Error!void {
    if (!i.has("sync")) return i.refuse("only the .sync form is known", .{});
}

pub fn shuffle(i: *Instruction) Error!void {
    try synced(i);
    const mode = i.one_of(warp.Shuffle) orelse return i.refuse("no mode", .{});
    if (try i.ty() != .b32) return i.refuse("32 bits are shuffled", .{});
    try i.check(5);
    const first, const second = i.split(0);
    const run = warp.pick_shuffle(mode);
    const places = [_]u32{
        try i.source(2, .u32),
        try i.source(3, .u32),
        if (second) |o| try i.dest_of(o, .pred) else machine.never,
    };
    const d = try i.dest_of(first, .b32);
    const c = try i.source(4, .u32);
    try i.emit(.{ .run = run, .d = d, .a = try i.source(1, .b32), .c = c, .x = try i.d.extra(&places) });
}

pub fn vote(i: *Instruction) Error!void {
    try synced(i);
    const mode = i.one_of(warp.Vote) orelse return i.refuse("no mode", .{});
    const ty = try i.ty();
    if (ty != if (mode == .ballot) Ty.b32 else Ty.pred) return i.refuse("a result of another type", .{});
    try i.check(3);
    const d = try i.dest(0, ty);
    const c = try i.source(2, .u32);
    try i.emit(.{ .run = warp.pick_vote(mode), .d = d, .a = try i.source(1, .pred), .c = c });
}

pub fn match(i: *Instruction) Error!void {
    const all = i.has("all");
    if (!all and !i.has("any")) return i.refuse("no mode", .{});
    try synced(i);
    const ty = try i.ty();
    if (ty != .b32 and ty != .b64) return i.refuse("32 or 64 bits are compared", .{});
    try i.check(3);
    const first, const second = i.split(0);
    const e = if (second) |o| try i.dest_of(o, .pred) else machine.never;
    if (!all and second != null) return i.refuse("a predicate", .{});
    const run = warp.pick_match(all, ty);
    const d = try i.dest_of(first, .b32);
    try i.emit(.{ .run = run, .d = d, .e = e, .a = try i.source(1, ty), .c = try i.source(2, .u32) });
}

pub fn active_mask(i: *Instruction) Error!void {
    if (try i.ty() != .b32) return i.refuse("a result of another type", .{});
    try i.check(1);
    try i.emit(.{ .run = &warp.active_mask, .d = try i.dest(0, .b32) });
}

pub fn reduce(i: *Instruction) Error!void {
    try synced(i);
    const op = i.one_of(warp.Reduce) orelse return i.refuse("no operation", .{});
    const ty = try i.ty();
    try i.check(3);
    const run = warp.pick_reduce(op, ty) orelse return i.refuse("no .{s} of type {s}", .{ @tagName(op), @tagName(ty) });
    try i.emit(.{ .run = run, .d = try i.dest(0, ty), .a = try i.source(1, ty), .c = try i.source(2, .u32) });
}

const Tiles = enum { x1, x2, x4 };

pub fn load_matrix(i: *Instruction) Error!void {
    if (!i.has("sync") or !i.has("aligned") or !i.has("m8n8")) return i.unknown();
    const tiles = i.one_of(Tiles) orelse return i.refuse("no number of tiles", .{});
    const transposed = i.has("trans");
    if (!(i.has("shared") or i.has("shared::cta"))) return i.refuse("matrices are loaded from shared memory", .{});
    if (try i.ty() != .b16) return i.refuse("elements of 16 bits are loaded", .{});
    try i.check(2);
    const count: usize = switch (tiles) {
        .x1 => 1,
        .x2 => 2,
        .x4 => 4,
    };
    const from = try mem.target(i, i.arg(1), .shared);
    const x = try vector(i, 0, count, .b32, true);
    const flags: u32 = @as(u32, @intCast(count)) | (if (transposed) matrix.transposed_flag else 0) |
        (if (from.short) matrix.short_flag else 0);
    try i.emit(.{ .run = &matrix.load, .a = from.at, .imm = from.offset, .x = x, .e = flags });
}

/// The places of registers in braces, among the extras.
fn vector(i: *Instruction, n: usize, count: usize, ty: Ty, dest: bool) Error!u32 {
    const list: []operands.Operand = if (i.arg(n) == .vector) i.arg(n).vector else i.args[n..][0..1];
    if (list.len != count) return i.refuse("{d} registers, not {d}", .{ list.len, count });
    var places: [8]u32 = undefined;
    for (list, 0..) |o, k| places[k] = if (dest) try i.dest_of(o, ty) else try i.source_of(o, ty);
    return i.d.extra(places[0..count]);
}

pub fn multiply_matrices(i: *Instruction) Error!void {
    if (!i.has("sync") or !i.has("aligned")) return i.unknown();
    const shape = i.one_of(matrix.Shape) orelse return i.refuse("no shape that is known", .{});
    if (!i.has("row") or !i.has("col")) return i.refuse("only .row.col is known", .{});
    const td = try i.ty();
    const ta = try i.ty();
    const tb = try i.ty();
    const tc = try i.ty();
    try i.check(4);
    const tiles = matrix.sizes(shape, ta, td) orelse return i.refuse("no mma of this shape and these types", .{});
    if (ta != tb or td != tc) return i.refuse("types that do not go together", .{});
    const held: Ty = if (td == .f16) .b32 else td;
    const d = try vector(i, 0, tiles.c, held, true);
    const factors: Ty = if (ta == .f64) .f64 else .b32;
    const a = try vector(i, 1, tiles.a, factors, false);
    const b = try vector(i, 2, tiles.b, factors, false);
    const c = try vector(i, 3, tiles.c, held, false);
    const run = matrix.pick(shape, ta, td).?;
    try i.emit(.{ .run = run, .d = d, .a = a, .b = b, .c = c });
}
