//! Results that kernels do not write where they are to be: computed in memory of their own, then copied there.
const abi = @import("abi");
const combine = @import("../cpu/index_combine.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const launch = @import("launch.zig");
const memory = @import("memory.zig");
const pointwise = @import("launch_pointwise.zig");

const Call = launch.Call;
const Failure = launch.Failure;

/// Runs a plan that writes all elements of its first operand and reads none: with one without gaps or flags. What is
/// read through flags later is copied through them.
pub fn run(c: *const Call, plan: *const fn (c: *const Call) Failure!void) Failure!void {
    const result = fr.operand(c.frame, 0);
    const place = result.*;
    const v = fr.view(c.frame, 0);
    const elements = v.numel();
    if (elements == 0) return;
    const block = try c.scratch(elements * dt.size_of(v.dtype));
    defer memory.release(block);
    result.data = @floatFromInt(block.address);
    result.flags = 0;
    var step: f64 = 1;
    var d = v.rank;
    while (d > 0) {
        d -= 1;
        result.strides[d] = step;
        step *= result.shape[d];
    }
    const sequential = c.frame.sequential;
    c.frame.sequential = 0;
    try plan(c);
    c.frame.sequential = sequential;
    c.frame.compute = @floatFromInt(@intFromEnum(combine.type_of(v.dtype)));
    const made = fr.operand(c.frame, 1);
    made.* = result.*;
    made.flags = place.flags;
    result.* = place;
    result.flags = 0;
    var copies = c.*;
    copies.kernel = pointwise.convert_kernel;
    try pointwise.run(&copies);
}
