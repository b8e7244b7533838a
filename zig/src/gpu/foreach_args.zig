//! What a step over lists of tensors is told: members lie in the device's memory, as many as there are.

pub const most_streams = 5;

/// One tensor of each list.
pub const Member = extern struct {
    data: [most_streams]u64,
    count: u64,
    /// Its first block.
    first: u32,
    dtype: u32,
    /// Several elements can be read at once.
    aligned: u32,
    /// Of the number of steps, where the device has it.
    step_dtype: u32,
    step: u64,
    /// What follows from how many steps were taken.
    facts: [2]f64,
};

pub const Args = extern struct {
    /// `Member` each, and for each block the number of one.
    members: u64,
    owners: u64,
    /// Elements of a block.
    chunk: u64,
    /// Members in all.
    count: u32,
    attrs: [32]f64,
};
