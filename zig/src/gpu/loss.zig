//! Device code of the negative log likelihood: a thread for each place. See cpu/loss.zig.
const abi = @import("abi");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const fault = @import("fault.zig");
const place = @import("../cpu/loss_place.zig");
const thread = @import("thread.zig");

const Pointer = element.Pointer;

pub const Args = extern struct {
    to: u64,
    beside: u64,
    target: u64,
    from: u64,
    /// 0 where all classes weigh the same.
    weight: u64,
    record: u64,
    classes: u64,
    inner: u64,
    ignored: i64,
    /// Of the first place of this launch, among all.
    first: u64,
    count: u32,
    fault: u32,
    single: u32,
    dtype: u32,
};

fn Nll(comptime c: abi.Compute, comptime backward: bool) type {
    return struct {
        fn each(a: *const Args) callconv(.kernel) void {
            const i = thread.block() * thread.threads() + thread.index();
            if (i >= a.count) return;
            inline for (comptime if (c == .f64) &.{abi.DType.float64} else element.dense_dtypes(c)) |d| {
                if (a.dtype == @intFromEnum(d)) return of(d, a, a.first + i);
            }
        }

        inline fn of(comptime d: abi.DType, a: *const Args, i: u64) void {
            const P = Pointer(dt.Stored(d));
            const body: place.Body(d, c, P, Pointer(i64)) = .{
                .to = @ptrFromInt(a.to),
                .beside = @ptrFromInt(a.beside),
                .target = @ptrFromInt(a.target),
                .from = @ptrFromInt(a.from),
                .weight = if (a.weight == 0) null else @as(P, @ptrFromInt(a.weight)),
                .classes = a.classes,
                .inner = a.inner,
                .ignored = a.ignored,
                .single = a.single != 0,
            };
            if (!body.has(i)) return fault.tell(a.record, a.fault, body.target[i], 0, @intCast(a.classes));
            if (backward) body.back(i) else body.forward(i);
        }
    };
}

pub fn exports() void {
    for ([_]abi.Compute{ .f32, .f64 }) |c| {
        export_kernel(&Nll(c, false).each, "loss_nll_" ++ @tagName(c) ++ "_each", Args);
        export_kernel(&Nll(c, true).each, "loss_nll_backward_" ++ @tagName(c) ++ "_each", Args);
    }
}
