//! What the host hands to the kernels of random numbers.
const args = @import("args.zig");

pub const Fill = extern struct {
    out: args.Operand,
    /// Probabilities, where each element has its own.
    chance: args.Operand,
    count: u32,
    rank: u32,
    /// Neighbours that a thread has for dropout: 1, 2, 4 or 8.
    run: u32,
    /// The innermost dimension first.
    sizes: [args.max_dims]args.Divisor,
    seed: u64,
    /// In fours.
    place: u64,
    numbers: [4]f64,
    /// Where a probability that is none is told, and as which error.
    record: u64,
    fault: u32,
    from: i64,
    /// 0 for all of 64 bits.
    range: u64,
};

/// Rows of weights from which positions are drawn.
pub const Draw = extern struct {
    to: u64,
    weights: u64,
    sums: u64,
    /// A word for what is wrong with a row, null when nobody asks.
    wrong: u64,
    rows: u32,
    count: u32,
    samples: u32,
    reserved: u32 = 0,
    seed: u64,
    place: u64,
};
