//! What the host hands to the kernels of sequences.
pub const Range = extern struct {
    data: u64,
    /// Of this launch, and in all.
    first: u64,
    total: u64,
    count: u32,
    dtype: u32,
    /// Bits of integers, or of the real and imaginary parts; the end of `arange` is its step.
    start: [2]u64,
    end: [2]u64,
    base: f64,
    powers: u32,
    reserved: u32 = 0,
};
