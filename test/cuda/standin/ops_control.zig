//! Branches, calls, ends, and the lists of lanes that stand apart from the others of their warp.
const std = @import("std");
const faults = @import("faults.zig");
const machine = @import("machine.zig");
const Ins = machine.Ins;
const Part = machine.Part;
const Warp = machine.Warp;

/// Adds lanes to those that stand at `pc`. Lanes that meet others at the instruction they wait at are ready together.
pub fn push(w: *Warp, part: Part) void {
    if (part.wait != .barrier) for (w.parts[0..w.part_count]) |*p| {
        if (p.pc == part.pc and p.wait != .barrier) {
            p.mask |= part.mask;
            p.wait = .ready;
            return;
        }
    };
    w.parts[w.part_count] = part;
    w.part_count += 1;
}

pub fn remove(w: *Warp, n: usize) void {
    w.part_count -= 1;
    w.parts[n] = w.parts[w.part_count];
}

inline fn jump(w: *Warp, target: u32) void {
    if (target < w.pc) {
        w.quantum -= 1;
        // Lanes that wait may stand in what is run again.
        if (w.quantum <= 0 or w.part_count > 0) w.limit = 0;
    }
    w.pc = target;
}

pub fn branch(w: *Warp, i: *const Ins, mask: u32) void {
    if (mask == w.active) return jump(w, i.x);
    leave(w, mask, i.x);
}

/// Lanes go on elsewhere; the rest stays.
fn leave(w: *Warp, mask: u32, target: u32) void {
    if (target < w.pc) w.quantum -= 1;
    push(w, .{ .pc = target, .mask = mask });
    w.active &= ~mask;
    w.limit = 0;
}

/// `brx.idx`: the table of targets stands among the extras, its length in `imm`.
pub fn branch_indexed(w: *Warp, i: *const Ins, mask: u32) void {
    var left = mask;
    while (left != 0) {
        const index = w.lane(u32, i.a)[@ctz(left)];
        if (index >= i.imm) {
            return faults.raise(w, i, left, faults.illegal_instruction, "index {d} of {d} targets", .{ index, i.imm });
        }
        var same: u32 = 0;
        var rest = left;
        while (rest != 0) : (rest &= rest - 1) {
            const l: u5 = @intCast(@ctz(rest));
            if (w.lane(u32, i.a)[l] == index) same |= @as(u32, 1) << l;
        }
        leave(w, same, w.kernel().extras[i.x + index]);
        left &= ~same;
    }
}

/// Every lane keeps the place to return to in the register that belongs to the function.
pub fn call(w: *Warp, i: *const Ins, mask: u32) void {
    w.put(u32, i.a, mask, @splat(w.pc));
    branch(w, i, mask);
}

pub fn give_back(w: *Warp, i: *const Ins, mask: u32) void {
    var left = mask;
    while (left != 0) {
        const target = w.lane(u32, i.a)[@ctz(left)];
        const same = machine.bits(w.vec(u32, i.a).* == @as(machine.Vec(u32), @splat(target))) & left;
        if (same == w.active) return jump(w, target);
        leave(w, same, target);
        left &= ~same;
    }
}

pub fn exit(w: *Warp, i: *const Ins, mask: u32) void {
    _ = i;
    w.live &= ~mask;
    w.active &= ~mask;
    // Lanes that waited for these look again whether everybody is there.
    for (w.parts[0..w.part_count]) |*p| if (p.wait == .warp) {
        p.wait = .ready;
    };
    w.limit = 0;
}

pub fn trap(w: *Warp, i: *const Ins, mask: u32) void {
    faults.raise(w, i, mask, faults.launch_failed, "the kernel trapped", .{});
}

/// Whether all lanes of `need` that still live execute this together; otherwise those that do wait.
pub fn together(w: *Warp, mask: u32, need: u32) bool {
    if (need & w.live & ~mask == 0) return true;
    push(w, .{ .pc = w.pc - 1, .mask = mask, .wait = .warp });
    w.active &= ~mask;
    w.limit = 0;
    return false;
}

pub const Reduce = enum(u2) { none, popc, all, any };

/// Packed into the `x` of a barrier.
pub const BarrierForm = packed struct(u32) {
    aligned: bool = true,
    arrive: bool = false,
    counted: bool = false,
    reduce: Reduce = .none,
    negate: bool = false,
    _: u26 = 0,
};

/// The barrier's number is in `a`, a count in `b`, a predicate in `c`.
pub fn barrier(w: *Warp, i: *const Ins, mask: u32) void {
    const form: BarrierForm = @bitCast(i.x);
    if (form.aligned and !together(w, mask, w.live)) return;
    const first = @ctz(mask);
    const id = w.lane(u32, i.a)[first];
    if (id >= 16) {
        return faults.raise(w, i, mask, faults.illegal_instruction, "barrier {d}: there are 16", .{id});
    }
    const b = &w.block.barriers[id];
    b.expected = 0;
    if (form.counted) {
        b.expected = w.lane(u32, i.b)[first];
        if (b.expected == 0 or b.expected % machine.lanes != 0) {
            return faults.raise(w, i, mask, faults.illegal_instruction, "a barrier for {d} threads", .{b.expected});
        }
    }
    // A count counts whole warps, also one with fewer threads.
    b.arrived += if (form.counted and form.aligned) machine.lanes else @popCount(mask);
    if (form.arrive) return;
    if (form.reduce != .none) {
        const yes = (w.pred(i.c).* ^ (if (form.negate) machine.full else 0)) & mask;
        b.popc += @popCount(yes);
        b.all = b.all and yes == mask;
        b.any = b.any or yes != 0;
    }
    push(w, .{ .pc = w.pc, .mask = mask, .wait = .barrier, .barrier = id });
    w.active &= ~mask;
    w.limit = 0;
}

/// Lets the lanes that wait at a barrier go on, with what it gives them.
pub fn release(w: *Warp, id: u32) void {
    const b = w.block.barriers[id];
    var n: usize = 0;
    while (n < w.part_count) {
        const p = w.parts[n];
        if (p.wait != .barrier or p.barrier != id) {
            n += 1;
            continue;
        }
        const i = &w.code[p.pc - 1];
        const form: BarrierForm = @bitCast(i.x);
        switch (form.reduce) {
            .none => {},
            .popc => w.put(u32, i.d, p.mask, @splat(b.popc)),
            .all => w.put_pred(i.d, p.mask, if (b.all) machine.full else 0),
            .any => w.put_pred(i.d, p.mask, if (b.any) machine.full else 0),
        }
        remove(w, n);
        push(w, .{ .pc = p.pc, .mask = p.mask });
        n = 0;
    }
}

/// Chooses the lanes to run next; false when none can.
pub fn choose(w: *Warp, turn: u32) bool {
    if (w.active != 0) push(w, .{ .pc = w.pc, .mask = w.active });
    w.active = 0;
    if (w.block.launch.stopped.load(.monotonic) or w.quantum <= 0) return false;
    var best: ?usize = null;
    for (w.parts[0..w.part_count], 0..) |p, n| {
        if (p.wait != .ready) continue;
        const b = if (best) |m| w.parts[m].pc else {
            best = n;
            continue;
        };
        // The last in the text comes first now and then: others may spin until it has gone on.
        if (if (turn % 2 == 1) p.pc > b else p.pc < b) best = n;
    }
    const n = best orelse return false;
    w.pc = w.parts[n].pc;
    w.active = w.parts[n].mask;
    remove(w, n);
    w.limit = machine.never;
    for (w.parts[0..w.part_count]) |p| {
        if (p.wait != .barrier and p.pc > w.pc) w.limit = @min(w.limit, p.pc);
    }
    return true;
}
