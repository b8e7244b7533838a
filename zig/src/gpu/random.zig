//! Device code of random numbers: each thread draws from its own Philox stream, four words at a time.
const std = @import("std");
const abi = @import("abi");
const args = @import("random_args.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const draw_math = @import("draw_math.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const fault = @import("fault.zig");
const philox = @import("../cpu/philox.zig");
const thread = @import("thread.zig");

const Compute = abi.Compute;
const Args = args.Fill;

/// What is drawn in a compute type before a distribution makes its numbers of it.
fn Source(comptime c: Compute) type {
    return struct {
        const T = dt.Computed(c);
        /// Numbers that four words give.
        const unit = if (c == .f64) 2 else 4;

        inline fn uniform(w: [4]u32) [unit]T {
            if (c == .f64) return .{ philox.unit_f64(w[0], w[1]), philox.unit_f64(w[2], w[3]) };
            var r: [unit]T = undefined;
            inline for (&r, w) |*x, word| x.* = philox.unit_f32(word);
            return r;
        }

        inline fn normal(w: [4]u32) [unit]T {
            const pair = draw_math.Functions(T).normal;
            if (c == .f64) return pair(philox.unit_f64(w[0], w[1]), half_turns(w[2], w[3]));
            const first = pair(philox.unit_f32(w[0]), angle(w[1]));
            const second = pair(philox.unit_f32(w[2]), angle(w[3]));
            return .{ first[0], first[1], second[0], second[1] };
        }

        inline fn angle(x: u32) f32 {
            const step: f32 = 0x1p-32 * @as(f32, 2 * std.math.pi);
            return @mulAdd(f32, @floatFromInt(x), step, step / 2);
        }

        inline fn half_turns(x: u32, y: u32) f64 {
            return @mulAdd(f64, @floatFromInt(philox.bits53(x, y)), 0x1p-52, 0x1p-53);
        }
    };
}

/// A number as an element of the output's dtype.
inline fn rounded(comptime c: Compute, dtype: u32, x: dt.Computed(c)) dt.Computed(c) {
    if (c == .f64) return x;
    inline for ([_]abi.DType{ .bfloat16, .float16 }) |d| {
        if (dtype == @intFromEnum(d)) return dt.load(d, c, dt.store(d, c, x));
    }
    return x;
}

const distributions = struct {
    /// From one bound to the other: what comes out as the upper one becomes the lower one.
    pub const uniform = struct {
        const draw = "uniform";
        inline fn apply(comptime c: Compute, a: *const Args, x: dt.Computed(c)) dt.Computed(c) {
            const T = dt.Computed(c);
            const from: T = @floatCast(a.numbers[0]);
            const r = rounded(c, a.out.dtype, @mulAdd(T, x, @floatCast(a.numbers[2]), from));
            return if (r == @as(T, @floatCast(a.numbers[1]))) from else r;
        }
    };
    pub const normal = struct {
        const draw = "normal";
        inline fn apply(comptime c: Compute, a: *const Args, x: dt.Computed(c)) dt.Computed(c) {
            return @mulAdd(dt.Computed(c), x, @floatCast(a.numbers[1]), @floatCast(a.numbers[0]));
        }
    };
    pub const log_normal = struct {
        const draw = "normal";
        inline fn apply(comptime c: Compute, a: *const Args, x: dt.Computed(c)) dt.Computed(c) {
            return draw_math.Functions(dt.Computed(c)).exp(normal.apply(c, a, x));
        }
    };
    pub const exponential = struct {
        const draw = "uniform";
        inline fn apply(comptime c: Compute, a: *const Args, x: dt.Computed(c)) dt.Computed(c) {
            const T = dt.Computed(c);
            const half_step = std.math.floatEps(T) / 2;
            // The logarithm of 1 is 0, which is no number of this distribution.
            const log = if (x >= 1 - half_step) -half_step else draw_math.Functions(T).log(x);
            return -1 / @as(T, @floatCast(a.numbers[0])) * log;
        }
    };
    pub const cauchy = struct {
        const draw = "uniform";
        inline fn apply(comptime c: Compute, a: *const Args, x: dt.Computed(c)) dt.Computed(c) {
            const T = dt.Computed(c);
            const eps = std.math.floatEps(T);
            const inside = if (c == .f64) x else @min(@max(x, eps), 1 - eps);
            const tangent = draw_math.Functions(T).tan(@as(T, std.math.pi) * (inside - 0.5));
            return @mulAdd(T, @floatCast(a.numbers[1]), tangent, @floatCast(a.numbers[0]));
        }
    };
    pub const geometric = struct {
        const draw = "uniform";
        inline fn apply(comptime c: Compute, a: *const Args, x: dt.Computed(c)) dt.Computed(c) {
            const m = draw_math.Functions(dt.Computed(c));
            return @ceil(m.log(x) / m.log_of_rest(@floatCast(a.numbers[0])));
        }
    };
    pub const bernoulli = struct {
        const draw = "uniform";
        inline fn apply(comptime c: Compute, a: *const Args, x: dt.Computed(c)) dt.Computed(c) {
            return if (x < @as(dt.Computed(c), @floatCast(a.numbers[0]))) 1 else 0;
        }
    };
};

inline fn offset_of(a: *const Args, o: *const @FieldType(Args, "out"), i: u32) i32 {
    var offset: i32 = 0;
    var rest = i;
    for (0..a.rank) |d| {
        const quotient = a.sizes[d].divide(rest);
        const remainder: i32 = @intCast(rest - quotient * a.sizes[d].size);
        offset += remainder * o.strides[d];
        rest = quotient;
    }
    return offset;
}

inline fn store(comptime c: Compute, a: *const Args, i: u32, x: dt.Computed(c)) void {
    element.Any(c).store(a.out.data, a.out.dtype, offset_of(a, &a.out, i), x);
}

/// Element i is a number of the thread i modulo all threads.
fn Reals(comptime D: type, comptime c: Compute) type {
    const S = Source(c);
    return struct {
        fn fill(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(1_000_000);
            const all = thread.blocks() * thread.threads();
            const mine = thread.block() * thread.threads() + thread.index();
            var first = mine;
            var place = a.place;
            while (first < a.count) : (first += all * S.unit) {
                const drawn = @field(S, D.draw)(philox.words(a.seed, mine, place));
                place += 1;
                inline for (drawn, 0..) |x, k| {
                    const i = first + all * @as(u32, k);
                    if (i < a.count) store(c, a, i, D.apply(c, a, x));
                }
            }
        }
    };
}

/// What dropout keeps. A thread draws four words at a time: for elements that are as far apart as there are threads, or
/// for its `run` neighbours, where two take only the first two words, and eight take two draws.
const Kept = struct {
    fn fill(a: *const Args) callconv(.kernel) void {
        const all = thread.blocks() * thread.threads();
        const mine = thread.block() * thread.threads() + thread.index();
        const apart = a.run == 1;
        const stride = if (apart) all else 1;
        const used: u32 = if (a.run == 2) 2 else 4;
        const halves = @intFromBool(a.run == 8);
        var draw: u32 = 0;
        while (true) : (draw += 1) {
            const turn = mine + all * (draw >> halves);
            const first = if (apart) mine + 4 * all * draw else turn * a.run + (draw & halves) * 4;
            if (first >= a.count) return;
            const w = philox.words(a.seed, mine, a.place + draw);
            inline for (w, 0..) |word, k| {
                const i = first + stride * @as(u32, k);
                if (k < used and i < a.count) {
                    store(.f32, a, i, distributions.bernoulli.apply(.f32, a, philox.unit_f32(word)));
                }
            }
        }
    }
};

/// Integers from `from` on, of 32 or 64 bits before the range cuts them.
fn Integers(comptime long: bool) type {
    const unit: u32 = if (long) 2 else 4;
    return struct {
        fn fill(a: *const Args) callconv(.kernel) void {
            const all = thread.blocks() * thread.threads();
            const mine = thread.block() * thread.threads() + thread.index();
            var first = mine;
            var place = a.place;
            while (first < a.count) : (first += all * unit) {
                const w = philox.words(a.seed, mine, place);
                place += 1;
                inline for (if (long) philox.pair(w) else w, 0..) |x, k| {
                    const i = first + all * @as(u32, k);
                    if (i < a.count) store(.i64, a, i, number(a, x));
                }
            }
        }

        inline fn number(a: *const Args, x: if (long) u64 else u32) i64 {
            const rest: u64 = if (!long) x % @as(u32, @truncate(a.range)) else if (a.range == 0) x else x % a.range;
            return @as(i64, @bitCast(rest)) +% a.from;
        }
    };
}

/// A chance for each element; a thread has four that follow each other, and draws once.
fn Chances(comptime c: Compute) type {
    return struct {
        fn fill(a: *const Args) callconv(.kernel) void {
            const mine = thread.block() * thread.threads() + thread.index();
            const first = mine * 4;
            if (first >= a.count) return;
            const w = philox.words(a.seed, mine, a.place);
            inline for (w, 0..) |word, k| {
                const i = first + @as(u32, k);
                if (i < a.count) {
                    const at = offset_of(a, &a.chance, i);
                    const p = element.Any(c).load(a.chance.data, a.chance.dtype, a.chance.flags, at);
                    if (!(p >= 0 and p <= 1)) fault.tell(a.record, a.fault, 0, 0, 0);
                    const hit = @as(dt.Computed(c), philox.unit_f32(word)) <= p;
                    store(.b8, a, i, @intFromBool(hit));
                }
            }
        }
    };
}

pub fn exports() void {
    @setEvalBranchQuota(100_000);
    for ([_]Compute{ .f32, .f64 }) |c| {
        for (@typeInfo(distributions).@"struct".decls) |decl| {
            const K = Reals(@field(distributions, decl.name), c);
            export_kernel(&K.fill, "random_" ++ decl.name ++ "_" ++ @tagName(c) ++ "_fill", Args);
        }
        export_kernel(&Chances(c).fill, "random_bernoulli_each_" ++ @tagName(c) ++ "_fill", Args);
    }
    export_kernel(&Kept.fill, "random_bernoulli_f32_kept", Args);
    export_kernel(&Integers(false).fill, "random_from_to_i64_short", Args);
    export_kernel(&Integers(true).fill, "random_from_to_i64_long", Args);
    @import("random_draw.zig").exports();
}
