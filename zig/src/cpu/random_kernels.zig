//! The random operators as kernels. Attribute 0 is the address of the generator's state. Outputs of any layout are
//! filled in the order of their memory, as if they had no gaps.
const std = @import("std");
const abi = @import("abi");
const abi_random = @import("abi_random");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const half = @import("../core/half.zig");
const iter = @import("../core/iter.zig");
const random = @import("random.zig");
const Attr = abi_random.RandomAttr;

const Generator = random.Generator;
const Frame = fr.Frame;
const chunk = 512;

comptime {
    if (@sizeOf(Generator) > abi_random.GeneratorBytes.reserved) @compileError("the generator outgrew its block");
}

fn generator(f: *const Frame) *Generator {
    return @ptrFromInt(fr.to_usize(fr.attr(f, Attr.generator)));
}

/// The 64 bits that operand `i` points at.
fn word(f: *Frame, i: usize) u64 {
    return @as(*align(1) const u64, @ptrCast(fr.view(f, i).data)).*;
}

/// How an element type lies in an array that a distribution fills.
fn Element(comptime d: abi.DType) type {
    return switch (d) {
        .bool => bool,
        .float16 => f16,
        .bfloat16 => half.BFloat16,
        else => dt.Stored(d),
    };
}

/// Fills operand 0: directly when it is dense, else through a buffer.
fn spread(comptime T: type, f: *Frame, filler: anytype) void {
    const out = fr.view(f, 0);
    var space: iter.Space = undefined;
    space.init(f, 1);
    if (space.total == 0) return;
    if (space.is_dense(0) and @intFromPtr(out.data) % @alignOf(T) == 0) {
        return filler.fill(T, @as([*]T, @ptrCast(@alignCast(out.data))), space.total);
    }
    var buffer: [chunk]T = undefined;
    var cursor = iter.Cursor.init(&space, 0, 0);
    var done: usize = 0;
    while (done < space.total) {
        const n = @min(chunk, space.total - done);
        filler.fill(T, &buffer, n);
        scatter(T, out.data, &cursor, buffer[0..n]);
        done += n;
    }
}

/// Writes the next elements of the output.
noinline fn scatter(comptime T: type, base: [*]u8, cursor: *iter.Cursor, values: []const T) void {
    var at: usize = 0;
    while (at < values.len) {
        const n = cursor.run(values.len - at);
        const step = cursor.space.strides[cursor.k][0];
        for (values[at..][0..n], 0..) |v, i| {
            const offset = (cursor.offset + @as(isize, @intCast(i)) * step) * @sizeOf(T);
            @as(*align(1) T, @ptrFromInt(@intFromPtr(base) +% @as(usize, @bitCast(offset)))).* = v;
        }
        cursor.advance(n);
        at += n;
    }
}

/// Distributions over real numbers.
fn floating(f: *Frame, filler: anytype) abi.Status {
    switch (fr.view(f, 0).dtype) {
        inline .float32, .float64, .float16, .bfloat16 => |d| spread(Element(d), f, filler),
        else => return .unsupported,
    }
    return .ok;
}

/// Distributions over the values of every real type.
fn any(f: *Frame, filler: anytype) abi.Status {
    switch (fr.view(f, 0).dtype) {
        inline .complex64, .complex128, .float8_e4m3fn, .float8_e5m2 => return .unsupported,
        inline else => |d| spread(Element(d), f, filler),
    }
    return .ok;
}

/// Distributions whose bits do not depend on the sign of an integer type.
fn bits(f: *Frame, filler: anytype) abi.Status {
    switch (fr.view(f, 0).dtype) {
        .complex64, .complex128, .float8_e4m3fn, .float8_e5m2 => return .unsupported,
        .int8, .uint8 => spread(u8, f, filler),
        .int16, .uint16 => spread(u16, f, filler),
        .int32, .uint32 => spread(u32, f, filler),
        .int64, .uint64 => spread(u64, f, filler),
        inline .bool, .float16, .bfloat16, .float32, .float64 => |d| spread(Element(d), f, filler),
    }
    return .ok;
}

/// Attributes 1 and 2: from, to.
pub fn uniform(f: *Frame) abi.Status {
    const Filler = struct {
        g: *Generator,
        from: f64,
        to: f64,
        fn fill(s: @This(), comptime T: type, out: [*]T, n: usize) void {
            random.uniform(T, s.g, out, n, s.from, s.to);
        }
    };
    return floating(f, Filler{ .g = generator(f), .from = fr.attr(f, Attr.first), .to = fr.attr(f, Attr.second) });
}

/// Attributes 1 to 3: mean, standard deviation, whether the output is contiguous (which decides the rule).
pub fn normal(f: *Frame) abi.Status {
    const Filler = struct {
        g: *Generator,
        mean: f64,
        std_dev: f64,
        blocks: bool,
        fn fill(s: @This(), comptime T: type, out: [*]T, n: usize) void {
            if (s.blocks) return random.normal(T, s.g, out, n, s.mean, s.std_dev);
            random.normal_one_by_one(T, s.g, out, n, s.mean, s.std_dev);
        }
    };
    const filler: Filler = .{
        .g = generator(f),
        .mean = fr.attr(f, Attr.first),
        .std_dev = fr.attr(f, Attr.second),
        .blocks = fr.attr_bool(f, Attr.third),
    };
    // The rule of blocks sees the whole output at once.
    var space: iter.Space = undefined;
    space.init(f, 1);
    if (filler.blocks and !space.is_dense(0)) return .bad_argument;
    return floating(f, filler);
}

/// Attributes 1 and 2: mean and standard deviation of the logarithm.
pub fn log_normal(f: *Frame) abi.Status {
    const Filler = struct {
        g: *Generator,
        mean: f64,
        std_dev: f64,
        fn fill(s: @This(), comptime T: type, out: [*]T, n: usize) void {
            random.log_normal(T, s.g, out, n, s.mean, s.std_dev);
        }
    };
    return floating(f, Filler{ .g = generator(f), .mean = fr.attr(f, Attr.first), .std_dev = fr.attr(f, Attr.second) });
}

/// Attribute 1: the rate.
pub fn exponential(f: *Frame) abi.Status {
    const Filler = struct {
        g: *Generator,
        rate: f64,
        fn fill(s: @This(), comptime T: type, out: [*]T, n: usize) void {
            random.exponential(T, s.g, out, n, s.rate);
        }
    };
    return floating(f, Filler{ .g = generator(f), .rate = fr.attr(f, Attr.first) });
}

/// Attributes 1 and 2: median, sigma.
pub fn cauchy(f: *Frame) abi.Status {
    const Filler = struct {
        g: *Generator,
        median: f64,
        sigma: f64,
        fn fill(s: @This(), comptime T: type, out: [*]T, n: usize) void {
            random.cauchy(T, s.g, out, n, s.median, s.sigma);
        }
    };
    return floating(f, Filler{ .g = generator(f), .median = fr.attr(f, Attr.first), .sigma = fr.attr(f, Attr.second) });
}

/// Attribute 1: the probability, between 0 and 1.
pub fn geometric(f: *Frame) abi.Status {
    const Filler = struct {
        g: *Generator,
        p: f64,
        fn fill(s: @This(), comptime T: type, out: [*]T, n: usize) void {
            random.geometric(T, s.g, out, n, s.p);
        }
    };
    const filler: Filler = .{ .g = generator(f), .p = fr.attr(f, Attr.first) };
    switch (fr.view(f, 0).dtype) {
        inline .uint8, .int8, .int16, .int32, .int64, .float16, .bfloat16, .float32, .float64 => |d| {
            spread(Element(d), f, filler);
        },
        else => return .unsupported,
    }
    return .ok;
}

/// Attribute 1: the probability.
pub fn bernoulli(f: *Frame) abi.Status {
    const Filler = struct {
        g: *Generator,
        p: f64,
        fn fill(s: @This(), comptime T: type, out: [*]T, n: usize) void {
            random.bernoulli(T, s.g, out, n, s.p);
        }
    };
    return bits(f, Filler{ .g = generator(f), .p = fr.attr(f, Attr.first) });
}

/// Operands 1 and 2: the least number and how many there are, as 64-bit words.
pub fn from_to(f: *Frame) abi.Status {
    const Filler = struct {
        g: *Generator,
        from: i64,
        range: u64,
        fn fill(s: @This(), comptime T: type, out: [*]T, n: usize) void {
            random.random_from_to(T, s.g, out, n, s.from, s.range);
        }
    };
    const range = word(f, 2);
    if (range == 0) return .bad_argument;
    return bits(f, Filler{ .g = generator(f), .from = @bitCast(word(f, 1)), .range = range });
}

/// All 64 bits.
pub fn full_64(f: *Frame) abi.Status {
    const Filler = struct {
        g: *Generator,
        fn fill(s: @This(), comptime T: type, out: [*]T, n: usize) void {
            random.random_full_64(T, s.g, out, n);
        }
    };
    return bits(f, Filler{ .g = generator(f) });
}

/// From 0 to the largest number of the type.
pub fn default_range(f: *Frame) abi.Status {
    const Filler = struct {
        g: *Generator,
        fn fill(s: @This(), comptime T: type, out: [*]T, n: usize) void {
            random.random_default_range(T, s.g, out, n);
        }
    };
    return any(f, Filler{ .g = generator(f) });
}

/// A permutation into dense memory.
pub fn randperm(f: *Frame) abi.Status {
    const out = fr.view(f, 0);
    switch (out.dtype) {
        inline .bool, .complex64, .complex128, .float8_e4m3fn, .float8_e5m2 => return .unsupported,
        inline else => |d| random.randperm(Element(d), generator(f), out.ptr(Element(d)), out.numel()),
    }
    return .ok;
}

/// Operand 1: a probability for each element, broadcast. Fails with 1 when one is outside of [0, 1].
pub fn bernoulli_each(f: *Frame) abi.Status {
    return switch (fr.view(f, 1).dtype) {
        inline .float32, .float64, .float16, .bfloat16 => |p| each(Element(p), f),
        else => .unsupported,
    };
}

fn each(comptime P: type, f: *Frame) abi.Status {
    var space: iter.Space = undefined;
    space.init(f, 2);
    const base = @intFromPtr(fr.view(f, 1).data);
    const g = generator(f);
    var to = iter.Cursor.init(&space, 0, 0);
    var from = iter.Cursor.init(&space, 1, 0);
    var chances: [chunk]P = undefined;
    var hits: [chunk]bool = undefined;
    var done: usize = 0;
    while (done < space.total) {
        const n = from.run(@min(chunk, space.total - done));
        for (chances[0..n], 0..) |*c, i| {
            const offset = (from.offset + @as(isize, @intCast(i)) * space.strides[1][0]) * @sizeOf(P);
            c.* = @as(*align(1) const P, @ptrFromInt(base +% @as(usize, @bitCast(offset)))).*;
            const x: f64 = if (P == f64) c.* else half.load_f32(P, c.*);
            const wrong = abi_random.Distribution.negative;
            if (!(x >= 0 and x <= 1)) return fr.fail(f, .invalid_distribution, &.{@intFromEnum(wrong)});
        }
        random.bernoulli_each(bool, P, g, &hits, &chances, n);
        const status = switch (dt.size_of(fr.view(f, 0).dtype)) {
            1 => ones(u8, f, &to, hits[0..n]),
            2 => ones(u16, f, &to, hits[0..n]),
            4 => ones(u32, f, &to, hits[0..n]),
            8 => ones(u64, f, &to, hits[0..n]),
            else => .unsupported,
        };
        if (status != .ok) return status;
        from.advance(n);
        done += n;
    }
    return .ok;
}

/// Writes one where something hit, zero elsewhere. Not a part of each probability's loop: of 16 copies none is faster.
noinline fn ones(comptime Bits: type, f: *Frame, to: *iter.Cursor, hits: []const bool) abi.Status {
    const one = one_of(Bits, fr.view(f, 0).dtype);
    var values: [chunk]Bits = undefined;
    for (values[0..hits.len], hits) |*v, h| v.* = if (h) one else 0;
    scatter(Bits, fr.view(f, 0).data, to, values[0..hits.len]);
    return .ok;
}

/// The bits of the number one.
fn one_of(comptime Bits: type, d: abi.DType) Bits {
    return switch (d) {
        inline else => |k| {
            const T = dt.Stored(k);
            if (@sizeOf(T) != @sizeOf(Bits) or comptime dt.is_complex(T)) return 1;
            return @bitCast(dt.store(k, .f32, 1));
        },
    };
}

/// Operands: indices [rows, count], weights [rows, n], room for n sums; all dense.
pub fn multinomial(f: *Frame) abi.Status {
    return switch (fr.view(f, 1).dtype) {
        .float32 => sample(f32, f),
        .float64 => sample(f64, f),
        else => .unsupported,
    };
}

fn sample(comptime F: type, f: *Frame) abi.Status {
    const out = fr.view(f, 0);
    const weights = fr.view(f, 1);
    const n = weights.size(1);
    const count = out.size(1);
    const sums = fr.view(f, 2).ptr(F);
    for (0..weights.size(0)) |row| {
        switch (random.cumulative_distribution(F, weights.ptr(F) + row * n, sums, n)) {
            .ok => {},
            else => |wrong| return fr.fail(f, .invalid_distribution, &.{@intFromEnum(wrong)}),
        }
        random.multinomial_with_replacement(F, generator(f), sums, n, out.ptr(i64) + row * count, count);
    }
    return .ok;
}

/// The positions of the largest numbers of each row, the largest first. Operands: positions [rows, count], numbers
/// [rows, n], room for n positions; all dense.
pub fn largest(f: *Frame) abi.Status {
    return switch (fr.view(f, 1).dtype) {
        .float32 => rank(f32, f),
        .float64 => rank(f64, f),
        else => .unsupported,
    };
}

fn rank(comptime F: type, f: *Frame) abi.Status {
    const out = fr.view(f, 0);
    const numbers = fr.view(f, 1);
    const n = numbers.size(1);
    const count = out.size(1);
    if (count > n) return .bad_argument;
    const order = fr.view(f, 2).ptr(i64)[0..n];
    for (0..numbers.size(0)) |row| {
        const values = numbers.ptr(F)[row * n ..][0..n];
        const to = out.ptr(i64)[row * count ..][0..count];
        if (count == 1) {
            var best: usize = 0;
            for (1..n) |i| {
                if (before(F, values, i, best)) best = i;
            }
            to[0] = @intCast(best);
            continue;
        }
        for (order, 0..) |*o, i| o.* = @intCast(i);
        std.sort.pdq(i64, order, values, struct {
            fn less(v: []const F, a: i64, b: i64) bool {
                return before(F, v, @intCast(a), @intCast(b));
            }
        }.less);
        @memcpy(to, order[0..count]);
    }
    return .ok;
}

/// A total order: NaN first, then descending, equal numbers by position.
inline fn before(comptime F: type, v: []const F, a: usize, b: usize) bool {
    const x = v[a];
    const y = v[b];
    if (x > y) return true;
    if (x < y) return false;
    const x_nan = x != x;
    const y_nan = y != y;
    if (x_nan != y_nan) return x_nan;
    return a < b;
}

/// Operand 0: the seed as a 64-bit word.
pub fn seed(f: *Frame) abi.Status {
    random.seed(generator(f), word(f, 0));
    return .ok;
}

/// Operand 0: 8 bytes for the seed that the generator began with.
pub fn initial_seed(f: *Frame) abi.Status {
    @as(*align(1) u64, @ptrCast(fr.view(f, 0).data)).* = random.initial_seed(generator(f));
    return .ok;
}

fn state_block(f: *Frame) *[abi_random.GeneratorBytes.state]u8 {
    return fr.view(f, 0).data[0..abi_random.GeneratorBytes.state];
}

/// Operand 0: dense bytes for the state.
pub fn get_state(f: *Frame) abi.Status {
    if (fr.view(f, 0).numel() != abi_random.GeneratorBytes.state) return .bad_argument;
    random.get_state(generator(f), state_block(f));
    return .ok;
}

/// Operand 0: the bytes of a state.
pub fn set_state(f: *Frame) abi.Status {
    if (fr.view(f, 0).numel() != abi_random.GeneratorBytes.state) return .bad_argument;
    return if (random.set_state(generator(f), state_block(f))) .ok else .bad_argument;
}
