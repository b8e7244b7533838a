//! Matrix multiplication for f32 and f64: C = beta * D + alpha * A * B, any strides. The way to compute is chosen
//! by shape alone and every element is summed in a fixed order, so results do not depend on the number of threads.

const parallel = @import("../core/parallel.zig");
const kernels = @import("gemm_kernel.zig");
const plan = @import("gemm_plan.zig");
const vector = @import("gemm_vector.zig");
const inner = @import("gemm_inner.zig");
const direct = @import("gemm_direct.zig").direct;
const blocked = @import("gemm_blocked.zig").blocked;
pub const at = kernels.at;
pub const span = kernels.span;
const Tile = kernels.Tile;
pub const Problem = plan.Problem;

/// C = beta * D + alpha * A * B for m x k times k x n. rs* and cs* are the strides, in elements, from one row and
/// from one column to the next; they may be negative or zero (not zero for C). D may be C; beta = 0 does not read it,
/// alpha = 0 or k = 0 does not read A and B. C must not overlap A or B, nor D other than being it.
pub fn gemm(comptime T: type, given: Problem(T)) void {
    var p = given;
    if (p.m == 0 or p.n == 0) return;
    if (p.k == 0 or p.alpha == 0) return scale(T, &p);
    if (p.m == 1) p = p.transposed();
    if (p.n == 1) {
        p = p.begun();
        return vector.gemv(T, p.m, p.k, p.alpha, p.a, p.rsa, p.csa, p.b, p.rsb, p.beta, p.c, p.rsc);
    }
    for ([2]Problem(T){ p, p.transposed() }) |q| if (inner.suits(T, &q)) return inner.inner(T, &q);
    if (should_transpose(T, &p)) p = p.transposed();
    if (is_direct(T, &p)) return direct(T, &p);
    blocked(T, &p);
}

/// `batch` products of one shape; the steps are the strides between one matrix and the next of A, B, C and D.
pub fn gemm_batched(comptime T: type, batch: usize, p: Problem(T), steps: [4]isize) void {
    if (p.m == 0 or p.n == 0) return;
    const Batch = struct {
        p: Problem(T),
        steps: [4]isize,

        fn run(s: *const @This(), begin: usize, end: usize) void {
            var one = s.p;
            for (begin..end) |i| {
                one.a = at(s.p.a, span(i, s.steps[0]));
                one.b = at(s.p.b, span(i, s.steps[1]));
                one.c = at(s.p.c, span(i, s.steps[2]));
                one.d = at(s.p.d, span(i, s.steps[3]));
                gemm(T, one);
            }
        }
    };
    const s: Batch = .{ .p = p, .steps = steps };
    const work = @max(p.work(), p.m *| p.n);
    // A few big products: the threads share each of them. Otherwise each thread takes whole products.
    if (batch < 2 * @as(usize, parallel.num_threads()) and work >= 16 * plan.task_work) return Batch.run(&s, 0, batch);
    parallel.parallel_for(batch, @max(1, plan.task_work / work), &s, Batch.run);
}

/// C = beta * D.
fn scale(comptime T: type, p: *const Problem(T)) void {
    if (p.beta == 1 and p.in_place()) return;
    for (0..p.m) |i| for (0..p.n) |j| {
        const x = at(p.c, span(i, p.rsc) + span(j, p.csc));
        x[0] = if (p.beta == 0) 0 else at(p.d, span(i, p.rsd) + span(j, p.csd))[0] * p.beta;
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

/// Small or thin: packing A would cost more than it gains.
fn is_direct(comptime T: type, p: *const Problem(T)) bool {
    const tile = Tile(T);
    if (@min(p.m, p.n) <= tile.columns) return true;
    return p.work() <= 320 * 320 * 320 and p.m * p.k * @sizeOf(T) <= 400 * 1024;
}

test {
    _ = @import("gemm_test.zig");
}
