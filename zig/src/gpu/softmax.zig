//! Device code of softmax, its logarithm, and their gradients. A line of elements belongs to some threads of a block.
//! Short lines are read once and stay in registers; of others the greatest element and the sum are found in one pass,
//! with the sum scaled whenever a greater element comes.
const std = @import("std");
const abi = @import("abi");
const args = @import("softmax_args.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const formulas = @import("../cpu/softmax_inner.zig");
const thread = @import("thread.zig");
const vmath = @import("../cpu/vmath.zig");

const Args = args.Args;
const Compute = abi.Compute;
const DType = abi.DType;
const Mode = formulas.Mode;

/// Elements that a thread of the kernel for all lines has on its way.
const together = 4;

fn Kernels(comptime mode: Mode, comptime c: Compute) type {
    const F = dt.Computed(c);
    const backward = mode == .softmax_backward or mode == .log_softmax_backward;
    const operands = if (backward) 3 else 2;
    return struct {
        /// The greatest element so far, and the sum of the powers of the distances from it. Of gradients the sum alone.
        const State = extern struct {
            max: F = -std.math.inf(F),
            sum: F = 0,

            inline fn join(a: State, b: State) State {
                if (backward) return .{ .sum = a.sum + b.sum };
                const max = larger(a.max, b.max);
                return .{ .max = max, .sum = a.sum * distance(a.max, max) + b.sum * distance(b.max, max) };
            }

            inline fn take(s: State, x: [together][operands - 1]F) State {
                if (backward) {
                    var parts: [together]F = undefined;
                    inline for (&parts, x) |*p, v| p.* = part(v);
                    return .{ .sum = s.sum + ((parts[0] + parts[1]) + (parts[2] + parts[3])) };
                }
                const top = larger(larger(x[0][0], x[1][0]), larger(x[2][0], x[3][0]));
                const max = larger(s.max, top);
                var sum = s.sum * distance(s.max, max);
                inline for (x) |v| sum += distance(v[0], max);
                return .{ .max = max, .sum = sum };
            }

            inline fn take_chunks(s: State, comptime bytes: u32, x: anytype) State {
                var sum: F = 0;
                if (backward) {
                    inline for (x[0], x[operands - 2]) |g, y| inline for (g, y) |v, w| {
                        sum += part(.{ v, w });
                    };
                    return .{ .sum = s.sum + sum };
                }
                const max = greatest(s.max, &x[0]);
                const from = if (max == -std.math.inf(F)) 0 else max;
                inline for (x[0]) |chunk| inline for (chunk) |v| {
                    sum += power(bytes, v - from);
                };
                return .{ .max = max, .sum = s.sum * distance(s.max, max) + sum };
            }

            inline fn take_one(s: State, x: [operands - 1]F) State {
                if (backward) return .{ .sum = s.sum + part(x) };
                const max = larger(s.max, x[0]);
                return .{ .max = max, .sum = s.sum * distance(s.max, max) + distance(x[0], max) };
            }
        };

        /// Of what is no number the sum tells.
        inline fn greatest(before: F, x: anytype) F {
            var max = before;
            inline for (x) |chunk| inline for (chunk) |v| {
                max = @max(max, v);
            };
            return max;
        }

        /// What a gradient's sum takes of an element.
        inline fn part(x: [operands - 1]F) F {
            return if (mode == .softmax_backward) x[0] * x[operands - 2] else x[0];
        }

        inline fn larger(a: F, b: F) F {
            return if (a > b) a else b;
        }

        /// The power of a distance from the greatest element; nothing is left of -inf, also where all is that.
        inline fn distance(x: F, max: F) F {
            return vmath.exp(x - (if (max == -std.math.inf(F)) 0 else max));
        }

        /// Of the sum of a line: what each element is multiplied with, or less.
        inline fn scale_of(s: State) F {
            return switch (mode) {
                .softmax => 1 / s.sum,
                .log_softmax => vmath.log(s.sum),
                else => s.sum,
            };
        }

        inline fn result(comptime bytes: u32, x: [operands - 1]F, s: State, scale: F) F {
            return switch (mode) {
                .softmax => power(bytes, x[0] - s.max) * scale,
                .log_softmax => x[0] - s.max - scale,
                else => formulas.gradient(mode, F, x[0], x[operands - 2], scale),
            };
        }

        const Place = struct {
            active: bool,
            /// Among the threads of the line.
            number: u32,
            /// Bytes from the first element of all to that of the line.
            base: u64,

            inline fn of(a: *const Args) Place {
                const n = thread.index();
                const group: u5 = @truncate(a.group);
                const per_block = thread.threads() >> group;
                const in_block = if (a.across > 0) n & (per_block - 1) else n >> group;
                const line = thread.block() * per_block + in_block;
                const active = line < a.lines;
                const outer = a.inner.divide(if (active) line else 0);
                const inner = (if (active) line else 0) - outer * a.inner.size;
                const size: u64 = size_of(a.dtype);
                return .{
                    .active = active,
                    .number = if (a.across > 0) n >> @truncate(a.across) else n & group_mask(a),
                    .base = outer * a.outer_step + inner * size,
                };
            }
        };

        inline fn group_mask(a: *const Args) u32 {
            return (@as(u32, 1) << @truncate(a.group)) - 1;
        }

        inline fn size_of(dtype: u32) u32 {
            if (c == .f64) return 8;
            return if (dtype == @intFromEnum(DType.float32)) 4 else 2;
        }

        var shared: [1 << args.most_group]State addrspace(.shared) = undefined;

        /// Joins what the threads of a line have, for all of them, always in the same order.
        inline fn joined(a: *const Args, mine: State, number: u32, comptime join: anytype) State {
            var s = mine;
            const n = thread.index();
            const across: u5 = @truncate(a.across);
            if (across == 0) {
                var mask: u32 = @min(thread.warp, group_mask(a) + 1) / 2;
                while (mask > 0) : (mask /= 2) s = join(s, thread.exchanged(s, mask));
                if (group_mask(a) < thread.warp) return s;
                if (thread.lane() == 0) shared[n / thread.warp] = s;
                thread.barrier();
                const first = (n - number) / thread.warp;
                s = shared[first];
                for (1..(group_mask(a) + 1) / thread.warp) |k| s = join(s, shared[first + k]);
                thread.barrier();
                return s;
            }
            var half = (group_mask(a) + 1) / 2;
            if (half == 0) return s;
            shared[n] = s;
            thread.barrier();
            while (half > 0) : (half /= 2) {
                if (number < half) {
                    s = join(s, shared[n + (half << across)]);
                    shared[n] = s;
                }
                thread.barrier();
            }
            return shared[n - (number << across)];
        }

        /// Bytes of an element, and what has so many.
        const sizes = if (c == .f64) [_]u32{8} else [_]u32{ 4, 2 };

        fn of_size(comptime bytes: u32) []const DType {
            return switch (bytes) {
                8 => &.{.float64},
                4 => &.{.float32},
                else => &.{ .bfloat16, .float16 },
            };
        }

        inline fn is(comptime d: DType, a: *const Args) bool {
            return @sizeOf(dt.Stored(d)) > 2 or a.dtype == @intFromEnum(d);
        }

        const lanes = 4;
        const V = element.Several(c, lanes);

        /// Some chunks of a line, or all: those of this thread lie `stride` elements apart.
        fn Span(comptime chunks: usize) type {
            return struct {
                const Self = @This();
                const Chunks = [chunks][lanes]F;

                /// Bytes from the first element of all to this thread's first one.
                base: u64,
                stride: u32,
                /// Elements from there to the end of the line.
                left: u32,
                /// Chunks that all threads of the line have whole, and those that some have.
                full: u32,
                used: u32,

                inline fn of(comptime bytes: u32, a: *const Args, place: *const Place, size: u32, from: u32) Self {
                    const log_stride: u5 = @truncate(a.group + comptime std.math.log2(lanes));
                    const first = from + place.number * lanes;
                    const stride = @as(u32, 1) << log_stride;
                    return .{
                        .base = place.base + @as(u64, first) * bytes,
                        .stride = stride,
                        .left = size -| first,
                        .full = (size -| from) >> log_stride,
                        .used = ((size -| from) + stride - 1) >> log_stride,
                    };
                }

                inline fn read(span: *const Self, comptime bytes: u32, a: *const Args) [operands - 1]Chunks {
                    var raw: [operands - 1][chunks]V.Raw = undefined;
                    var x: [operands - 1]Chunks = undefined;
                    const any = @intFromEnum(of_size(bytes)[0]);
                    inline for (&raw, 1..) |*of_operand, k| inline for (of_operand, 0..) |*chunk, i| {
                        const at = @as(u32, i) * span.stride;
                        if (at < span.left) chunk.* = V.fetch(a.data[k] + span.base, any, at);
                    };
                    inline for (comptime of_size(bytes)) |d| if (is(d, a)) {
                        inline for (&x, raw) |*to, from| inline for (to, from) |*chunk, r| {
                            chunk.* = V.unpacked(@intFromEnum(d), r);
                        };
                    };
                    if (span.full < chunks) inline for (&x) |*of_operand| inline for (of_operand, 0..) |*chunk, i| {
                        const at = @as(u32, i) * span.stride;
                        if (i >= span.full) inline for (chunk, 0..) |*v, lane| {
                            if (at + lane >= span.left) v.* = nothing;
                        };
                    };
                    return x;
                }

                inline fn write(span: *const Self, comptime bytes: u32, a: *const Args, x: *const Chunks) void {
                    inline for (comptime of_size(bytes)) |d| if (is(d, a)) {
                        inline for (x, 0..) |chunk, i| {
                            const at = @as(u32, i) * span.stride;
                            V.store(a.data[0] + span.base, @intFromEnum(d), at, chunk, span.left -| at);
                        }
                    };
                }
            };
        }

        /// Short lines without gaps, aligned to 16 bytes: each is read once.
        fn held(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(1_000_000);
            inline for (sizes) |size| if (size_of(a.dtype) == size) held_in(size, a);
        }

        inline fn held_in(comptime bytes: u32, a: *const Args) void {
            const place: Place = .of(a);
            const size: u32 = if (place.active) @truncate(a.size) else 0;
            const span: Span(args.held(@sizeOf(F), operands) / lanes) = .of(bytes, a, &place, size, 0);
            var x = span.read(bytes, a);
            const s = sum_of(bytes, a, &x, place.number, span.used);
            const scale = scale_of(s);
            inline for (&x[0], 0..) |*chunk, i| if (i < span.used) inline for (chunk, 0..) |*v, lane| {
                const seen: [operands - 1]F = if (backward) .{ v.*, x[operands - 2][i][lane] } else .{v.*};
                v.* = if (mode == .softmax) v.* * scale else result(bytes, seen, s, scale);
            };
            span.write(bytes, a, &x[0]);
        }

        /// Longer ones are read twice, some chunks at a time. What was read last is read again first.
        fn long(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(1_000_000);
            inline for (sizes) |size| if (size_of(a.dtype) == size) long_in(size, a);
        }

        inline fn long_in(comptime bytes: u32, a: *const Args) void {
            const place: Place = .of(a);
            const size: u32 = if (place.active) @truncate(a.size) else 0;
            const some = 4;
            const step = @as(u32, some * lanes) << @truncate(a.group);
            var from: u32 = 0;
            var s: State = .{};
            while (from < size) : (from += step) {
                const span: Span(some) = .of(bytes, a, &place, size, from);
                s = s.take_chunks(bytes, &span.read(bytes, a));
            }
            s = joined(a, s, place.number, State.join);
            const scale = scale_of(s);
            while (from > 0) {
                from -= step;
                const span: Span(some) = .of(bytes, a, &place, size, from);
                var x = span.read(bytes, a);
                inline for (&x[0], 0..) |*chunk, i| inline for (chunk, 0..) |*v, lane| {
                    const seen: [operands - 1]F = if (backward) .{ v.*, x[operands - 2][i][lane] } else .{v.*};
                    v.* = result(bytes, seen, s, scale);
                };
                span.write(bytes, a, &x[0]);
            }
        }

        /// What a sum does not notice.
        const nothing: F = if (backward) 0 else -std.math.inf(F);

        /// The state of a line in registers, where softmax leaves the powers.
        inline fn sum_of(
            comptime bytes: u32,
            a: *const Args,
            x: anytype,
            number: u32,
            used: u32,
        ) State {
            var s: State = .{};
            if (backward) return joined(a, s.take_chunks(bytes, x), number, State.join);
            s.max = greatest(s.max, &x[0]);
            s = joined(a, s, number, join_max);
            var sum: F = 0;
            inline for (&x[0], 0..) |*chunk, i| if (i < used) inline for (chunk) |*v| {
                const e = power(bytes, v.* - s.max);
                sum += e;
                if (mode == .softmax) v.* = e;
            };
            s.sum = sum;
            return joined(a, s, number, join_sum);
        }

        /// The power of a distance from the greatest element: 21 bits of it are enough for results of 16.
        inline fn power(comptime bytes: u32, x: F) F {
            return if (bytes == 2) vmath.exp_short_below(x) else vmath.exp(x);
        }

        inline fn join_max(a: State, b: State) State {
            return .{ .max = larger(a.max, b.max), .sum = 0 };
        }
        inline fn join_sum(a: State, b: State) State {
            return .{ .max = a.max, .sum = a.sum + b.sum };
        }

        /// Any lines.
        fn strided(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(1_000_000);
            const place: Place = .of(a);
            const size = if (place.active) a.size else 0;
            const stride = group_mask(a) + 1;
            const row = stride * a.step;
            var s: State = .{};
            var at: u64 = place.number;
            while (at + (together - 1) * stride < size) : (at += together * stride) {
                s = s.take(read(together, a, place.base + at * a.step, row));
            }
            while (at < size) : (at += stride) s = s.take_one(read(1, a, place.base + at * a.step, row)[0]);
            s = joined(a, s, place.number, State.join);
            const scale = scale_of(s);
            at = place.number;
            while (at + (together - 1) * stride < size) : (at += together * stride) {
                const from = place.base + at * a.step;
                write(together, a, from, row, read(together, a, from, row), s, scale);
            }
            while (at < size) : (at += stride) {
                const from = place.base + at * a.step;
                write(1, a, from, row, read(1, a, from, row), s, scale);
            }
        }

        /// Elements that are `row` bytes apart.
        inline fn read(comptime n: usize, a: *const Args, at: u64, row: u64) [n][operands - 1]F {
            var x: [n][operands - 1]F = undefined;
            inline for (comptime element.dense_dtypes(c)) |d| {
                if (a.dtype == @intFromEnum(d)) inline for (&x, 0..) |*v, i| inline for (v, 1..) |*to, k| {
                    const from = element.pointer_to(dt.Stored(d), a.data[k] + at + i * row);
                    to.* = dt.load(d, c, from[0]);
                };
            }
            return x;
        }

        inline fn write(
            comptime n: usize,
            a: *const Args,
            at: u64,
            row: u64,
            x: [n][operands - 1]F,
            s: State,
            scale: F,
        ) void {
            var r: [n]F = undefined;
            inline for (&r, x) |*to, v| to.* = result(@sizeOf(F), v, s, scale);
            inline for (comptime element.dense_dtypes(c)) |d| {
                if (a.dtype == @intFromEnum(d)) inline for (r, 0..) |v, i| {
                    element.pointer_to(dt.Stored(d), a.data[0] + at + i * row)[0] = dt.store(d, c, v);
                };
            }
        }
    };
}

pub fn exports() void {
    for (@typeInfo(Mode).@"enum".fields) |field| for ([_]Compute{ .f32, .f64 }) |c| {
        const K = Kernels(@enumFromInt(field.value), c);
        const name = "softmax_" ++ field.name ++ "_" ++ @tagName(c);
        export_kernel(&K.held, name ++ "_held", Args);
        export_kernel(&K.long, name ++ "_long", Args);
        export_kernel(&K.strided, name ++ "_strided", Args);
    };
}
