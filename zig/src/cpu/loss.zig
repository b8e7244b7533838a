//! The negative log likelihood: what the class that each place has costs, and its gradient. Operands are dense.
//!   0  a loss for each place (forward); the gradient of all probabilities, which holds zeros (backward)
//!   1  the weight of each place (forward); the gradient of each place's loss, or one for all (backward)
//!   2  the class of each place, int64: shape [rows, inner]
//!   3  the logarithms of probabilities, shape [rows, classes, inner] (forward)
//!   4  a weight for each class, where operand 1 or 3 says that there is one
const std = @import("std");
const abi = @import("abi");
const abi_loss = @import("abi_loss");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const parallel = @import("../core/parallel.zig");
const place = @import("loss_place.zig");

/// Places worth handing to another thread.
const grain = 4096;

pub fn nll(f: *fr.Frame) abi.Status {
    return typed(f, false);
}

pub fn nll_backward(f: *fr.Frame) abi.Status {
    return typed(f, true);
}

fn typed(f: *fr.Frame, comptime backward: bool) abi.Status {
    return switch (fr.view(f, 0).dtype) {
        .float32 => Places(.float32, .f32, backward).run(f),
        .float64 => Places(.float64, .f64, backward).run(f),
        .bfloat16 => Places(.bfloat16, .f32, backward).run(f),
        .float16 => Places(.float16, .f32, backward).run(f),
        else => .unsupported,
    };
}

fn Places(comptime d: abi.DType, comptime c: abi.Compute, comptime backward: bool) type {
    const T = dt.Stored(d);
    const Body = place.Body(d, c, [*]align(1) T, [*]align(1) const i64);
    return struct {
        const Self = @This();

        body: Body,
        /// The first place whose class there is not.
        bad: std.atomic.Value(usize) = .init(none),

        const none = std.math.maxInt(usize);

        fn run(f: *fr.Frame) abi.Status {
            const target = fr.view(f, 2);
            const count = target.numel();
            const classes = fr.to_usize(f.attrs[abi_loss.NllAttr.classes]);
            const inner = fr.to_usize(f.attrs[abi_loss.NllAttr.inner]);
            const weighted = fr.attr_bool(f, abi_loss.NllAttr.weighted);
            const single = fr.attr_bool(f, abi_loss.NllAttr.single);
            if (target.dtype != .int64 or inner == 0 or count % inner != 0) return .bad_argument;
            if (fr.view(f, if (backward) 0 else 3).numel() != count * classes) return .bad_argument;
            if (fr.view(f, 1).numel() != (if (single) 1 else count)) return .bad_argument;
            if (!backward and fr.view(f, 0).numel() != count) return .bad_argument;
            if (weighted and fr.view(f, 4).numel() != classes) return .bad_argument;
            var job: Self = .{ .body = .{
                .to = @ptrCast(fr.view(f, 0).data),
                .beside = @ptrCast(fr.view(f, 1).data),
                .target = @ptrCast(target.data),
                .from = if (backward) undefined else @ptrCast(fr.view(f, 3).data),
                .weight = if (weighted) @ptrCast(fr.view(f, 4).data) else null,
                .classes = classes,
                .inner = inner,
                .ignored = fr.attr_int(f, abi_loss.NllAttr.ignored),
                .single = single,
            } };
            // Nothing is written before every class was found to be there.
            parallel.parallel_for(count, grain, &job, check);
            const at = job.bad.load(.acquire);
            if (at != none) {
                f.detail[0] = @floatFromInt(job.body.target[at]);
                return .index_out_of_bounds;
            }
            parallel.parallel_for(count, grain, &job, part);
            return .ok;
        }

        fn check(job: *Self, begin: usize, end: usize) void {
            for (begin..end) |i| if (!job.body.has(i)) {
                _ = job.bad.fetchMin(i, .release);
                return;
            };
        }

        fn part(job: *Self, begin: usize, end: usize) void {
            for (begin..end) |i| if (backward) job.body.back(i) else job.body.forward(i);
        }
    };
}
