//! Device code of products with a vector: each element of the matrix is read once, so that memory decides. What lies
//! along the sum is read by a warp for each row, what lies along the rows by the lanes of a warp, a row each.
const abi = @import("abi");
const args = @import("matmul_args.zig");
const elements = @import("matmul_elements.zig");
const thread = @import("thread.zig");

const Product = args.Product;
const moved = elements.moved;

const warps = args.threads / thread.warp;

/// The right factor has one column.
pub fn Vector(comptime c: abi.Compute) type {
    const A = elements.Arithmetic(c);
    const P = elements.Pieces(c);
    const wide: u32 = P.wide;

    return struct {
        var parts: [warps][thread.warp]A.T addrspace(.shared) = undefined;

        pub fn run(a: *const Product) callconv(.kernel) void {
            @setEvalBranchQuota(100_000);
            const z = thread.block_z();
            const first = z % a.splits * a.k_each;
            const end = @min(a.k, first + a.k_each);
            const batch = z / a.splits;
            if (a.a.along == .inner) by_warp(a, batch, first, end) else by_lane(a, batch, first, end);
        }

        inline fn by_warp(a: *const Product, batch: u32, first: u32, end: u32) void {
            const row = thread.block() * warps + thread.index() / thread.warp;
            // All of the warp has the same row.
            if (row >= a.m) return;
            const left = moved(moved(a.a.data, a.a.batch, batch), a.a.outer, row);
            const right = moved(a.b.data, a.b.batch, batch);
            var sum = A.zero;
            var k = first + thread.lane() * wide;
            while (k < end) : (k += thread.warp * wide) {
                const count: i32 = @intCast(end - k);
                const x = P.read(a.a.whole, a.a.dtype, moved(left, a.a.inner, k), a.a.inner, count);
                const y = P.read(a.b.whole, a.b.dtype, moved(right, a.b.inner, k), a.b.inner, count);
                inline for (x, y) |v, w| sum = A.multiply_add(v, w, sum);
            }
            inline for (.{ 16, 8, 4, 2, 1 }) |far| sum = A.add(sum, thread.exchanged(sum, far));
            if (thread.lane() == 0) elements.Output(c, 1).write(a, .{sum}, row, 0, thread.block_z());
        }

        inline fn by_lane(a: *const Product, batch: u32, first: u32, end: u32) void {
            const lane = thread.lane();
            const part = thread.index() / thread.warp;
            const row = thread.block() * thread.warp + lane;
            var sum = A.zero;
            if (row < a.m) {
                const left = moved(moved(a.a.data, a.a.batch, batch), a.a.outer, row);
                const right = moved(a.b.data, a.b.batch, batch);
                var k = first + part;
                while (k < end) : (k += warps) {
                    const x = elements.One(c).load(a.a.dtype, moved(left, a.a.inner, k));
                    const y = elements.One(c).load(a.b.dtype, moved(right, a.b.inner, k));
                    sum = A.multiply_add(x, y, sum);
                }
            }
            parts[part][lane] = sum;
            thread.barrier();
            if (part != 0 or row >= a.m) return;
            inline for (1..warps) |i| sum = A.add(sum, parts[i][lane]);
            elements.Output(c, 1).write(a, .{sum}, row, 0, thread.block_z());
        }
    };
}
