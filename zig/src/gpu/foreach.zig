//! Device code of steps over lists of tensors: a block for each few elements of a member. See cpu/foreach.zig.
const std = @import("std");
const abi = @import("abi");
const args = @import("foreach_args.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const steps = @import("../cpu/foreach_steps.zig");
const thread = @import("thread.zig");

const Args = args.Args;
const Member = args.Member;
const Compute = abi.Compute;
const lanes = 4;

fn Kernel(comptime Step: type, comptime c: Compute) type {
    const T = dt.Computed(c);
    const count = Step.streams;
    return struct {
        fn each(a: *const Args) callconv(.kernel) void {
            @setEvalBranchQuota(100_000);
            const block = thread.block();
            const m = &element.pointer_to(Member, a.members)[element.pointer_to(u32, a.owners)[block]];
            inline for (comptime element.dense_dtypes(c)) |d| {
                if (m.dtype == @intFromEnum(d)) return of(d, a, m, (block - m.first) * a.chunk);
            }
        }

        inline fn of(comptime d: abi.DType, a: *const Args, m: *addrspace(.global) const Member, from: u64) void {
            // What is written could be the arguments, for all that the compiler knows: of a copy it knows better.
            const attrs = a.attrs;
            const numbers: steps.Numbers = .{ .attrs = &attrs, .facts = m.facts };
            const left: u32 = @intCast(@min(a.chunk, m.count - from));
            var data: [count]u64 = undefined;
            inline for (&data, 0..) |*x, k| x.* = m.data[k] + from * @sizeOf(dt.Stored(d));
            if (m.aligned != 0) several(d, &data, left, numbers);
            one_by_one(d, &data, if (m.aligned != 0) left / lanes * lanes else 0, left, numbers);
        }

        inline fn several(comptime d: abi.DType, data: *const [count]u64, left: u32, numbers: steps.Numbers) void {
            @setEvalBranchQuota(100_000);
            const V = element.Known(d, c, lanes);
            var i = thread.index() * lanes;
            // Whole groups alone: with a part of one the last lane is computed apart, which LLVM does not survive.
            while (i + lanes <= left) : (i += thread.threads() * lanes) {
                var x: [count][lanes]T = undefined;
                inline for (&x, data) |*to, from| to.* = V.load(from, i);
                inline for (0..lanes) |lane| {
                    var own: [count]T = undefined;
                    inline for (&own, 0..) |*to, k| to.* = x[k][lane];
                    Step.apply(rounding(d), numbers, &own);
                    inline for (own, 0..) |from, k| x[k][lane] = from;
                }
                inline for (x, data, 0..) |from, to, k| {
                    if (k != 1) V.store(to, i, from, lanes);
                }
            }
        }

        inline fn one_by_one(
            comptime d: abi.DType,
            data: *const [count]u64,
            begin: u32,
            left: u32,
            numbers: steps.Numbers,
        ) void {
            @setEvalBranchQuota(100_000);
            const S = dt.Stored(d);
            var i = begin + thread.index();
            while (i < left) : (i += thread.threads()) {
                var x: [count]T = undefined;
                inline for (&x, data) |*to, from| to.* = dt.load(d, c, element.pointer_to(S, from)[i]);
                Step.apply(rounding(d), numbers, &x);
                inline for (x, data, 0..) |from, to, k| {
                    if (k != 1) element.pointer_to(S, to)[i] = dt.store(d, c, from);
                }
            }
        }

        fn rounding(comptime d: abi.DType) steps.Rounding {
            return switch (d) {
                .bfloat16 => .bf16,
                .float16 => .f16,
                else => .none,
            };
        }
    };
}

/// Numbers of steps that the device has: one more was taken, a thread each.
fn Count(comptime Step: type) type {
    return struct {
        fn each(a: *const Args) callconv(.kernel) void {
            const i = thread.block() * thread.threads() + thread.index();
            if (i >= a.count) return;
            const m = &element.pointer_to(Member, a.members)[i];
            if (m.step == 0) return;
            var taken: f64 = undefined;
            if (m.step_dtype == @intFromEnum(abi.DType.float64)) {
                const n = &element.pointer_to(f64, m.step)[0];
                n.* += 1;
                taken = n.*;
            } else {
                const n = &element.pointer_to(f32, m.step)[0];
                n.* += 1;
                taken = n.*;
            }
            m.facts = Step.facts(&a.attrs, taken);
        }
    };
}

/// How a kernel's bodies are called, in the order of their numbers.
pub fn exports_of(comptime name: []const u8, comptime variants: []const []const u8, comptime Steps: anytype) void {
    for (Steps, 0..) |Step, i| {
        for ([_]Compute{ .f32, .f64 }) |c| {
            const path = "foreach_" ++ name ++ "_" ++ @tagName(c) ++ "_" ++ variants[i];
            export_kernel(&Kernel(Step, c).each, path, Args);
        }
    }
    if (Steps[0].steps) export_kernel(&Count(Steps[0]).each, "foreach_" ++ name ++ "_f64_count", Args);
}

pub fn exports() void {
    inline for (steps.kernels) |k| exports_of(k.name, k.variants, k.bodies);
}
