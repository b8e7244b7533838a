//! The functions that PyTorch's distributions take on a GPU, in the same sequence of operations, so that the same words
//! make the same bits: in f32 the approximations of the hardware, and for a normal number's length a logarithm that is
//! computed; in f64 what CUDA computes. Nothing else may use them: pointwise operators give the CPU's bits. Arguments
//! are those of the distributions alone, so that what is not finite, not normal or large has no code.
const std = @import("std");

pub fn Functions(comptime T: type) type {
    return if (T == f64) doubles else singles;
}

/// The first coefficient belongs to the highest power.
inline fn polynomial(comptime T: type, x: T, comptime bits: []const std.meta.Int(.unsigned, @bitSizeOf(T))) T {
    var r: T = @bitCast(bits[0]);
    inline for (bits[1..]) |b| r = @mulAdd(T, r, x, @as(T, @bitCast(b)));
    return r;
}

const singles = struct {
    const ln2: f32 = @bitCast(@as(u32, 0x3F317218));
    const log2_e: f32 = @bitCast(@as(u32, 0x3FB8AA3B));

    inline fn approximate(comptime op: []const u8, x: f32) f32 {
        return asm (op ++ ".approx.f32 %[r], %[x];"
            : [r] "=f" (-> f32),
            : [x] "f" (x),
        );
    }

    pub inline fn log(x: f32) f32 {
        return approximate("lg2", x) * ln2;
    }

    /// log(1 - p)
    pub inline fn log_of_rest(p: f32) f32 {
        return log(1 - p);
    }

    pub inline fn exp(x: f32) f32 {
        return approximate("ex2", x * log2_e);
    }

    pub inline fn tan(x: f32) f32 {
        return asm ("div.approx.f32 %[r], %[x], %[y];"
            : [r] "=f" (-> f32),
            : [x] "f" (approximate("sin", x)),
              [y] "f" (approximate("cos", x)),
        );
    }

    /// Two normal numbers of a number up to 1 and an angle, by Box and Muller.
    pub inline fn normal(u: f32, angle: f32) [2]f32 {
        const length = @sqrt(-2 * computed_log(u));
        return .{ approximate("sin", angle) * length, approximate("cos", angle) * length };
    }

    inline fn computed_log(x: f32) f32 {
        const bits: i32 = @bitCast(x);
        // The exponent for a mantissa between 2/3 and 4/3.
        const exponent = (bits -% 0x3F2AAAAB) & -0x800000;
        const power = @as(f32, @floatFromInt(exponent)) * 0x1p-23;
        const r = @as(f32, @bitCast(bits -% exponent)) - 1;
        const terms = r * polynomial(f32, r, &.{
            0xBE055027, 0x3E1039F6, 0xBDF8CDCC, 0x3E0F2955, 0xBE2AD8B9, 0x3E4CED0B, 0xBE7FFF22, 0x3EAAAA78, 0xBF000000,
        });
        return @mulAdd(f32, power, ln2, @mulAdd(f32, terms, r, r));
    }
};

const doubles = struct {
    const ln2: f64 = @bitCast(@as(u64, 0x3FE62E42FEFA39EF));
    /// What ln2 lacks.
    const ln2_rest: f64 = @bitCast(@as(u64, 0x3C7ABC9E3B39803F));
    /// Added and taken away again, it rounds to whole numbers, halves to even ones.
    const rounder = 0x1.8p52;

    inline fn high(x: f64) u32 {
        return @truncate(@as(u64, @bitCast(x)) >> 32);
    }

    /// Multiplied by 2^n, where both are normal numbers.
    inline fn scaled(x: f64, n: i32) f64 {
        return @bitCast(@as(u64, @bitCast(x)) +% @as(u64, @bitCast(@as(i64, n) << 52)));
    }

    inline fn approximate_reciprocal(x: f64) f64 {
        const y = asm ("rcp.approx.ftz.f64 %[r], %[x];"
            : [r] "=d" (-> f64),
            : [x] "d" (x),
        );
        const e = @mulAdd(f64, -x, y, 1);
        return @mulAdd(f64, @mulAdd(f64, e, e, e), y, y);
    }

    pub inline fn log(x: f64) f64 {
        const bits: u64 = @bitCast(x);
        const one: u64 = 0x3FF << 52;
        var exponent = @as(i32, @intCast(high(x) >> 20)) - 0x3FF;
        var m: f64 = @bitCast(bits & ((1 << 52) - 1) | one);
        if (high(m) >= 0x3FF6A09F) {
            m = scaled(m, -1);
            exponent += 1;
        }
        const below = m - 1;
        const reciprocal = approximate_reciprocal(m + 1);
        const half = below * reciprocal;
        const q = @mulAdd(f64, below, reciprocal, half);
        const square = q * q;
        const terms = square * polynomial(f64, square, &.{
            0x3EB1380B3AE80F1E, 0x3ED0EE258B7A8B04, 0x3EF3B2669F02676F, 0x3F1745CBA9AB0956,
            0x3F3C71C72D1B5154, 0x3F624924923BE72D, 0x3F8999999999A3C4, 0x3FB5555555555554,
        });
        const twice = (below - q) + (below - q);
        const rest = @mulAdd(f64, terms, q, reciprocal * @mulAdd(f64, -q, below, twice));
        const power: f64 = @floatFromInt(exponent);
        const sum = @mulAdd(f64, power, ln2, q);
        const lost = @mulAdd(f64, -power, ln2, sum) - q;
        return sum + @mulAdd(f64, power, ln2_rest, rest - lost);
    }

    /// log(1 - p)
    pub inline fn log_of_rest(p: f64) f64 {
        if (high(p) >= 0x3FD99999) return log(1 - p);
        const t = p / (2 - p) * p;
        const s = -p - t;
        const square = s * s;
        const terms = square * polynomial(f64, square, &.{
            0x3EB372FB2FBE14B5, 0x3ED087FFCEB2DC44, 0x3EF3B9FF890F468C, 0x3F17457EFD51BAF8,
            0x3F3C71C8DE3CE825, 0x3F6249248FA4661F, 0x3F899999999D70C4, 0x3FB5555555555462,
        });
        return @mulAdd(f64, terms, s, -t) - p;
    }

    pub inline fn exp(x: f64) f64 {
        const log2_e: f64 = @bitCast(@as(u64, 0x3FF71547652B82FE));
        const shifted = @mulAdd(f64, x, log2_e, rounder);
        const n: i32 = @bitCast(@as(u32, @truncate(@as(u64, @bitCast(shifted)))));
        const power = shifted - rounder;
        const r = @mulAdd(f64, power, -ln2_rest, @mulAdd(f64, power, -ln2, x));
        const y = polynomial(f64, r, &.{
            0x3E5ADE1569CE2BDF, 0x3E928AF3FCA213EA, 0x3EC71DEE62401315, 0x3EFA01997C89EB71, 0x3F2A01A014761F65,
            0x3F56C16C1852B7AF, 0x3F81111111122322, 0x3FA55555555502A1, 0x3FC5555555555511, 0x3FE000000000000B,
            0x3FF0000000000000, 0x3FF0000000000000,
        });
        const size = high(x) & 0x7FFF_FFFF;
        if (size < 0x4086232B) return scaled(y, n);
        if (size >= 0x40874800) return if (x < 0) 0 else x + std.math.inf(f64);
        // The result, or what leads to it, is not normal: half of the power, then the other.
        const part = @divTrunc(n, 2);
        return scaled(y, part) * scaled(1, n - part);
    }

    /// Up to a quarter of a turn to both sides.
    pub inline fn tan(x: f64) f64 {
        const quarters: f64 = @bitCast(@as(u64, 0x3FE45F306DC9C883));
        const n = (x * quarters + rounder) - rounder;
        const quarter = [3]u64{ 0x3FF921FB54442D18, 0x3C91A62633145C00, 0x397B839A252049C0 };
        var r = x;
        inline for (quarter) |bits| {
            const part: f64 = @bitCast(bits);
            r = @mulAdd(f64, -n, part, r);
        }
        const square = r * r;
        const terms = square * polynomial(f64, square, &.{
            0x3EE48DAC2799BCB9, 0xBEF9757C5B27EBB1, 0x3F0980E90FD91E04, 0xBEFAE2B0417D7E1D, 0x3F119F5341BFBA57,
            0x3F15E791A00F6919, 0x3F2FF2E7FADEC73A, 0x3F434BC1B206DA62, 0x3F57DB18EF2F83F9, 0x3F6D6D2E7AE49FBC,
            0x3F8226E3A816A776, 0x3F9664F485D25660, 0x3FABA1BA1BABF31D, 0x3FC11111111105D2, 0x3FD555555555555E,
        });
        const y = @mulAdd(f64, terms, r, r);
        if (n == 0) return y;
        const lost = @mulAdd(f64, terms, r, -(y - r));
        const negative = -approximate_reciprocal(y);
        const e = @mulAdd(f64, negative, lost, @mulAdd(f64, y, negative, 1));
        return @mulAdd(f64, e, negative, negative);
    }

    /// As in f32; the angle is in half turns, up to two.
    pub inline fn normal(u: f64, half_turns: f64) [2]f64 {
        const length = @sqrt(-2 * log(u));
        const shifted = half_turns * 2 + rounder;
        const quadrant: u32 = @truncate(@as(u64, @bitCast(shifted)));
        const t = @mulAdd(f64, -(shifted - rounder), 0.5, half_turns);
        const pi: f64 = @bitCast(@as(u64, 0x400921FB54442D18));
        const pi_rest: f64 = @bitCast(@as(u64, 0x3CA1A62633145C07));
        const r = @mulAdd(f64, t, pi, t * pi_rest);
        const square = r * r;
        var cosine = polynomial(f64, square, &.{
            0xBDA8FF8320FD8164, 0x3E21EEA7C1EF8528, 0xBE927E4F8E06E6D9, 0x3EFA01A019DDBCE9,
            0xBF56C16C16C15D47, 0x3FA5555555555551, 0xBFE0000000000000, 0x3FF0000000000000,
        });
        const terms = polynomial(f64, square, &.{
            0x3DE5DB65F9785EBA, 0xBE5AE5F12CB0D246, 0x3EC71DE369ACE392, 0xBF2A01A019DB62A1,
            0x3F81111111110818, 0xBFC5555555555554, 0x0000000000000000,
        });
        var sine = @mulAdd(f64, terms, r, r);
        if (quadrant & 1 != 0) {
            const turned = -sine;
            sine = cosine;
            cosine = turned;
        }
        if (quadrant & 2 != 0) {
            sine = -sine;
            cosine = -cosine;
        }
        // Zeros are positive.
        return .{ (if (t == 0 and quadrant & 1 == 0) 0 else sine) * length, (cosine + 0) * length };
    }
};
