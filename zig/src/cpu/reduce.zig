//! Reductions of values: sum, prod, max, min over any dimensions of any layout. Float sums are pairwise over blocks.
//!
//! Operand 0 has size one where operand 1 is reduced. Attribute 0: divide the results by attribute 1.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const parallel = @import("../core/parallel.zig");
const plans = @import("reduce_plan.zig");

const Compute = abi.Compute;
const Plan = plans.Plan;
const Walk = plans.Walk;
const element = plans.element;

pub const arg_max = @import("reduce_arg.zig").arg_max;
pub const arg_min = @import("reduce_arg.zig").arg_min;
pub const moments = @import("reduce_moments.zig").moments;
pub const isclose = @import("reduce_close.zig").isclose;
pub const equal = @import("reduce_close.zig").equal;

/// Elements that one vector loop takes before its result joins the cascade.
const block = 4096;
const row_block = 64;
const levels = 48;

pub const sum = kernel(struct {
    pub const computes = [_]Compute{ .f32, .f64, .i64, .c64, .c128 };
    pub const cascades = true;
    pub fn identity(comptime c: Compute) dt.Computed(c) {
        return if (comptime dt.is_complex(dt.Computed(c))) .{ .re = 0, .im = 0 } else 0;
    }
    pub inline fn combine(comptime c: Compute, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime dt.is_complex(dt.Computed(c))) return .{ .re = a.re + b.re, .im = a.im + b.im };
        return if (c == .i64) a +% b else a + b;
    }
});

pub const prod = kernel(struct {
    pub const computes = [_]Compute{ .f32, .f64, .i64, .c64, .c128 };
    pub const cascades = false;
    pub fn identity(comptime c: Compute) dt.Computed(c) {
        return if (comptime dt.is_complex(dt.Computed(c))) .{ .re = 1, .im = 0 } else 1;
    }
    pub inline fn combine(comptime c: Compute, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
        if (comptime dt.is_complex(dt.Computed(c))) {
            return .{ .re = a.re * b.re - a.im * b.im, .im = a.re * b.im + a.im * b.re };
        }
        return if (c == .i64) a *% b else a * b;
    }
});

pub const max = kernel(Extremum(true));
pub const min = kernel(Extremum(false));

/// NaN wins over every number. On bytes (bool) these are "any" and "all".
fn Extremum(comptime largest: bool) type {
    return struct {
        pub const computes = [_]Compute{ .f32, .f64, .i32, .i64, .u64, .b8 };
        pub const cascades = false;
        pub fn identity(comptime c: Compute) dt.Computed(c) {
            const T = dt.Computed(c);
            if (@typeInfo(T) == .float) return if (largest) -std.math.inf(T) else std.math.inf(T);
            if (c == .b8) return @intFromBool(!largest);
            return if (largest) std.math.minInt(T) else std.math.maxInt(T);
        }
        pub inline fn combine(comptime c: Compute, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
            const T = @TypeOf(a);
            const wins = if (largest) a > b else a < b;
            if (@typeInfo(dt.Computed(c)) != .float) return choose(T, wins, a, b);
            // The comparison fails for a NaN on either side: b's is taken by it, a's must be kept.
            return choose(T, a != a, a, choose(T, wins, a, b));
        }
        /// Nothing that follows can change this value.
        pub inline fn settled(comptime c: Compute, x: dt.Computed(c)) bool {
            return c == .b8 and (x != 0) == largest;
        }
    };
}

inline fn choose(comptime T: type, condition: anytype, a: T, b: T) T {
    if (@typeInfo(T) != .vector) return if (condition) a else b;
    return @select(@typeInfo(T).vector.child, condition, a, b);
}

fn kernel(comptime Op: type) fn (*fr.Frame) abi.Status {
    return struct {
        fn call(f: *fr.Frame) abi.Status {
            const c: Compute = @enumFromInt(@as(u8, @intFromFloat(f.compute)));
            inline for (Op.computes) |k| {
                if (c == k) return Reduction(Op, k).run(f);
            }
            return .unsupported;
        }
    }.call;
}

fn lanes_of(comptime c: Compute) usize {
    return switch (c) {
        .f32, .i32 => cfg.lanes,
        .f64, .i64, .u64 => @max(2, cfg.lanes / 2),
        .b8 => 4 * cfg.lanes,
        .c64, .c128 => 1,
    };
}

fn Reduction(comptime Op: type, comptime c: Compute) type {
    const T = dt.Computed(c);
    const Loader = convert.Stream(c);
    const lanes = lanes_of(c);
    const V = if (lanes == 1) T else @Vector(lanes, T);
    const max_width = 2048 / @max(4, @sizeOf(T));
    const zero: T = Op.identity(c);

    return struct {
        fn run(f: *fr.Frame) abi.Status {
            if (few(f)) return .ok;
            var plan: Plan = undefined;
            plan.open(f, 1, 1, max_width);
            if (plan.tasks == 0) return .ok;
            const job: Job = .{ .f = f, .plan = &plan, .src = fr.view(f, 1), .partials = undefined };
            if (plan.parts == 1) {
                parallel.parallel_for(plan.tasks, plan.task_grain(), job, Job.finish_tasks);
                return .ok;
            }
            const count = plan.tasks * plan.parts;
            const scratch = parallel.Scratch.acquire(count * plan.width * @sizeOf(T)) orelse return .out_of_memory;
            defer scratch.release();
            var split = job;
            split.partials = scratch.slice(T, count * plan.width).ptr;
            parallel.parallel_for(count, 1, split, Job.parts);
            for (0..plan.tasks) |t| split.join(t);
            return .ok;
        }

        /// A handful of plain elements into one: no plan is made.
        inline fn few(f: *fr.Frame) bool {
            const src = fr.operand(f, 1);
            const dst = fr.operand(f, 0);
            const native: f64 = @floatFromInt(@intFromEnum(dt.native_dtype(c)));
            const plain = src.rank == 1 and src.strides[0] == 1 and src.dtype == native and src.flags == 0;
            if (!plain or dst.shape[0] != 1 or dst.dtype != native or src.shape[0] > block) return false;
            const n = fr.to_usize(src.shape[0]);
            if (n == 0) return false;
            var x: [1]T = .{dense(fr.view(f, 1).ptr(T), n)};
            if (f.attrs[0] != 0) divide(&x, 1, f.attrs[1]);
            fr.view(f, 0).ptr(T)[0] = x[0];
            return true;
        }

        const Job = struct {
            f: *fr.Frame,
            plan: *const Plan,
            src: fr.View,
            partials: [*]T,

            fn finish_tasks(j: Job, begin: usize, end: usize) void {
                var acc: [max_width]T align(64) = undefined;
                var walk: Walk = undefined;
                if (j.plan.columns) {
                    for (begin..end) |t| {
                        const width = j.plan.place(t, &walk);
                        j.column_task(walk.in, width, 0, j.plan.reduced.total, &acc);
                        j.store(&walk, &acc, width);
                    }
                    return;
                }
                walk.open(&j.plan.kept, 0, begin);
                for (begin..end) |_| {
                    acc[0] = j.single(walk.in, 0, j.plan.reduced.total);
                    j.store(&walk, &acc, 1);
                    walk.advance(1);
                }
            }

            fn parts(j: Job, begin: usize, end: usize) void {
                const p = j.plan;
                var walk: Walk = undefined;
                for (begin..end) |i| {
                    const width = p.place(i / p.parts, &walk);
                    const first = (i % p.parts) * p.step;
                    const last = @min(p.reduced.total, first + p.step);
                    const to = j.partials + i * p.width;
                    if (p.columns) {
                        j.column_task(walk.in, width, first, last, to);
                    } else to[0] = j.single(walk.in, first, last);
                }
            }

            /// Combines the parts of a task two by two.
            fn join(j: Job, t: usize) void {
                const p = j.plan;
                var walk: Walk = undefined;
                const width = p.place(t, &walk);
                const first = j.partials + t * p.parts * p.width;
                var step: usize = 1;
                while (step < p.parts) : (step *= 2) {
                    var i: usize = 0;
                    while (i + step < p.parts) : (i += 2 * step) {
                        merge(first + i * p.width, first + (i + step) * p.width, width);
                    }
                }
                j.store(&walk, first, width);
            }

            fn store(j: Job, walk: *const Walk, acc: [*]T, n: usize) void {
                if (j.f.attrs[0] != 0) divide(acc, n, j.f.attrs[1]);
                const dst = fr.view(j.f, 0);
                const to = element(dst.data, walk.out[0], dt.size_of(dst.dtype));
                const stride = if (j.plan.columns) j.plan.kept.out[0][0] else 1;
                Loader.store(dst.dtype)(acc, to, stride, n);
            }

            /// The reduced elements [first, last) of the output at `base`.
            fn single(j: Job, base: isize, first: usize, last: usize) T {
                const size = dt.size_of(j.src.dtype);
                var cascade: Cascade = undefined;
                cascade.top = 0;
                cascade.count = 0;
                var walk: Walk = undefined;
                walk.open(&j.plan.reduced, 0, first);
                const stride = if (j.plan.reduced.rank == 0) 1 else j.plan.reduced.in[0];
                const direct = stride == 1 and j.plain();
                var buffer: [convert.block]T align(64) = undefined;
                var left = last - first;
                while (left > 0) {
                    var x: T = undefined;
                    if (direct and (walk.run(left) >= 64 or walk.run(left) == left)) {
                        const n = @min(block, walk.run(left));
                        x = dense(@ptrCast(@alignCast(element(j.src.data, base + walk.in, size))), n);
                        walk.advance(n);
                        left -= n;
                    } else {
                        const n = j.gather(&buffer, &walk, base, stride, @min(left, convert.block));
                        x = dense(&buffer, n);
                        left -= n;
                    }
                    cascade.push(x);
                    if (@hasDecl(Op, "settled") and Op.settled(c, x)) return x;
                }
                return cascade.total();
            }

            /// Memory holds compute values as they are.
            inline fn plain(j: Job) bool {
                return j.src.dtype == dt.native_dtype(c) and j.src.flags == 0;
            }

            fn gather(j: Job, buffer: [*]T, walk: *Walk, base: isize, stride: isize, wanted: usize) usize {
                const size = dt.size_of(j.src.dtype);
                const load = Loader.load(j.src.dtype);
                var n: usize = 0;
                while (n < wanted) {
                    const length = walk.run(wanted - n);
                    load(buffer + n, element(j.src.data, base + walk.in, size), stride, length);
                    walk.advance(length);
                    n += length;
                }
                plans.apply_flags(T, j.src.flags, buffer, n);
                return n;
            }

            /// `width` neighbouring outputs at once, over the reduced elements [first, last).
            fn column_task(j: Job, base: isize, width: usize, first: usize, last: usize, to: [*]T) void {
                var walk: Walk = undefined;
                walk.open(&j.plan.reduced, 0, first);
                if (!(Op.cascades and (c == .f32 or c == .f64 or lanes == 1))) {
                    @memset(to[0..width], zero);
                    return j.rows(&walk, base, width, last - first, to);
                }
                const per = @max(row_block, (last - first) / 1024);
                var stack: [12][max_width]T align(64) = undefined;
                var done: usize = 0;
                var left = last - first;
                var top: usize = 0;
                while (left > 0) : (done += 1) {
                    const n = @min(per, left);
                    @memset(stack[top][0..width], zero);
                    j.rows(&walk, base, width, n, &stack[top]);
                    left -= n;
                    // Like carries of a binary counter: equal amounts of rows are added to each other.
                    var bits = done;
                    while (bits & 1 == 1) : (bits >>= 1) {
                        merge(&stack[top - 1], &stack[top], width);
                        top -= 1;
                    }
                    top += 1;
                }
                if (top == 0) return @memset(to[0..width], zero);
                while (top > 1) : (top -= 1) merge(&stack[top - 2], &stack[top - 1], width);
                @memcpy(to[0..width], stack[0][0..width]);
            }

            fn rows(j: Job, walk: *Walk, base: isize, width: usize, count: usize, acc: [*]T) void {
                const stride = j.plan.kept.in[0];
                const row = if (j.plan.reduced.rank == 0) 0 else j.plan.reduced.in[0];
                var left = count;
                while (left > 0) {
                    const n = walk.run(left);
                    const at = base + walk.in;
                    // Rows that follow each other without a gap are taken several at a time.
                    const together = if (stride == 1 and row == @as(isize, @intCast(width))) max_width / width else 1;
                    if (together >= 2 and n >= 2 * together) {
                        j.joined_rows(at, width, together, n, acc);
                    } else j.plain_rows(at, stride, row, width, n, acc);
                    walk.advance(n);
                    left -= n;
                }
            }

            fn joined_rows(j: Job, at: isize, width: usize, together: usize, n: usize, acc: [*]T) void {
                var wide: [max_width]T align(64) = undefined;
                const span = width * together;
                const whole = n / together;
                @memset(wide[0..span], zero);
                j.plain_rows(at, 1, @intCast(span), span, whole, &wide);
                for (0..together) |k| merge(acc, @as([*]T, &wide) + k * width, width);
                const rest = n - whole * together;
                const w: isize = @intCast(width);
                if (rest > 0) j.plain_rows(at + @as(isize, @intCast(whole * span)), 1, w, width, rest, acc);
            }

            fn plain_rows(j: Job, at: isize, stride: isize, row: isize, width: usize, n: usize, acc: [*]T) void {
                const size = dt.size_of(j.src.dtype);
                var r: usize = 0;
                if (stride == 1 and j.plain()) {
                    while (r + 4 <= n) : (r += 4) {
                        var p: [4]usize = undefined;
                        for (&p, 0..) |*x, k| {
                            x.* = @intFromPtr(element(j.src.data, at + row * @as(isize, @intCast(r + k)), size));
                        }
                        add_four(acc, p, width);
                    }
                }
                var buffer: [max_width]T align(64) = undefined;
                const load = Loader.load(j.src.dtype);
                while (r < n) : (r += 1) {
                    load(&buffer, element(j.src.data, at + row * @as(isize, @intCast(r)), size), stride, width);
                    plans.apply_flags(T, j.src.flags, &buffer, width);
                    merge(acc, &buffer, width);
                }
            }
        };

        /// acc[i] = acc[i] op from[i]
        fn merge(acc: [*]T, from: [*]const T, n: usize) void {
            var i: usize = 0;
            if (lanes > 1) while (i + lanes <= n) : (i += lanes) {
                put(acc + i, Op.combine(c, get(acc + i), get(from + i)));
            };
            while (i < n) : (i += 1) acc[i] = Op.combine(c, acc[i], from[i]);
        }

        fn add_four(acc: [*]T, rows: [4]usize, n: usize) void {
            var p: [4][*]align(1) const T = undefined;
            inline for (0..4) |k| p[k] = @ptrFromInt(rows[k]);
            var i: usize = 0;
            if (lanes > 1) while (i + lanes <= n) : (i += lanes) {
                const a = Op.combine(c, get(p[0] + i), get(p[1] + i));
                const b = Op.combine(c, get(p[2] + i), get(p[3] + i));
                put(acc + i, Op.combine(c, get(acc + i), Op.combine(c, a, b)));
            };
            while (i < n) : (i += 1) {
                const a = Op.combine(c, p[0][i], p[1][i]);
                acc[i] = Op.combine(c, acc[i], Op.combine(c, a, Op.combine(c, p[2][i], p[3][i])));
            }
        }

        inline fn get(p: [*]align(1) const T) V {
            return @as(*align(1) const V, @ptrCast(p)).*;
        }
        inline fn put(p: [*]T, v: V) void {
            @as(*align(1) V, @ptrCast(p)).* = v;
        }

        /// Reduces elements that lie without gaps.
        fn dense(p: [*]align(1) const T, n: usize) T {
            const unroll = 8;
            var i: usize = 0;
            var r = zero;
            if (n >= 2 * lanes) {
                var acc: [unroll]V = undefined;
                inline for (&acc) |*a| a.* = if (lanes == 1) zero else @splat(zero);
                while (i + unroll * lanes <= n) : (i += unroll * lanes) {
                    inline for (0..unroll) |u| acc[u] = Op.combine(c, acc[u], get(p + i + u * lanes));
                }
                while (i + lanes <= n) : (i += lanes) acc[0] = Op.combine(c, acc[0], get(p + i));
                comptime var half = unroll / 2;
                inline while (half > 0) : (half /= 2) {
                    inline for (0..half) |u| acc[u] = Op.combine(c, acc[u], acc[u + half]);
                }
                r = across(acc[0]);
            }
            while (i < n) : (i += 1) r = Op.combine(c, r, p[i]);
            return r;
        }

        /// All lanes into one, half by half.
        fn across(v: anytype) T {
            if (@typeInfo(@TypeOf(v)) != .vector) return v;
            const n = @typeInfo(@TypeOf(v)).vector.len;
            if (n == 1) return v[0];
            return across(Op.combine(c, std.simd.extract(v, 0, n / 2), std.simd.extract(v, n / 2, n / 2)));
        }

        /// Adds up block results pairwise, so that rounding errors grow with the logarithm of their number.
        const Cascade = struct {
            stack: [levels]T,
            top: usize,
            count: usize,

            inline fn push(s: *Cascade, value: T) void {
                var x = value;
                var bits = s.count;
                while (bits & 1 == 1) : (bits >>= 1) {
                    s.top -= 1;
                    x = Op.combine(c, s.stack[s.top], x);
                }
                s.stack[s.top] = x;
                s.top += 1;
                s.count += 1;
            }
            inline fn total(s: *Cascade) T {
                if (s.top == 0) return zero;
                while (s.top > 1) : (s.top -= 1) {
                    s.stack[s.top - 2] = Op.combine(c, s.stack[s.top - 2], s.stack[s.top - 1]);
                }
                return s.stack[0];
            }
        };

        fn divide(acc: [*]T, n: usize, divisor: f64) void {
            for (acc[0..n]) |*x| {
                if (comptime dt.is_complex(T)) {
                    const d: @TypeOf(x.re) = @floatCast(divisor);
                    x.* = .{ .re = x.re / d, .im = x.im / d };
                } else if (comptime @typeInfo(T) == .float) {
                    x.* /= @as(T, @floatCast(divisor));
                }
            }
        }
    };
}
