//! Attention by blocks of keys with a running softmax: of scores, those of some queries and keys exist at a time.
//! Operands are batch x heads x positions x features; several heads of queries may share one of keys and values.
const std = @import("std");
const abi = @import("abi");
const backward_loops = @import("attention_backward.zig");
const forward_loops = @import("attention_forward.zig");
const fr = @import("../core/frame.zig");

/// Operands: the result, the logarithms of the sums, queries, keys, values, and a mask unless it has no elements.
pub fn forward(f: *fr.Frame) abi.Status {
    return switch (fr.view(f, 0).dtype) {
        .float64 => forward_loops.Forward(f64).run(f),
        .float32, .bfloat16, .float16 => forward_loops.Forward(f32).run(f),
        else => .unsupported,
    };
}

/// Operands: the gradients of queries, keys and values, that of the result, queries, keys, values, the result, the
/// logarithms of the sums, and a mask unless it has no elements.
pub fn backward(f: *fr.Frame) abi.Status {
    return switch (fr.view(f, 0).dtype) {
        .float64 => backward_loops.Backward(f64).run(f),
        .float32, .bfloat16, .float16 => backward_loops.Backward(f32).run(f),
        else => .unsupported,
    };
}
