//! Device code of reductions. A block works on a part of the reduced elements of one or more outputs; its threads have
//! several states each, so that many loads are on their way, and join them in a fixed order. Of outputs with several
//! parts the states go to memory, where the block that ends last joins them all, or a second launch: in an order of
//! their own, so that results depend on no schedule.
const std = @import("std");
const abi = @import("abi");
const args = @import("reduce_args.zig");
const bodies = @import("../cpu/reduce_ops.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const export_sized = @import("pointwise.zig").export_sized;
const ops = @import("reduce_ops.zig");
const thread = @import("thread.zig");

const Args = args.Args;
const DType = abi.DType;

/// What a thread of a kernel for elements without gaps has on its way: accesses of 16 bytes, as many as there are
/// registers for.
fn Chunk(comptime d: DType, comptime T: type) type {
    return struct {
        const lanes = @max(1, 16 / @sizeOf(dt.Stored(d)));
        const most = if (@sizeOf(T) > 4) 16 else 32;
        const chunks = @max(1, @min(4, most / lanes));
    };
}

/// How many blocks of an output have ended, zero between launches: a row for each stream that has one.
var counters: [args.counter_rows * args.most_blocks]u32 addrspace(.global) = @splat(0);

/// Threads of an output in a block.
inline fn group_of(a: *const Args) u32 {
    return @as(u32, 1) << @truncate(a.group);
}

fn Kernels(comptime Op: type) type {
    return struct {
        const c = Op.compute;
        const T = Op.Element;
        const State = Op.State;
        const Partial = [*]addrspace(.global) State;
        const batches = @hasDecl(Op, "of");
        /// Elements that a thread of the kernel for gaps has on its way, where they are near.
        const together = if (@sizeOf(State) <= 8 and !batches) 8 else 4;
        /// Parts of an output that a thread reads at once.
        const parts_together = if (batches) 1 else 2;

        /// States that a thread keeps of `n` elements at once, `run` of which lie together.
        fn width(comptime n: usize, comptime run: usize) usize {
            if (batches) return 1;
            return if (@hasDecl(Op, "shares")) n / run else @min(n, Op.states);
        }

        /// The thread's place: an output, a part of its elements, and its number among the threads of that.
        const Place = struct {
            output: u32,
            /// It has work; what goes on among the threads of a block concerns the others, too.
            active: bool,
            number: u32,
            first: u32,
            last: u32,

            inline fn of(a: *const Args, total: u32) Place {
                const n = thread.index();
                const per_block = @as(u32, args.threads) >> @truncate(a.group);
                const in_block = if (a.across > 0) n & (per_block - 1) else n >> @truncate(a.group);
                const output = thread.block() * per_block + in_block;
                const active = output < a.kept.count;
                const first = thread.block_y() * a.step;
                return .{
                    .output = if (active) output else 0,
                    .active = active,
                    .number = if (a.across > 0) n >> @truncate(a.across) else n & (group_of(a) - 1),
                    .first = if (active) @min(first, total) else 0,
                    .last = if (active) @min(total - @min(first, total), a.step) + @min(first, total) else 0,
                };
            }
        };

        inline fn take(
            comptime n: usize,
            comptime run: usize,
            states: *[width(n, run)]State,
            x: [n]T,
            at: i64,
            step: i64,
        ) void {
            if (batches) {
                states[0] = Op.join(states[0], Op.of(n, x));
            } else inline for (x, 0..) |v, k| {
                const s = &states[if (@hasDecl(Op, "shares")) k / run else k % width(n, run)];
                s.* = Op.take(s.*, v, at + @as(i64, @intCast(k / run)) * step + @as(i64, @intCast(k % run)));
            }
        }

        inline fn take_one(s: *State, x: T, at: i64) void {
            s.* = if (batches) Op.join(s.*, Op.of(1, .{x})) else Op.take(s.*, x, at);
        }

        inline fn folded(comptime n: usize, states: *[n]State) State {
            comptime var half = n / 2;
            inline while (half > 0) : (half /= 2) {
                inline for (0..half) |k| states[k] = Op.join(states[k], states[k + half]);
            }
            return states[0];
        }

        var shared: [args.threads]State addrspace(.shared) = undefined;

        /// The states of the threads of an output; its first thread gets the result.
        inline fn joined(a: *const Args, mine: State, number: u32) State {
            var s = mine;
            const n = thread.index();
            var half = group_of(a) >> 1;
            const least: u32 = if (a.across > 0) 1 else thread.warp;
            while (half >= least) : (half >>= 1) {
                shared[n] = s;
                thread.barrier();
                if (number < half) s = Op.join(s, shared[n + (half << @truncate(a.across))]);
                thread.barrier();
            }
            while (half > 0) : (half >>= 1) s = Op.join(s, thread.from_after(s, half));
            return s;
        }

        inline fn give(a: *const Args, s: State, place: Place) void {
            const gives = place.active and place.number == 0;
            if (a.partials == 0) {
                if (gives) finish(a, s, place.output);
                return;
            }
            const partials: Partial = @ptrFromInt(a.partials);
            const row: u64 = a.first_part + thread.block_y();
            if (gives) partials[row * a.kept.count + place.output] = s;
            if (a.counters == args.no_counters or !is_last(a)) return;
            const whole = join_parts(a, place.output, place.number, if (place.active) a.all_parts else 0);
            if (gives) finish(a, whole, place.output);
        }

        var ended: u32 addrspace(.shared) = undefined;

        /// Whether all other parts of the block's outputs are there. The last block makes the counter ready for the
        /// next launch.
        inline fn is_last(a: *const Args) bool {
            thread.fence();
            thread.barrier();
            const counter = &counters[a.counters + thread.block()];
            if (thread.index() == 0) {
                ended = @atomicRmw(u32, counter, .Add, 1, .monotonic) + 1;
                if (ended == a.all_parts) counter.* = 0;
            }
            thread.barrier();
            const last = ended == a.all_parts;
            thread.fence();
            return last;
        }

        /// The parts of an output, always in the same order, for the first of its threads.
        inline fn join_parts(a: *const Args, output: u32, number: u32, parts: u32) State {
            const partials: Partial = @ptrFromInt(a.partials);
            var s = Op.start;
            var at = number;
            while (at + (parts_together - 1) * group_of(a) < parts) : (at += parts_together * group_of(a)) {
                var x: [parts_together]State = undefined;
                inline for (&x, 0..) |*v, k| {
                    v.* = partials[@as(u64, at + @as(u32, k) * group_of(a)) * a.kept.count + output];
                }
                inline for (x) |v| s = Op.join(s, v);
            }
            if (parts_together > 1) while (at < parts) : (at += group_of(a)) {
                s = Op.join(s, partials[@as(u64, at) * a.kept.count + output]);
            };
            return joined(a, s, number);
        }

        inline fn finish(a: *const Args, s: State, output: u32) void {
            const at = a.kept.offsets(&.{ 1, 2 }, output);
            Op.finish(a, s, .{ a.dst[0] +% at[0], a.dst[1] +% at[1] });
        }

        inline fn pointer(comptime V: type, at: u64) *addrspace(.global) const V {
            return @ptrFromInt(at);
        }

        /// Reduced elements lie one after the other, aligned to 16 bytes, in a fast dtype.
        fn dense(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(1_000_000);
            const place: Place = .of(a, a.reduced.count);
            const base = a.src +% a.kept.offset(0, place.output);
            var s = Op.start;
            inline for (Op.fast) |d| {
                if (a.src_dtype == @intFromEnum(d)) s = dense_loop(d, a, base, place);
            }
            give(a, joined(a, s, place.number), place);
        }

        inline fn dense_loop(comptime d: DType, a: *const Args, base: u64, place: Place) State {
            const lanes = Chunk(d, T).lanes;
            const n = lanes * Chunk(d, T).chunks;
            const stride = @as(u32, lanes) << @truncate(a.group);
            var states: [width(n, lanes)]State = @splat(Op.start);
            var at = place.first + place.number * lanes;
            const V = element.Known(d, c, lanes);
            const chunks = Chunk(d, T).chunks;
            while (at + (chunks - 1) * stride + lanes <= place.last) : (at += chunks * stride) {
                var x: [n]T = undefined;
                inline for (0..chunks) |k| x[k * lanes ..][0..lanes].* = V.load(base, at + @as(u32, k) * stride);
                take(n, lanes, &states, x, a.position + at, stride);
            }
            // Fewer are left, which are read at once, too.
            var left: [chunks]V.Raw = undefined;
            inline for (&left, 0..) |*raw, k| {
                const from = at + @as(u32, k) * stride;
                if (from + lanes <= place.last) raw.* = V.fetch(base, from);
            }
            const w = comptime width(lanes, lanes);
            inline for (left, 0..) |raw, k| {
                const from = at + @as(u32, k) * stride;
                const of = states[k * w % states.len ..][0..w];
                if (from + lanes <= place.last) take(lanes, lanes, of, V.unpacked(raw), a.position + from, 0);
            }
            // No whole chunk: one element for a thread.
            var i = place.last - (place.last - place.first) % lanes + place.number;
            while (i < place.last) : (i += group_of(a)) {
                const from = base + @as(u64, i) * @sizeOf(dt.Stored(d));
                take_one(&states[0], single(d, from), a.position + i);
            }
            return folded(width(n, lanes), &states);
        }

        inline fn single(comptime d: DType, at: u64) T {
            return dt.load(d, c, pointer(dt.Stored(d), at).*);
        }

        /// Any strides and dtypes.
        fn strided(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(1_000_000);
            const place: Place = .of(a, a.reduced.count);
            const base = a.src +% a.kept.offset(0, place.output);
            var s = Op.start;
            var done = false;
            if (a.src_flags == 0 and a.reduced.rank <= 2) inline for (Op.near) |d| {
                if (a.src_dtype == @intFromEnum(d)) {
                    s = near_loop(d, a, base, place);
                    done = true;
                }
            };
            if (!done) s = any_loop(a, base, place);
            give(a, joined(a, s, place.number), place);
        }

        inline fn near_loop(comptime d: DType, a: *const Args, base: u64, place: Place) State {
            const stride = group_of(a);
            var states: [width(together, 1)]State = @splat(Op.start);
            var at = place.first + place.number;
            // One dimension is walked in steps of one length, two by division.
            const straight = a.reduced.rank < 2;
            const step: u64 = @bitCast(@as(i64, stride) * a.reduced.steps[0][0]);
            var next = base +% a.reduced.near(at);
            while (at + (together - 1) * stride < place.last) : (at += together * stride) {
                var x: [together]T = undefined;
                if (straight) {
                    inline for (&x, 0..) |*v, k| v.* = single(d, next +% k * step);
                    next +%= together * step;
                } else inline for (&x, 0..) |*v, k| {
                    v.* = single(d, base +% a.reduced.near(at + @as(u32, k) * stride));
                }
                take(together, 1, &states, x, a.position + at, stride);
            }
            while (at < place.last) : (at += stride) {
                take_one(&states[0], single(d, base +% a.reduced.near(at)), a.position + at);
            }
            return folded(width(together, 1), &states);
        }

        inline fn any_loop(a: *const Args, base: u64, place: Place) State {
            var s = Op.start;
            var at = place.first + place.number;
            while (at < place.last) : (at += group_of(a)) {
                const from = base +% a.reduced.offset(0, at);
                take_one(&s, element.Any(c).load(from, a.src_dtype, a.src_flags, 0), a.position + at);
            }
            return s;
        }

        /// The partial results of all parts.
        fn join(a: *const Args) callconv(.kernel) void {
            const place: Place = .of(a, a.all_parts);
            const s = join_parts(a, place.output, place.number, place.last);
            if (place.active and place.number == 0) finish(a, s, place.output);
        }
    };
}

fn export_one(comptime Op: type, comptime name: []const u8) void {
    comptime std.debug.assert(@sizeOf(Op.State) <= args.widest_state);
    const K = Kernels(Op);
    const full = "reduce_" ++ name ++ "_" ++ @tagName(Op.compute);
    // What moves memory alone wants all the threads that registers can be had for.
    const light = Op.compute == .f32 and Op.State == f32;
    const name_of = full ++ "_dense";
    if (light) export_sized(&K.dense, name_of, Args, args.threads, 6) else export_kernel(&K.dense, name_of, Args);
    export_kernel(&K.strided, full ++ "_strided", Args);
    export_kernel(&K.join, full ++ "_join", Args);
}

pub fn exports() void {
    @setEvalBranchQuota(1_000_000);
    for (@typeInfo(bodies).@"struct".decls) |decl| {
        const Body = @field(bodies, decl.name);
        if (@TypeOf(Body) != type) continue;
        for (Body.computes) |c| export_one(ops.Values(Body, c), decl.name);
    }
    for ([_]abi.Compute{ .f32, .f64, .i32, .i64, .u64, .b8 }) |c| {
        export_one(ops.Extreme(true, c), "arg_max");
        export_one(ops.Extreme(false, c), "arg_min");
    }
    export_one(ops.Moments, "moments");
}
