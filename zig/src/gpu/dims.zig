//! Dimensions as reductions and scans walk them: a number is cut into indices, which give distances in bytes. Those
//! count in 64 bits, so that only the number of elements of a launch is bounded.
const args = @import("args.zig");

pub const max_rank = args.max_dims;

/// Elements of one launch.
pub const most_elements = 1 << 30;

/// Distances for `operands` operands.
pub fn Dims(comptime operands: usize) type {
    return extern struct {
        const Self = @This();

        rank: u32,
        /// Elements in all.
        count: u32,
        /// The innermost dimension first.
        sizes: [max_rank]args.Divisor,
        /// Bytes from an element to the next.
        steps: [operands][max_rank]i64,

        /// Where element `n` of an operand is, from its first.
        pub inline fn offset(d: *const Self, comptime operand: usize, n: u32) u64 {
            return d.offsets(&.{operand}, n)[0];
        }

        /// `offset` of operand 0 in at most two dimensions; in one, the first size is the number of elements.
        pub inline fn near(d: *const Self, n: u32) u64 {
            const outer = d.sizes[0].divide(n);
            const inner = n - outer * d.sizes[0].size;
            return @bitCast(@as(i64, inner) * d.steps[0][0] + @as(i64, outer) * d.steps[0][1]);
        }

        /// The same of several operands.
        pub inline fn offsets(d: *const Self, comptime which: []const usize, n: u32) [which.len]u64 {
            var at: [which.len]i64 = @splat(0);
            var rest = n;
            if (d.rank == 0) return @splat(0);
            // The outermost dimension takes what is left: one that is alone costs no division.
            for (0..d.rank - 1) |i| {
                const quotient = d.sizes[i].divide(rest);
                const index: i64 = @intCast(rest - quotient * d.sizes[i].size);
                inline for (&at, which) |*x, k| x.* += index * d.steps[k][i];
                rest = quotient;
            }
            var found: [which.len]u64 = undefined;
            inline for (&found, at, which) |*to, x, k| {
                to.* = @bitCast(x + @as(i64, @intCast(rest)) * d.steps[k][d.rank - 1]);
            }
            return found;
        }
    };
}
