//! Building blocks of the math functions: every helper takes a scalar float or a vector of floats, so that
//! the formulas above them are written once for CPU vectors and for one GPU thread.
const std = @import("std");
const builtin = @import("builtin");

const is_x86 = builtin.cpu.arch == .x86_64;
pub const on_gpu = builtin.cpu.arch == .nvptx64;
pub const has_fma = if (is_x86) std.Target.x86.featureSetHas(builtin.cpu.features, .fma) else true;
/// AVX-512 with its 128- and 256-bit forms; the inline assembly below is used nowhere else. Zig's own backend (Debug
/// builds) does not know these instructions.
pub const has_avx512 = is_x86 and builtin.zig_backend == .stage2_llvm and
    std.Target.x86.featureSetHas(builtin.cpu.features, .avx512vl);

pub fn is_vector(comptime V: type) bool {
    return @typeInfo(V) == .vector;
}
pub fn Element(comptime V: type) type {
    return if (is_vector(V)) @typeInfo(V).vector.child else V;
}
pub fn lanes(comptime V: type) comptime_int {
    return if (is_vector(V)) @typeInfo(V).vector.len else 1;
}
/// V with another element type.
pub fn With(comptime V: type, comptime E: type) type {
    return if (is_vector(V)) @Vector(lanes(V), E) else E;
}
/// The signed integer (vector) as wide as V's element.
pub fn Int(comptime V: type) type {
    return With(V, std.meta.Int(.signed, @bitSizeOf(Element(V))));
}
pub fn Mask(comptime V: type) type {
    return With(V, bool);
}
pub inline fn is_f64(comptime V: type) bool {
    return Element(V) == f64;
}

pub inline fn c(comptime V: type, comptime x: comptime_float) V {
    // All the inline calls count in the function that the compiler is at; this raises the limit there.
    @setEvalBranchQuota(1_000_000);
    return if (comptime is_vector(V)) @splat(x) else x;
}
pub inline fn ci(comptime V: type, comptime x: comptime_int) Int(V) {
    return if (comptime is_vector(V)) @splat(x) else x;
}
pub inline fn infinity(comptime V: type) V {
    const x = std.math.inf(Element(V));
    return if (comptime is_vector(V)) @splat(x) else x;
}
pub inline fn not_a_number(comptime V: type) V {
    const x = std.math.nan(Element(V));
    return if (comptime is_vector(V)) @splat(x) else x;
}
pub inline fn select(m: anytype, a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    @setEvalBranchQuota(1_000_000);
    const V = @TypeOf(a);
    return if (comptime is_vector(V)) @select(Element(V), m, a, b) else (if (m) a else b);
}
pub inline fn both(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    return if (comptime is_vector(@TypeOf(a))) a & b else a and b;
}
pub inline fn either(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    return if (comptime is_vector(@TypeOf(a))) a | b else a or b;
}
pub inline fn not(a: anytype) @TypeOf(a) {
    return if (comptime is_vector(@TypeOf(a))) ~a else !a;
}
pub inline fn any(m: anytype) bool {
    return if (comptime is_vector(@TypeOf(m))) @reduce(.Or, m) else m;
}
pub inline fn is_nan(x: anytype) Mask(@TypeOf(x)) {
    return x != x;
}
pub inline fn as_int(x: anytype) Int(@TypeOf(x)) {
    return @bitCast(x);
}
pub inline fn shift_left(i: anytype, comptime n: comptime_int) @TypeOf(i) {
    const I = @TypeOf(i);
    const S = std.math.Log2Int(Element(I));
    return if (comptime is_vector(I)) i << @as(@Vector(lanes(I), S), @splat(n)) else i << n;
}
pub inline fn shift_right(i: anytype, comptime n: comptime_int) @TypeOf(i) {
    const I = @TypeOf(i);
    const S = std.math.Log2Int(Element(I));
    return if (comptime is_vector(I)) i >> @as(@Vector(lanes(I), S), @splat(n)) else i >> n;
}

/// a * b + d: fused where the target has the instruction, two roundings elsewhere (a fused result would be a
/// library call per lane there).
pub inline fn fma(a: anytype, b: @TypeOf(a), d: @TypeOf(a)) @TypeOf(a) {
    return if (comptime has_fma) @mulAdd(@TypeOf(a), a, b, d) else a * b + d;
}
/// Polynomial with coefficients from the highest power down.
pub inline fn horner(x: anytype, comptime k: []const comptime_float) @TypeOf(x) {
    const V = @TypeOf(x);
    var p = c(V, k[0]);
    inline for (k[1..]) |v| p = fma(p, x, c(V, v));
    return p;
}
/// The smaller of x and k in one instruction; unlike @min a NaN stays NaN.
pub inline fn min_const(x: anytype, comptime k: comptime_float) @TypeOf(x) {
    const V = @TypeOf(x);
    return select(c(V, k) < x, c(V, k), x);
}
pub inline fn max_const(x: anytype, comptime k: comptime_float) @TypeOf(x) {
    const V = @TypeOf(x);
    return select(c(V, k) > x, c(V, k), x);
}
pub inline fn copysign(x: anytype, s: @TypeOf(x)) @TypeOf(x) {
    const V = @TypeOf(x);
    const m = ci(V, std.math.minInt(Element(Int(V))));
    return @bitCast((as_int(x) & ~m) | (as_int(s) & m));
}
/// x with its sign flipped where s is negative.
pub inline fn xor_sign(x: anytype, s: @TypeOf(x)) @TypeOf(x) {
    const V = @TypeOf(x);
    return @bitCast(as_int(x) ^ (as_int(s) & ci(V, std.math.minInt(Element(Int(V))))));
}
pub inline fn sign_bit(x: anytype) Mask(@TypeOf(x)) {
    return as_int(x) < ci(@TypeOf(x), 0);
}

pub inline fn mantissa_bits(comptime V: type) comptime_int {
    return if (is_f64(V)) 52 else 23;
}
pub inline fn exponent_bias(comptime V: type) comptime_int {
    return if (is_f64(V)) 1023 else 127;
}
/// Adding this number leaves the nearest integer (ties to even) in the low mantissa bits.
pub fn round_magic(comptime V: type) comptime_float {
    return if (is_f64(V)) 6755399441055744.0 else 12582912.0;
}
pub fn Rounded(comptime V: type) type {
    return struct {
        value: V,
        /// The sum with the magic number: the integer plus the exponent bias is in its low bits.
        biased: V,
        pub inline fn int(n: @This()) Int(V) {
            return as_int(n.biased) -% ci(V, bits_of(V, round_magic(V) + exponent_bias(V)));
        }
        /// 2^n, for n in the normal exponent range: the bits above the exponent fall off.
        pub inline fn pow2(n: @This()) V {
            return @bitCast(shift_left(as_int(n.biased), mantissa_bits(V)));
        }
    };
}
fn bits_of(comptime V: type, comptime x: comptime_float) comptime_int {
    return @as(Element(Int(V)), @bitCast(@as(Element(V), x)));
}
/// The integer nearest to x * k, as float and as int; |x * k| < 2^21 (f32) or 2^50 (f64).
pub inline fn round_times(x: anytype, comptime k: comptime_float) Rounded(@TypeOf(x)) {
    const V = @TypeOf(x);
    const magic = comptime round_magic(V) + exponent_bias(V);
    const t = fma(x, c(V, k), c(V, magic));
    return .{ .value = t - c(V, magic), .biased = t };
}
/// 2^n for n in the normal exponent range.
pub inline fn pow2(comptime V: type, n: Int(V)) V {
    return @bitCast(shift_left(n +% ci(V, exponent_bias(V)), mantissa_bits(V)));
}

fn asm_name(comptime V: type, comptime base: []const u8) []const u8 {
    return base ++ (if (is_vector(V)) "p" else "s") ++ (if (is_f64(V)) "d" else "s");
}
/// Whether one AVX-512 register form holds V.
pub inline fn fits_avx512(comptime V: type) bool {
    if (!has_avx512) return false;
    const bits = lanes(V) * @bitSizeOf(Element(V));
    return !is_vector(V) or bits == 128 or bits == 256 or bits == 512;
}
inline fn asm_unary(comptime base: []const u8, comptime imm: []const u8, x: anytype) @TypeOf(x) {
    const V = @TypeOf(x);
    const scalar_operand = if (comptime is_vector(V)) "" else "%[x], ";
    return asm (asm_name(V, base) ++ " " ++ imm ++ "%[x], " ++ scalar_operand ++ "%[r]"
        : [r] "=v" (-> V),
        : [x] "v" (x),
    );
}
/// y * 2^n with one rounding, n integral, |n| < 2 * bias.
pub inline fn scale(y: anytype, n: Rounded(@TypeOf(y))) @TypeOf(y) {
    const V = @TypeOf(y);
    if (comptime fits_avx512(V)) {
        return asm (asm_name(V, "vscalef") ++ " %[n], %[y], %[r]"
            : [r] "=v" (-> V),
            : [n] "v" (n.value),
              [y] "v" (y),
        );
    }
    // Two factors, as 2^n itself may be out of range. The larger part first: only the last product rounds.
    const int = n.int();
    const half = shift_right(int, 1);
    return (y * pow2(V, half)) * pow2(V, int -% half);
}
/// floor(log2 |x|) as a float: -inf at 0, inf at inf, denormals too.
pub inline fn get_exponent(x: anytype) @TypeOf(x) {
    return asm_unary("vgetexp", "", x);
}
/// The mantissa of x > 0 in [1, 2); NaN for x < 0.
pub inline fn get_mantissa(x: anytype) @TypeOf(x) {
    return asm_unary("vgetmant", "$8, ", x);
}
/// h / (1 + h) for -1/2 <= h <= 0; the rounding of 1 + h does not reach the result.
pub inline fn over_one_plus(h: anytype) @TypeOf(h) {
    const V = @TypeOf(h);
    const d = h + c(V, 1.0);
    if (comptime (fits_avx512(V) and !is_f64(V))) {
        // An estimate of 14 bits and one step of refinement, far cheaper than the division.
        const r = asm_unary("vrcp14", "", d);
        const q = h * r;
        return fma(fma(-h, q, h - q), r, q);
    }
    // For the correction a line through 1/d is near enough.
    const q = h / d;
    return fma(fma(-h, q, h - q), fma(d, c(V, -32.0 / 17.0), c(V, 48.0 / 17.0)), q);
}
/// a / (d + tail) for 1 <= d <= 2 and a tail below one ulp of d.
pub inline fn divide_tail(a: anytype, d: @TypeOf(a), tail: @TypeOf(a)) @TypeOf(a) {
    const V = @TypeOf(a);
    if (comptime (fits_avx512(V) and !is_f64(V))) {
        const r = asm_unary("vrcp14", "", d);
        const q = a * r;
        return fma(fma(-tail, q, fma(-d, q, a)), r, q);
    }
    const q = a / d;
    return fma(q * tail, fma(d, c(V, 8.0 / 17.0), c(V, -24.0 / 17.0)), q);
}

/// An unevaluated sum hi + lo of two floats.
pub fn Double(comptime V: type) type {
    return struct { hi: V, lo: V };
}
/// a + b exactly, |a| >= |b|.
pub inline fn fast_two_sum(a: anytype, b: @TypeOf(a)) Double(@TypeOf(a)) {
    const s = a + b;
    return .{ .hi = s, .lo = b - (s - a) };
}
pub inline fn two_sum(a: anytype, b: @TypeOf(a)) Double(@TypeOf(a)) {
    const s = a + b;
    const t = s - a;
    return .{ .hi = s, .lo = (a - (s - t)) + (b - t) };
}
/// a * b exactly (barring overflow and underflow).
pub inline fn two_product(a: anytype, b: @TypeOf(a)) Double(@TypeOf(a)) {
    @setEvalBranchQuota(1_000_000);
    const V = @TypeOf(a);
    const p = a * b;
    if (comptime has_fma) return .{ .hi = p, .lo = @mulAdd(V, a, b, -p) };
    const x = split(a);
    const y = split(b);
    return .{ .hi = p, .lo = ((x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo };
}
inline fn split(a: anytype) Double(@TypeOf(a)) {
    const V = @TypeOf(a);
    // Clearing the low half of the mantissa leaves two parts whose products are exact.
    const low_bits = if (comptime is_f64(V)) 27 else 12;
    const hi: V = @bitCast(as_int(a) & ci(V, -(1 << low_bits)));
    return .{ .hi = hi, .lo = a - hi };
}
