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

    /// Whether this thread has an element, and which: a place that may not be there would lie in memory.
    pub inline fn has_own(g: *const Grid) bool {
        return number() < g.count;
    }

    pub inline fn own(g: *const Grid) Place {
        return g.place(number());
    }

    inline fn number() u32 {
        return thread.block() * thread.threads() + thread.index();
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
        // Number by number: one of two lists would have to lie in memory.
        const last = g.last != 0;
        const c = if (last) digits[0] else digits[3];
        const w = if (last) digits[1] else digits[0];
        const h = if (last) digits[2] else digits[1];
        const d = if (last) digits[3] else digits[2];
        return .{ .n = b[0] + rest, .c = b[1] + c, .s = .{ b[2] + d, b[3] + h, b[4] + w } };
    }
};
