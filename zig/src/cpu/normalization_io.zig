//! Vectors of the stored elements that normalization reads and writes, in the type that it computes in.
const std = @import("std");
const builtin = @import("builtin");
const abi = @import("abi");
const cfg = @import("cfg");
const half = @import("../core/half.zig");

const has_fma = switch (builtin.cpu.arch) {
    .x86_64 => std.Target.x86.featureSetHas(builtin.cpu.features, .fma),
    else => true,
};

/// x * y + z, rounded once where the processor has that.
pub inline fn mul_add(x: anytype, y: @TypeOf(x), z: @TypeOf(x)) @TypeOf(x) {
    return if (comptime has_fma) @mulAdd(@TypeOf(x), x, y, z) else x * y + z;
}

/// Elements of one dtype as vectors and numbers of the compute type.
pub fn Io(comptime d: abi.DType) type {
    return struct {
        pub const T = if (d == .float64) f64 else f32;
        pub const S = switch (d) {
            .float64 => f64,
            .float32 => f32,
            .float16 => f16,
            .bfloat16 => u16,
            else => unreachable,
        };
        pub const lanes = cfg.lanes * 4 / @sizeOf(T);
        pub const V = @Vector(lanes, T);

        inline fn widened(x: anytype) if (@typeInfo(@TypeOf(x)) == .vector) V else T {
            @setEvalBranchQuota(100_000);
            return switch (d) {
                .bfloat16 => half.bf16_to_f32(x),
                .float16 => half.f16_to_f32(x),
                else => x,
            };
        }

        pub inline fn load(p: [*]const S) V {
            return widened(@as(@Vector(lanes, S), p[0..lanes].*));
        }

        pub inline fn one(p: [*]const S) T {
            return widened(p[0]);
        }

        pub inline fn store(p: [*]S, x: V) void {
            @setEvalBranchQuota(100_000);
            const r: @Vector(lanes, S) = switch (d) {
                .bfloat16 => half.f32_to_bf16(x),
                .float16 => half.f32_to_f16(x),
                else => x,
            };
            p[0..lanes].* = r;
        }

        pub inline fn put(p: [*]S, x: T) void {
            @setEvalBranchQuota(100_000);
            p[0] = switch (d) {
                .bfloat16 => half.f32_to_bf16(x),
                .float16 => half.f32_to_f16(x),
                else => x,
            };
        }

        pub inline fn splat(x: T) V {
            return @splat(x);
        }

        /// Parameters and statistics are of the compute type.
        pub inline fn at(p: [*]const T) V {
            return p[0..lanes].*;
        }

        pub inline fn set(p: [*]T, x: V) void {
            p[0..lanes].* = x;
        }

        pub const Moments = struct {
            count: f64 = 0,
            mean: f64 = 0,
            /// The sum of squared distances from the mean.
            squares: f64 = 0,

            pub fn join(a: *Moments, b: Moments) void {
                if (a.count == 0) {
                    a.* = b;
                    return;
                }
                const total = a.count + b.count;
                const delta = b.mean - a.mean;
                a.mean += delta * b.count / total;
                a.squares += b.squares + delta * delta * a.count * b.count / total;
                a.count = total;
            }
        };

        /// Elements whose moments are taken while they stay close to the processor.
        const block = 4096;

        pub fn moments(p: [*]const S, n: usize) Moments {
            var all: Moments = .{};
            var i: usize = 0;
            while (i < n) : (i += block) all.join(block_moments(p + i, @min(block, n - i)));
            return all;
        }

        fn block_moments(p: [*]const S, n: usize) Moments {
            const count: f64 = @floatFromInt(n);
            const mean: T = @floatCast(sum_of(p, n, .plain, 0) / count);
            // What rounding the mean leaves is small beside the squares.
            return .{ .count = count, .mean = mean, .squares = sum_of(p, n, .squares, mean) };
        }

        const What = enum { plain, squares };

        pub fn squares(p: [*]const S, n: usize) f64 {
            var all: f64 = 0;
            var i: usize = 0;
            while (i < n) : (i += block) all += sum_of(p + i, @min(block, n - i), .squares, 0);
            return all;
        }

        fn sum_of(p: [*]const S, n: usize, comptime what: What, mean: T) f64 {
            var sums: [4]V = @splat(@splat(0));
            const m = splat(mean);
            var i: usize = 0;
            while (i + 4 * lanes <= n) : (i += 4 * lanes) {
                inline for (&sums, 0..) |*s, u| s.* = added(what, s.*, load(p + i + u * lanes), m);
            }
            while (i + lanes <= n) : (i += lanes) sums[0] = added(what, sums[0], load(p + i), m);
            var rest: T = 0;
            while (i < n) : (i += 1) rest = added(what, rest, one(p + i), mean);
            return @as(f64, @reduce(.Add, (sums[0] + sums[1]) + (sums[2] + sums[3]))) + rest;
        }

        inline fn added(comptime what: What, sum: anytype, x: @TypeOf(sum), mean: @TypeOf(sum)) @TypeOf(sum) {
            if (what == .plain) return sum + x;
            const y = x - mean;
            return mul_add(y, y, sum);
        }
    };
}
