//! Device code of normalization: a warp or a block for each row, which reads it again from a cache to write it; blocks
//! for parts of a channel, whose sums are joined, and a thread for each of its elements. See cpu/normalization.zig.
const std = @import("std");
const abi = @import("abi");
const args = @import("normalization_args.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const team_of = @import("team.zig");
const thread = @import("thread.zig");

const Args = args.Args;
const Compute = abi.Compute;
const Team = team_of.Team;

/// Elements that a thread has on their way at once.
const ahead = 4;

fn Kernels(comptime c: Compute, comptime d: abi.DType) type {
    const T = dt.Computed(c);
    const S = dt.Stored(d);
    const Pair = team_of.Pair(T);
    const Moments = team_of.Moments(T);
    return struct {
        inline fn get(p: u64, i: u64) T {
            return dt.load(d, c, element.pointer_to(S, p)[i]);
        }

        inline fn put(p: u64, i: u64, x: T) void {
            element.pointer_to(S, p)[i] = dt.store(d, c, x);
        }

        /// Parameters and statistics are of the compute type.
        inline fn wide(p: u64, i: u64) T {
            return element.pointer_to(T, p)[i];
        }

        inline fn set(p: u64, i: u64, x: T) void {
            element.pointer_to(T, p)[i] = x;
        }

        inline fn or_else(p: u64, i: u64, x: T) T {
            return if (p == 0) x else wide(p, i);
        }

        const Row = struct { number: u64, lane: u32 };

        inline fn own_row(comptime team: Team, a: *const Args) ?Row {
            const per_block = args.threads / comptime team.size();
            const r = a.first + @as(u64, thread.block()) * per_block + thread.index() / comptime team.size();
            return if (r < a.count) .{ .number = r, .lane = thread.index() % comptime team.size() } else null;
        }

        /// The mean and the variance, or 0 and the mean of squares.
        inline fn row_moments(comptime team: Team, a: *const Args, begin: u64, lane: u32) [2]T {
            const size = comptime team.size();
            const n: T = @floatFromInt(a.n);
            var i: u64 = lane;
            if (a.centered == 0) {
                var sum: Pair = .{};
                while (i < a.n) : (i += size) {
                    const x = get(a.from, begin + i);
                    sum.a = @mulAdd(T, x, x, sum.a);
                }
                return .{ 0, team_of.joined(team, sum).a / n };
            }
            var all: Moments = .{};
            while (i < a.n) : (i += ahead * size) {
                const left: u32 = @intCast(@min((a.n - i + size - 1) / size, ahead));
                var x: [ahead]T = undefined;
                inline for (&x, 0..) |*v, u| v.* = if (u < left) get(a.from, begin + i + u * size) else 0;
                all = all.join(.of(x, left));
            }
            const m = team_of.joined(team, all);
            return .{ m.mean, m.m2 / n };
        }

        fn rows(comptime team: Team, a: *const Args) void {
            const row = own_row(team, a) orelse return;
            const begin = row.number * a.n;
            const mean, const variance = row_moments(team, a, begin, row.lane);
            const scale = 1 / @sqrt(variance + @as(T, @floatCast(a.eps)));
            if (row.lane == 0) {
                if (a.centered != 0) set(a.mean, row.number, mean);
                set(a.scale, row.number, scale);
            }
            const place = row.number % a.groups * a.per;
            var i: u64 = row.lane;
            while (i < a.n) : (i += comptime team.size()) {
                const k = place + a.over_inner(i);
                const y = (get(a.from, begin + i) - mean) * scale;
                put(a.to, begin + i, y * or_else(a.weight, k, 1) + or_else(a.bias, k, 0));
            }
        }

        fn rows_back(comptime team: Team, a: *const Args) void {
            const row = own_row(team, a) orelse return;
            const begin = row.number * a.n;
            const place = row.number % a.groups * a.per;
            const scale = wide(a.scale, row.number);
            const level = if (a.centered != 0) -wide(a.mean, row.number) * scale else 0;
            var sum: Pair = .{};
            var i: u64 = row.lane;
            while (i < a.n) : (i += comptime team.size()) {
                const g = get(a.grad, begin + i) * or_else(a.weight, place + a.over_inner(i), 1);
                sum.a += g;
                sum.b = @mulAdd(T, g, @mulAdd(T, get(a.from, begin + i), scale, level), sum.b);
            }
            const all = team_of.joined(team, sum);
            const n: T = @floatFromInt(a.n);
            const along = -scale * all.b / n;
            const across = if (a.centered != 0) -scale * all.a / n else 0;
            const base = @mulAdd(T, along, level, across);
            i = row.lane;
            while (i < a.n) : (i += comptime team.size()) {
                const g = get(a.grad, begin + i) * scale * or_else(a.weight, place + a.over_inner(i), 1);
                put(a.to, begin + i, g + @mulAdd(T, get(a.from, begin + i), along * scale, base));
            }
        }

        /// Where element `t` of a channel is: neighbours are neighbours in memory as far as there are inner ones.
        inline fn place_of(a: *const Args, channel: u64, t: u64) u64 {
            const o = a.over_inner(t);
            return (o * a.channels + channel) * a.inner + (t - o * a.inner);
        }

        /// The gradients' sum, and that of what leads to the weight.
        inline fn derived(a: *const Args, channel: u64, group: u64, t: u64, before: Pair) Pair {
            const at = place_of(a, channel, t);
            const g = get(a.grad, at);
            const stat = if (a.by_row != 0) a.over_inner(t) * a.groups + group else channel;
            const mean = if (a.centered != 0) wide(a.mean, stat) else 0;
            const x = get(a.from, at) - mean;
            const factor = if (a.by_row != 0) x * wide(a.scale, stat) else x;
            return .{ .a = before.a + g, .b = @mulAdd(T, g, factor, before.b) };
        }

        inline fn gathered(comptime V: type, a: *const Args, channel: u64, begin: u64, end: u64, step: u32) V {
            var s: V = .{};
            var t = begin;
            if (V == Pair) {
                const group = if (a.by_row != 0) channel / a.per else 0;
                while (t < end) : (t += step) s = derived(a, channel, group, t, s);
                return s;
            }
            while (t < end) : (t += ahead * step) {
                const left: u32 = @intCast(@min((end - t + step - 1) / step, ahead));
                var x: [ahead]T = undefined;
                inline for (&x, 0..) |*v, u| v.* = if (u < left) get(a.from, place_of(a, channel, t + u * step)) else 0;
                s = s.join(.of(x, left));
            }
            return s;
        }

        /// A block for a part of one channel.
        fn planes(comptime V: type, a: *const Args) void {
            const part = thread.block_y();
            const begin = part * a.part;
            const end = @min(begin + a.part, a.outer * a.inner);
            const own = gathered(V, a, thread.block(), begin + thread.index(), end, args.threads);
            const s = team_of.joined(.block, own);
            if (thread.index() == 0) put_sum(V, a, part, thread.block(), s);
        }

        /// A block for a part of some channels, each warp with its share of it.
        fn columns(comptime V: type, a: *const Args) void {
            const Shared = struct {
                var sums: [args.threads]V addrspace(.shared) = undefined;
            };
            const channel = @as(u64, thread.block()) * args.columns + thread.lane();
            const part = thread.block_y();
            const warp = thread.index() / thread.warp;
            const begin = part * a.part;
            const end = if (channel < a.channels) @min(begin + a.part, a.outer * a.inner) else 0;
            Shared.sums[thread.index()] = gathered(V, a, channel, begin + warp, end, args.threads / thread.warp);
            thread.barrier();
            if (warp != 0 or channel >= a.channels) return;
            var s = Shared.sums[thread.lane()];
            inline for (1..args.threads / thread.warp) |w| s = s.join(Shared.sums[w * thread.warp + thread.lane()]);
            put_sum(V, a, part, channel, s);
        }

        fn sum_at(comptime V: type, a: *const Args, part: u64, channel: u64) u64 {
            return a.sums + (part * a.channels + channel) * @sizeOf(V);
        }

        inline fn put_sum(comptime V: type, a: *const Args, part: u64, channel: u64, s: V) void {
            const to = sum_at(V, a, part, channel);
            inline for (@typeInfo(V).@"struct".fields, 0..) |f, i| set(to, i, @field(s, f.name));
        }

        inline fn total(comptime V: type, a: *const Args, channel: u64) V {
            var all: V = .{};
            for (0..a.parts) |part| {
                var s: V = undefined;
                inline for (@typeInfo(V).@"struct".fields, 0..) |f, i| {
                    @field(s, f.name) = wide(sum_at(V, a, part, channel), i);
                }
                all = all.join(s);
            }
            return all;
        }

        inline fn own_channel(a: *const Args) ?u64 {
            const i = @as(u64, thread.block()) * args.threads + thread.index();
            return if (i < a.channels) i else null;
        }

        inline fn rounded(a: *const Args, least: u32, x: T) T {
            return if (a.rounded < least) x else dt.load(d, c, dt.store(d, c, x));
        }

        /// What is kept of each channel, and what its elements are multiplied by.
        fn keep(a: *const Args) void {
            const k = own_channel(a) orelse return;
            const eps: T = @floatCast(a.eps);
            if (a.training != 0) {
                const all = total(Moments, a, k);
                const count: T = @floatFromInt(a.outer * a.inner);
                const mean = rounded(a, 1, all.mean);
                const squares = rounded(a, 2, all.m2);
                set(a.mean, k, mean);
                set(a.scale, k, rounded(a, 1, 1 / @sqrt(rounded(a, 2, squares / count) + eps)));
                const m: T = @floatCast(a.momentum);
                const rest: T = @floatCast(1 - a.momentum);
                inline for (0..2) |i| {
                    const p = a.running[i];
                    const x = if (i == 0) mean else squares / (count - 1);
                    if (p != 0) set(p, k, m * x + rest * wide(p, k));
                }
            } else {
                set(a.mean, k, wide(a.running[0], k));
                set(a.scale, k, 1 / @sqrt(wide(a.running[1], k) + eps));
            }
            const factor = wide(a.scale, k) * or_else(a.weight, k, 1);
            set(a.factors, k, factor);
            set(a.levels, k, or_else(a.bias, k, 0) - wide(a.mean, k) * factor);
        }

        /// The gradients of each channel's weight and bias, and what those of its elements follow from.
        fn derive(a: *const Args) void {
            const k = own_channel(a) orelse return;
            const all = total(Pair, a, k);
            const scale: T = if (a.by_row != 0) 1 else wide(a.scale, k);
            if (a.weights != 0) set(a.weights, k, all.b * scale);
            if (a.biases != 0) set(a.biases, k, all.a);
            if (a.factors == 0) return;
            const factor = scale * or_else(a.weight, k, 1);
            const count: T = @floatFromInt(a.outer * a.inner);
            const learns = a.training != 0;
            set(a.factors, k, factor);
            set(a.slopes, k, if (learns) -all.b * scale * scale / count * factor else 0);
            set(a.levels, k, if (learns) -all.a / count * factor else 0);
        }

        fn apply(comptime back: bool, a: *const Args) void {
            const e = a.first + @as(u64, thread.block()) * args.threads + thread.index();
            if (e >= a.count) return;
            const line = a.over_inner(e);
            const k = line - a.over_channels(line) * a.channels;
            const x = get(a.from, e);
            const factor, const level = .{ wide(a.factors, k), wide(a.levels, k) };
            if (!back) return put(a.to, e, @mulAdd(T, x, factor, level));
            const shift = @mulAdd(T, x - wide(a.mean, k), wide(a.slopes, k), level);
            put(a.to, e, @mulAdd(T, get(a.grad, e), factor, shift));
        }
    };
}

/// A kernel for all dtypes that are computed in one type.
fn Entry(comptime c: Compute, comptime name: []const u8, comptime first: anytype) type {
    return struct {
        fn kernel(a: *const Args) callconv(.kernel) void {
            inline for (comptime element.dense_dtypes(c)) |d| {
                if (a.dtype == @intFromEnum(d)) {
                    const K = Kernels(c, d);
                    const T = dt.Computed(c);
                    return switch (first) {
                        .none => @field(K, name)(a),
                        .pair => @field(K, name)(team_of.Pair(T), a),
                        .moments => @field(K, name)(team_of.Moments(T), a),
                        .warp => @field(K, name)(Team.warp, a),
                        .block => @field(K, name)(Team.block, a),
                        .forth => @field(K, name)(false, a),
                        .back => @field(K, name)(true, a),
                        else => unreachable,
                    };
                }
            }
        }
    };
}

/// Names of the kernels, and of what they are made.
pub const parts = .{
    .rows = .{ .{ "warp", "rows", .warp }, .{ "block", "rows", .block } },
    .rows_backward = .{
        .{ "warp", "rows_back", .warp },
        .{ "block", "rows_back", .block },
        .{ "planes", "planes", .pair },
        .{ "columns", "columns", .pair },
        .{ "derive", "derive", .none },
    },
    .channels = .{
        .{ "planes", "planes", .moments },
        .{ "columns", "columns", .moments },
        .{ "keep", "keep", .none },
        .{ "apply", "apply", .forth },
    },
    .channels_backward = .{
        .{ "planes", "planes", .pair },
        .{ "columns", "columns", .pair },
        .{ "derive", "derive", .none },
        .{ "apply", "apply", .back },
    },
};

pub fn exports() void {
    @setEvalBranchQuota(10_000);
    for ([_]Compute{ .f32, .f64 }) |c| {
        for (@typeInfo(@TypeOf(parts)).@"struct".fields) |family| {
            for (@field(parts, family.name)) |part| {
                const name = "normalization_" ++ family.name ++ "_" ++ @tagName(c) ++ "_" ++ part[0];
                export_kernel(&Entry(c, part[1], part[2]).kernel, name, Args);
            }
        }
    }
}
