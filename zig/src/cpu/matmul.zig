//! Matrix products over frame operands of any strides: 0 receives the product of 1 and 2, one matrix each or a batch.
//! Attributes 0 and 1 are alpha, 2 and 3 beta (real and imaginary parts); with beta other than zero operand 3 is added,
//! or what operand 0 holds when there are no more than three.
const std = @import("std");
const abi = @import("abi");
const abi_matmul = @import("abi_matmul");
const fr = @import("../core/frame.zig");
const dt = @import("../core/dtype.zig");
const half = @import("../core/half.zig");
const parallel = @import("../core/parallel.zig");
const float = @import("gemm.zig");
const generic = @import("gemm_generic.zig");
const Product = @import("matmul_frame.zig").Product;

const Half = struct {
    pub inline fn load(x: u16) f32 {
        return half.f16_to_f32(@as(f16, @bitCast(x)));
    }
    pub inline fn store(x: f32) u16 {
        return @bitCast(half.f32_to_f16(x));
    }
};

const Bfloat = struct {
    pub inline fn load(x: u16) f32 {
        return half.bf16_to_f32(x);
    }
    pub inline fn store(x: f32) u16 {
        return half.f32_to_bf16(x);
    }
};

/// C = beta * C + alpha * A * B.
pub fn gemm(f: *fr.Frame) abi.Status {
    const p = Product.of(f) orelse return fr.fail(f, .bad_argument, &.{0});
    if (p.batch == 0 or p.m == 0 or p.n == 0) return .ok;
    switch (p.dtype) {
        .float32 => floats(f32, f, &p),
        .float64 => floats(f64, f, &p),
        .float16 => batches(u16, Half, f, &p),
        .bfloat16 => batches(u16, Bfloat, f, &p),
        .uint8, .int8 => batches(u8, void, f, &p),
        .int16 => batches(i16, void, f, &p),
        .int32 => batches(i32, void, f, &p),
        .int64 => batches(i64, void, f, &p),
        .complex64 => batches(dt.Complex(f32), void, f, &p),
        .complex128 => batches(dt.Complex(f64), void, f, &p),
        else => return .unsupported,
    }
    return .ok;
}

fn floats(comptime T: type, f: *fr.Frame, p: *const Product) void {
    const alpha: T = @floatCast(fr.attr(f, abi_matmul.MatmulAttr.alpha));
    const beta: T = @floatCast(fr.attr(f, abi_matmul.MatmulAttr.beta));
    const sc, const sa, const sb, const sd = p.strides;
    const one: float.Problem(T) = .{
        .m = p.m,
        .n = p.n,
        .k = p.k,
        .alpha = alpha,
        .a = p.at(T, 1, 0),
        .rsa = sa[1],
        .csa = sa[2],
        .b = p.at(T, 2, 0),
        .rsb = sb[1],
        .csb = sb[2],
        .beta = beta,
        .d = p.at(T, 3, 0),
        .rsd = sd[1],
        .csd = sd[2],
        .c = p.at(T, 0, 0),
        .rsc = sc[1],
        .csc = sc[2],
    };
    if (p.batch == 1) return float.gemm(T, one);
    float.gemm_batched(T, p.batch, one, .{ sa[0], sb[0], sc[0], sd[0] });
}

/// What beta multiplies, put where the kernels that add to the result find it.
fn begin_with(comptime T: type, p: *const Product, i: usize) void {
    const c, const d = .{ p.at(T, 0, i), p.at(T, 3, i) };
    if (c == d) return;
    const sc, const sd = .{ p.strides[0], p.strides[3] };
    for (0..p.m) |r| for (0..p.n) |q| {
        float.at(c, float.span(r, sc[1]) + float.span(q, sc[2]))[0] =
            float.at(d, float.span(r, sd[1]) + float.span(q, sd[2]))[0];
    };
}

/// The factors alpha and beta as elements of T; integers arrive as whole numbers in range.
fn factor(comptime T: type, re: f64, im: f64) T {
    if (comptime dt.is_complex(T)) {
        const Real = @FieldType(T, "re");
        return .{ .re = @as(Real, @floatCast(re)), .im = @as(Real, @floatCast(im)) };
    }
    return dt.integer(T, re);
}

fn batches(comptime T: type, comptime Convert: type, f: *fr.Frame, p: *const Product) void {
    const Job = struct {
        p: *const Product,
        factors: [4]f64,

        fn run(j: @This(), begin: usize, end: usize) void {
            for (begin..end) |i| one(j.p, j.factors, i);
        }

        fn one(q: *const Product, factors: [4]f64, i: usize) void {
            const c, const a, const b = .{ q.at(T, 0, i), q.at(T, 1, i), q.at(T, 2, i) };
            const sc, const sa, const sb, _ = q.strides;
            const starts = factors[abi_matmul.MatmulAttr.beta] != 0 or factors[abi_matmul.MatmulAttr.beta + 1] != 0;
            if (starts) begin_with(T, q, i);
            if (Convert != void) {
                const alpha: f32 = @floatCast(factors[abi_matmul.MatmulAttr.alpha]);
                const beta: f32 = @floatCast(factors[abi_matmul.MatmulAttr.beta]);
                const m, const n, const k = .{ q.m, q.n, q.k };
                _, const a1, const a2 = sa;
                _, const b1, const b2 = sb;
                _, const c1, const c2 = sc;
                return generic.gemm_half(Convert, m, n, k, alpha, a, a1, a2, b, b1, b2, beta, c, c1, c2);
            }
            const alpha = factor(T, factors[abi_matmul.MatmulAttr.alpha], factors[abi_matmul.MatmulAttr.alpha + 1]);
            const beta = factor(T, factors[abi_matmul.MatmulAttr.beta], factors[abi_matmul.MatmulAttr.beta + 1]);
            generic.gemm_generic(T, q.m, q.n, q.k, alpha, a, sa[1], sa[2], b, sb[1], sb[2], beta, c, sc[1], sc[2]);
        }
    };
    const job: Job = .{ .p = p, .factors = f.attrs[0..4].* };
    const work = @max(1, p.m *| p.n *| p.k);
    // Few and big: the threads share each product. Many and small: each thread takes whole products.
    if (p.batch < 8 and work > 1 << 18) return Job.run(job, 0, p.batch);
    parallel.parallel_for(p.batch, @max(1, (1 << 15) / work), job, Job.run);
}
