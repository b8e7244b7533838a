//! Matrix multiplication for f32 and f64: C = beta * C + alpha * A * B, any strides. The way to compute is chosen
//! by shape alone and every element is summed in a fixed order, so results do not depend on the number of threads.

const parallel = @import("../core/parallel.zig");
const kernels = @import("gemm_kernel.zig");
const plan = @import("gemm_plan.zig");
const vector = @import("gemm_vector.zig");
const direct = @import("gemm_direct.zig").direct;
const blocked = @import("gemm_blocked.zig").blocked;
const at = kernels.at;
const span = kernels.span;
const Tile = kernels.Tile;
const Problem = plan.Problem;

/// C = beta * C + alpha * A * B for m x k times k x n. rs* and cs* are the strides, in elements, from one row and
/// from one column to the next; they may be negative or zero (not zero for C). beta = 0 does not read C, alpha = 0
/// or k = 0 does not read A and B. C must not overlap A or B.
pub fn gemm(
    comptime T: type,
    m: usize,
    n: usize,
    k: usize,
    alpha: T,
    a: [*]const T,
    rsa: isize,
    csa: isize,
    b: [*]const T,
    rsb: isize,
    csb: isize,
    beta: T,
    c: [*]T,
    rsc: isize,
    csc: isize,
) void {
    var p: Problem(T) = .{
        .m = m,
        .n = n,
        .k = k,
        .alpha = alpha,
        .a = a,
        .rsa = rsa,
        .csa = csa,
        .b = b,
        .rsb = rsb,
        .csb = csb,
        .beta = beta,
        .c = c,
        .rsc = rsc,
        .csc = csc,
    };
    if (m == 0 or n == 0) return;
    if (k == 0 or alpha == 0) return scale(T, &p);
    if (m == 1) p = p.transposed();
    if (p.n == 1) return vector.gemv(T, p.m, k, alpha, p.a, p.rsa, p.csa, p.b, p.rsb, beta, p.c, p.rsc);
    if (should_transpose(T, &p)) p = p.transposed();
    if (is_dots(T, &p)) {
        return vector.dots(T, p.m, p.n, k, alpha, p.a, p.rsa, p.b, p.csb, beta, p.c, p.rsc, p.csc);
    }
    if (is_direct(T, &p)) return direct(T, &p);
    blocked(T, &p);
}

/// `batch` products of one shape; bsa, bsb, bsc are the strides between one matrix and the next.
pub fn gemm_batched(
    comptime T: type,
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    alpha: T,
    a: [*]const T,
    bsa: isize,
    rsa: isize,
    csa: isize,
    b: [*]const T,
    bsb: isize,
    rsb: isize,
    csb: isize,
    beta: T,
    c: [*]T,
    bsc: isize,
    rsc: isize,
    csc: isize,
) void {
    if (m == 0 or n == 0) return;
    const Batch = struct {
        p: Problem(T),
        bsa: isize,
        bsb: isize,
        bsc: isize,

        fn run(s: *const @This(), begin: usize, end: usize) void {
            const p = &s.p;
            for (begin..end) |i| gemm(
                T,
                p.m,
                p.n,
                p.k,
                p.alpha,
                at(p.a, span(i, s.bsa)),
                p.rsa,
                p.csa,
                at(p.b, span(i, s.bsb)),
                p.rsb,
                p.csb,
                p.beta,
                at(p.c, span(i, s.bsc)),
                p.rsc,
                p.csc,
            );
        }
    };
    const s: Batch = .{ .bsa = bsa, .bsb = bsb, .bsc = bsc, .p = .{
        .m = m,
        .n = n,
        .k = k,
        .alpha = alpha,
        .a = a,
        .rsa = rsa,
        .csa = csa,
        .b = b,
        .rsb = rsb,
        .csb = csb,
        .beta = beta,
        .c = c,
        .rsc = rsc,
        .csc = csc,
    } };
    const work = @max(s.p.work(), m *| n);
    // A few big products: the threads share each of them. Otherwise each thread takes whole products.
    if (batch < 2 * @as(usize, parallel.num_threads()) and work >= 16 * plan.task_work) return Batch.run(&s, 0, batch);
    parallel.parallel_for(batch, @max(1, plan.task_work / work), &s, Batch.run);
}

/// C = beta * C.
fn scale(comptime T: type, p: *const Problem(T)) void {
    if (p.beta == 1) return;
    for (0..p.m) |i| for (0..p.n) |j| {
        const x = at(p.c, span(i, p.rsc) + span(j, p.csc));
        x[0] = if (p.beta == 0) 0 else x[0] * p.beta;
    };
}

/// Vector stores want contiguous rows of C. A long thin operand is best read where it lies, and only the direct
/// way's A is read in any layout: put it there unless its rows already suit B.
fn should_transpose(comptime T: type, p: *const Problem(T)) bool {
    const thin = Tile(T).columns;
    if (p.m <= thin and p.n >= 4 * p.m) return p.rsb == 1 and p.csb != 1;
    if (p.n <= thin and p.m >= 4 * p.n) return p.csa != 1 and p.rsa == 1;
    return p.rsc == 1 and p.csc != 1;
}

/// A few long columns against long rows: both lie as dot products want them, and tiles would be mostly empty.
fn is_dots(comptime T: type, p: *const Problem(T)) bool {
    return p.csa == 1 and p.rsb == 1 and p.csb != 1 and p.n <= Tile(T).lanes and p.n <= 8 and
        p.m >= 4 * p.n and p.k >= 8 * Tile(T).lanes;
}

/// Small or thin: packing A would cost more than it gains.
fn is_direct(comptime T: type, p: *const Problem(T)) bool {
    const tile = Tile(T);
    if (@min(p.m, p.n) <= tile.columns) return true;
    return p.work() <= 320 * 320 * 320 and p.m * p.k * @sizeOf(T) <= 400 * 1024;
}

test {
    _ = @import("gemm_test.zig");
}
