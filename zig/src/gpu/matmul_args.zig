//! What the host hands to the kernels of matrix products.

/// Threads of a block.
pub const threads = 256;

/// The direction in which a thread of a block takes neighbouring elements of a factor.
pub const Along = enum(u32) {
    /// What is summed: columns of the left factor, rows of the right one.
    inner = 0,
    /// Rows or columns of the result.
    outer = 1,
};

/// A factor; steps are in bytes.
pub const Factor = extern struct {
    data: u64,
    batch: i64,
    outer: i64,
    inner: i64,
    /// From one element to the next in the direction in which a thread takes them, and from one slice of the sum to the
    /// next: what stands here costs a thread no registers.
    next: i64,
    ahead: i64,
    dtype: u32,
    along: Along,
    /// 1 when elements in that direction have no gaps and 16 bytes of the compute type can be read at once.
    whole: u32,
    reserved: u32 = 0,
};

/// The result, or what beta multiplies; steps are in bytes.
pub const Matrix = extern struct {
    data: u64,
    batch: i64,
    row: i64,
    column: i64,
    dtype: u32,
    /// 1 when the elements of a row can be written several at once.
    whole: u32,
};

pub const Product = extern struct {
    a: Factor,
    b: Factor,
    c: Matrix,
    d: Matrix,
    m: u32,
    n: u32,
    k: u32,
    /// Blocks that share a sum; each takes `k_each` of it, and has a result of its own.
    splits: u32,
    k_each: u32,
    tile_rows: u32,
    tile_columns: u32,
    /// 1 when beta times `d` is added.
    starts: u32,
    /// In the compute type.
    alpha: [2]u64,
    beta: [2]u64,
};

/// Rows of a block of a product with a vector, whose rows lie one after the other in memory or across it.
pub fn vector_rows(along: Along) u32 {
    return if (along == .inner) threads / 32 else 32;
}

/// How tiles are cut for elements of so many bytes. A thread has `groups` times `wide` rows and as many columns of the
/// result, in pieces of `wide` that lie 16 such pieces apart, so that shared memory is read in 16 bytes without
/// conflicts of banks.
pub const Shape = struct {
    groups: u32,
    wide: u32,

    pub fn of(bytes: u32, groups: u32) Shape {
        return .{ .groups = groups, .wide = @max(1, 16 / bytes) };
    }
    /// Rows and columns of a block's part of the result.
    pub fn side(s: Shape) u32 {
        return 16 * s.wide * s.groups;
    }
    /// Of a sum at a time: each thread then brings one piece of each factor.
    pub fn depth(s: Shape) u32 {
        return 16 / s.groups;
    }
};

/// Elements of a factor that a thread reads at once, and terms of a sum that are in shared memory at a time.
pub const Reads = struct { wide: u32, depth: u32 };

/// What matrix units multiply. tf32 is float32 in memory.
pub const Kind = enum {
    bfloat16,
    float16,
    tf32,
    float64,

    pub fn size(kind: Kind) u32 {
        return switch (kind) {
            .bfloat16, .float16 => 2,
            .tf32 => 4,
            .float64 => 8,
        };
    }
    /// Pieces of 16 bytes, and four of them a row; eight of doubles.
    pub fn reads(kind: Kind) Reads {
        return .{ .wide = 16 / kind.size(), .depth = if (kind == .float64) 16 else 64 / kind.size() };
    }
    /// Results that are written at once.
    pub fn results(kind: Kind) u32 {
        return if (kind == .float64) 2 else 4;
    }
    /// Shared memory of a tile that the launch says, which is more than a kernel can have by itself.
    pub fn shared_bytes(kind: Kind, side: u32) u32 {
        return if (kind == .float64) tensor_stages * 2 * side * kind.reads().depth * kind.size() else 0;
    }
};

/// Rows and columns of a block's part of the result.
pub const tensor_sides = [2]u32{ 128, 64 };
/// Slices in shared memory.
pub const tensor_stages = 3;

/// A tile of groups of warps, which have 64 rows each.
pub const Tile = struct {
    rows: u32,
    columns: u32,

    /// Slices in shared memory. Those of small tiles are multiplied sooner: more of them have to be on their way.
    pub fn stages(t: Tile, kind: Kind) u32 {
        if (kind == .tf32) return 3;
        return switch (t.columns) {
            256 => 4,
            128 => 6,
            else => 8,
        };
    }

    pub fn slice_bytes(t: Tile) u32 {
        return (t.rows + t.columns) * 128;
    }

    pub fn shared_bytes(t: Tile, kind: Kind) u32 {
        return t.stages(kind) * t.slice_bytes();
    }

    /// Cycles that 128 bytes of terms take in so many tiles at once. Units multiply 32 results of a column of terms a
    /// cycle; the cache gives a processor 64 bytes a cycle, and less when all of them read.
    pub fn cycles(t: Tile, count: u64, processors: u64) u64 {
        const bytes: u64 = t.slice_bytes();
        return @max(t.rows * t.columns / 32, bytes / 64, count * bytes / (24 * processors));
    }
};

/// The tiles of GPUs of capability 9.0, whose units read shared memory themselves.
pub const Group = struct {
    pub const kinds = [_]Kind{ .bfloat16, .float16, .tf32 };
    /// The sizes of tiles. What they read is what takes most of their time: the more the larger they are.
    pub const tiles = [_]Tile{
        .{ .rows = 128, .columns = 256 },
        .{ .rows = 128, .columns = 128 },
        .{ .rows = 128, .columns = 64 },
    };
    /// Terms that are worth a block of their own.
    pub const least_terms = 1024;

    /// A row of a slice has 128 bytes.
    pub fn reads(kind: Kind) Reads {
        return .{ .wide = 16 / kind.size(), .depth = 128 / kind.size() };
    }
    /// Kernels by how the left and the right factor lie, inwards or outwards: their letters.
    pub const variants = [_][]const u8{ "ii", "io", "oi", "oo" };

    pub fn variant(a: Along, b: Along) usize {
        return @intFromEnum(a) * 2 + @intFromEnum(b);
    }
};
