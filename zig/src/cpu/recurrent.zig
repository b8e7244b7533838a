//! A recurrent layer in one direction: all steps, from what the input contributes to the gates. Examples do not depend
//! on each other, so that threads take some of them through all steps. Operands are dense.
const abi = @import("abi");
const abi_recurrent = @import("abi_recurrent");
const fr = @import("../core/frame.zig");
const backward_steps = @import("recurrent_backward.zig");
const forward_steps = @import("recurrent_forward.zig");

pub const Mode = abi_recurrent.RecurrentMode;

fn dispatched(comptime Steps: fn (comptime T: type, comptime mode: Mode) type, f: *fr.Frame) abi.Status {
    const number = fr.attr_int(f, abi_recurrent.RecurrentAttr.mode);
    if (number < 0 or number > 3) return .bad_argument;
    const given: Mode = @enumFromInt(@as(u8, @intCast(number)));
    return switch (given) {
        inline else => |mode| switch (fr.view(f, 0).dtype) {
            .float32 => Steps(f32, mode).run(f),
            .float64 => Steps(f64, mode).run(f),
            else => .unsupported,
        },
    };
}

/// Operands: the outputs, steps x batch x hidden, the last hidden state and the last cell, what the gradients need of
/// the gates, the cells; what the input contributes to the gates, the first hidden state and cell, the weight, and what
/// is added to the hidden part of the new state. Cells are those of LSTM, the last operand is that of GRU.
pub fn forward(f: *fr.Frame) abi.Status {
    return dispatched(forward_steps.Forward, f);
}

/// Operands: the gradients of what the input contributes, of what the hidden state does (GRU), of the first hidden
/// state and cell; those of the outputs, of the last hidden state and cell; gates, cells, outputs, the first hidden
/// state and cell, the weight.
pub fn backward(f: *fr.Frame) abi.Status {
    return dispatched(backward_steps.Backward, f);
}
