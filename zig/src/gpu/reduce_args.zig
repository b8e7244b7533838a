//! What the host hands to the kernels of a reduction.
const Dims = @import("dims.zig").Dims;

/// Threads of a block.
pub const threads = 256;

/// Blocks next to each other of a launch whose last block joins the parts.
pub const most_blocks = 1024;
/// Streams whose launches may do so at the same time.
pub const counter_rows = 16;
pub const no_counters: u32 = 0xffff_ffff;

/// Bytes that a partial result takes at most.
pub const widest_state = 32;

pub const Args = extern struct {
    src: u64,
    dst: [2]u64,
    src_dtype: u32,
    src_flags: u32,
    dst_dtype: [2]u32,
    /// Dimensions that stay: distances in the source, and in what is written.
    kept: Dims(3),
    reduced: Dims(1),
    /// An output has 2^group threads of a block. They are neighbours, or they are 2^across threads apart: then the
    /// neighbours of a thread work on other outputs.
    group: u32,
    across: u32,
    /// Reduced elements in a part: part n of an output is the work of block row n.
    step: u32,
    /// Where partial results go and come from, a row of outputs for each part; 0: there are none.
    partials: u64,
    /// Parts of launches before this one, and of all.
    first_part: u32,
    all_parts: u32,
    /// Where the blocks of this launch count, or `no_counters`: a second launch joins.
    counters: u32,
    /// The place of the first reduced element among those of all launches.
    position: i64,
    attrs: [2]f64,
};
