//! What the host hands to a kernel: one struct by value, which host and device compile from here.
const abi = @import("abi");

/// Dimensions that are left after merging; the host runs what has more as several launches.
pub const max_dims = 12;

/// Division of numbers below 2^31 by a constant: a product's high word, an addition and a shift.
pub const Divisor = extern struct {
    size: u32,
    magic: u32,
    shift: u32,

    pub fn of(size: u32) Divisor {
        var shift: u5 = 0;
        while ((@as(u64, 1) << shift) < size) shift += 1;
        const scaled = ((@as(u64, 1) << 32) * ((@as(u64, 1) << shift) - size)) / size + 1;
        return .{ .size = size, .magic = @truncate(scaled), .shift = shift };
    }

    pub inline fn divide(d: Divisor, n: u32) u32 {
        const high: u32 = @truncate((@as(u64, n) * d.magic) >> 32);
        return (high +% n) >> @truncate(d.shift);
    }
};

/// Where the elements of an operand are.
pub const Place = enum(u32) {
    /// By strides; in a dense call those of a row one after the other.
    memory = 0,
    /// One element in the device's memory for all; in a dense call for a row.
    single = 1,
    /// The number in the arguments.
    number = 2,
};

pub const Operand = extern struct {
    data: u64,
    dtype: u32,
    place: Place,
    /// Bits of abi.OperandFlag.
    flags: u32,
    strides: [max_dims]i32,
};

/// Groups of elements that a thread of a dense kernel takes of `elements`, by the bytes of one in the widest operand.
pub fn groups(bytes: usize, elements: usize) u32 {
    return if (bytes < 16 or (bytes == 16 and elements >= 1 << 22)) 2 else 1;
}

pub fn Pointwise(comptime operands: usize) type {
    return extern struct {
        operands: [operands]Operand,
        count: u32,
        rank: u32,
        /// Of a thread of the dense kernel.
        groups: u32,
        /// The innermost dimension first.
        sizes: [max_dims]Divisor,
        /// In the compute type of the operand; an input has the number of its operand less one.
        numbers: [operands - 1][2]u64,
        attrs: @FieldType(abi.Frame, "attrs"),
    };
}

test "division by a constant" {
    const std = @import("std");
    for ([_]u32{ 1, 2, 3, 5, 7, 10, 641, 65535, 65537, 1 << 30, (1 << 31) - 1 }) |d| {
        const divisor: Divisor = .of(d);
        for ([_]u32{ 0, 1, 2, 3, 9, 10, 6700417, 65536, (1 << 31) - 2, (1 << 31) - 1 }) |n| {
            try std.testing.expectEqual(n / d, divisor.divide(n));
        }
    }
}
