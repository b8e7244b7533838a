//! What the interpreter runs: decoded instructions, and the warps, blocks and launches that they work on.
const std = @import("std");
const memory = @import("memory.zig");

pub const lanes = 32;
pub const full: u32 = 0xFFFF_FFFF;
pub const never: u32 = 0xFFFF_FFFF;

pub fn Vec(comptime T: type) type {
    return @Vector(lanes, T);
}

pub const Handler = *const fn (w: *Warp, i: *const Ins, mask: u32) void;

/// One decoded instruction. Operands are byte offsets into the warp's register file, where constants and special
/// registers have places, too; a predicate is one word with a bit for each lane.
pub const Ins = struct {
    run: Handler,
    /// The predicate that guards it (offset 0 holds a predicate that is always true), xored with `flip`.
    guard: u32 = 0,
    flip: u32 = 0,
    d: u32 = 0,
    a: u32 = 0,
    b: u32 = 0,
    c: u32 = 0,
    e: u32 = 0,
    /// What the handler makes of it: a branch's target, flags, a packed description.
    x: u32 = 0,
    imm: u64 = 0,
    /// Where the instruction stands in the module's text, for reports.
    at: u32 = 0,
};

/// A function's compiled form together with every function that it calls.
pub const Kernel = struct {
    name: []const u8,
    /// Told apart from every other kernel of the process.
    number: u64 = 0,
    code: []const Ins,
    text: []const u8,
    params: []const Param,
    param_bytes: u32,
    /// Bytes of one warp's register file, and what it holds from the start.
    file_bytes: u32,
    constants: []const Constant,
    specials: []const SpecialPlace,
    local_bytes: u32,
    shared_bytes: u32,
    /// Where `.extern .shared` variables begin.
    dynamic_at: u32,
    /// Further operands of instructions that have many; instructions keep the place of their first.
    extras: []const u32 = &.{},
    max_threads: u32 = 1024,
    required: [3]u32 = .{ 0, 0, 0 },
    register_count: u32 = 0,
    max_dynamic: u32 = 48 << 10,
};

pub const Param = struct { offset: u32, size: u32 };
pub const Constant = struct { at: u32, width: u32, value: u64 };
pub const SpecialPlace = struct { at: u32, which: Special };

pub const Special = enum {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    warpid,
    nwarpid,
    smid,
    nsmid,
    gridid,
    lanemask_eq,
    lanemask_le,
    lanemask_lt,
    lanemask_ge,
    lanemask_gt,
    dynamic_smem_size,
    total_smem_size,
};

/// Windows of the generic address space that are no device memory; all below 2^53, as device memory is.
pub const shared_window: u64 = 1 << 48;
pub const local_window: u64 = (1 << 48) + (1 << 40);
pub const param_window: u64 = (1 << 48) + (2 << 40);
pub const window_bytes: u64 = 1 << 32;
/// Shared and local memory begin here, so that a null pointer lies outside.
pub const first_offset: u32 = 1024;

pub const Wait = enum { ready, warp, barrier };

/// Lanes that stand at the same instruction.
pub const Part = struct {
    pc: u32 = 0,
    mask: u32 = 0,
    wait: Wait = .ready,
    barrier: u32 = 0,
};

pub const Warp = struct {
    file: [*]align(64) u8,
    pc: u32 = 0,
    /// The running lanes are looked at again when `pc` reaches this: 0 when something happened to them.
    limit: u32 = 0,
    active: u32 = 0,
    live: u32 = 0,
    /// The carry flag of each lane.
    carry: u32 = 0,
    index: u32 = 0,
    part_count: u32 = 0,
    parts: [lanes]Part = undefined,
    block: *Block,
    code: [*]const Ins,
    local: []u8 = &.{},
    executed: u64 = 0,
    /// Instructions until other warps get their turn.
    quantum: i64 = 0,
    /// The allocations that the last accesses met, by the place of the instruction.
    seen: [16]memory.Range = @splat(.{}),
    copies: std.ArrayList(@import("ops_async.zig").Copy) = .empty,
    copy_groups: [lanes]u32 = @splat(0),
    products: @import("ops_warpgroup.zig").Products = .{},

    pub inline fn vec(w: *Warp, comptime T: type, at: u32) *align(64) Vec(T) {
        return @ptrCast(@alignCast(w.file + at));
    }

    pub inline fn lane(w: *Warp, comptime T: type, at: u32) *[lanes]T {
        return @ptrCast(@alignCast(w.file + at));
    }

    pub inline fn pred(w: *Warp, at: u32) *u32 {
        return @ptrCast(@alignCast(w.file + at));
    }

    /// Writes the lanes of `mask`.
    pub inline fn put(w: *Warp, comptime T: type, at: u32, mask: u32, value: Vec(T)) void {
        const to = w.vec(T, at);
        if (mask == full) {
            to.* = value;
        } else {
            to.* = @select(T, bools(mask), value, to.*);
        }
    }

    pub inline fn put_pred(w: *Warp, at: u32, mask: u32, value: u32) void {
        const to = w.pred(at);
        to.* = (to.* & ~mask) | (value & mask);
    }

    pub fn kernel(w: *Warp) *const Kernel {
        return w.block.launch.kernel;
    }
};

pub inline fn bools(mask: u32) Vec(bool) {
    return @bitCast(mask);
}

pub inline fn bits(value: Vec(bool)) u32 {
    return @bitCast(value);
}

pub const Barrier = struct {
    arrived: u32 = 0,
    expected: u32 = 0,
    popc: u32 = 0,
    all: bool = true,
    any: bool = false,
};

/// Who touched a word of shared memory last, and between which barriers.
pub const Shadow = struct { write_epoch: u32 = 0, read_epoch: u32 = 0, writer: u16 = 0, reader: u16 = 0 };
pub const many_readers: u16 = 0xFFFF;

pub const Block = struct {
    launch: *Launch,
    id: [3]u32 = .{ 0, 0, 0 },
    shared: []align(64) u8,
    shadow: []Shadow,
    warps: []Warp,
    barriers: [16]Barrier = @splat(.{}),
    epoch: u32 = 1,
};

pub const Fault = struct { code: c_int, text: []const u8 };

pub const Launch = struct {
    kernel: *const Kernel,
    grid: [3]u32,
    block: [3]u32,
    params: []const u8,
    dynamic_bytes: u32,
    device_index: u32 = 0,
    next: std.atomic.Value(u64) = .init(0),
    stopped: std.atomic.Value(bool) = .init(false),
    executed: std.atomic.Value(u64) = .init(0),
    /// Nanoseconds after which a launch counts as one that never ends.
    deadline: u64 = 0,
    fault_code: c_int = 0,

    pub fn threads(l: *const Launch) u32 {
        return l.block[0] * l.block[1] * l.block[2];
    }

    pub fn blocks(l: *const Launch) u64 {
        return @as(u64, l.grid[0]) * l.grid[1] * l.grid[2];
    }
};
