//! The types of PTX's instructions, as their suffixes name them.
const std = @import("std");

pub const Ty = enum(u5) {
    pred,
    b8,
    b16,
    b32,
    b64,
    u8,
    u16,
    u32,
    u64,
    s8,
    s16,
    s32,
    s64,
    f16,
    f16x2,
    bf16,
    bf16x2,
    tf32,
    f32,
    f64,

    pub fn parse(word: []const u8) ?Ty {
        return std.meta.stringToEnum(Ty, word);
    }

    pub fn bytes(ty: Ty) u32 {
        return switch (ty) {
            .pred => 4,
            .b8, .u8, .s8 => 1,
            .b16, .u16, .s16, .f16, .bf16 => 2,
            .b32, .u32, .s32, .f32, .f16x2, .bf16x2, .tf32 => 4,
            .b64, .u64, .s64, .f64 => 8,
        };
    }

    /// Bytes of one lane in a register that was declared with this type.
    pub fn width(ty: Ty) u32 {
        return @max(2, ty.bytes());
    }

    pub fn is_signed(ty: Ty) bool {
        return switch (ty) {
            .s8, .s16, .s32, .s64 => true,
            else => false,
        };
    }

    pub fn is_float(ty: Ty) bool {
        return switch (ty) {
            .f16, .f16x2, .bf16, .bf16x2, .tf32, .f32, .f64 => true,
            else => false,
        };
    }

    pub fn is_integer(ty: Ty) bool {
        return !ty.is_float() and ty != .pred;
    }
};

/// How a rounded result is chosen between its two neighbours.
pub const Rounding = enum(u3) { nearest, zero, down, up, away };

pub const Compare = enum {
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    lo,
    ls,
    hi,
    hs,
    equ,
    neu,
    ltu,
    leu,
    gtu,
    geu,
    num,
    nan,
};

pub const Space = enum(u3) { generic, global, constant, shared, local, param };
