//! Products of warp groups, whose factors lie in shared memory: each warp computes the 16 rows that are its own. They
//! happen at the wait, as late as they may: a kernel that does not wait does not see them, and one that gives their
//! factors' memory away too early has other results, and a race.
const std = @import("std");
const access = @import("access.zig");
const control = @import("ops_control.zig");
const faults = @import("faults.zig");
const half = @import("half.zig");
const machine = @import("machine.zig");
const types = @import("types.zig");
const Handler = machine.Handler;
const Ins = machine.Ins;
const Ty = types.Ty;
const Warp = machine.Warp;

const gpa = std.heap.c_allocator;

const rows = 16;
/// Terms of a product of the smallest elements.
const most_depth = 16;
const most_columns = 256;

/// What is on its way in a warp.
pub const Products = struct {
    const Product = struct { set: u32, ins: *const Ins, a: u64, b: u64 };

    list: std.ArrayList(Product) = .empty,
    sets: u32 = 0,
    /// Whether the warp has said that its registers are ready.
    begun: bool = false,
    /// Since when shared memory holds what the warp wrote or copied and the units were not told of; 0 for none.
    hidden: u32 = 0,

    pub fn hide(p: *Products, epoch: u32) void {
        if (p.hidden == 0) p.hidden = epoch;
    }

    pub fn drop(p: *Products) void {
        p.list.clearRetainingCapacity();
        p.begun = false;
        p.hidden = 0;
    }

    pub fn release(p: *Products) void {
        p.list.deinit(gpa);
    }
};

/// How a product is written, in an instruction's `x`.
pub const Form = packed struct(u32) {
    columns: u16,
    /// Whether a factor lies across the sum.
    a_turned: bool,
    b_turned: bool,
    /// Bytes of an element; of all terms there are 32.
    size: u4,
    _: u10 = 0,
};

/// A factor as its description says: 128 bytes a row, whose pieces of 16 are exchanged by the address.
const Layout = struct {
    start: u64,
    leading: u64,
    stride: u64,

    fn of(description: u64) ?Layout {
        const exchanged = description >> 62 == 1;
        if (!exchanged or description >> 49 & 7 != 0) return null;
        return .{
            .start = (description & 0x3FFF) << 4,
            .leading = (description >> 16 & 0x3FFF) << 4,
            .stride = (description >> 32 & 0x3FFF) << 4,
        };
    }

    /// Where elements begin that lie together in 16 bytes, from an element across and a term on.
    fn place(l: Layout, turned: bool, size: u32, outer: u64, term: u64) u64 {
        const at = if (turned)
            l.start + outer / 64 * l.leading + outer % 64 * 2 + term / 8 * l.stride + term % 8 * 128
        else
            l.start + outer / 8 * l.stride + outer % 8 * 128 + term * size;
        return at ^ (at >> 7 & 7) << 4;
    }
};

pub fn begin(w: *Warp, i: *const Ins, mask: u32) void {
    if (!control.together(w, mask, machine.full)) return;
    _ = i;
    w.products.begun = true;
}

/// `fence.proxy.async`: the units see what was copied.
pub fn show(w: *Warp, i: *const Ins, mask: u32) void {
    _ = i;
    _ = mask;
    w.products.hidden = 0;
}

pub fn commit(w: *Warp, i: *const Ins, mask: u32) void {
    if (!control.together(w, mask, machine.full)) return;
    _ = i;
    w.products.sets += 1;
}

/// Waits until at most `imm` of the newest sets are on their way.
pub fn wait(w: *Warp, i: *const Ins, mask: u32) void {
    if (!control.together(w, mask, machine.full)) return;
    const p = &w.products;
    var done: usize = 0;
    for (p.list.items) |x| {
        if (x.set + i.imm >= p.sets) break;
        finish(w, x.ins, x.a, x.b);
        done += 1;
    }
    std.mem.copyForwards(Products.Product, p.list.items[0 .. p.list.items.len - done], p.list.items[done..]);
    p.list.items.len -= done;
}

/// The description that all lanes give.
fn same(w: *Warp, i: *const Ins, at: u32) ?u64 {
    const all = w.lane(u64, at);
    for (all) |x| if (x != all[0]) {
        faults.raise(w, i, machine.full, faults.illegal_instruction, "lanes describe different factors", .{});
        return null;
    };
    return all[0];
}

/// From the descriptions `a` and `b`; the sums stand among the extras from `e` on.
pub fn start(w: *Warp, i: *const Ins, mask: u32) void {
    if (!control.together(w, mask, machine.full)) return;
    const p = &w.products;
    const bad = faults.illegal_instruction;
    if (!p.begun) return faults.raise(w, i, mask, bad, "a product before wgmma.fence", .{});
    for (w.block.warps) |*other| {
        const hidden = other.products.hidden;
        if (hidden == 0 or hidden >= w.block.epoch) continue;
        return faults.raise(w, i, mask, bad, "warp {d} has written without fence.proxy.async", .{other.index});
    }
    const a = same(w, i, i.a) orelse return;
    const b = same(w, i, i.b) orelse return;
    if (Layout.of(a) == null or Layout.of(b) == null) {
        return faults.raise(w, i, mask, bad, "only exchange in rows of 128 bytes is emulated", .{});
    }
    if (!touch(w, i, a, b)) return;
    p.list.append(gpa, .{ .set = p.sets, .ins = i, .a = a, .b = b }) catch finish(w, i, a, b);
}

/// Notes that the warp reads its factors; false after a fault.
fn touch(w: *Warp, i: *const Ins, a: u64, b: u64) bool {
    const form: Form = @bitCast(i.x);
    var left: Pieces = .of(a, form.a_turned, form.size, w.index % 4 * rows, rows);
    var right: Pieces = .of(b, form.b_turned, form.size, 0, form.columns);
    while (left.next()) |p| if (p.read(w, i) == null) return false;
    while (right.next()) |p| if (p.read(w, i) == null) return false;
    return true;
}

/// Elements that lie together in 16 bytes.
const Piece = struct {
    outer: u32,
    term: u32,
    at: u64,

    fn read(p: Piece, w: *Warp, i: *const Ins) ?[*]const u8 {
        const from = access.resolve(w, i, .shared, 0, p.at, 16, false) orelse return null;
        access.note_shared(w, i, 0, access.shared_offset(.shared, p.at).?, 16, false);
        return from;
    }
};

/// All pieces of a factor, or of a warp's rows of it.
const Pieces = struct {
    layout: Layout,
    turned: bool,
    size: u32,
    first: u32,
    count: u32,
    n: u32 = 0,

    fn of(description: u64, turned: bool, size: u32, first: u32, count: u32) Pieces {
        return .{
            .layout = Layout.of(description).?,
            .turned = turned,
            .size = size,
            .first = first,
            .count = count,
        };
    }

    fn next(p: *Pieces) ?Piece {
        const depth = 32 / p.size;
        if (p.n >= p.count * depth) return null;
        defer p.n += 16 / p.size;
        const outer = if (p.turned) p.n % p.count else p.n / depth;
        const term = if (p.turned) p.n / p.count else p.n % depth;
        return .{ .outer = outer, .term = term, .at = p.layout.place(p.turned, p.size, p.first + outer, term) };
    }
};

/// An element as the units see it.
fn element(comptime ty: Ty, from: [*]const u8) f64 {
    if (ty != .tf32) return half.widen(ty, std.mem.readInt(u16, from[0..2], .little));
    return @as(f32, @bitCast(std.mem.readInt(u32, from[0..4], .little) & 0xFFFF_E000));
}

/// Elements `[outer][term]` of the left factor, `[term][outer]` of the right one.
fn read(w: *Warp, i: *const Ins, comptime ty: Ty, given: Pieces, to: anytype) bool {
    const is_left = @TypeOf(to) == *[rows][most_depth]f64;
    const size = comptime ty.bytes();
    var pieces = given;
    while (pieces.next()) |p| {
        const from = p.read(w, i) orelse return false;
        for (0..16 / size) |e| {
            const x = element(ty, from + size * e);
            const o = if (pieces.turned) p.outer + e else p.outer;
            const t = if (pieces.turned) p.term else p.term + e;
            if (is_left) to[o][t] = x else to[t][o] = x;
        }
    }
    return true;
}

fn finish(w: *Warp, i: *const Ins, a: u64, b: u64) void {
    switch (@as(Ty, @enumFromInt(i.imm))) {
        inline .f16, .bf16, .tf32 => |ty| multiply(w, i, ty, a, b),
        else => unreachable,
    }
}

fn multiply(w: *Warp, i: *const Ins, comptime ty: Ty, a: u64, b: u64) void {
    const form: Form = @bitCast(i.x);
    var left: [rows][most_depth]f64 = undefined;
    var right: [most_depth][most_columns]f64 = undefined;
    if (!read(w, i, ty, .of(a, form.a_turned, form.size, w.index % 4 * rows, rows), &left)) return;
    if (!read(w, i, ty, .of(b, form.b_turned, form.size, 0, form.columns), &right)) return;
    const places = w.kernel().extras[i.e..];
    for (0..rows) |row| {
        var sums: [most_columns]f64 = @splat(0);
        for (0..32 / ty.bytes()) |k| for (sums[0..form.columns], right[k][0..form.columns]) |*s, x| {
            s.* += left[row][k] * x;
        };
        for (sums[0..form.columns], 0..) |s, column| {
            const register = column / 8 * 4 + row / 8 * 2 + column % 2;
            const to = &w.lane(f32, places[register])[row % 8 * 4 + column % 8 / 2];
            to.* = @floatCast(to.* + s);
        }
    }
}
