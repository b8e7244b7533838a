//! Normal random numbers: the block rule for dense outputs of 16 and more, and the rule of one at a time.
const std = @import("std");
const builtin = @import("builtin");
const half = @import("../core/half.zig");
const random = @import("random.zig");
const Generator = random.Generator;
const libm = @import("random_libm.zig");

/// n normal numbers into dense memory; T is f32, f64, f16 or BFloat16.
pub fn normal(comptime T: type, g: *Generator, out: [*]T, n: usize, mean: f64, std_dev: f64) void {
    if (n < 16) return normal_one_by_one(T, g, out, n, mean, std_dev);
    switch (T) {
        f32 => fill_f32(g, out, n, @floatCast(mean), @floatCast(std_dev)),
        f64 => fill_f64(g, out, n, mean, std_dev),
        else => fill_short(T, g, out, n, @floatCast(mean), @floatCast(std_dev)),
    }
}
/// The rule for fewer than 16 numbers and for outputs with gaps: Box-Muller in f64, whose second number waits in the
/// generator. The numbers are written one after the other; the caller spreads them.
pub fn normal_one_by_one(comptime T: type, g: *Generator, out: [*]T, n: usize, mean: f64, std_dev: f64) void {
    for (out[0..n]) |*o| o.* = store(T, @mulAdd(f64, next_normal(g), std_dev, mean));
}
pub fn log_normal(comptime T: type, g: *Generator, out: [*]T, n: usize, mean: f64, std_dev: f64) void {
    for (out[0..n]) |*o| o.* = store(T, libm.exp(@mulAdd(f64, next_normal(g), std_dev, mean)));
}
inline fn store(comptime T: type, x: f64) T {
    return if (T == f64) x else half.store_f32(T, @floatCast(x));
}
fn next_normal(g: *Generator) f64 {
    if (g.has_next_normal) {
        g.has_next_normal = false;
        defer g.next_normal = 0;
        return g.next_normal;
    }
    const angle = 2.0 * std.math.pi * random.next_f64(g);
    const radius = @sqrt(-2.0 * libm.log1p(-random.next_f64(g)));
    g.next_normal = radius * libm.sin(angle);
    g.has_next_normal = true;
    return radius * libm.cos(angle);
}

/// All uniforms first; then every block of 16 turns into 8 pairs; a rest is covered by 16 new draws at the end.
fn fill_f32(g: *Generator, out: [*]f32, n: usize, mean: f32, std_dev: f32) void {
    random.uniform(f32, g, out, n, 0, 1);
    var i: usize = 0;
    while (i + 16 <= n) : (i += 16) pairs_f32(out[i..][0..16], mean, std_dev);
    if (n % 16 != 0) {
        random.uniform(f32, g, out + n - 16, 16, 0, 1);
        pairs_f32(out[n - 16 ..][0..16], mean, std_dev);
    }
}
fn fill_f64(g: *Generator, out: [*]f64, n: usize, mean: f64, std_dev: f64) void {
    random.uniform(f64, g, out, n, 0, 1);
    var i: usize = 0;
    while (i + 16 <= n) : (i += 16) pairs_f64(out[i..][0..16], mean, std_dev);
    if (n % 16 != 0) {
        random.uniform(f64, g, out + n - 16, 16, 0, 1);
        pairs_f64(out[n - 16 ..][0..16], mean, std_dev);
    }
}
/// The short types go through an f32 block each, so the rest's uniforms are not drawn beforehand.
fn fill_short(comptime T: type, g: *Generator, out: [*]T, n: usize, mean: f32, std_dev: f32) void {
    var block: [16]f32 = undefined;
    var i: usize = 0;
    while (i < n) : (i += 16) {
        const at = @min(i, n - 16);
        random.uniform(f32, g, &block, 16, 0, 1);
        pairs_f32(&block, mean, std_dev);
        for (out[at..][0..16], block) |*o, v| o.* = half.store_f32(T, v);
    }
}
fn pairs_f64(d: *[16]f64, mean: f64, std_dev: f64) void {
    for (d[0..8], d[8..16]) |*a, *b| {
        const radius = @sqrt(-2.0 * libm.log(1.0 - a.*));
        const angle = 2.0 * std.math.pi * b.*;
        a.* = @mulAdd(f64, radius * libm.cos(angle), std_dev, mean);
        b.* = @mulAdd(f64, radius * libm.sin(angle), std_dev, mean);
    }
}

const V = @Vector(8, f32);
const I = @Vector(8, i32);
inline fn s(comptime x: f32) V {
    return @splat(x);
}
inline fn si(comptime x: i32) I {
    return @splat(x);
}
inline fn shift(comptime n: u5) @Vector(8, u5) {
    return @splat(n);
}
const has_fma = builtin.cpu.arch != .x86_64 or std.Target.x86.featureSetHas(builtin.cpu.features, .fma);
/// Always fused, on every instruction set: the bits depend on it. Without the instruction the sum is formed in f64,
/// where the product is exact; rounding it again to f32 goes wrong only when the first rounding made a tie, or below
/// the normal range, and those cases take the slow way.
inline fn fma(a: V, b: V, c: V) V {
    if (has_fma) return @mulAdd(V, a, b, c);
    const product = @as(Wide, @floatCast(a)) * @as(Wide, @floatCast(b));
    const addend = @as(Wide, @floatCast(c));
    const sum = product + addend;
    const low = @as(WideBits, @bitCast(sum)) & @as(WideBits, @splat(0x1fffffff));
    const tie = low == @as(WideBits, @splat(0x10000000));
    const tiny = @abs(sum) < @as(Wide, @splat(0x1p-126));
    if (@reduce(.Or, tie | tiny) and inexact(product, addend, sum, tiny)) return fma_slow(a, b, c);
    return @floatCast(sum);
}
const Wide = @Vector(8, f64);
const WideBits = @Vector(8, u64);
inline fn inexact(a: Wide, b: Wide, sum: Wide, tiny: @Vector(8, bool)) bool {
    const t = sum - a;
    const lost = (a - (sum - t)) + (b - t);
    const zero: Wide = @splat(0);
    return @reduce(.Or, (lost != zero) | (tiny & (sum != zero)));
}
noinline fn fma_slow(a: V, b: V, c: V) V {
    return @mulAdd(V, a, b, c);
}

fn pairs_f32(d: *[16]f32, mean: f32, std_dev: f32) void {
    const first: V = d[0..8].*;
    const second: V = d[8..16].*;
    const radius = @sqrt(s(-2.0) * log_cephes(s(1.0) - first));
    const both = sin_cos_cephes(s(2.0 * std.math.pi) * second);
    const mean_v: V = @splat(mean);
    const std_v: V = @splat(std_dev);
    d[0..8].* = fma(radius * both.cos, std_v, mean_v);
    d[8..16].* = fma(radius * both.sin, std_v, mean_v);
}
/// Natural logarithm of 0 < x <= 1: the Cephes polynomial, with the operations in the order and with the fusions that
/// the published random numbers were made with.
inline fn log_cephes(x: V) V {
    const bits: I = @bitCast(x);
    const sqrt_half = s(0.707106781186547524);
    var e: V = @floatFromInt((bits >> shift(23)) - si(126));
    var m: V = @bitCast((bits & si(0x7fffff)) | si(0x3f000000));
    // m in [sqrt(1/2), sqrt(2)), minus 1
    const low = m < sqrt_half;
    e -= @select(f32, low, s(1.0), s(0.0));
    m = (m - s(1.0)) + @select(f32, low, m, s(0.0));
    const z = m * m;
    var y = s(7.0376836292e-2);
    inline for (.{
        -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    }) |k| y = fma(y, m, s(k));
    y = fma(y * m, z, e * s(-2.12194440e-4));
    y = fma(-z, s(0.5), y);
    return fma(e, s(0.693359375), m + y);
}
const SinCos = struct { sin: V, cos: V };
/// Sine and cosine of 0 <= x < 8, likewise.
inline fn sin_cos_cephes(x: V) SinCos {
    const quarters: I = @intFromFloat(x * s(1.27323954473516));
    const j = (quarters + si(1)) & si(~@as(i32, 1));
    const k: V = @floatFromInt(j);
    var r = fma(k, s(-0.78515625), x);
    r = fma(k, s(-2.4187564849853515625e-4), r);
    r = fma(k, s(-3.77489497744594108e-8), r);
    const z = r * r;
    var c = fma(s(2.443315711809948e-5), z, s(-1.388731625493765e-3));
    c = fma(c, z, s(4.166664568298827e-2)) * z;
    c = fma(c, z, -(z * s(0.5))) + s(1.0);
    var p = fma(s(-1.9515295891e-4), z, s(8.3321608736e-3));
    p = fma(p, z, s(-1.6666654611e-1)) * z;
    p = fma(p, r, r);
    const straight = (j & si(2)) == si(0);
    const sin_sign = (j & si(4)) << shift(29);
    const cos_sign = (~(j - si(2)) & si(4)) << shift(29);
    const sin_v = @select(f32, straight, p, c);
    const cos_v = @select(f32, straight, c, p);
    return .{
        .sin = @bitCast(@as(I, @bitCast(sin_v)) ^ sin_sign),
        .cos = @bitCast(@as(I, @bitCast(cos_v)) ^ cos_sign),
    };
}

test "normal numbers of seed 0" {
    var g: Generator = undefined;
    var x: [16]f32 = undefined;
    random.seed(&g, 0);
    normal(f32, &g, &x, 3, 0, 1);
    for ([_]f32{ 1.5410, -0.2934, -2.1788 }, x[0..3]) |e, v| try std.testing.expectApproxEqAbs(e, v, 5e-5);
    random.seed(&g, 0);
    normal(f32, &g, &x, 16, 0, 1);
    for ([_]f32{ -1.1258, -1.1524, -0.2506, -0.4339 }, x[0..4]) |e, v| try std.testing.expectApproxEqAbs(e, v, 5e-5);
}
