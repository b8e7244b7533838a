//! Elements as unsigned keys in the order of sorting, and stable sorts of (key, position) pairs. NaN is the greatest
//! value, all NaNs are equal, and so are the two zeros.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const dt = @import("../core/dtype.zig");

pub const DType = abi.DType;

pub fn Pair(comptime K: type) type {
    return struct { key: K, at: u32 };
}

/// The unsigned type of a dtype's keys; null for what cannot be sorted.
pub fn KeyOf(comptime d: DType) ?type {
    return switch (d) {
        .complex64, .complex128, .float8_e4m3fn, .float8_e5m2 => null,
        else => if (@sizeOf(dt.Stored(d)) == 8) u64 else u32,
    };
}

pub fn key_bits(d: DType) u32 {
    return @intCast(8 * dt.size_of(d));
}

/// Keys of `n` elements, `stride` elements apart.
pub fn Reader(comptime K: type) type {
    return *const fn (dst: [*]K, src: [*]const u8, stride: isize, n: usize) void;
}

pub fn reader(comptime d: DType, comptime K: type, comptime descending: bool) Reader(K) {
    return struct {
        fn read(dst: [*]K, src: [*]const u8, stride: isize, n: usize) void {
            const S = dt.Stored(d);
            if (stride == 1) {
                const from: [*]align(1) const S = @ptrCast(src);
                for (dst[0..n], from[0..n]) |*k, x| k.* = key(x);
                return;
            }
            const step: usize = @bitCast(stride * @sizeOf(S));
            var p = @intFromPtr(src);
            for (dst[0..n]) |*k| {
                k.* = key(@as(*align(1) const S, @ptrFromInt(p)).*);
                p +%= step;
            }
        }
        inline fn key(x: dt.Stored(d)) K {
            const k: K = key_of(d, x);
            return if (descending) mask(d) - k else k;
        }
        fn mask(comptime t: DType) K {
            return std.math.maxInt(std.meta.Int(.unsigned, 8 * @sizeOf(dt.Stored(t))));
        }
    }.read;
}

pub inline fn key_of(comptime d: DType, x: dt.Stored(d)) std.meta.Int(.unsigned, 8 * @sizeOf(dt.Stored(d))) {
    const U = std.meta.Int(.unsigned, 8 * @sizeOf(dt.Stored(d)));
    const sign: U = 1 << (@bitSizeOf(U) - 1);
    switch (d) {
        .bool => return @intFromBool(x != 0),
        .float16 => return float_key(U, x, 0x7c00),
        .bfloat16 => return float_key(U, x, 0x7f80),
        .float32 => return float_key(U, @bitCast(x), 0x7f800000),
        .float64 => return float_key(U, @bitCast(x), 0x7ff0000000000000),
        .int8, .int16, .int32, .int64 => return @as(U, @bitCast(x)) ^ sign,
        else => return x,
    }
}

/// Without branches: signs are as good as random.
inline fn float_key(comptime U: type, bits: U, infinity: U) U {
    const sign: U = 1 << (@bitSizeOf(U) - 1);
    const size = bits & ~sign;
    const ordered = if (bits & sign != 0) ~bits else bits | sign;
    const with_zero = if (size == 0) sign else ordered;
    return if (size > infinity) std.math.maxInt(U) else with_zero;
}

/// Up to here every place is found by comparing with all others, which needs no branch.
pub const few = 64;
/// Up to here insertion is quicker still.
const very_few = 6;

/// Sorts pairs by key, keeping the order of equal ones; `spare` is as long. The result lies where the value returned
/// says.
pub fn sort(comptime K: type, pairs: []Pair(K), spare: []Pair(K)) []Pair(K) {
    if (pairs.len <= few) {
        if (pairs.len <= very_few) insertion(K, pairs) else by_rank(K, pairs);
        return pairs;
    }
    if (is_sorted(K, pairs)) return pairs;
    return if (pairs.len < 8192) radix(K, 8, pairs, spare) else radix(K, 11, pairs, spare);
}

fn insertion(comptime K: type, pairs: []Pair(K)) void {
    for (1..@max(1, pairs.len)) |i| {
        const x = pairs[i];
        var j = i;
        while (j > 0 and pairs[j - 1].key > x.key) : (j -= 1) pairs[j] = pairs[j - 1];
        pairs[j] = x;
    }
}

fn by_rank(comptime K: type, pairs: []Pair(K)) void {
    var all: [few]K align(64) = @splat(0);
    var given: [few]Pair(K) = undefined;
    for (pairs, 0..) |p, i| {
        all[i] = p.key;
        given[i] = p;
    }
    var places: [few]K align(64) = undefined;
    ranks(K, &all, pairs.len, &places);
    for (given[0..pairs.len], places[0..pairs.len]) |p, to| pairs[@intCast(to)] = p;
}

fn vector_lanes(comptime K: type) comptime_int {
    return 4 * @as(comptime_int, cfg.lanes) / @sizeOf(K);
}

/// Where each of up to `few` keys stands in the sorted list; of equal keys the one that comes first stands first. The
/// keys after `n` may be anything.
pub fn ranks(comptime K: type, all: *align(64) const [few]K, n: usize, places: *align(64) [few]K) void {
    const lanes = vector_lanes(K);
    const V = @Vector(lanes, K);
    const one: V = @splat(1);
    const none: V = @splat(0);
    const lane = std.simd.iota(K, lanes);
    var first: usize = 0;
    while (first < n) : (first += lanes) {
        const keys: V = all[first..][0..lanes].*;
        var rank = none;
        for (all[0..first]) |k| rank += @select(K, @as(V, @splat(k)) <= keys, one, none);
        const own = @min(lanes, n - first);
        for (all[first..][0..own], 0..) |k, j| {
            const other: V = @splat(k);
            // Less by one where the other stands before: then an equal key counts as less.
            const before = @select(K, lane > @as(V, @splat(@intCast(j))), one, none);
            const equal = @select(K, other == keys, before, none);
            rank += @select(K, other < keys, one, equal);
        }
        for (all[first + own .. @max(first + own, n)]) |k| rank += @select(K, @as(V, @splat(k)) < keys, one, none);
        places[first..][0..lanes].* = rank;
    }
}

/// The positions of the least of up to `few` keys, in order; of equal keys the first comes first.
pub fn least(comptime K: type, all: *align(64) const [few]K, n: usize, order: []u8) void {
    const lanes = vector_lanes(K);
    const V = @Vector(lanes, K);
    const Mask = std.meta.Int(.unsigned, lanes);
    const greatest: V = @splat(std.math.maxInt(K));
    var left = ~@as(u64, 0) >> @intCast(64 - n);
    for (order) |*to| {
        var low = greatest;
        var first: usize = 0;
        while (first < n) : (first += lanes) {
            const there: @Vector(lanes, bool) = @bitCast(@as(Mask, @truncate(left >> @intCast(first))));
            low = @min(low, @select(K, there, @as(V, all[first..][0..lanes].*), greatest));
        }
        const wanted: V = @splat(@reduce(.Min, low));
        var equal: u64 = 0;
        first = 0;
        while (first < n) : (first += lanes) {
            const same: Mask = @bitCast(@as(V, all[first..][0..lanes].*) == wanted);
            equal |= @as(u64, same) << @intCast(first);
        }
        to.* = @intCast(@ctz(equal & left));
        left &= ~(@as(u64, 1) << @intCast(to.*));
    }
}

/// The key at position `rank` (from one) of the sorted keys; `rank` becomes its position among its equals. Keys that
/// share the digits found so far are brought together in `spare`, which has room for all of them.
pub fn select(comptime K: type, all: []const K, spare: [*]K, rank: *usize) K {
    var left = all;
    while (true) {
        // Bits that differ begin here: what all keys share has been found.
        var differ: K = 0;
        for (left) |k| differ |= k ^ left[0];
        if (differ == 0) return left[0];
        if (left.len <= few) return select_of_few(K, left, rank);
        const shift: std.math.Log2Int(K) = @intCast((@bitSizeOf(K) - @clz(differ)) -| 8);
        const counts = histogram(K, left, shift);
        var digit: u32 = 0;
        while (counts[digit] < rank.*) : (digit += 1) rank.* -= counts[digit];
        var n: usize = 0;
        for (left) |k| {
            spare[n] = k;
            n += @intFromBool(@as(u8, @truncate(k >> shift)) == digit);
        }
        left = spare[0..n];
    }
}

/// In four parts: equal digits in a row would wait for each other.
fn histogram(comptime K: type, all: []const K, shift: std.math.Log2Int(K)) [256]u32 {
    var parts: [4][256]u32 = @splat(@splat(0));
    var i: usize = 0;
    while (i + 4 <= all.len) : (i += 4) {
        inline for (0..4) |k| parts[k][@as(u8, @truncate(all[i + k] >> shift))] += 1;
    }
    while (i < all.len) : (i += 1) parts[0][@as(u8, @truncate(all[i] >> shift))] += 1;
    var sums: [256]u32 = undefined;
    for (&sums, &parts[0], &parts[1], &parts[2], &parts[3]) |*s, a, b, c, d| s.* = a + b + c + d;
    return sums;
}

fn select_of_few(comptime K: type, some: []const K, rank: *usize) K {
    var all: [few]K align(64) = undefined;
    var places: [few]K align(64) = undefined;
    @memcpy(all[0..some.len], some);
    ranks(K, &all, some.len, &places);
    const wanted = all[std.mem.indexOfScalar(K, places[0..some.len], @intCast(rank.* - 1)).?];
    var less: usize = 0;
    for (some) |k| less += @intFromBool(k < wanted);
    rank.* -= less;
    return wanted;
}

fn is_sorted(comptime K: type, pairs: []const Pair(K)) bool {
    for (pairs[1..], pairs[0 .. pairs.len - 1]) |b, a| if (a.key > b.key) return false;
    return true;
}

/// Digits that are put in order at once.
const most_digits = 3;

/// By the first digits in which keys differ, the least significant first. Keys that share those are few as a rule, and
/// lie together now: each such run is sorted by itself. Digits that all keys share cost nothing.
fn radix(comptime K: type, comptime digit: u32, pairs: []Pair(K), spare: []Pair(K)) []Pair(K) {
    const buckets = 1 << digit;
    var differ: K = 0;
    for (pairs) |p| differ |= p.key ^ pairs[0].key;
    const high: u32 = @bitSizeOf(K) - @as(u32, @clz(differ));
    const digits: u32 = @min(most_digits, (high + digit - 1) / digit);
    const low: std.math.Log2Int(K) = @intCast(high -| digits * digit);
    var counts: [most_digits][buckets]u32 = undefined;
    for (counts[0..digits]) |*c| @memset(c, 0);
    for (pairs) |p| {
        for (0..digits) |d| counts[d][digit_of(K, digit, p.key >> low, d)] += 1;
    }
    var from = pairs;
    var to = spare[0..pairs.len];
    for (0..digits) |d| {
        const c = &counts[d];
        if (c[digit_of(K, digit, from[0].key >> low, d)] == from.len) continue;
        var sum: u32 = 0;
        for (c) |*x| {
            const n = x.*;
            x.* = sum;
            sum += n;
        }
        for (from) |p| {
            const place = &c[digit_of(K, digit, p.key >> low, d)];
            to[place.*] = p;
            place.* += 1;
        }
        std.mem.swap([]Pair(K), &from, &to);
    }
    if (low > 0) sort_runs(K, from, to, low);
    return from;
}

/// Sorts each run of keys that are the same from bit `low` on.
fn sort_runs(comptime K: type, pairs: []Pair(K), spare: []Pair(K), low: std.math.Log2Int(K)) void {
    var begin: usize = 0;
    while (begin < pairs.len) {
        const top = pairs[begin].key >> low;
        var end = begin + 1;
        while (end < pairs.len and pairs[end].key >> low == top) end += 1;
        if (end - begin > 1) {
            const run = pairs[begin..end];
            const sorted = sort(K, run, spare[begin..end]);
            if (sorted.ptr != run.ptr) @memcpy(run, sorted);
        }
        begin = end;
    }
}

inline fn digit_of(comptime K: type, comptime digit: u32, key: K, d: usize) usize {
    const shift: std.math.Log2Int(K) = @intCast(d * digit);
    return @intCast((key >> shift) & ((1 << digit) - 1));
}
