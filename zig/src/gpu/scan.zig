//! Device code of scans along lines. The threads of a line take it tile by tile, each some elements that lie together:
//! what theirs come to goes through warp and block, what all of the tile's come to goes on to the next. Long lines are
//! cut into parts: a first launch finds what each comes to, and a second one begins with what all before come to.
//! Where neighbouring lines lie together, each thread goes down one of them.
const std = @import("std");
const abi = @import("abi");
const args = @import("scan_args.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const ops = @import("scan_ops.zig");
const thread = @import("thread.zig");

const Args = args.Args;
const Compute = abi.Compute;
const DType = abi.DType;
const warps = args.threads / thread.warp;

fn Kernels(comptime Op: type) type {
    return struct {
        const c = Op.compute;
        const T = Op.Element;
        const State = Op.State;
        const Partial = [*]addrspace(.global) State;

        /// The bytes of a part's first elements: of the source, and of what is written.
        const Place = struct {
            line: u32,
            active: bool,
            /// Among the threads of the line.
            number: u32,
            part: u32,
            first: u64,
            count: u32,
            at: [3]u64,

            inline fn of(a: *const Args) Place {
                const n = thread.index();
                const group: u5 = @truncate(a.group);
                const per_block = @as(u32, args.threads) >> group;
                const apart = a.across > 0;
                const line = thread.block() * per_block + if (apart) n & (per_block - 1) else n >> group;
                const number = if (apart) n >> @truncate(a.across) else n & ((@as(u32, 1) << group) - 1);
                const part = if (apart) (thread.block_y() << group) + number else thread.block_y();
                const active = line < a.kept.count and part < a.parts;
                // Also where a line is none: threads that meet go round as often as each other.
                const first = if (part < a.parts) @as(u64, part) * a.step else 0;
                var at = a.kept.offsets(&.{ 0, 1, 2 }, if (active) line else 0);
                inline for (&at, [_]u64{ a.src, a.dst[0], a.dst[1] }, 0..) |*x, data, k| {
                    x.* = data +% x.* +% first *% @as(u64, @bitCast(a.along[k]));
                }
                return .{
                    .line = if (active) line else 0,
                    .active = active,
                    .number = number,
                    .part = part,
                    .first = first,
                    .count = @intCast(@min(a.step, a.count - first)),
                    .at = at,
                };
            }
        };

        var shared: [warps]State addrspace(.shared) = undefined;

        /// What comes before a thread's elements, unless it is the first, and what all threads of the line have.
        const Before = struct { state: State, all: State };

        /// Of the threads of a line the first `valid` ones have something.
        inline fn before(a: *const Args, mine: State, number: u32, valid: u32) Before {
            const group = @as(u32, 1) << @truncate(a.group);
            const width = @min(group, thread.warp);
            const lane = number & (width - 1);
            var s = mine;
            var distance: u32 = 1;
            while (distance < width) : (distance *= 2) {
                const both = Op.join(thread.from_before(s, distance), s);
                s = chosen(lane >= distance, both, s);
            }
            const within = thread.from_before(s, 1);
            if (group <= thread.warp) {
                const last = thread.lane() - lane + valid - 1;
                return .{ .state = within, .all = thread.from_lane(s, last) };
            }
            const warp = thread.index() / thread.warp;
            if (number == valid - 1 or (number < valid and lane == thread.warp - 1)) shared[warp] = s;
            thread.barrier();
            const first = warp - number / thread.warp;
            var all = shared[first];
            var outer = all;
            var w = first + 1;
            while ((w - first) * thread.warp < valid) : (w += 1) {
                outer = chosen(w == warp, all, outer);
                all = Op.join(all, shared[w]);
            }
            thread.barrier();
            const both = Op.join(outer, within);
            const state = chosen(warp == first, within, chosen(lane > 0, both, outer));
            return .{ .state = state, .all = all };
        }

        /// Field by field: a choice among structs would go through memory.
        inline fn chosen(condition: bool, a: State, b: State) State {
            if (@typeInfo(State) != .@"struct") return if (condition) a else b;
            var r: State = undefined;
            inline for (@typeInfo(State).@"struct".fields) |f| {
                @field(r, f.name) = if (condition) @field(a, f.name) else @field(b, f.name);
            }
            return r;
        }

        inline fn partial(a: *const Args, part: u32, line: u32) *addrspace(.global) State {
            return &@as(Partial, @ptrFromInt(a.partials))[@as(u64, part) * a.kept.count + line];
        }

        /// Begins with what all parts before this one come to.
        inline fn begins(a: *const Args, place: Place) bool {
            return a.partials != 0 and a.totals == 0 and place.part > 0;
        }

        inline fn carried(a: *const Args, place: Place) State {
            const group = @as(u32, 1) << @truncate(a.group);
            var s: State = undefined;
            var at: u32 = 0;
            while (at < place.part) : (at += group) {
                const valid = @min(group, place.part - at);
                const mine = partial(a, at + @min(place.number, valid - 1), place.line).*;
                const all = before(a, mine, place.number, valid).all;
                s = if (at == 0) all else Op.join(s, all);
            }
            return s;
        }

        /// Lines without gaps, aligned, in a usual dtype.
        fn dense(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(1_000_000);
            lines(args.lanes(c), a);
        }

        /// Any lines.
        fn strided(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(1_000_000);
            lines(1, a);
        }

        inline fn lines(comptime lanes: u32, a: *const Args) void {
            const place: Place = .of(a);
            const tile = lanes << @truncate(a.group);
            var any = begins(a, place);
            var carry: State = undefined;
            if (any) carry = carried(a, place);
            var at: u32 = 0;
            while (at < place.count) : (at += tile) {
                const mine = at + place.number * lanes;
                const count = if (place.active and mine < place.count) @min(lanes, place.count - mine) else 0;
                const x = fetch(lanes, a, place, mine, count);
                var s: [lanes]State = undefined;
                inline for (&s, x, 0..) |*to, v, k| {
                    const one = Op.lift(v, @intCast(place.first + mine + k));
                    to.* = if (k == 0) one else Op.join(s[k - 1], one);
                }
                const valid = @min((place.count - at + lanes - 1) / lanes, tile / lanes);
                const b = before(a, s[lanes - 1], place.number, valid);
                if (a.totals == 0) {
                    const ahead = if (any) chosen(place.number > 0, Op.join(carry, b.state), carry) else b.state;
                    inline for (&s) |*to| to.* = chosen(any or place.number > 0, Op.join(ahead, to.*), to.*);
                    put(lanes, a, place, mine, s, count);
                }
                carry = if (any) Op.join(carry, b.all) else b.all;
                any = true;
            }
            if (a.totals != 0 and place.active and place.number == 0) partial(a, place.part, place.line).* = carry;
        }

        inline fn fetch(comptime lanes: u32, a: *const Args, place: Place, mine: u32, count: u32) [lanes]T {
            var x: [lanes]T = @splat(std.mem.zeroes(T));
            if (count == 0) return x;
            if (lanes == 1) return .{one_of(a, place.at[0] +% along(a, 0, mine))};
            inline for (Op.sources) |d| if (a.src_dtype == @intFromEnum(d)) {
                if (count == lanes) return element.Known(d, c, lanes).load(place.at[0], mine);
                // What lies behind the end of a line may be no memory.
                inline for (&x, 0..) |*v, k| {
                    if (k < count) v.* = dt.load(d, c, element.pointer_to(dt.Stored(d), place.at[0])[mine + k]);
                }
            };
            return x;
        }

        inline fn put(
            comptime lanes: u32,
            a: *const Args,
            place: Place,
            mine: u32,
            s: [lanes]State,
            count: u32,
        ) void {
            if (count == 0) return;
            if (lanes == 1) return put_one(a, place, mine, s[0]);
            var x: [lanes]T = undefined;
            inline for (&x, s) |*to, v| to.* = Op.value(v);
            inline for (Op.targets) |d| {
                if (a.dst_dtype == @intFromEnum(d)) element.Known(d, c, lanes).store(place.at[1], mine, x, count);
            }
            if (!Op.places) return;
            var found: [lanes]i64 = undefined;
            inline for (&found, s) |*to, v| to.* = v.place;
            element.Known(.int64, .i64, lanes).store(place.at[2], mine, found, count);
        }

        inline fn along(a: *const Args, comptime operand: usize, n: u32) u64 {
            return @bitCast(a.along[operand] *% @as(i64, n));
        }

        inline fn one_of(a: *const Args, at: u64) T {
            if (a.src_flags == 0) inline for (Op.sources) |d| {
                if (a.src_dtype == @intFromEnum(d)) return dt.load(d, c, element.pointer_to(dt.Stored(d), at)[0]);
            };
            return element.Any(c).load(at, a.src_dtype, a.src_flags, 0);
        }

        inline fn put_one(a: *const Args, place: Place, n: u32, s: State) void {
            const to = place.at[1] +% along(a, 1, n);
            if (Op.places) element.pointer_to(i64, place.at[2] +% along(a, 2, n))[0] = s.place;
            inline for (Op.targets) |d| {
                if (a.dst_dtype == @intFromEnum(d)) {
                    element.pointer_to(dt.Stored(d), to)[0] = dt.store(d, c, Op.value(s));
                    return;
                }
            }
            element.Any(c).store(to, a.dst_dtype, 0, Op.value(s));
        }

        /// Neighbouring lines: each thread goes down one of them, or a part of one.
        fn columns(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(1_000_000);
            const place: Place = .of(a);
            if (!place.active) return;
            var s: State = undefined;
            var n: u32 = 0;
            if (begins(a, place)) {
                s = partial(a, 0, place.line).*;
                for (1..place.part) |k| s = Op.join(s, partial(a, @intCast(k), place.line).*);
            } else {
                s = Op.lift(one_of(a, place.at[0]), @intCast(place.first));
                if (a.totals == 0) put_one(a, place, 0, s);
                n = 1;
            }
            while (n < place.count) {
                // Rows are read before any of them is written, so that they are on their way together.
                const some = @min(args.together, place.count - n);
                var x: [args.together]T = undefined;
                inline for (&x, 0..) |*v, k| {
                    if (k < some) v.* = one_of(a, place.at[0] +% along(a, 0, n + @as(u32, k)));
                }
                inline for (x, 0..) |v, k| {
                    if (k < some) {
                        s = Op.join(s, Op.lift(v, @intCast(place.first + n + k)));
                        if (a.totals == 0) put_one(a, place, n + @as(u32, k), s);
                    }
                }
                n += some;
            }
            if (a.totals != 0) partial(a, place.part, place.line).* = s;
        }
    };
}

fn export_one(comptime Op: type, comptime name: []const u8) void {
    comptime std.debug.assert(@sizeOf(Op.State) <= args.widest_state);
    const K = Kernels(Op);
    const full = "scan_" ++ name ++ "_" ++ @tagName(Op.compute);
    export_kernel(&K.dense, full ++ "_dense", Args);
    export_kernel(&K.strided, full ++ "_strided", Args);
    export_kernel(&K.columns, full ++ "_columns", Args);
}

pub fn exports() void {
    @setEvalBranchQuota(1_000_000);
    for ([_]Compute{ .f32, .f64, .i64, .c128 }) |c| {
        export_one(ops.Totals(.sum, c), "sum");
        export_one(ops.Totals(.product, c), "prod");
    }
    for ([_]Compute{ .f64, .c128 }) |c| export_one(ops.Totals(.exponentials, c), "logcumsumexp");
    for ([_]Compute{ .f32, .f64, .i32, .i64, .b8 }) |c| {
        export_one(ops.Extremes(true, c), "cummax");
        export_one(ops.Extremes(false, c), "cummin");
    }
}
