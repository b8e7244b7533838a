//! Device code of padding and resizing: a thread for each output, and for the gradient one for each element, which asks
//! the outputs made of it in their order: sums are those of the CPU. See cpu/sampling.zig.
const std = @import("std");
const abi = @import("abi");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const Grid = @import("grid.zig").Grid;
const planes = @import("../cpu/planes.zig");
const taps = @import("../cpu/sampling_taps.zig");

const Planes = planes.Planes;
const at = planes.at;
const step = planes.step;

/// Elements along depth, height and width that an output is made of at most: curves have no depth.
const most = [3]usize{ 2, 4, 4 };

pub fn Args(comptime W: type) type {
    return extern struct {
        grid: Grid,
        /// Outputs, elements.
        y: Planes,
        x: Planes,
        axes: [3]taps.Axis(W),
        count: [3]u32,
        /// Bytes of an element.
        size: u32,
        dtype: u32,
    };
}

inline fn pointer(comptime T: type, p: *const Planes, n: usize, c: usize, s: [3]usize) element.Pointer(T) {
    const first = element.pointer_to(T, @intFromPtr(p.data));
    return at(first, step(n, p.n) + step(c, p.c) + p.place(s[0], s[1], s[2]));
}

/// Outputs that may be made of an element, along one dimension: those that follow each other, or up to three.
fn Outputs(comptime W: type) type {
    return struct {
        const Self = @This();

        axis: *const taps.Axis(W),
        k: isize,
        end: usize,
        first: usize,
        reflects: bool,

        inline fn of(axis: *const taps.Axis(W), count: u32, i: usize, end: usize) Self {
            const k: isize = @intCast(i);
            var o: Self = .{ .axis = axis, .k = k, .end = end, .first = 0, .reflects = axis.mode == .reflect };
            if (o.reflects) return o;
            const reach: W = @floatFromInt(count / 2);
            const near = if (axis.mode == .replicate)
                @as(W, @floatFromInt(k + axis.front))
            else
                (@as(W, @floatFromInt(k)) - reach) / axis.scale - 1;
            // A guess, from where the first one is found.
            const limit: W = @floatFromInt(end);
            var first: usize = if (near > 0) @min(@as(usize, @intFromFloat(@min(near, limit))), end) else 0;
            while (first > 0 and o.last_of(first - 1, count) >= k) first -= 1;
            while (first < end and o.last_of(first, count) < k) first += 1;
            o.first = first;
            return o;
        }

        inline fn last_of(o: *const Self, i: usize, count: u32) isize {
            const t = o.axis.tap(i);
            return if (count == 4) t.from[3] else if (count == 2) t.from[1] else t.from[0];
        }

        /// The output of number `n`; `no_more` behind the last, `none` where it is not there.
        inline fn output(o: *const Self, n: usize) usize {
            if (!o.reflects) return if (o.first + n < o.end) o.first + n else no_more;
            if (n > 2) return no_more;
            const a = o.axis;
            const there = switch (n) {
                0 => if (o.k == 0) -1 else a.front - o.k,
                1 => a.front + o.k,
                else => if (o.k == a.last) -1 else a.front + 2 * a.last - o.k,
            };
            return if (there < 0 or there >= @as(isize, @intCast(o.end))) none else @intCast(there);
        }
    };
}

const none = std.math.maxInt(usize);
const no_more = none - 1;

/// Elements of any dtype, one for each output.
fn Chosen(comptime c: abi.Compute) type {
    return struct {
        const A = Args(dt.Computed(c));

        fn one(a: *const A) callconv(.kernel) void {
            if (!a.grid.has_own()) return;
            const p = a.grid.own();
            var from: [3]usize = undefined;
            inline for (&from, &a.axes, p.s) |*x, *axis, i| x.* = @intCast(axis.tap(i).from[0]);
            inline for (.{ u8, u16, u32, u64, [2]u64 }) |T| {
                if (a.size == @sizeOf(T)) {
                    pointer(T, &a.y, p.n, p.c, p.s)[0] = pointer(T, &a.x, p.n, p.c, from)[0];
                }
            }
        }
    };
}

fn Kernels(comptime d: abi.DType, comptime c: abi.Compute) type {
    const W = dt.Computed(c);
    const S = dt.Stored(d);
    const load = element.loader(d, c);
    return struct {
        const A = Args(W);

        fn means(a: *const A) void {
            @setEvalBranchQuota(100_000);
            if (!a.grid.has_own()) return;
            const p = a.grid.own();
            const x = pointer(S, &a.x, p.n, p.c, .{ 0, 0, 0 });
            const s = &a.x.s;
            const td, const th, const tw = .{
                a.axes[0].tap(p.s[0]).times(s[0]),
                a.axes[1].tap(p.s[1]).times(s[1]),
                a.axes[2].tap(p.s[2]).times(s[2]),
            };
            var sum: W = 0;
            inline for (0..most[0]) |i| if (i < a.count[0]) {
                inline for (0..most[1]) |j| if (j < a.count[1]) {
                    const row = at(x, td.from[i] + th.from[j]);
                    const weight = td.weight[i] * th.weight[j];
                    inline for (0..most[2]) |k| if (k < a.count[2]) {
                        sum += weight * tw.weight[k] * load(at(row, tw.from[k])[0]);
                    };
                };
            };
            pointer(S, &a.y, p.n, p.c, p.s)[0] = dt.store(d, c, sum);
        }

        fn back(a: *const A) void {
            @setEvalBranchQuota(100_000);
            if (!a.grid.has_own()) return;
            const p = a.grid.own();
            const y = pointer(S, &a.y, p.n, p.c, .{ 0, 0, 0 });
            var of: [3]Outputs(W) = undefined;
            inline for (&of, 0..) |*o, i| o.* = .of(&a.axes[i], a.count[i], p.s[i], a.y.size[i]);
            var sum: W = 0;
            var nd: usize = 0;
            while (true) : (nd += 1) {
                const z = of[0].output(nd);
                if (z == no_more) break;
                if (z == none) continue;
                const td = of[0].axis.tap(z);
                if (td.from[0] > of[0].k) break;
                var nh: usize = 0;
                while (true) : (nh += 1) {
                    const h = of[1].output(nh);
                    if (h == no_more) break;
                    if (h == none) continue;
                    const th = of[1].axis.tap(h);
                    if (th.from[0] > of[1].k) break;
                    const row = at(y, step(z, a.y.s[0]) + step(h, a.y.s[1]));
                    var nw: usize = 0;
                    while (true) : (nw += 1) {
                        const w = of[2].output(nw);
                        if (w == no_more) break;
                        if (w == none) continue;
                        const tw = of[2].axis.tap(w);
                        if (tw.from[0] > of[2].k) break;
                        const g = load(at(row, step(w, a.y.s[2]))[0]);
                        sum = added(a, p.s, sum, g, &td, &th, &tw);
                    }
                }
            }
            pointer(S, &a.x, p.n, p.c, p.s)[0] = dt.store(d, c, sum);
        }

        /// What an output passes on: for each time that it has the element.
        inline fn added(
            a: *const A,
            s: [3]usize,
            before: W,
            g: W,
            td: *const taps.Tap(W),
            th: *const taps.Tap(W),
            tw: *const taps.Tap(W),
        ) W {
            var sum = before;
            inline for (0..most[0]) |i| if (i < a.count[0] and td.from[i] == step(s[0], 1)) {
                inline for (0..most[1]) |j| if (j < a.count[1] and th.from[j] == step(s[1], 1)) {
                    const weight = td.weight[i] * th.weight[j];
                    inline for (0..most[2]) |k| if (k < a.count[2] and tw.from[k] == step(s[2], 1)) {
                        sum += weight * tw.weight[k] * g;
                    };
                };
            };
            return sum;
        }
    };
}

/// A kernel for all dtypes that are computed in one type.
fn Entry(comptime c: abi.Compute, comptime name: []const u8) type {
    return struct {
        fn kernel(a: *const Args(dt.Computed(c))) callconv(.kernel) void {
            inline for (comptime element.dense_dtypes(c)) |d| {
                if (a.dtype == @intFromEnum(d)) return @field(Kernels(d, c), name)(a);
            }
        }
    };
}

pub fn exports() void {
    for ([_]abi.Compute{ .f32, .f64 }) |c| {
        const A = Args(dt.Computed(c));
        const end = "_" ++ @tagName(c) ++ "_";
        export_kernel(&Chosen(c).one, "sampling_sample" ++ end ++ "one", A);
        export_kernel(&Entry(c, "means").kernel, "sampling_sample" ++ end ++ "means", A);
        export_kernel(&Entry(c, "back").kernel, "sampling_sample_backward" ++ end ++ "means", A);
    }
}
