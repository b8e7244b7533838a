//! The distributions drawn one element at a time: integers, Bernoulli, exponential, Cauchy, geometric, permutations
//! and samples of a discrete distribution.
const std = @import("std");
const abi_random = @import("abi_random");
const half = @import("../core/half.zig");
const random = @import("random.zig");
const libm = @import("random_libm.zig");
const vlog = @import("vmath_log.zig");
const Generator = random.Generator;

inline fn store(comptime T: type, x: f64) T {
    return if (T == f64) x else half.store_f32(T, @floatCast(x));
}
/// A number of any element type from an i64, as C converts it.
inline fn store_int(comptime T: type, x: i64) T {
    return switch (@typeInfo(T)) {
        .bool => x != 0,
        .int => @truncate(if (@typeInfo(T).int.signedness == .unsigned) @as(u64, @bitCast(x)) else x),
        else => if (T == f64) @floatFromInt(x) else half.store_f32(T, @floatFromInt(x)),
    };
}

pub fn exponential(comptime T: type, g: *Generator, out: [*]T, n: usize, lambda: f64) void {
    const scale = -1.0 / lambda;
    var words: [random.chunk]u32 = undefined;
    var i: usize = 0;
    if (T != f64) while (i + 8 <= n) {
        const m: usize = @min((n - i) / 8 * 8, random.chunk / 2);
        random.fill32(g, words[0 .. 2 * m]);
        var j: usize = 0;
        while (j < m) : (j += 8) exponential_block(T, words[2 * j ..][0..16], out[i + j ..][0..8], scale);
        i += m;
    };
    for (out[i..n]) |*o| o.* = store(T, scale * libm.log1p(-random.next_f64(g)));
}
/// Eight at once with our own logarithm. It may differ from the library's in the last bits of the f64, which shows in
/// the f32 only next to a rounding boundary (or below the normal range): there the library decides.
fn exponential_block(comptime T: type, words: *const [16]u32, out: *[8]T, scale: f64) void {
    const x = random.wide_units(words);
    const y = @as(Wide, @splat(scale)) * vlog.log1p(-x);
    const low = @as(WideBits, @bitCast(y)) & @as(WideBits, @splat(0x1fffffff));
    const near = (low -% @as(WideBits, @splat(0x10000000 - 16))) < @as(WideBits, @splat(32));
    const odd = near | (@abs(y) < @as(Wide, @splat(0x1p-126))) | (@abs(y) > @as(Wide, @splat(0x1p127)));
    const short: [8]f32 = @as(@Vector(8, f32), @floatCast(y));
    for (out, short) |*o, v| o.* = half.store_f32(T, v);
    if (@reduce(.Or, odd)) {
        const u: [8]f64 = x;
        for (out, u) |*o, v| o.* = store(T, scale * libm.log1p(-v));
    }
}
const Wide = random.Wide;
const WideBits = random.WideBits;
pub fn cauchy(comptime T: type, g: *Generator, out: [*]T, n: usize, median: f64, sigma: f64) void {
    for (out[0..n]) |*o| {
        o.* = store(T, @mulAdd(f64, sigma, libm.tan(std.math.pi * (random.next_f64(g) - 0.5)), median));
    }
}
/// T may also be an integer type; 0 < p < 1.
pub fn geometric(comptime T: type, g: *Generator, out: [*]T, n: usize, p: f64) void {
    const scale = libm.log1p(-p);
    for (out[0..n]) |*o| {
        const x = @ceil(libm.log(random.next_f64(g)) / scale);
        o.* = if (@typeInfo(T) == .int) half.float_to_int(T, x) else store(T, x);
    }
}

/// 1 with probability p, else 0; T is any element type, bool too.
pub fn bernoulli(comptime T: type, g: *Generator, out: [*]T, n: usize, p: f64) void {
    // u < p for u = k 2^-53 is k < ceil(p 2^53), without a float.
    const limit: u64 = @intFromFloat(@ceil(@min(@max(p, 0), 1) * 0x1p53));
    var words: [random.chunk]u32 = undefined;
    var i: usize = 0;
    while (i < n) {
        const m: usize = @min(n - i, random.chunk / 2);
        random.fill32(g, words[0 .. 2 * m]);
        var j: usize = 0;
        while (j + 8 <= m) : (j += 8) {
            const hit = random.wide_bits(words[2 * j ..][0..16]) < @as(WideBits, @splat(limit));
            put_hits(T, out[i + j ..][0..8], hit);
        }
        while (j < m) : (j += 1) {
            const k = (@as(u64, words[2 * j] & 0x1fffff) << 32) | words[2 * j + 1];
            out[i + j] = store_int(T, @intFromBool(k < limit));
        }
        i += m;
    }
}
inline fn put_hits(comptime T: type, out: *[8]T, hit: @Vector(8, bool)) void {
    if (T == bool) {
        out.* = hit;
    } else if (T == f32 or T == f64 or @typeInfo(T) == .int) {
        const V = @Vector(8, T);
        out.* = @select(T, hit, @as(V, @splat(1)), @as(V, @splat(0)));
    } else {
        const hits: [8]bool = hit;
        for (out, hits) |*o, h| o.* = store_int(T, @intFromBool(h));
    }
}
/// The same with a probability for each element; the type P decides how many bits are drawn.
pub fn bernoulli_each(comptime T: type, comptime P: type, g: *Generator, out: [*]T, p: [*]const P, n: usize) void {
    for (out[0..n], p[0..n]) |*o, chance| {
        const hit = if (P == f64)
            random.next_f64(g) < chance
        else
            random.next_f32(g) < half.load_f32(P, chance);
        o.* = store_int(T, @intFromBool(hit));
    }
}

/// Ranges from here on take a 64-bit draw.
const wide_range: u64 = 1 << 28;

/// Integers in [from, from + range), range > 0 (modulo 2^64), stored as T.
pub fn random_from_to(comptime T: type, g: *Generator, out: [*]T, n: usize, from: i64, range: u64) void {
    const base: u64 = @bitCast(from);
    if (range >= wide_range) {
        for (out[0..n]) |*o| o.* = store_int(T, @bitCast(random.random64(g) % range +% base));
        return;
    }
    const narrow: u32 = @intCast(range);
    var words: [random.chunk]u32 = undefined;
    var i: usize = 0;
    while (i < n) {
        const m: usize = @min(n - i, random.chunk);
        random.fill32(g, words[0..m]);
        for (out[i..][0..m], words[0..m]) |*o, w| o.* = store_int(T, @bitCast(@as(u64, w % narrow) +% base));
        i += m;
    }
}
/// The whole range of i64, stored as T (i64, f64, f32 or BFloat16).
pub fn random_full_64(comptime T: type, g: *Generator, out: [*]T, n: usize) void {
    for (out[0..n]) |*o| o.* = store_int(T, @bitCast(random.random64(g)));
}
/// Integers from 0 to T's largest, or to 2^(mantissa bits) for a float type.
pub fn random_default_range(comptime T: type, g: *Generator, out: [*]T, n: usize) void {
    const range: u64 = switch (T) {
        bool => 2,
        f32 => (1 << 24) + 1,
        f64 => (1 << 53) + 1,
        f16 => (1 << 11) + 1,
        half.BFloat16 => (1 << 8) + 1,
        else => @as(u64, std.math.maxInt(T)) +% 1,
    };
    for (out[0..n]) |*o| {
        const bits: u64 = if (T == f64 or T == i64 or T == u64) random.random64(g) else random.random32(g);
        o.* = store_int(T, @bitCast(if (range == 0) bits else bits % range));
    }
}

/// A permutation of 0 .. n - 1; T is any element type.
pub fn randperm(comptime T: type, g: *Generator, out: [*]T, n: usize) void {
    for (out[0..n], 0..) |*o, i| o.* = store_int(T, @intCast(i));
    shuffle(std.meta.Int(.unsigned, 8 * @sizeOf(T)), g, @ptrCast(out), n);
}

/// Of elements of one size, whatever they mean.
noinline fn shuffle(comptime Bits: type, g: *Generator, out: [*]Bits, n: usize) void {
    if (n < 2) return;
    // Longer ones need more than 32 bits for an even choice.
    const wide = n >= std.math.maxInt(u32) / 20;
    for (0..n - 1) |i| {
        const step = if (wide) random.random64(g) % (n - i) else random.random32(g) % @as(u32, @intCast(n - i));
        std.mem.swap(Bits, &out[i], &out[i + @as(usize, @intCast(step))]);
    }
}

pub const Distribution = abi_random.Distribution;
/// Running sums of the weights divided by their total, the last one exactly 1: what the sampler below searches.
/// F is f64 for f64 weights and f32 for all others.
pub fn cumulative_distribution(comptime F: type, weights: [*]const F, sums: [*]F, n: usize) Distribution {
    var sum: F = 0;
    for (weights[0..n], sums[0..n]) |w, *s| {
        if (!(w >= 0)) return if (w != w) .not_finite else .negative;
        if (w == std.math.inf(F)) return .not_finite;
        sum += w;
        s.* = sum;
    }
    if (n == 0 or !(sum > 0)) return .empty;
    for (sums[0..n]) |*s| s.* /= sum;
    sums[n - 1] = 1;
    return .ok;
}
/// count indices drawn with replacement from sums made by cumulative_distribution.
pub fn multinomial_with_replacement(
    comptime F: type,
    g: *Generator,
    sums: [*]const F,
    n: usize,
    out: [*]i64,
    count: usize,
) void {
    for (out[0..count]) |*o| {
        const u = random.next_f64(g);
        var low: usize = 0;
        var high = n;
        while (low < high) {
            const mid = low + (high - low) / 2;
            if (sums[mid] < u) low = mid + 1 else high = mid;
        }
        o.* = @intCast(low);
    }
}

test "permutation, integers, Bernoulli and exponential of seed 0" {
    var g: Generator = undefined;
    random.seed(&g, 0);
    var p: [8]i64 = undefined;
    randperm(i64, &g, &p, 8);
    try std.testing.expectEqual([_]i64{ 4, 0, 7, 3, 2, 5, 1, 6 }, p);
    random.seed(&g, 0);
    random_from_to(i64, &g, &p, 8, 0, 10);
    try std.testing.expectEqual([_]i64{ 4, 9, 3, 0, 3, 9, 7, 3 }, p);
    random.seed(&g, 0);
    const chances: [8]f32 = @splat(0.5);
    var hits: [8]bool = undefined;
    bernoulli_each(bool, f32, &g, &hits, &chances, 8);
    try std.testing.expectEqual([_]bool{ true, false, true, true, true, false, true, false }, hits);
    random.seed(&g, 0);
    bernoulli(bool, &g, &hits, 8, 0.5);
    try std.testing.expectEqual([_]bool{ false, false, true, false, false, false, true, true }, hits);
    random.seed(&g, 0);
    var e: [3]f32 = undefined;
    exponential(f32, &g, &e, 3, 1);
    for ([_]f32{ 3.5083, 1.2304, 0.6150 }, e) |want, v| try std.testing.expectApproxEqAbs(want, v, 5e-5);
}
test "sampling with weights" {
    var sums: [3]f32 = undefined;
    try std.testing.expectEqual(.negative, cumulative_distribution(f32, &.{ 1, -1, 2 }, &sums, 3));
    try std.testing.expectEqual(.empty, cumulative_distribution(f32, &.{ 0, 0, 0 }, &sums, 3));
    try std.testing.expectEqual(.not_finite, cumulative_distribution(f32, &.{ 0, std.math.nan(f32), 0 }, &sums, 3));
    try std.testing.expectEqual(.ok, cumulative_distribution(f32, &.{ 0, 3, 0 }, &sums, 3));
    var g: Generator = undefined;
    random.seed(&g, 1);
    var picks: [50]i64 = undefined;
    multinomial_with_replacement(f32, &g, &sums, 3, &picks, 50);
    for (picks) |i| try std.testing.expectEqual(@as(i64, 1), i);
}
