//! Normalization by the mean and variance of rows or of channels, and its gradients, of dense operands. Elements may be
//! short floats; parameters and statistics are of the compute type. How work is cut depends on sizes alone.
const abi = @import("abi");
const fr = @import("../core/frame.zig");
const channel_loops = @import("normalization_channels.zig");
const row_loops = @import("normalization_rows.zig");

fn dispatched(comptime Loops: fn (comptime abi.DType) type, comptime name: []const u8, f: *fr.Frame) abi.Status {
    return switch (fr.view(f, 0).dtype) {
        inline .float32, .float64, .bfloat16, .float16 => |d| @field(Loops(d), name)(f),
        else => .unsupported,
    };
}

/// Operands: the result, rows x elements, the input, mean and 1 / deviation of the rows, weight, bias; the last two
/// may have no elements.
pub fn rows(f: *fr.Frame) abi.Status {
    return dispatched(row_loops.Rows, "forward", f);
}

/// Operands: the gradient of the input, that of weight and bias, that of the result, the input, mean and 1 / deviation,
/// weight. A gradient without elements is not wanted.
pub fn rows_backward(f: *fr.Frame) abi.Status {
    return dispatched(row_loops.Rows, "backward", f);
}

/// Operands: the result, outer x channels x inner, the input, mean and 1 / deviation of the channels, weight, bias,
/// running mean and variance; the last four may have no elements.
pub fn channels(f: *fr.Frame) abi.Status {
    return dispatched(channel_loops.Channels, "forward", f);
}

/// Operands as those of `rows_backward`.
pub fn channels_backward(f: *fr.Frame) abi.Status {
    return dispatched(channel_loops.Channels, "backward", f);
}
