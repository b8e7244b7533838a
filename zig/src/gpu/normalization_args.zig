//! What kernels of normalization are told. Addresses are 0 where there is nothing.
const Divisor = @import("args.zig").Divisor;

pub const threads = 256;
/// Columns that a block has side by side, and elements of rows up to which a warp is enough for one.
pub const columns = 32;
pub const warp_row = 1024;

pub const Args = extern struct {
    to: u64,
    from: u64,
    grad: u64,
    mean: u64,
    scale: u64,
    weight: u64,
    bias: u64,
    /// Gradients of weights and biases.
    weights: u64,
    biases: u64,
    running: [2]u64,
    /// Of each channel: what elements are multiplied by, what is added, and the share of what they differ by.
    factors: u64,
    levels: u64,
    slopes: u64,
    /// What each part of a channel's elements came to.
    sums: u64,
    /// The first row or element of this launch, and how many there are in all.
    first: u64,
    count: u64,
    /// Elements of a row; elements are outer x channels x inner, and each weight's are a channel.
    n: u64,
    outer: u64,
    channels: u64,
    inner: u64,
    /// Rows whose weights follow each other, and weights of one.
    groups: u64,
    per: u64,
    by_inner: Divisor,
    by_channels: Divisor,
    /// Parts of a channel, and elements of one.
    parts: u32,
    dtype: u32,
    part: u64,
    /// More elements than 32 bits count.
    wide: u32,
    centered: u32,
    training: u32,
    rounded: u32,
    /// Mean and deviation are those of rows.
    by_row: u32,
    unused: u32 = 0,
    eps: f64,
    momentum: f64,

    pub inline fn over_inner(a: *const Args, i: u64) u64 {
        if (a.inner == 1) return i;
        return if (a.wide != 0) i / a.inner else a.by_inner.divide(@truncate(i));
    }

    pub inline fn over_channels(a: *const Args, i: u64) u64 {
        return if (a.wide != 0) i / a.channels else a.by_channels.divide(@truncate(i));
    }
};
