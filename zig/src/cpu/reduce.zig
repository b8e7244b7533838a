//! Reductions of values: sum, prod, max, min over any dimensions of any layout. Float sums are pairwise over blocks.
//! The operators are those of reduce_ops.zig; reduce_inner.zig makes their loops, reduce_driver.zig runs them.
//!
//! Operand 0 has size one where operand 1 is reduced. Attribute 0: divide the results by attribute 1.
const abi = @import("abi");
const driver = @import("reduce_driver.zig");
const fr = @import("../core/frame.zig");
const inner = @import("reduce_inner.zig");
const ops = @import("reduce_ops.zig");

pub const arg_max = @import("reduce_arg.zig").arg_max;
pub const arg_min = @import("reduce_arg.zig").arg_min;
pub const moments = @import("reduce_moments.zig").moments;
pub const isclose = @import("reduce_close.zig").isclose;
pub const equal = @import("reduce_close.zig").equal;

pub const sum = kernel(ops.sum);
pub const prod = kernel(ops.prod);
pub const max = kernel(ops.max);
pub const min = kernel(ops.min);
pub const sum_sizes = kernel(ops.sum_sizes);
pub const sum_squares = kernel(ops.sum_squares);
pub const sum_presences = kernel(ops.sum_presences);
pub const sum_numbers = kernel(ops.sum_numbers);
pub const max_size = kernel(ops.max_size);
pub const min_size = kernel(ops.min_size);

fn kernel(comptime Op: type) fn (*fr.Frame) abi.Status {
    return struct {
        const loops = inner.loops(Op);
        fn call(f: *fr.Frame) abi.Status {
            return driver.run(&loops, f);
        }
    }.call;
}
