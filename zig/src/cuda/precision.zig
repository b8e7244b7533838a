//! How exact products of float32 matrices have to be: a setting of the process, for all threads.
const std = @import("std");
const abi_cuda = @import("abi_cuda");

const Precision = abi_cuda.MatmulPrecision;

var chosen: std.atomic.Value(u32) = .init(@intFromEnum(Precision.highest));

pub fn zs_cuda_set_matmul_precision(number: u32) callconv(.c) void {
    const asked = std.enums.fromInt(Precision, number) orelse return;
    chosen.store(@intFromEnum(asked), .monotonic);
}

pub fn zs_cuda_matmul_precision() callconv(.c) u32 {
    return chosen.load(.monotonic);
}

/// Whether float32 factors may be rounded to ten bits of a fraction; sums stay in float32.
pub fn allows_tf32() bool {
    return zs_cuda_matmul_precision() != @intFromEnum(Precision.highest);
}
