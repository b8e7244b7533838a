//! Device code of the pointwise kernels: the bodies of the CPU's, applied by one thread to an element or a few.
const std = @import("std");
const abi = @import("abi");
const args = @import("args.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const pw = @import("../cpu/pointwise.zig");
const thread = @import("thread.zig");
const turned = @import("turned.zig");

const Compute = abi.Compute;

/// Elements that a thread of a dense kernel takes at once.
pub const lanes: u32 = 4;

fn Kernels(comptime Body: type, comptime c: Compute) type {
    return struct {
        const Args = args.Pointwise(Body.arity + 1);
        const out = pw.out_of(Body, c);

        fn Inputs(comptime count: usize) type {
            var types: [Body.arity]type = undefined;
            for (&types, 0..) |*T, k| T.* = [count]dt.Computed(pw.in_of(Body, c, k));
            return std.meta.Tuple(&types);
        }

        inline fn apply(a: *const Args, in: Inputs(1)) dt.Computed(out) {
            if (comptime !is_long(Body, c)) return inlined(&a.attrs, in);
            // As a function of its own a long body is there once for all places. It takes no pointer into the
            // arguments, which would have to be copied to memory for that.
            const x = parts(in, 0);
            const y = parts(in, 1);
            const z = parts(in, 2);
            const n = &a.attrs;
            const list = .{ at(n, 0), at(n, 1), at(n, 2), at(n, 3), at(n, 4), at(n, 5) };
            return @call(.auto, called, list ++ .{ x[0], x[1], y[0], y[1], z[0], z[1] });
        }

        inline fn at(attrs: *const pw.Params.Attrs, comptime i: usize) f64 {
            return attrs[i];
        }

        inline fn inlined(attrs: *const pw.Params.Attrs, in: Inputs(1)) dt.Computed(out) {
            const p: pw.Params = .{ .attrs = attrs };
            return switch (Body.arity) {
                1 => Body.apply(c, p, in[0][0]),
                2 => Body.apply(c, p, in[0][0], in[1][0]),
                3 => Body.apply(c, p, in[0][0], in[1][0], in[2][0]),
                else => @compileError("pointwise bodies take one to three inputs"),
            };
        }

        /// Numbers alone stay in registers: structs would go by memory. What is not used costs nothing.
        noinline fn called(
            a0: f64,
            a1: f64,
            a2: f64,
            a3: f64,
            a4: f64,
            a5: f64,
            x0: Part(0),
            x1: Part(0),
            y0: Part(1),
            y1: Part(1),
            z0: Part(2),
            z1: Part(2),
        ) dt.Computed(out) {
            var attrs: pw.Params.Attrs = undefined;
            attrs[0..6].* = .{ a0, a1, a2, a3, a4, a5 };
            var in: Inputs(1) = undefined;
            const numbers = .{ .{ x0, x1 }, .{ y0, y1 }, .{ z0, z1 } };
            inline for (0..Body.arity) |k| {
                in[k][0] = if (comptime is_pair(k)) .{ .re = numbers[k][0], .im = numbers[k][1] } else numbers[k][0];
            }
            return inlined(&attrs, in);
        }

        fn is_pair(comptime k: usize) bool {
            return dt.is_complex(dt.Computed(pw.in_of(Body, c, k)));
        }

        fn Part(comptime k: usize) type {
            if (k >= Body.arity) return u8;
            const T = dt.Computed(pw.in_of(Body, c, k));
            return if (is_pair(k)) @FieldType(T, "re") else T;
        }

        inline fn parts(in: Inputs(1), comptime k: usize) [2]Part(k) {
            if (k >= Body.arity) return .{ 0, 0 };
            return if (comptime is_pair(k)) .{ in[k][0].re, in[k][0].im } else .{ in[k][0], in[k][0] };
        }

        /// Elements that a thread has at once: of a group `lanes` of them, read as one.
        const Group = struct { in: Raws, to: u32 };

        const Raws = blk: {
            var types: [Body.arity]type = undefined;
            for (&types, 0..) |*T, k| T.* = Operand(k).Raw;
            break :blk std.meta.Tuple(&types);
        };

        fn Operand(comptime k: usize) type {
            return element.Several(pw.in_of(Body, c, k), lanes);
        }

        /// Whether a thread's second group is on its way before the first is worked on: short elements need both for as
        /// many bytes, and what a thread begins with counts less. A long body takes longer than that.
        const looks_ahead = !is_long(Body, c) and is_short(Body, c);

        /// The rows of all operands lie without gaps in dtypes of the compute type, or are one element or number. One
        /// row may end anywhere, of several each has whole groups of lanes.
        fn dense(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(1_000_000);
            if (comptime has_short_form(Body, c)) if (are_bfloat16(a)) return short(a);
            const step = thread.threads() * lanes;
            var i = thread.block() * step * a.groups + thread.index() * lanes;
            if (i >= a.count) return;
            var now: Group = undefined;
            var next: Group = undefined;
            if (looks_ahead) now = group_at(a, i);
            // Behind the end the first one is read again, and not used.
            if (looks_ahead and a.groups > 1) next = group_at(a, if (i + step < a.count) i + step else i);
            var left = a.groups;
            while (true) {
                if (!looks_ahead) now = group_at(a, i);
                var in: Inputs(lanes) = undefined;
                inline for (0..Body.arity) |k| {
                    const own = comptime element.dense_dtypes(pw.in_of(Body, c, k))[0];
                    const o = &a.operands[k + 1];
                    const dtype = if (o.place == .memory) o.dtype else @intFromEnum(own);
                    in[k] = Operand(k).unpacked(dtype, now.in[k]);
                }
                var r: [lanes]dt.Computed(out) = undefined;
                inline for (&r, 0..) |*x, lane| {
                    var values: Inputs(1) = undefined;
                    inline for (0..Body.arity) |k| values[k][0] = in[k][lane];
                    x.* = apply(a, values);
                }
                const to = &a.operands[0];
                element.Several(out, lanes).store(to.data, to.dtype, now.to, r, a.count - i);
                left -= 1;
                i += step;
                if (left == 0 or i >= a.count) return;
                if (looks_ahead) now = next;
            }
        }

        const bf16 = @intFromEnum(abi.DType.bfloat16);

        /// One row of bfloat16, of which a thread has two groups, read as one.
        inline fn are_bfloat16(a: *const Args) bool {
            const to, const from = .{ &a.operands[0], &a.operands[1] };
            const same = to.dtype == bf16 and from.dtype == bf16 and from.place == .memory;
            return same and a.rank == 1 and a.groups == 2 and (to.data | from.data) % 16 == 0;
        }

        inline fn short(a: *const Args) void {
            const V = element.Several(c, 2 * lanes);
            const i = (thread.block() * thread.threads() + thread.index()) * 2 * lanes;
            if (i >= a.count) return;
            var x = V.load(a.operands[1].data, bf16, i);
            inline for (&x) |*v| v.* = Body.of_bfloat16(v.*);
            V.store(a.operands[0].data, bf16, i, x, a.count - i);
        }

        inline fn group_at(a: *const Args, i: u32) Group {
            var rows: [Body.arity + 1]u32 = @splat(0);
            var inside = i;
            if (a.rank > 1) {
                var rest = a.sizes[0].divide(i);
                inside -= rest * a.sizes[0].size;
                for (1..a.rank) |d| {
                    const quotient = a.sizes[d].divide(rest);
                    const index = rest - quotient * a.sizes[d].size;
                    inline for (&rows, 0..) |*row, k| row.* +%= index *% @as(u32, @bitCast(a.operands[k].strides[d]));
                    rest = quotient;
                }
            }
            var in: Raws = undefined;
            inline for (0..Body.arity) |k| {
                const o = &a.operands[k + 1];
                const V = Operand(k);
                const row = rows[k + 1];
                in[k] = if (o.place == .memory)
                    V.fetch(o.data, o.dtype, row + inside)
                else
                    V.repeated(single(a, k, row));
            }
            return .{ .in = in, .to = rows[0] + inside };
        }

        inline fn single(a: *const Args, comptime k: usize, row: u32) dt.Computed(pw.in_of(Body, c, k)) {
            const o = &a.operands[k + 1];
            const A = element.Any(pw.in_of(Body, c, k));
            if (o.place == .single) return A.load(o.data, o.dtype, o.flags, @bitCast(row));
            const number: *const dt.Computed(pw.in_of(Body, c, k)) = @ptrCast(&a.numbers[k]);
            return number.*;
        }

        /// Any strides and dtypes.
        fn strided(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(1_000_000);
            var i = thread.block() * thread.threads() + thread.index();
            while (i < a.count) : (i += thread.blocks() * thread.threads()) {
                var offsets: [Body.arity + 1]i32 = @splat(0);
                var rest = i;
                for (0..a.rank) |d| {
                    const quotient = a.sizes[d].divide(rest);
                    const remainder: i32 = @intCast(rest - quotient * a.sizes[d].size);
                    inline for (&offsets, 0..) |*o, k| o.* += remainder * a.operands[k].strides[d];
                    rest = quotient;
                }
                var in: Inputs(1) = undefined;
                inline for (0..Body.arity) |k| {
                    const o = &a.operands[k + 1];
                    const A = element.Any(pw.in_of(Body, c, k));
                    const offset = offsets[k + 1];
                    in[k][0] = if (o.place != .number) A.load(o.data, o.dtype, o.flags, offset) else single(a, k, 0);
                }
                element.Any(out).store(a.operands[0].data, a.operands[0].dtype, offsets[0], apply(a, in));
            }
        }
    };
}

/// Whether a group has no more than 16 bytes of any operand, in its shortest dtype.
fn is_short(comptime Body: type, comptime c: Compute) bool {
    var widest: usize = shortest(pw.out_of(Body, c));
    for (0..Body.arity) |k| widest = @max(widest, shortest(pw.in_of(Body, c, k)));
    return lanes * widest <= 16;
}

fn shortest(comptime c: Compute) usize {
    var size: usize = 16;
    for (element.dense_dtypes(c)) |d| size = @min(size, @sizeOf(dt.Stored(d)));
    return size;
}

/// Whether GPUs compute bfloat16 in fewer steps.
fn has_short_form(comptime Body: type, comptime c: Compute) bool {
    return c == .f32 and @hasDecl(Body, "of_bfloat16") and @TypeOf(Body.of_bfloat16) != void;
}

/// Bodies with more than a few instructions.
fn is_long(comptime Body: type, comptime c: Compute) bool {
    if (c == .f32 and @hasDecl(Body, "is_short_on_gpu") and Body.is_short_on_gpu) return false;
    return (@hasDecl(Body, "heavy") and Body.heavy) or dt.is_complex(dt.Computed(c));
}

/// Compute types of copies that move bytes.
pub fn turns(c: Compute) bool {
    return c == .i32 or c == .i64 or c == .c128;
}

/// Exports the kernels of a family's bodies: `<family>_<name>_<compute>_<variant>`, and how many bytes they take.
pub fn exports(comptime family: []const u8, comptime Family: type) void {
    @setEvalBranchQuota(1_000_000);
    for (@typeInfo(Family).@"struct".decls) |decl| {
        const member = @field(Family, decl.name);
        if (@TypeOf(member) != type or @typeInfo(member) != .@"struct" or !@hasDecl(member, "apply")) continue;
        for (member.computes) |c| {
            const K = Kernels(member, c);
            const name = family ++ "_" ++ decl.name ++ "_" ++ @tagName(c);
            export_kernel(&K.dense, name ++ "_dense", K.Args);
            export_kernel(&K.strided, name ++ "_strided", K.Args);
            if (comptime std.mem.eql(u8, decl.name, "convert") and turns(c)) {
                export_kernel(&turned.Kernel(c).turned, name ++ "_turned", K.Args);
            }
        }
    }
}

/// The tool that names kernels makes the pointer an argument by value, of the size that stands beside it.
pub fn export_kernel(comptime kernel: anytype, comptime name: []const u8, comptime Args: type) void {
    @export(kernel, .{ .name = name });
    @export(&struct {
        const bytes: u64 = @sizeOf(Args);
    }.bytes, .{ .name = name ++ "$bytes" });
}

/// The same, for blocks of so many threads, of which a processor shall have room for some: the compiler gives them no
/// more registers than that leaves. Devices whose processors have fewer threads take no notice.
pub fn export_sized(
    comptime kernel: anytype,
    comptime name: []const u8,
    comptime Args: type,
    comptime threads: u64,
    comptime blocks: u64,
) void {
    export_kernel(kernel, name, Args);
    export_number(name ++ "$threads", threads);
    if (blocks > 1) export_number(name ++ "$blocks", blocks);
}

fn export_number(comptime name: []const u8, comptime n: u64) void {
    @export(&struct {
        const number: u64 = n;
    }.number, .{ .name = name });
}
