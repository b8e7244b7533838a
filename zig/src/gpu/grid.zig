//! A thread for each element of a batch of planes: which one it has. Neighbours are neighbours in memory.
const args = @import("args.zig");
const thread = @import("thread.zig");

/// Batch, channel, and three indices in a plane.
pub const Place = struct { n: usize, c: usize, s: [3]usize };

pub const Grid = extern struct {
    count: u32,
    /// Channels lie beside each other.
    last: u32,
    /// The innermost dimension first; the batch takes what is left.
    sizes: [4]args.Divisor,
    /// Of this launch, among all: batch, channel, and three in a plane.
    begin: [5]usize,

    /// This thread's element.
    pub inline fn own(g: *const Grid) ?Place {
        const i = thread.block() * thread.threads() + thread.index();
        return if (i < g.count) g.place(i) else null;
    }

    pub inline fn place(g: *const Grid, i: u32) Place {
        var rest = i;
        var digits: [4]usize = undefined;
        inline for (&digits, 0..) |*digit, d| {
            const quotient = g.sizes[d].divide(rest);
            digit.* = rest - quotient * g.sizes[d].size;
            rest = quotient;
        }
        const b = &g.begin;
        const c, const w, const h, const d = if (g.last != 0)
            .{ digits[0], digits[1], digits[2], digits[3] }
        else
            .{ digits[3], digits[0], digits[1], digits[2] };
        return .{ .n = b[0] + rest, .c = b[1] + c, .s = .{ b[2] + d, b[3] + h, b[4] + w } };
    }
};
