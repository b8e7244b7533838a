//! What a write to a position makes of the element that is there.
const abi_index = @import("abi_index");
const dt = @import("../core/dtype.zig");

const Mode = abi_index.IndexMode;

/// The type in which elements of a dtype are combined.
pub fn type_of(d: dt.DType) dt.Compute {
    return switch (d) {
        .bool => .b8,
        .uint8, .int8, .int16, .int32, .uint16 => .i32,
        .int64, .uint32 => .i64,
        .uint64 => .u64,
        .float64 => .f64,
        .complex64 => .c64,
        .complex128 => .c128,
        else => .f32,
    };
}

pub fn Values(comptime c: dt.Compute) type {
    const V = dt.Computed(c);
    return struct {
        pub inline fn apply(mode: Mode, a: V, b: V) V {
            return switch (mode) {
                .assign => b,
                .add => sum(a, b),
                .multiply => product(a, b),
                .maximum => larger(a, b),
                .minimum => smaller(a, b),
            };
        }

        inline fn sum(a: V, b: V) V {
            if (comptime dt.is_complex(V)) return .{ .re = a.re + b.re, .im = a.im + b.im };
            if (c == .b8) return a | b;
            return if (@typeInfo(V) == .float) a + b else a +% b;
        }
        inline fn product(a: V, b: V) V {
            if (comptime dt.is_complex(V)) return .{ .re = a.re * b.re - a.im * b.im, .im = a.re * b.im + a.im * b.re };
            if (c == .b8) return a & b;
            return if (@typeInfo(V) == .float) a * b else a *% b;
        }
        inline fn larger(a: V, b: V) V {
            if (comptime dt.is_complex(V)) return a;
            if (@typeInfo(V) == .float and a != a) return a;
            return if (a > b) a else b;
        }
        inline fn smaller(a: V, b: V) V {
            if (comptime dt.is_complex(V)) return a;
            if (@typeInfo(V) == .float and a != a) return a;
            return if (a < b) a else b;
        }
    };
}
