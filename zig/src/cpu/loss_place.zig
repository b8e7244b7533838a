//! What one place of a negative log likelihood does, on the CPU and on GPUs.
const abi = @import("abi");
const dt = @import("../core/dtype.zig");

/// `Elements` and `Classes`: pointers to elements of dtype `d`, and to int64.
pub fn Body(comptime d: abi.DType, comptime c: abi.Compute, comptime Elements: type, comptime Classes: type) type {
    return struct {
        const Self = @This();

        to: Elements,
        beside: Elements,
        target: Classes,
        from: Elements,
        weight: ?Elements,
        classes: usize,
        inner: usize,
        ignored: i64,
        single: bool,

        inline fn counts(b: *const Self, i: usize) bool {
            return b.target[i] != b.ignored;
        }

        /// Whether the class of a place is one of those that there are, or is ignored.
        pub inline fn has(b: *const Self, i: usize) bool {
            return !b.counts(i) or @as(u64, @bitCast(b.target[i])) < b.classes;
        }

        /// Where the place's class lies among all probabilities.
        inline fn at(b: *const Self, i: usize) usize {
            const class: usize = @intCast(b.target[i]);
            return (i / b.inner * b.classes + class) * b.inner + i % b.inner;
        }

        inline fn factor(b: *const Self, i: usize) dt.Computed(c) {
            const w = b.weight orelse return 1;
            return dt.load(d, c, w[@intCast(b.target[i])]);
        }

        pub inline fn forward(b: *const Self, i: usize) void {
            const there = b.counts(i);
            const w: dt.Computed(c) = if (there) b.factor(i) else 0;
            b.to[i] = dt.store(d, c, if (there) -dt.load(d, c, b.from[b.at(i)]) * w else 0);
            b.beside[i] = dt.store(d, c, w);
        }

        pub inline fn back(b: *const Self, i: usize) void {
            if (!b.counts(i)) return;
            const g = dt.load(d, c, b.beside[if (b.single) 0 else i]);
            b.to[b.at(i)] = dt.store(d, c, -b.factor(i) * g);
        }
    };
}
