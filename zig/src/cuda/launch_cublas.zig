//! Which products NVIDIA's library is asked for, and in which form.
const std = @import("std");
const abi = @import("abi");
const cublas = @import("cublas.zig");
const cublas_lt = @import("cublas_lt.zig");
const dt = @import("../core/dtype.zig");
const launch = @import("launch.zig");
const matmul = @import("launch_matmul.zig");
const problem = @import("matmul_problem.zig");

const Problem = problem.Problem;

/// Multiplications from which on a call of the library is worth it.
const least_work = 32 * 32 * 32;
/// What this module's other kernels count in 32 bits, and layers of a launch.
const most = @import("pieces.zig").most_elements;
const most_layers = 65535;

/// False when the product is left to the own kernels.
pub fn run(call: *const launch.Call, p: *const Problem) launch.Failure!bool {
    if (p.k == 0 or p.m *| p.n *| p.k *| p.batch < least_work) return false;
    if (p.m > most or p.n > most or p.m * p.n > most or p.batch > most_layers) return false;
    if (!cublas.takes(p.dtype)) return false;
    const c = factor(p, Problem.c, p.m, p.n) orelse return false;
    if (!c.by_rows or (p.batch > 1 and c.batch == 0)) return false;
    const starts = p.starts();
    const alpha, const beta = .{ problem.number(p.compute, p.alpha), problem.number(p.compute, p.beta) };
    const product: cublas.Product = .{
        .dtype = p.dtype,
        .batch = p.batch,
        .m = p.m,
        .n = p.n,
        .k = p.k,
        .a = factor(p, Problem.a, p.m, p.k) orelse return false,
        .b = factor(p, Problem.b, p.k, p.n) orelse return false,
        .c = c,
        .alpha = &alpha,
        .beta = &beta,
    };
    if (row_of(p)) |row| {
        if (cublas_lt.multiply(&product, row, call.device.index, call.stream)) return true;
    }
    const beside = starts and p.data[Problem.d] != p.data[Problem.c];
    if (beside) try matmul.begin(call, p);
    if (cublas.multiply(&product, call.device.index, call.stream)) return true;
    // The result holds what beta multiplies, or is what it was: the own kernels can begin from either.
    return false;
}

/// Where the row is that is added to each row of the result, if that is what is asked for: as `linear` has a bias.
fn row_of(p: *const Problem) ?u64 {
    const s = p.strides[Problem.d];
    const real = p.compute == .f32 or p.compute == .f64;
    if (!real or p.beta[0] != 1 or p.beta[1] != 0 or p.batch != 1 or p.m == 1 or p.n == 1) return null;
    return if (s[1] == 0 and s[2] == p.size) p.data[Problem.d] else null;
}

/// As the library can read it: rows or columns without gaps, the others at least as far apart as they are long.
fn factor(p: *const Problem, which: usize, rows: u64, columns: u64) ?cublas.Factor {
    const s = p.strides[which];
    const batch = if (p.batch == 1) 0 else @divExact(s[0], p.size);
    for ([_]bool{ true, false }) |by_rows| {
        const along, const across = if (by_rows) .{ s[2], s[1] } else .{ s[1], s[2] };
        const length, const count = if (by_rows) .{ columns, rows } else .{ rows, columns };
        if (length > 1 and along != p.size) continue;
        const step = if (count == 1) @as(i64, @intCast(length)) else @divExact(across, p.size);
        if (step < length) continue;
        return .{ .data = p.data[which], .by_rows = by_rows, .step = step, .batch = batch };
    }
    return null;
}
