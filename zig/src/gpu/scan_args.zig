//! What the host hands to the kernels of a scan.
const Compute = @import("abi").Compute;
const Dims = @import("dims.zig").Dims;

/// Threads of a block.
pub const threads = 256;
/// Elements that lie together and belong to one thread of the kernel for lines without gaps: what threads have to tell
/// each other is the same for many of them.
pub fn lanes(compute: Compute) u32 {
    return if (compute == .c128) 4 else 8;
}

/// Rows that a thread of the kernel for neighbouring lines has on its way.
pub const together = 4;

/// Bytes that a total takes at most.
pub const widest_state = 16;

pub const Args = extern struct {
    src: u64,
    dst: [2]u64,
    src_dtype: u32,
    src_flags: u32,
    dst_dtype: u32,
    /// Elements of a part, and their number; part n is the work of block row n, or of one of its threads.
    step: u32,
    parts: u32,
    /// A line has 2^group threads of a block, which are neighbours, or, where each has a part of its own, 2^across
    /// threads apart.
    group: u32,
    across: u32,
    /// Only what each part comes to is wanted.
    totals: u32,
    /// Where that goes or comes from, a row of lines for each part; 0: a line is one part.
    partials: u64,
    /// Elements of a line.
    count: u64,
    /// Bytes from an element of a line to the next, in the source and in what is written.
    along: [3]i64,
    /// Lines.
    kept: Dims(3),
};
