//! The CPU random number generator and its distributions. Numbers, the order in which they are drawn and their
//! roundings are those of torch on x86-64 with AVX2 or later, bit for bit, whatever this build's instruction set.
const std = @import("std");
const abi_random = @import("abi_random");
const half = @import("../core/half.zig");
const normals = @import("random_normal.zig");
const sampling = @import("random_sampling.zig");

pub const BFloat16 = half.BFloat16;
pub const state_words = 624;
const middle = 397;
const native_little = @import("builtin").cpu.arch.endian() == .little;

/// A mt19937 engine with the second half of the last Box-Muller pair.
pub const Generator = extern struct {
    seed_value: u64,
    /// What the Box-Muller pair left for the next single normal number.
    next_normal: f64,
    next_float_normal: f32,
    has_next_normal: bool,
    has_next_float_normal: bool,
    /// Draws until the state is renewed, plus one; after the first renewal left + next = 625.
    left: u32,
    next: u32,
    state: [state_words]u32,
};

pub fn seed(g: *Generator, value: u64) void {
    g.* = .{
        .seed_value = value,
        .next_normal = 0,
        .next_float_normal = 0,
        .has_next_normal = false,
        .has_next_float_normal = false,
        .left = 1,
        .next = 0,
        .state = undefined,
    };
    var s: u32 = @truncate(value);
    g.state[0] = s;
    for (g.state[1..], 1..) |*word, j| {
        s = 1812433253 *% (s ^ (s >> 30)) +% @as(u32, @intCast(j));
        word.* = s;
    }
}
pub fn initial_seed(g: *const Generator) u64 {
    return g.seed_value;
}

const Words = @Vector(8, u32);
inline fn twist(u: anytype, v: @TypeOf(u)) @TypeOf(u) {
    const V = @TypeOf(u);
    const mixed = (u & splat(V, 0x80000000)) | (v & splat(V, 0x7fffffff));
    const odd = splat(V, 0) -% (v & splat(V, 1));
    return shift(.right, mixed, 1) ^ (odd & splat(V, 0x9908b0df));
}
inline fn splat(comptime V: type, comptime x: u32) V {
    return if (@typeInfo(V) == .vector) @splat(x) else x;
}
inline fn shift(comptime way: enum { left, right }, x: anytype, comptime n: u5) @TypeOf(x) {
    const amount = if (@typeInfo(@TypeOf(x)) == .vector) @as(@Vector(8, u5), @splat(n)) else n;
    return if (way == .left) x << amount else x >> amount;
}
/// New state, in place: word i from words i, i + 1 and i + 397 (those behind i are new already).
fn renew(g: *Generator) void {
    const s = &g.state;
    var i: usize = 0;
    const first = state_words - middle;
    // Both parts are so many vectors that seven at a time leave less than one over.
    const seven = 7 * 8;
    while (i + seven <= first) : (i += seven) {
        inline for (0..7) |j| renew_words(s, i + 8 * j, i + 8 * j + middle);
    }
    while (i < first) : (i += 1) s[i] = s[i + middle] ^ twist(s[i], s[i + 1]);
    while (i + seven <= state_words - 1) : (i += seven) {
        inline for (0..7) |j| renew_words(s, i + 8 * j, i + 8 * j - first);
    }
    while (i < state_words - 1) : (i += 1) s[i] = s[i - first] ^ twist(s[i], s[i + 1]);
    s[i] = s[i - first] ^ twist(s[i], s[0]);
    g.left = state_words;
    g.next = 0;
}
inline fn renew_words(s: *[state_words]u32, i: usize, far: usize) void {
    const u: Words = s[i..][0..8].*;
    const v: Words = s[i + 1 ..][0..8].*;
    const f: Words = s[far..][0..8].*;
    s[i..][0..8].* = f ^ twist(u, v);
}
inline fn temper(x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    var y = x ^ shift(.right, x, 11);
    y ^= shift(.left, y, 7) & splat(V, 0x9d2c5680);
    y ^= shift(.left, y, 15) & splat(V, 0xefc60000);
    return y ^ shift(.right, y, 18);
}

pub inline fn random32(g: *Generator) u32 {
    g.left -= 1;
    if (g.left == 0) renew(g);
    const y = g.state[g.next];
    g.next += 1;
    return temper(y);
}
/// Two draws; the first is the high word.
pub inline fn random64(g: *Generator) u64 {
    const high: u64 = random32(g);
    return (high << 32) | random32(g);
}
/// The next out.len draws at once.
pub fn fill32(g: *Generator, out: []u32) void {
    var rest = out;
    while (rest.len > 0) {
        if (g.left == 1) renew(g) else g.left -= 1;
        const n: usize = @min(g.left, rest.len);
        const from = g.state[g.next..][0..n];
        var i: usize = 0;
        while (i + 8 <= n) : (i += 8) rest[i..][0..8].* = temper(@as(Words, from[i..][0..8].*));
        while (i < n) : (i += 1) rest[i] = temper(from[i]);
        g.next += @intCast(n);
        g.left -= @intCast(n - 1);
        rest = rest[n..];
    }
}

const mantissa53: u64 = (1 << 53) - 1;
/// [0, 1) with 24 bits.
pub inline fn unit_f32(bits: u32) f32 {
    return @as(f32, @floatFromInt(@as(i32, @intCast(bits & 0xffffff)))) * 0x1p-24;
}
/// [0, 1) with 53 bits.
pub inline fn unit_f64(bits: u64) f64 {
    return @as(f64, @floatFromInt(@as(i64, @intCast(bits & mantissa53)))) * 0x1p-53;
}
pub const Wide = @Vector(8, f64);
pub const WideBits = @Vector(8, u64);
/// Eight 53-bit numbers from 16 draws; of two draws the first is the high word.
pub inline fn wide_bits(words: *const [16]u32) WideBits {
    const pairs: WideBits = @bitCast(@as(@Vector(16, u32), words.*));
    const half_word: @Vector(8, u6) = @splat(32);
    const swapped = if (native_little) (pairs << half_word) | (pairs >> half_word) else pairs;
    return swapped & @as(WideBits, @splat(mantissa53));
}
/// The same as numbers in [0, 1): both halves are put under an exponent of their own, which converts them.
pub inline fn wide_units(words: *const [16]u32) Wide {
    const k = wide_bits(words);
    const low: Wide = @bitCast((k & @as(WideBits, @splat(0xffffffff))) | @as(WideBits, @splat(0x4330000000000000)));
    const high: Wide = @bitCast((k >> @as(@Vector(8, u6), @splat(32))) | @as(WideBits, @splat(0x4530000000000000)));
    const sum = (high - @as(Wide, @splat(0x1p84 + 0x1p52))) + low;
    return sum * @as(Wide, @splat(0x1p-53));
}
pub inline fn next_f32(g: *Generator) f32 {
    return unit_f32(random32(g));
}
pub inline fn next_f64(g: *Generator) f64 {
    return unit_f64(random64(g));
}

/// How many draws the fills below take at a time.
pub const chunk = 512;

/// Uniform numbers in [from, to); T is f32, f64, f16 or BFloat16.
pub fn uniform(comptime T: type, g: *Generator, out: [*]T, n: usize, from: f64, to: f64) void {
    var words: [chunk]u32 = undefined;
    const per = if (T == f64) 2 else 1;
    var i: usize = 0;
    while (i < n) {
        const m: usize = @min(n - i, chunk / per);
        fill32(g, words[0 .. m * per]);
        const part = out[i..][0..m];
        if (T == f64) uniform_f64(part, &words, from, to) else uniform_short(T, part, &words, from, to);
        i += m;
    }
}
fn uniform_f64(out: []f64, words: *const [chunk]u32, from: f64, to: f64) void {
    const width = to - from;
    var i: usize = 0;
    while (i + 8 <= out.len) : (i += 8) {
        const top: Wide = @splat(to);
        const low: Wide = @splat(from);
        const y = @mulAdd(Wide, wide_units(words[2 * i ..][0..16]), @as(Wide, @splat(width)), low);
        out[i..][0..8].* = @select(f64, y == top, low, y);
    }
    for (out[i..], i..) |*o, j| {
        const x = unit_f64((@as(u64, words[2 * j]) << 32) | words[2 * j + 1]);
        const y = @mulAdd(f64, x, width, from);
        o.* = if (y == to) from else y;
    }
}
fn uniform_short(comptime T: type, out: []T, words: *const [chunk]u32, from: f64, to: f64) void {
    // The bounds are numbers of type T, the arithmetic is f32.
    const low_t = half.store_f32(T, @floatCast(from));
    const high_t = half.store_f32(T, @floatCast(to));
    const low: f32 = if (T == f32) low_t else @floatCast(from);
    const high: f32 = if (T == f32) high_t else @floatCast(to);
    const width = high - low;
    for (out, words[0..out.len]) |*o, bits| {
        const y = half.store_f32(T, @mulAdd(f32, unit_f32(bits), width, low));
        // Rounding up to the excluded bound wraps to the lower one.
        o.* = if (same(T, y, high_t)) low_t else y;
    }
}
inline fn same(comptime T: type, a: T, b: T) bool {
    return half.load_f32(T, a) == half.load_f32(T, b);
}

pub const normal = normals.normal;
pub const normal_one_by_one = normals.normal_one_by_one;
pub const log_normal = normals.log_normal;
pub const exponential = sampling.exponential;
pub const cauchy = sampling.cauchy;
pub const geometric = sampling.geometric;
pub const bernoulli = sampling.bernoulli;
pub const bernoulli_each = sampling.bernoulli_each;
pub const random_from_to = sampling.random_from_to;
pub const random_full_64 = sampling.random_full_64;
pub const random_default_range = sampling.random_default_range;
pub const randperm = sampling.randperm;
pub const cumulative_distribution = sampling.cumulative_distribution;
pub const multinomial_with_replacement = sampling.multinomial_with_replacement;

/// torch's get_rng_state(): every word widened to 64 bits, then the cached normals.
pub fn get_state(g: *const Generator, out: *[abi_random.GeneratorBytes.state]u8) void {
    @memset(out, 0);
    put(u64, out, 0, g.seed_value);
    put(u32, out, 8, g.left);
    put(u32, out, 12, 1);
    put(u64, out, 16, g.next);
    for (g.state, 0..) |word, j| put(u64, out, 24 + 8 * j, word);
    put(u64, out, 5024, @bitCast(g.next_normal));
    put(u32, out, 5040, @intFromBool(g.has_next_normal));
    put(u32, out, 5048, @bitCast(g.next_float_normal));
    out[5052] = @intFromBool(g.has_next_float_normal);
}
/// Takes over such bytes; false, and nothing changed, when they are no valid state.
pub fn set_state(g: *Generator, in: *const [abi_random.GeneratorBytes.state]u8) bool {
    const left = get(u32, in, 8);
    const next = get(u64, in, 16);
    if (get(u32, in, 12) != 1 or left == 0 or left > state_words or next > state_words) return false;
    // The draws that are left must lie inside the state.
    if (left > 1 and left - 1 + next > state_words) return false;
    g.seed_value = get(u64, in, 0);
    g.left = left;
    g.next = @intCast(next);
    for (&g.state, 0..) |*word, j| word.* = @truncate(get(u64, in, 24 + 8 * j));
    g.has_next_normal = get(u32, in, 5040) != 0;
    g.next_normal = if (g.has_next_normal) @bitCast(get(u64, in, 5024)) else 0;
    g.has_next_float_normal = in[5052] != 0;
    g.next_float_normal = if (g.has_next_float_normal) @bitCast(get(u32, in, 5048)) else 0;
    return true;
}
fn put(comptime U: type, out: *[abi_random.GeneratorBytes.state]u8, at: usize, value: U) void {
    std.mem.writeInt(U, out[at..][0..@sizeOf(U)], value, .little);
}
fn get(comptime U: type, in: *const [abi_random.GeneratorBytes.state]u8, at: usize) U {
    return std.mem.readInt(U, in[at..][0..@sizeOf(U)], .little);
}

test {
    _ = normals;
    _ = sampling;
}
test "the engine is mt19937" {
    var g: Generator = undefined;
    seed(&g, 5489);
    for (0..9999) |_| _ = random32(&g);
    // the reference value of the C++ standard for the 10000th number
    try std.testing.expectEqual(@as(u32, 4123659995), random32(&g));
}
test "only the low 32 bits of the seed count, and blocks equal single draws" {
    var a: Generator = undefined;
    var b: Generator = undefined;
    seed(&a, (1 << 32) + 5);
    seed(&b, 5);
    var words: [1500]u32 = undefined;
    fill32(&a, words[0..3]);
    fill32(&a, words[3..700]);
    fill32(&a, words[700..]);
    for (words) |w| try std.testing.expectEqual(random32(&b), w);
    try std.testing.expectEqual(a.left, b.left);
    try std.testing.expectEqual(a.next, b.next);
}
test "uniform f32 of seed 0" {
    var g: Generator = undefined;
    seed(&g, 0);
    var x: [3]f32 = undefined;
    uniform(f32, &g, &x, 3, 0, 1);
    const expected = [_]f32{ 0.4963, 0.7682, 0.0885 };
    for (x, expected) |v, e| try std.testing.expectApproxEqAbs(e, v, 5e-5);
}
test "state round trip, and refused states" {
    var g: Generator = undefined;
    var h: Generator = undefined;
    seed(&g, 3);
    var x: [5]f32 = undefined;
    normal(f32, &g, &x, 5, 0, 1);
    var bytes: [abi_random.GeneratorBytes.state]u8 = undefined;
    get_state(&g, &bytes);
    seed(&h, 9);
    try std.testing.expect(set_state(&h, &bytes));
    try std.testing.expect(h.has_next_normal);
    for (0..700) |_| try std.testing.expectEqual(random32(&g), random32(&h));
    for ([_][2]u32{ .{ 8, 0 }, .{ 8, 625 }, .{ 8, 624 }, .{ 12, 0 }, .{ 16, 625 }, .{ 20, 1 } }) |change| {
        var wrong = bytes;
        put(u32, &wrong, change[0], change[1]);
        try std.testing.expect(!set_state(&h, &wrong));
    }
}
