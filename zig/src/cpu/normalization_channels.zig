//! Channels that are normalized by the mean and variance of a batch, or by those that were kept: elements
//! outer x channels x inner. With one inner element a channel is a column, which vectors take side by side.
const std = @import("std");
const abi = @import("abi");
const abi_normalization = @import("abi_normalization");
const fr = @import("../core/frame.zig");
const io = @import("normalization_io.zig");
const parallel = @import("../core/parallel.zig");

const Attr = abi_normalization.NormChannelsAttr;
const mul_add = io.mul_add;

/// Elements worth handing to another thread.
const grain = 16384;
/// Rows of a strip of columns that are taken together.
const block = 512;

pub fn Channels(comptime d: abi.DType) type {
    const E = io.Io(d);
    const T = E.T;
    const S = E.S;
    const V = E.V;
    const lanes = E.lanes;
    return struct {
        const Job = struct {
            outer: usize,
            channels: usize,
            inner: usize,
            training: bool,
            eps: f64,
            momentum: f64,
            /// Statistics are rounded to the elements' dtype: 1, or also what they are made of: 2.
            rounded: i64,
            mean: [*]T,
            scale: [*]T,
            weight: ?[*]const T,
            bias: ?[*]const T = null,
            running: [2]?[*]T = .{ null, null },
            /// The result, or the gradient of the input.
            to: ?[*]S,
            from: [*]const S,
            grad: [*]const S = undefined,
            weights: ?[*]T = null,
            biases: ?[*]T = null,
            /// Of each channel: what elements are multiplied by, and what is added.
            factors: [*]T = undefined,
            levels: [*]T = undefined,
            slopes: [*]T = undefined,

            fn of(f: *fr.Frame, in: usize, stats: usize, weight: usize) ?Job {
                const x = fr.view(f, in);
                if (x.rank != 3) return null;
                const to = fr.view(f, 0);
                const j: Job = .{
                    .outer = x.size(0),
                    .channels = x.size(1),
                    .inner = x.size(2),
                    .training = fr.attr_bool(f, Attr.training),
                    .eps = fr.attr(f, Attr.eps),
                    .momentum = fr.attr(f, Attr.momentum),
                    .rounded = fr.attr_int(f, Attr.rounded),
                    .mean = fr.view(f, stats).ptr(T),
                    .scale = fr.view(f, stats + 1).ptr(T),
                    .weight = optional(f, weight),
                    .to = if (to.numel() == 0) null else to.ptr(S),
                    .from = x.ptr(S),
                };
                if (to.numel() != 0 and to.numel() != x.numel()) return null;
                for (stats..stats + 2) |i| if (fr.view(f, i).numel() != j.channels) return null;
                if (j.weight != null and fr.view(f, weight).numel() != j.channels) return null;
                return j;
            }

            fn count(j: *const Job) f64 {
                return @floatFromInt(j.outer * j.inner);
            }

            fn plane(j: *const Job, p: anytype, o: usize, c: usize) @TypeOf(p) {
                return p + (o * j.channels + c) * j.inner;
            }
        };

        fn optional(f: *fr.Frame, index: usize) ?[*]T {
            const v = fr.view(f, index);
            return if (v.numel() == 0) null else v.ptr(T);
        }

        pub fn forward(f: *fr.Frame) abi.Status {
            var j = Job.of(f, 1, 2, 4) orelse return .bad_argument;
            j.bias = optional(f, 5);
            for (5..8) |i| {
                const n = fr.view(f, i).numel();
                if (n != 0 and n != j.channels) return .bad_argument;
            }
            j.running = .{ optional(f, 6), optional(f, 7) };
            if (!j.training and (j.running[0] == null or j.running[1] == null)) return .bad_argument;
            if (j.outer * j.channels * j.inner == 0) return .ok;
            const scratch = parallel.Scratch.acquire(2 * j.channels * @sizeOf(T)) orelse return .out_of_memory;
            defer scratch.release();
            j.factors = scratch.slice(T, 2 * j.channels).ptr;
            j.levels = j.factors + j.channels;
            if (j.training) statistics(&j) else {
                for (0..j.channels) |c| {
                    j.mean[c] = j.running[0].?[c];
                    j.scale[c] = 1 / @sqrt(j.running[1].?[c] + @as(T, @floatCast(j.eps)));
                }
            }
            for (0..j.channels) |c| {
                const w = if (j.weight) |p| p[c] else 1;
                j.factors[c] = j.scale[c] * w;
                j.levels[c] = (if (j.bias) |p| p[c] else 0) - j.mean[c] * j.factors[c];
            }
            if (j.inner == 1) {
                parallel.parallel_for(j.outer, @max(1, grain / j.channels), &j, transform_rows);
            } else parallel.parallel_for(j.outer * j.channels, @max(1, grain / j.inner), &j, transform_planes);
            return .ok;
        }

        fn statistics(j: *Job) void {
            if (j.inner == 1) {
                const strips = (j.channels - 1) / lanes + 1;
                parallel.parallel_for(strips, @max(1, grain / (j.outer * lanes)), j, strip_statistics);
            } else {
                parallel.parallel_for(j.channels, @max(1, grain / (j.outer * j.inner)), j, plane_statistics);
            }
        }

        /// What is kept of a channel: its mean, 1 / deviation, and the running ones, which take the unbiased variance.
        fn keep(j: *Job, c: usize, exact_mean: T, exact_squares: T) void {
            const mean = rounded(j, 1, exact_mean);
            const squares = rounded(j, 2, exact_squares);
            const n = j.count();
            const variance = rounded(j, 2, squares / @as(T, @floatCast(n)));
            j.mean[c] = mean;
            j.scale[c] = rounded(j, 1, 1 / @sqrt(variance + @as(T, @floatCast(j.eps))));
            const m: T = @floatCast(j.momentum);
            const rest: T = @floatCast(1 - j.momentum);
            if (j.running[0]) |p| p[c] = m * mean + rest * p[c];
            if (j.running[1]) |p| p[c] = m * (squares / @as(T, @floatCast(n - 1))) + rest * p[c];
        }

        fn rounded(j: *const Job, least: i64, x: T) T {
            if (j.rounded < least) return x;
            var some: [1]S = undefined;
            E.put(&some, x);
            return E.one(&some);
        }

        fn plane_statistics(j: *Job, begin: usize, end: usize) void {
            for (begin..end) |c| {
                var all: E.Moments = .{};
                for (0..j.outer) |o| all.join(E.moments(j.plane(j.from, o, c), j.inner));
                keep(j, c, @floatCast(all.mean), @floatCast(all.squares));
            }
        }

        /// Columns [c, c + lanes) of a row; beyond the last one zeros.
        inline fn get(p: [*]const S, left: usize) V {
            if (left >= lanes) return E.load(p);
            var some: [lanes]S = @splat(0);
            for (0..left) |i| some[i] = p[i];
            return E.load(&some);
        }

        fn strip_statistics(j: *Job, begin: usize, end: usize) void {
            for (begin..end) |strip| {
                const c = strip * lanes;
                const left = j.channels - c;
                var mean: V = @splat(0);
                var squares: V = @splat(0);
                var done: usize = 0;
                while (done < j.outer) {
                    const n = @min(block, j.outer - done);
                    const rows = j.from + done * j.channels + c;
                    var sum: V = @splat(0);
                    for (0..n) |r| sum += get(rows + r * j.channels, left);
                    const own = sum / E.splat(@floatFromInt(n));
                    var own_squares: V = @splat(0);
                    for (0..n) |r| {
                        const y = get(rows + r * j.channels, left) - own;
                        own_squares = mul_add(y, y, own_squares);
                    }
                    const before: T = @floatFromInt(done);
                    const share = @as(T, @floatFromInt(n)) / @as(T, @floatFromInt(done + n));
                    const delta = own - mean;
                    mean += delta * E.splat(share);
                    squares += own_squares + delta * delta * E.splat(before * share);
                    done += n;
                }
                const means: [lanes]T = mean;
                const all: [lanes]T = squares;
                for (0..@min(lanes, left)) |i| keep(j, c + i, means[i], all[i]);
            }
        }

        fn transform_planes(j: *Job, begin: usize, end: usize) void {
            for (begin..end) |p| {
                const c = p % j.channels;
                const to = j.to.? + p * j.inner;
                const from = j.from + p * j.inner;
                const a = j.factors[c];
                const b = j.levels[c];
                var i: usize = 0;
                while (i + lanes <= j.inner) : (i += lanes) {
                    E.store(to + i, mul_add(E.load(from + i), E.splat(a), E.splat(b)));
                }
                while (i < j.inner) : (i += 1) E.put(to + i, mul_add(E.one(from + i), a, b));
            }
        }

        fn transform_rows(j: *Job, begin: usize, end: usize) void {
            const n = j.channels;
            for (begin..end) |r| {
                const to = j.to.? + r * n;
                const from = j.from + r * n;
                var i: usize = 0;
                while (i + lanes <= n) : (i += lanes) {
                    E.store(to + i, mul_add(E.load(from + i), E.at(j.factors + i), E.at(j.levels + i)));
                }
                while (i < n) : (i += 1) E.put(to + i, mul_add(E.one(from + i), j.factors[i], j.levels[i]));
            }
        }

        pub fn backward(f: *fr.Frame) abi.Status {
            var j = Job.of(f, 4, 5, 7) orelse return .bad_argument;
            if (fr.view(f, 3).numel() != fr.view(f, 4).numel()) return .bad_argument;
            for (1..3) |i| {
                const n = fr.view(f, i).numel();
                if (n != 0 and n != j.channels) return .bad_argument;
            }
            j.grad = fr.view(f, 3).ptr(S);
            j.weights = optional(f, 1);
            j.biases = optional(f, 2);
            if (j.channels == 0) return .ok;
            const scratch = parallel.Scratch.acquire(3 * j.channels * @sizeOf(T)) orelse return .out_of_memory;
            defer scratch.release();
            j.factors = scratch.slice(T, 3 * j.channels).ptr;
            j.levels = j.factors + j.channels;
            j.slopes = j.levels + j.channels;
            if (j.training or j.weights != null or j.biases != null) {
                if (j.inner == 1) {
                    const strips = (j.channels - 1) / lanes + 1;
                    parallel.parallel_for(strips, @max(1, grain / (j.outer * lanes + 1)), &j, strip_sums);
                } else {
                    parallel.parallel_for(j.channels, @max(1, grain / (j.outer * j.inner + 1)), &j, plane_sums);
                }
            } else for (0..j.channels) |c| sums_of(&j, c, 0, 0);
            if (j.to == null) return .ok;
            if (j.inner == 1) {
                parallel.parallel_for(j.outer, @max(1, grain / j.channels), &j, back_rows);
            } else parallel.parallel_for(j.outer * j.channels, @max(1, grain / j.inner), &j, back_planes);
            return .ok;
        }

        /// From the sums of a channel's gradients, and of those times the distance from the mean.
        fn sums_of(j: *Job, c: usize, plain: T, along: T) void {
            const a = j.scale[c];
            if (j.weights) |p| p[c] = along * a;
            if (j.biases) |p| p[c] = plain;
            const factor = if (j.weight) |p| a * p[c] else a;
            j.factors[c] = factor;
            const n: T = @floatCast(j.count());
            j.slopes[c] = if (j.training) -along * a * a / n * factor else 0;
            j.levels[c] = if (j.training) -plain / n * factor else 0;
        }

        fn plane_sums(j: *Job, begin: usize, end: usize) void {
            for (begin..end) |c| {
                const mean = j.mean[c];
                var plain: f64 = 0;
                var along: f64 = 0;
                for (0..j.outer) |o| {
                    const grad = j.plane(j.grad, o, c);
                    const from = j.plane(j.from, o, c);
                    var at: usize = 0;
                    while (at < j.inner) : (at += 8 * block) {
                        const part = run_sums(grad + at, from + at, @min(8 * block, j.inner - at), mean);
                        plain += part[0];
                        along += part[1];
                    }
                }
                sums_of(j, c, @floatCast(plain), @floatCast(along));
            }
        }

        fn run_sums(grad: [*]const S, from: [*]const S, n: usize, mean: T) [2]f64 {
            var plain: [2]V = @splat(@splat(0));
            var along: [2]V = @splat(@splat(0));
            const m = E.splat(mean);
            var i: usize = 0;
            while (i + 2 * lanes <= n) : (i += 2 * lanes) inline for (0..2) |u| {
                const g = E.load(grad + i + u * lanes);
                plain[u] += g;
                along[u] = mul_add(g, E.load(from + i + u * lanes) - m, along[u]);
            };
            if (i + lanes <= n) {
                const g = E.load(grad + i);
                plain[0] += g;
                along[0] = mul_add(g, E.load(from + i) - m, along[0]);
                i += lanes;
            }
            var sums: [2]f64 = .{ @reduce(.Add, plain[0] + plain[1]), @reduce(.Add, along[0] + along[1]) };
            while (i < n) : (i += 1) {
                const g = E.one(grad + i);
                sums[0] += g;
                sums[1] += g * (E.one(from + i) - mean);
            }
            return sums;
        }

        fn strip_sums(j: *Job, begin: usize, end: usize) void {
            for (begin..end) |strip| {
                const c = strip * lanes;
                const left = j.channels - c;
                var means: [lanes]T = @splat(0);
                for (0..@min(lanes, left)) |i| means[i] = j.mean[c + i];
                const mean: V = means;
                var plain: V = @splat(0);
                var along: V = @splat(0);
                var done: usize = 0;
                while (done < j.outer) : (done += block) {
                    var some: V = @splat(0);
                    var moved: V = @splat(0);
                    for (done..@min(done + block, j.outer)) |r| {
                        const g = get(j.grad + r * j.channels + c, left);
                        some += g;
                        moved = mul_add(g, get(j.from + r * j.channels + c, left) - mean, moved);
                    }
                    plain += some;
                    along += moved;
                }
                const first: [lanes]T = plain;
                const second: [lanes]T = along;
                for (0..@min(lanes, left)) |i| sums_of(j, c + i, first[i], second[i]);
            }
        }

        /// grad * factor + (x - mean) * slope + level.
        inline fn back(
            g: anytype,
            x: @TypeOf(g),
            mean: @TypeOf(g),
            factor: @TypeOf(g),
            slope: @TypeOf(g),
            level: @TypeOf(g),
        ) @TypeOf(g) {
            return mul_add(g, factor, mul_add(x - mean, slope, level));
        }

        fn back_planes(j: *Job, begin: usize, end: usize) void {
            for (begin..end) |p| {
                const c = p % j.channels;
                const to = j.to.? + p * j.inner;
                const grad = j.grad + p * j.inner;
                const from = j.from + p * j.inner;
                const m, const a, const s, const l = .{ j.mean[c], j.factors[c], j.slopes[c], j.levels[c] };
                var i: usize = 0;
                while (i + lanes <= j.inner) : (i += lanes) {
                    const x = E.load(from + i);
                    E.store(to + i, back(E.load(grad + i), x, E.splat(m), E.splat(a), E.splat(s), E.splat(l)));
                }
                while (i < j.inner) : (i += 1) E.put(to + i, back(E.one(grad + i), E.one(from + i), m, a, s, l));
            }
        }

        fn back_rows(j: *Job, begin: usize, end: usize) void {
            const n = j.channels;
            for (begin..end) |r| {
                const to = j.to.? + r * n;
                const grad = j.grad + r * n;
                const from = j.from + r * n;
                var i: usize = 0;
                while (i + lanes <= n) : (i += lanes) {
                    const a, const s, const l = .{ E.at(j.factors + i), E.at(j.slopes + i), E.at(j.levels + i) };
                    E.store(to + i, back(E.load(grad + i), E.load(from + i), E.at(j.mean + i), a, s, l));
                }
                while (i < n) : (i += 1) {
                    const a, const s, const l = .{ j.factors[i], j.slopes[i], j.levels[i] };
                    E.put(to + i, back(E.one(grad + i), E.one(from + i), j.mean[i], a, s, l));
                }
            }
        }
    };
}
