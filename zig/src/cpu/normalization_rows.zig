//! Rows that are normalized by their own mean and variance: layers, groups of channels, and by the mean of squares.
const std = @import("std");
const abi = @import("abi");
const abi_normalization = @import("abi_normalization");
const fr = @import("../core/frame.zig");
const io = @import("normalization_io.zig");
const parallel = @import("../core/parallel.zig");

const Attr = abi_normalization.NormRowsAttr;
const mul_add = io.mul_add;

/// Elements worth handing to another thread.
const grain = 16384;

pub fn Rows(comptime d: abi.DType) type {
    const E = io.Io(d);
    const T = E.T;
    const S = E.S;
    const V = E.V;
    const lanes = E.lanes;
    return struct {
        /// What both directions know: rows of `n` elements, in `segments` of `inner` elements with a weight each; the
        /// weights of `groups` rows follow each other.
        const Shape = struct {
            count: usize,
            n: usize,
            inner: usize,
            groups: usize,
            centered: bool,
            mean: [*]T,
            scale: [*]T,
            weight: ?[*]const T,

            fn of(f: *fr.Frame, in: usize, stats: usize, weight: usize) ?Shape {
                const x = fr.view(f, in);
                if (x.rank != 2) return null;
                const s: Shape = .{
                    .count = x.size(0),
                    .n = x.size(1),
                    .inner = fr.to_usize(fr.attr(f, Attr.inner)),
                    .groups = fr.to_usize(fr.attr(f, Attr.groups)),
                    .centered = fr.attr_bool(f, Attr.centered),
                    .mean = fr.view(f, stats).ptr(T),
                    .scale = fr.view(f, stats + 1).ptr(T),
                    .weight = optional(f, weight),
                };
                if (s.inner == 0 or s.groups == 0 or s.n % s.inner != 0) return null;
                for (stats..stats + 2) |i| {
                    if (s.centered or i > stats) if (fr.view(f, i).numel() != s.count) return null;
                }
                if (s.weight != null and fr.view(f, weight).numel() != s.width()) return null;
                return s;
            }

            fn width(s: *const Shape) usize {
                return s.groups * (s.n / s.inner);
            }

            /// Where the weights of a row begin.
            fn place(s: *const Shape, row: usize) usize {
                return row % s.groups * (s.n / s.inner);
            }
        };

        fn optional(f: *fr.Frame, index: usize) ?[*]T {
            const v = fr.view(f, index);
            return if (v.numel() == 0) null else v.ptr(T);
        }

        const Forward = struct { s: Shape, eps: f64, to: [*]S, from: [*]const S, bias: ?[*]const T };

        pub fn forward(f: *fr.Frame) abi.Status {
            const s = Shape.of(f, 1, 2, 4) orelse return .bad_argument;
            const job: Forward = .{
                .s = s,
                .eps = fr.attr(f, Attr.eps),
                .to = fr.view(f, 0).ptr(S),
                .from = fr.view(f, 1).ptr(S),
                .bias = optional(f, 5),
            };
            if (fr.view(f, 0).numel() != s.count * s.n) return .bad_argument;
            if (job.bias != null and fr.view(f, 5).numel() != s.width()) return .bad_argument;
            if (s.n == 0) return .ok;
            parallel.parallel_for(s.count, @max(1, grain / s.n), &job, some_rows);
            return .ok;
        }

        fn some_rows(j: *const Forward, begin: usize, end: usize) void {
            const s = &j.s;
            for (begin..end) |r| {
                const from = j.from + r * s.n;
                const to = j.to + r * s.n;
                const n: f64 = @floatFromInt(s.n);
                var mean: T = 0;
                var variance: f64 = undefined;
                if (s.centered) {
                    const m = E.moments(from, s.n);
                    mean = @floatCast(m.mean);
                    variance = m.squares / n;
                    s.mean[r] = mean;
                } else variance = E.squares(from, s.n) / n;
                const scale: T = @as(T, 1) / @sqrt(@as(T, @floatCast(variance)) + @as(T, @floatCast(j.eps)));
                s.scale[r] = scale;
                const at = s.place(r);
                if (s.inner == 1) {
                    const w = if (s.weight) |p| p + at else null;
                    elements(to, from, s.n, mean, scale, w, if (j.bias) |p| p + at else null);
                } else segments(j, to, from, at, mean, scale);
            }
        }

        inline fn elements(
            to: [*]S,
            from: [*]const S,
            n: usize,
            mean: T,
            scale: T,
            weight: ?[*]const T,
            bias: ?[*]const T,
        ) void {
            if (weight) |w| {
                if (bias) |b| return whole(to, from, n, mean, scale, w, b);
                return whole(to, from, n, mean, scale, w, null);
            }
            if (bias) |b| return whole(to, from, n, mean, scale, null, b);
            whole(to, from, n, mean, scale, null, null);
        }

        inline fn whole(to: [*]S, from: [*]const S, n: usize, mean: T, scale: T, weight: anytype, bias: anytype) void {
            var i: usize = 0;
            while (i + lanes <= n) : (i += lanes) {
                var y = (E.load(from + i) - E.splat(mean)) * E.splat(scale);
                if (@TypeOf(weight) != @TypeOf(null)) y *= E.at(weight + i);
                if (@TypeOf(bias) != @TypeOf(null)) y += E.at(bias + i);
                E.store(to + i, y);
            }
            while (i < n) : (i += 1) {
                var y = (E.one(from + i) - mean) * scale;
                if (@TypeOf(weight) != @TypeOf(null)) y *= weight[i];
                if (@TypeOf(bias) != @TypeOf(null)) y += bias[i];
                E.put(to + i, y);
            }
        }

        /// One weight for many elements.
        fn segments(j: *const Forward, to: [*]S, from: [*]const S, at: usize, mean: T, scale: T) void {
            const s = &j.s;
            for (0..s.n / s.inner) |k| {
                const a = if (s.weight) |w| scale * w[at + k] else scale;
                const b = mul_add(-a, mean, if (j.bias) |p| p[at + k] else @as(T, 0));
                linear(to + k * s.inner, from + k * s.inner, s.inner, a, b);
            }
        }

        fn linear(to: [*]S, from: [*]const S, n: usize, a: T, b: T) void {
            var i: usize = 0;
            while (i + lanes <= n) : (i += lanes) {
                E.store(to + i, mul_add(E.load(from + i), E.splat(a), E.splat(b)));
            }
            while (i < n) : (i += 1) E.put(to + i, mul_add(E.one(from + i), a, b));
        }

        const Backward = struct {
            s: Shape,
            to: ?[*]S,
            grad: [*]const S,
            from: [*]const S,
            /// For each part of the rows, gradients of weights and of biases.
            sums: [*]T,
            parts: usize,
            wanted: bool,
        };

        pub fn backward(f: *fr.Frame) abi.Status {
            const s = Shape.of(f, 4, 5, 7) orelse return .bad_argument;
            const total = s.count * s.n;
            const width = s.width();
            const weights = optional(f, 1);
            const biases = optional(f, 2);
            const to = fr.view(f, 0);
            if (fr.view(f, 3).numel() != total or (to.numel() != 0 and to.numel() != total)) return .bad_argument;
            for (1..3) |i| {
                const n = fr.view(f, i).numel();
                if (n != 0 and n != width) return .bad_argument;
            }
            var job: Backward = .{
                .s = s,
                .to = if (to.numel() == 0) null else to.ptr(S),
                .grad = fr.view(f, 3).ptr(S),
                .from = fr.view(f, 4).ptr(S),
                .sums = undefined,
                .parts = parts_of(s.count, s.n, width),
                .wanted = weights != null or biases != null,
            };
            if (!job.wanted) {
                if (total > 0) parallel.parallel_for(s.count, @max(1, grain / s.n), &job, back_rows);
                return .ok;
            }
            const scratch = parallel.Scratch.acquire(2 * width * job.parts * @sizeOf(T)) orelse return .out_of_memory;
            defer scratch.release();
            job.sums = scratch.slice(T, 2 * width * job.parts).ptr;
            @memset(job.sums[0 .. 2 * width * job.parts], 0);
            if (total > 0) parallel.parallel_for(job.parts, @max(1, grain / (total / job.parts + 1)), &job, back_parts);
            for ([_]?[*]T{ weights, biases }, 0..) |target, k| if (target) |t| {
                for (0..width) |i| {
                    var sum: f64 = 0;
                    for (0..job.parts) |p| sum += job.sums[(2 * p + k) * width + i];
                    t[i] = @floatCast(sum);
                }
            };
            return .ok;
        }

        /// Rows are cut by sizes alone; the sums of the parts may not take much more room than the operands.
        fn parts_of(count: usize, n: usize, width: usize) usize {
            const by_work = std.math.clamp(count *| n / 32768, 1, 64);
            const by_room = @max(1, (1 << 22) / (2 * width * @sizeOf(T) + 1));
            return @max(1, @min(count, by_work, by_room));
        }

        fn back_rows(j: *const Backward, begin: usize, end: usize) void {
            for (begin..end) |r| back_row(j, r, null, null);
        }

        fn back_parts(j: *const Backward, begin: usize, end: usize) void {
            const width = j.s.width();
            for (begin..end) |p| {
                const sums = j.sums + 2 * p * width;
                const first = p * j.s.count / j.parts;
                const last = (p + 1) * j.s.count / j.parts;
                for (first..last) |r| back_row(j, r, sums, sums + width);
            }
        }

        fn back_row(j: *const Backward, r: usize, weights: ?[*]T, biases: ?[*]T) void {
            const s = &j.s;
            const grad = j.grad + r * s.n;
            const from = j.from + r * s.n;
            const a = s.scale[r];
            const b = if (s.centered) -s.mean[r] * a else 0;
            const at = s.place(r);
            const w = if (s.weight) |p| p + at else null;
            const dw = if (weights) |p| p + at else null;
            const db = if (biases) |p| p + at else null;
            const sums = if (s.inner != 1)
                segment_sums(s, grad, from, a, b, w, dw, db)
            else if (dw != null and w != null)
                row_sums(grad, from, s.n, a, b, w.?, dw.?, db.?)
            else if (dw != null)
                row_sums(grad, from, s.n, a, b, null, dw.?, db.?)
            else if (w != null)
                row_sums(grad, from, s.n, a, b, w.?, null, null)
            else
                row_sums(grad, from, s.n, a, b, null, null, null);
            const to = (j.to orelse return) + r * s.n;
            const n: T = @floatFromInt(s.n);
            // grad * w * scale - x^ * along - across, of which a row by its squares has no last one.
            const along = -a * sums[1] / n;
            const across = if (s.centered) -a * sums[0] / n else 0;
            // x^ = a x + b.
            const slope = along * a;
            const level = mul_add(along, b, across);
            if (s.inner != 1) {
                for (0..s.n / s.inner) |k| {
                    const o = k * s.inner;
                    const factor = if (w) |p| a * p[k] else a;
                    inputs(to + o, grad + o, from + o, s.inner, factor, null, slope, level);
                }
            } else if (w) |p| {
                inputs(to, grad, from, s.n, a, p, slope, level);
            } else inputs(to, grad, from, s.n, a, null, slope, level);
        }

        /// The sums of the gradient of x^, and of that times x^.
        inline fn row_sums(
            grad: [*]const S,
            from: [*]const S,
            n: usize,
            a: T,
            b: T,
            weight: anytype,
            weights: anytype,
            biases: anytype,
        ) [2]T {
            const weighted = @TypeOf(weight) != @TypeOf(null);
            const adds = @TypeOf(weights) != @TypeOf(null);
            var plain: [2]V = @splat(@splat(0));
            var along: [2]V = @splat(@splat(0));
            const Step = struct {
                inline fn take(at: usize, p: anytype, sum: *V, moment: *V) void {
                    const g = E.load(p.grad + at);
                    const gx = g * mul_add(E.load(p.from + at), E.splat(p.a), E.splat(p.b));
                    if (adds) {
                        E.set(p.weights + at, E.at(p.weights + at) + gx);
                        E.set(p.biases + at, E.at(p.biases + at) + g);
                    }
                    const w = if (weighted) E.at(p.weight + at) else E.splat(1);
                    sum.* = if (weighted) mul_add(g, w, sum.*) else sum.* + g;
                    moment.* = if (weighted) mul_add(gx, w, moment.*) else moment.* + gx;
                }
            };
            const p = .{
                .grad = grad,
                .from = from,
                .a = a,
                .b = b,
                .weight = weight,
                .weights = weights,
                .biases = biases,
            };
            var i: usize = 0;
            while (i + 2 * lanes <= n) : (i += 2 * lanes) {
                inline for (0..2) |u| Step.take(i + u * lanes, p, &plain[u], &along[u]);
            }
            if (i + lanes <= n) {
                Step.take(i, p, &plain[0], &along[0]);
                i += lanes;
            }
            var sums: [2]T = .{ @reduce(.Add, plain[0] + plain[1]), @reduce(.Add, along[0] + along[1]) };
            while (i < n) : (i += 1) {
                const g = E.one(grad + i);
                const gx = g * mul_add(E.one(from + i), a, b);
                if (adds) {
                    weights[i] += gx;
                    biases[i] += g;
                }
                const w: T = if (weighted) weight[i] else 1;
                sums[0] += g * w;
                sums[1] += gx * w;
            }
            return sums;
        }

        fn segment_sums(
            s: *const Shape,
            grad: [*]const S,
            from: [*]const S,
            a: T,
            b: T,
            weight: ?[*]const T,
            weights: ?[*]T,
            biases: ?[*]T,
        ) [2]T {
            var sums: [2]T = @splat(0);
            for (0..s.n / s.inner) |k| {
                const o = k * s.inner;
                const part = row_sums(grad + o, from + o, s.inner, a, b, null, null, null);
                if (weights) |p| p[k] += part[1];
                if (biases) |p| p[k] += part[0];
                const w: T = if (weight) |p| p[k] else 1;
                inline for (0..2) |i| sums[i] = mul_add(part[i], w, sums[i]);
            }
            return sums;
        }

        inline fn inputs(
            to: [*]S,
            grad: [*]const S,
            from: [*]const S,
            n: usize,
            factor: T,
            weight: anytype,
            slope: T,
            level: T,
        ) void {
            const weighted = @TypeOf(weight) != @TypeOf(null);
            var i: usize = 0;
            while (i + lanes <= n) : (i += lanes) {
                var g = E.load(grad + i) * E.splat(factor);
                if (weighted) g *= E.at(weight + i);
                E.store(to + i, g + mul_add(E.load(from + i), E.splat(slope), E.splat(level)));
            }
            while (i < n) : (i += 1) {
                var g = E.one(grad + i) * factor;
                if (weighted) g *= weight[i];
                E.put(to + i, g + mul_add(E.one(from + i), slope, level));
            }
        }
    };
}
