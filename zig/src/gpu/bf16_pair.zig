//! Two floats rounded to bfloat16, in one word. Kernels are written for 7.5, which has no instruction for that; devices
//! from 8.0 on do, and get it in place of the lines that compute it: see cuda/newer.zig.

/// Registers that both ways use. Blocks of PTX have names of their own.
const begin =
    \\{
    \\.reg .f32 zs_low, zs_high;
    \\.reg .b32 zs_a, zs_b, zs_pair;
    \\.reg .pred zs_p, zs_q;
    \\mov.f32 zs_low, %[low];
    \\mov.f32 zs_high, %[high];
    \\
;
const end =
    \\
    \\mov.b32 %[r], zs_pair;
    \\ }
;

/// To nearest even, in the upper half of a word; a NaN keeps what the upper half has of it, and is quiet.
pub const computed =
    \\mov.b32 zs_a, zs_low;
    \\mov.b32 zs_b, zs_high;
    \\bfe.u32 zs_a, zs_a, 16, 1;
    \\bfe.u32 zs_b, zs_b, 16, 1;
    \\mov.b32 zs_pair, zs_low;
    \\add.u32 zs_a, zs_a, zs_pair;
    \\add.u32 zs_a, zs_a, 32767;
    \\or.b32 zs_pair, zs_pair, 4194304;
    \\setp.nan.f32 zs_p, zs_low, zs_low;
    \\selp.b32 zs_a, zs_pair, zs_a, zs_p;
    \\mov.b32 zs_pair, zs_high;
    \\add.u32 zs_b, zs_b, zs_pair;
    \\add.u32 zs_b, zs_b, 32767;
    \\or.b32 zs_pair, zs_pair, 4194304;
    \\setp.nan.f32 zs_q, zs_high, zs_high;
    \\selp.b32 zs_b, zs_pair, zs_b, zs_q;
    \\prmt.b32 zs_pair, zs_a, zs_b, 30258;
;

/// The same in one instruction; of a NaN nothing is kept.
pub const converted = "cvt.rn.bf16x2.f32 zs_pair, zs_high, zs_low;";

pub inline fn pair(low: f32, high: f32) u32 {
    return asm (begin ++ computed ++ end
        : [r] "=r" (-> u32),
        : [low] "f" (low),
          [high] "f" (high),
    );
}
