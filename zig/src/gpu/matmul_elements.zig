//! Elements of matrices for device code: arithmetic, and reading and writing several that lie side by side.
const std = @import("std");
const abi = @import("abi");
const args = @import("matmul_args.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");

const Compute = abi.Compute;
const Product = args.Product;

/// Arithmetic of a compute type, as on the CPU.
pub fn Arithmetic(comptime c: Compute) type {
    return struct {
        pub const T = dt.Computed(c);
        pub const zero: T = if (dt.is_complex(T)) .{ .re = 0, .im = 0 } else 0;
        const one: T = if (dt.is_complex(T)) .{ .re = 1, .im = 0 } else 1;

        pub inline fn add(x: T, y: T) T {
            if (comptime dt.is_complex(T)) return .{ .re = x.re + y.re, .im = x.im + y.im };
            return if (comptime @typeInfo(T) == .float) x + y else x +% y;
        }

        inline fn multiply(x: T, y: T) T {
            if (comptime dt.is_complex(T)) {
                return .{ .re = x.re * y.re - x.im * y.im, .im = x.re * y.im + x.im * y.re };
            }
            return if (comptime @typeInfo(T) == .float) x * y else x *% y;
        }

        pub inline fn multiply_add(x: T, y: T, s: T) T {
            if (comptime dt.is_complex(T)) {
                const R = @FieldType(T, "re");
                return .{
                    .re = @mulAdd(R, -x.im, y.im, @mulAdd(R, x.re, y.re, s.re)),
                    .im = @mulAdd(R, x.im, y.re, @mulAdd(R, x.re, y.im, s.im)),
                };
            }
            return if (comptime @typeInfo(T) == .float) @mulAdd(T, x, y, s) else s +% x *% y;
        }

        inline fn is_one(x: T) bool {
            return if (comptime dt.is_complex(T)) x.re == 1 and x.im == 0 else x == 1;
        }

        pub inline fn number(words: *const [2]u64) T {
            const first = words[0];
            return switch (c) {
                .c128 => .{ .re = @bitCast(first), .im = @bitCast(words[1]) },
                .c64 => .{
                    .re = @bitCast(@as(u32, @truncate(first))),
                    .im = @bitCast(@as(u32, @truncate(first >> 32))),
                },
                else => @bitCast(@as(std.meta.Int(.unsigned, @bitSizeOf(T)), @truncate(first))),
            };
        }

        /// Of a complex64, as a word.
        pub inline fn bits(x: T) u64 {
            return @as(u64, @as(u32, @bitCast(x.im))) << 32 | @as(u32, @bitCast(x.re));
        }

        /// alpha * x, and beta * d when there is one.
        pub inline fn blend(a: *const Product, x: T, starts: bool, d: T) T {
            const alpha = number(&a.alpha);
            const scaled = if (is_one(alpha)) x else multiply(alpha, x);
            if (!starts) return scaled;
            const beta = number(&a.beta);
            return add(scaled, if (is_one(beta)) d else multiply(beta, d));
        }
    };
}

/// One element of the dtypes that a compute type is stored as.
pub fn One(comptime c: Compute) type {
    const dtypes = element.dense_dtypes(c);
    return struct {
        pub inline fn load(dtype: u32, at: u64) dt.Computed(c) {
            inline for (comptime dtypes[1..]) |d| {
                if (dtype == @intFromEnum(d)) return dt.load(d, c, pointer(d, at)[0]);
            }
            return dt.load(dtypes[0], c, pointer(dtypes[0], at)[0]);
        }
        pub inline fn store(dtype: u32, at: u64, x: dt.Computed(c)) void {
            inline for (comptime dtypes[1..]) |d| {
                if (dtype == @intFromEnum(d)) {
                    pointer(d, at)[0] = dt.store(d, c, x);
                    return;
                }
            }
            pointer(dtypes[0], at)[0] = dt.store(dtypes[0], c, x);
        }
        inline fn pointer(comptime d: abi.DType, at: u64) element.Pointer(dt.Stored(d)) {
            return @ptrFromInt(at);
        }
    };
}

/// Elements that lie in 16 bytes of the compute type.
pub fn Pieces(comptime c: Compute) type {
    const A = Arithmetic(c);
    const T = A.T;
    return struct {
        pub const wide = @max(1, 16 / @sizeOf(T));
        /// As a vector's elements: complex numbers are words of their bits, or two floats.
        const Part = switch (c) {
            .c64 => u64,
            .c128 => f64,
            else => T,
        };
        pub const Piece = @Vector(16 / @sizeOf(Part), Part);
        pub const Values = [wide]T;

        inline fn get(p: Piece, comptime i: usize) T {
            return switch (c) {
                .c64 => A.number(&.{ p[i], 0 }),
                .c128 => .{ .re = p[2 * i], .im = p[2 * i + 1] },
                else => p[i],
            };
        }

        pub inline fn unpack(p: Piece) Values {
            var r: Values = undefined;
            inline for (&r, 0..) |*x, i| x.* = get(p, i);
            return r;
        }

        pub inline fn pack(values: *const Values) Piece {
            var r: Piece = undefined;
            inline for (values, 0..) |x, i| switch (c) {
                .c64 => r[i] = A.bits(x),
                .c128 => {
                    r[2 * i] = x.re;
                    r[2 * i + 1] = x.im;
                },
                else => r[i] = x,
            };
            return r;
        }

        /// Elements without gaps. They are written where they belong, one by one: what branches return as a whole
        /// would go by way of local memory.
        inline fn read_whole(r: *Values, dtype: u32, at: u64) void {
            const dtypes = comptime element.dense_dtypes(c);
            inline for (dtypes, 0..) |d, which| {
                if (dtypes.len == 1 or dtype == @intFromEnum(d)) {
                    if (which == 0) {
                        const raw = @as(element.Pointer(Piece), @ptrFromInt(at))[0];
                        inline for (r, 0..) |*x, i| x.* = get(raw, i);
                    } else {
                        const bits = @bitSizeOf(dt.Stored(d));
                        const raw = @as(element.Pointer(std.meta.Int(.unsigned, wide * bits)), @ptrFromInt(at))[0];
                        const Bits = std.meta.Int(.unsigned, bits);
                        inline for (r, 0..) |*x, i| {
                            x.* = dt.load(d, c, @bitCast(@as(Bits, @truncate(raw >> i * bits))));
                        }
                    }
                }
            }
        }

        /// So many of them, zeros for the others; `whole` when they have no gaps and are aligned.
        pub inline fn read(whole: u32, dtype: u32, at: u64, step: i64, count: i32) Values {
            var r: Values = @splat(A.zero);
            if (whole != 0 and count >= wide) read_whole(&r, dtype, at) else {
                inline for (&r, 0..) |*x, i| {
                    if (i < count) x.* = One(c).load(dtype, moved(at, step, i));
                }
            }
            return r;
        }
    };
}

/// Results that lie side by side in a row.
pub fn Output(comptime c: Compute, comptime wide: usize) type {
    const A = Arithmetic(c);
    return struct {
        /// Those that are inside of the matrix, with what beta multiplies.
        pub inline fn write(a: *const Product, given: [wide]A.T, row: u32, column: u32, z: u32) void {
            const count = a.n - column;
            var x = given;
            const d = moved(moved(moved(a.d.data, a.d.batch, z), a.d.row, row), a.d.column, column);
            inline for (&x, 0..) |*v, i| {
                const starts = a.starts != 0 and i < count;
                v.* = A.blend(a, v.*, starts, if (starts) One(c).load(a.d.dtype, moved(d, a.d.column, i)) else A.zero);
            }
            const to = moved(moved(moved(a.c.data, a.c.batch, z), a.c.row, row), a.c.column, column);
            if (a.c.whole != 0) return element.Several(c, wide).store(to, a.c.dtype, 0, x, count);
            inline for (x, 0..) |v, i| {
                if (i < count) One(c).store(a.c.dtype, moved(to, a.c.column, i), v);
            }
        }
    };
}

/// An address so many steps further.
pub inline fn moved(at: u64, step: i64, count: u32) u64 {
    return at +% @as(u64, @bitCast(step *% @as(i64, count)));
}
