//! What a GPU thread knows of itself, and how it meets those of its block. The intrinsics have LLVM's names: unlike
//! inline assembly they say which of them must not be moved into other control flow.
const std = @import("std");

const i = struct {
    extern fn @"llvm.nvvm.read.ptx.sreg.tid.x"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.ntid.x"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.ctaid.x"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.ctaid.y"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.ctaid.z"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.nctaid.x"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.nctaid.y"() u32;
    extern fn @"llvm.nvvm.barrier0"() void;
    extern fn @"llvm.nvvm.bar.warp.sync"(u32) void;
    extern fn @"llvm.nvvm.membar.gl"() void;
    extern fn @"llvm.nvvm.membar.sys"() void;
    extern fn @"llvm.nvvm.shfl.sync.bfly.i32"(u32, u32, u32, u32) u32;
    extern fn @"llvm.nvvm.shfl.sync.down.i32"(u32, u32, u32, u32) u32;
    extern fn @"llvm.nvvm.shfl.sync.up.i32"(u32, u32, u32, u32) u32;
    extern fn @"llvm.nvvm.shfl.sync.idx.i32"(u32, u32, u32, u32) u32;
    extern fn @"llvm.nvvm.vote.ballot.sync"(u32, bool) u32;
};

/// In its block.
pub inline fn index() u32 {
    return i.@"llvm.nvvm.read.ptx.sreg.tid.x"();
}
pub inline fn threads() u32 {
    return i.@"llvm.nvvm.read.ptx.sreg.ntid.x"();
}
pub inline fn block() u32 {
    return i.@"llvm.nvvm.read.ptx.sreg.ctaid.x"();
}
pub inline fn block_y() u32 {
    return i.@"llvm.nvvm.read.ptx.sreg.ctaid.y"();
}
pub inline fn block_z() u32 {
    return i.@"llvm.nvvm.read.ptx.sreg.ctaid.z"();
}
pub inline fn blocks() u32 {
    return i.@"llvm.nvvm.read.ptx.sreg.nctaid.x"();
}
pub inline fn blocks_y() u32 {
    return i.@"llvm.nvvm.read.ptx.sreg.nctaid.y"();
}

/// Threads of a warp run together.
pub const warp = 32;
const all: u32 = 0xffff_ffff;

/// Its place in its warp.
pub inline fn lane() u32 {
    return index() % warp;
}

/// Waits for all threads of the block, and sees what they wrote.
pub inline fn barrier() void {
    i.@"llvm.nvvm.barrier0"();
}

/// What this thread wrote before is seen by the whole device before what it writes afterwards.
pub inline fn fence() void {
    i.@"llvm.nvvm.membar.gl"();
}

/// The same, seen by the host, too.
pub inline fn fence_host() void {
    i.@"llvm.nvvm.membar.sys"();
}

/// Waits for all threads of the warp, and sees what they wrote.
pub inline fn meet() void {
    i.@"llvm.nvvm.bar.warp.sync"(all);
}

/// Bit n is set when the warp's lane n says so.
pub inline fn ballot(yes: bool) u32 {
    return i.@"llvm.nvvm.vote.ballot.sync"(all, yes);
}

/// What the lane whose number differs in the bits of `mask` has; of any type without pointers.
pub inline fn exchanged(x: anytype, mask: u32) @TypeOf(x) {
    return by_words(x, mask, i.@"llvm.nvvm.shfl.sync.bfly.i32", 31);
}
/// What the lane `distance` further has; the last ones get their own.
pub inline fn from_after(x: anytype, distance: u32) @TypeOf(x) {
    return by_words(x, distance, i.@"llvm.nvvm.shfl.sync.down.i32", 31);
}
/// What the lane `distance` before has; the first ones get their own.
pub inline fn from_before(x: anytype, distance: u32) @TypeOf(x) {
    return by_words(x, distance, i.@"llvm.nvvm.shfl.sync.up.i32", 0);
}
/// What a lane has.
pub inline fn from_lane(x: anytype, which: u32) @TypeOf(x) {
    return by_words(x, which, i.@"llvm.nvvm.shfl.sync.idx.i32", 31);
}

inline fn by_words(x: anytype, n: u32, comptime shuffle: anytype, comptime clamp: u32) @TypeOf(x) {
    const T = @TypeOf(x);
    if (@typeInfo(T) == .@"struct") {
        var r: T = undefined;
        inline for (@typeInfo(T).@"struct".fields) |f| {
            @field(r, f.name) = by_words(@field(x, f.name), n, shuffle, clamp);
        }
        return r;
    }
    if (T == bool) return by_words(@as(u32, @intFromBool(x)), n, shuffle, clamp) != 0;
    const bits = @bitSizeOf(T);
    const U = std.meta.Int(.unsigned, bits);
    const raw: U = @bitCast(x);
    if (bits <= 32) return @bitCast(@as(U, @truncate(shuffle(all, raw, n, clamp))));
    comptime std.debug.assert(bits == 64);
    const low: u64 = shuffle(all, @truncate(raw), n, clamp);
    const high: u64 = shuffle(all, @truncate(raw >> 32), n, clamp);
    return @bitCast(low | high << 32);
}
