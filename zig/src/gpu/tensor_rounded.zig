//! How factors come to shared memory that matrix units of capability 9.0 multiply as tf32. They read them there with
//! the terms of a sum side by side, and do not round: so factors pass through registers, a slice ahead, where they are
//! rounded, and where blocks of four by four are turned if the factor lies across the sum.
const std = @import("std");
const args = @import("matmul_args.zig");
const group = @import("warp_group.zig");
const moved = @import("matmul_elements.zig").moved;
const thread = @import("thread.zig");
const warp = @import("warp_matrix.zig");

const Along = args.Along;

/// Threads that bring the terms of a row together, and rows that all bring at once.
const pieces = group.row_bytes / 16;
const lines = args.threads / pieces;

/// A thread's part of slices of a factor.
pub fn Carrier(comptime along: Along, comptime side: u32) type {
    // Rows of a thread, with four terms of each; where they lie side by side so many of them are read at once.
    const rows: u32 = side / lines;
    const wide: u32 = @min(4, rows);

    return struct {
        const Self = @This();

        pub const Values = [rows][4]u32;

        at: u64,
        left: i32,
        k: i32,
        to: u32,

        pub inline fn of(f: *const args.Factor, first: u32, count: u32, batch: u32, term: u32) Self {
            const t = thread.index();
            // Four lanes have 16 terms, eight have neighbours in memory: stores then go to different banks.
            const which = if (along == .inner) t % pieces else t % 4 + t / thread.warp % 2 * 4;
            const outer = if (along == .inner) t / pieces else (t / (2 * thread.warp) * 8 + t % thread.warp / 4) * wide;
            const start = moved(moved(f.data, f.batch, batch), f.outer, first + outer);
            return .{
                .at = moved(start, f.inner, term + which * 4),
                .left = @as(i32, @intCast(count)) - @as(i32, @intCast(first + outer)),
                .k = @intCast(which * 4),
                .to = group.piece(outer, which),
            };
        }

        /// Starts to read the next slice, of whose terms `k` are left; zeros where the factor ends.
        pub inline fn fetch(s: *Self, f: *const args.Factor, k: i32) Values {
            var r: Values = undefined;
            const terms = k - s.k;
            if (along == .inner) {
                inline for (&r, 0..) |*x, u| {
                    const is_there = terms > 0 and s.left > @as(i32, u * lines);
                    x.* = warp.load_words(4, moved(s.at, f.outer, u * lines), is_there);
                }
            } else inline for (0..rows / wide) |u| inline for (0..4) |i| {
                const is_there = terms > @as(i32, i) and s.left > @as(i32, u * lines * wide);
                const from = moved(moved(s.at, f.outer, u * lines * wide), f.inner, i);
                const x = warp.load_words(wide, from, is_there);
                inline for (x, 0..) |v, row| r[u * wide + row][i] = v;
            };
            s.at +%= @bitCast(f.ahead);
            return r;
        }

        pub inline fn put(s: *const Self, to: u32, values: *const Values) void {
            inline for (values, 0..) |x, u| {
                var r: [4]u32 = undefined;
                inline for (&r, x) |*v, from| v.* = warp.to_tf32(from);
                const place = to + s.to;
                // Neighbouring rows exchange their pieces by the lowest bits of their numbers.
                const n: u32 = u;
                const row = if (along == .inner) n * lines else n / wide * (lines * wide) + n % wide;
                const exchanged = if (along == .inner) place else place ^ (n % wide * 16);
                warp.store_16(exchanged + row * group.row_bytes, r);
            }
        }
    };
}
