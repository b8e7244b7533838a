//! What the host hands to the kernels of softmax and its relatives.
const Divisor = @import("args.zig").Divisor;

pub const Args = extern struct {
    /// The result and what is read.
    data: [3]u64,
    dtype: u32,
    lines: u32,
    /// Elements of a line.
    size: u64,
    /// Neighbouring lines that begin next to each other, and bytes between such sets of lines.
    inner: Divisor,
    outer_step: u64,
    /// Bytes from an element of a line to the next.
    step: u64,
    /// A line has 2^group threads of a block. They are neighbours, or they are 2^across threads apart: then the
    /// neighbours of a thread work on other lines.
    group: u32,
    across: u32,
};

/// The logarithm of the most threads of a line, and of a block.
pub const most_group = 9;
/// Threads of a block, unless a line needs more.
pub const threads = 256;

/// Values that a thread of the kernel for short lines holds of each operand.
pub fn held(size: usize, operands: usize) usize {
    const values: usize = if (size == 8) 16 else 32;
    return values / (operands - 1);
}
