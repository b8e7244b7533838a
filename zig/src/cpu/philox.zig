//! Philox4x32-10 as CUDA's generators use it: a seed, a stream of numbers for each thread, and a place in all of them.
//! Everything here is for one thread of a GPU and for the host alike.
const std = @import("std");

/// A device's generator. A place counts 32-bit numbers of one stream; calls take four at a time.
pub const State = extern struct {
    seed: u64,
    offset: u64,

    /// Takes so many numbers of every stream; gives the state that the call uses.
    pub fn take(s: *State, count: u64) State {
        const now = s.*;
        s.offset +%= std.mem.alignForward(u64, count, 4);
        return now;
    }
};

/// The four numbers of a stream at a place, which is counted in fours.
pub inline fn words(seed: u64, stream: u64, place: u64) [4]u32 {
    var counter = [4]u32{ low(place), high(place), low(stream), high(stream) };
    var key = [2]u32{ low(seed), high(seed) };
    inline for (0..10) |_| {
        const x = @as(u64, counter[0]) * 0xD2511F53;
        const y = @as(u64, counter[2]) * 0xCD9E8D57;
        counter = .{ high(y) ^ counter[1] ^ key[0], low(y), high(x) ^ counter[3] ^ key[1], low(x) };
        key[0] +%= 0x9E3779B9;
        key[1] +%= 0xBB67AE85;
    }
    return counter;
}

inline fn low(x: u64) u32 {
    return @truncate(x);
}
inline fn high(x: u64) u32 {
    return @truncate(x >> 32);
}

/// Two numbers of 64 bits.
pub inline fn pair(w: [4]u32) [2]u64 {
    return .{ @as(u64, w[0]) << 32 | w[1], @as(u64, w[2]) << 32 | w[3] };
}

/// From 0 to 1, without 0.
pub inline fn unit_f32(x: u32) f32 {
    return @mulAdd(f32, @floatFromInt(x), 0x1p-32, 0x1p-33);
}

/// The same with 53 bits.
pub inline fn unit_f64(x: u32, y: u32) f64 {
    return @mulAdd(f64, @floatFromInt(bits53(x, y)), 0x1p-53, 0x1p-54);
}

pub inline fn bits53(x: u32, y: u32) u64 {
    return @as(u64, x) ^ (@as(u64, y) << 21);
}

/// How the threads of a launch share `count` elements: as many blocks as run at the same time, and what each thread
/// takes of its stream.
pub const Shares = struct {
    blocks: u32,
    taken: u64,

    pub const threads = 256;

    pub fn of(count: u64, unit: u64, processors: u64, threads_each: u64) Shares {
        const wanted = (count + threads - 1) / threads;
        const blocks = @min(wanted, @max(1, processors * (threads_each / threads)));
        return .{ .blocks = @intCast(blocks), .taken = ((count - 1) / (threads * blocks * unit) + 1) * 4 };
    }
};

test "the numbers of Random123's known answers" {
    try std.testing.expectEqual([4]u32{ 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 }, words(0, 0, 0));
    const all = std.math.maxInt(u64);
    try std.testing.expectEqual([4]u32{ 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd }, words(all, all, all));
    const pi = words(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88);
    try std.testing.expectEqual([4]u32{ 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 }, pi);
}

test "shares of a launch" {
    try std.testing.expectEqual(Shares{ .blocks = 1, .taken = 4 }, Shares.of(3, 4, 108, 2048));
    try std.testing.expectEqual(Shares{ .blocks = 864, .taken = 4 }, Shares.of(864 * 1024, 4, 108, 2048));
    try std.testing.expectEqual(Shares{ .blocks = 864, .taken = 8 }, Shares.of(864 * 1024 + 1, 4, 108, 2048));
}
