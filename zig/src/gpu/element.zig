//! Elements in the device's memory: of any dtype, or several at once of the dtypes that a compute type is stored as.
const std = @import("std");
const abi = @import("abi");
const bf16_pair = @import("bf16_pair.zig");
const dt = @import("../core/dtype.zig");
const half = @import("../core/half.zig");

const Compute = abi.Compute;
const DType = abi.DType;

pub fn Pointer(comptime T: type) type {
    return [*]addrspace(.global) T;
}

pub inline fn pointer_to(comptime T: type, address: u64) Pointer(T) {
    return @ptrFromInt(address);
}

/// One element of any dtype, as the compute type; functions of their own, so that each kernel is not full of them.
pub fn Any(comptime c: Compute) type {
    return struct {
        const native = dt.native_dtype(c);

        pub inline fn load(data: u64, dtype: u32, flags: u32, at: i32) dt.Computed(c) {
            const x = if (dtype == @intFromEnum(native)) get(native, data, at) else other(data, dtype, at);
            return if (flags == 0) x else flagged(c, x, flags);
        }

        pub inline fn store(data: u64, dtype: u32, at: i32, x: dt.Computed(c)) void {
            if (dtype == @intFromEnum(native)) {
                pointer(native, data, at)[0] = if (c == .b8) @intFromBool(x != 0) else x;
            } else put(data, dtype, at, x);
        }

        inline fn pointer(comptime d: DType, data: u64, at: i32) Pointer(dt.Stored(d)) {
            const offset = @as(i64, at) * @sizeOf(dt.Stored(d));
            return @ptrFromInt(data +% @as(u64, @bitCast(offset)));
        }

        inline fn get(comptime d: DType, data: u64, at: i32) dt.Computed(c) {
            return dt.load(d, c, pointer(d, data, at)[0]);
        }

        noinline fn other(data: u64, dtype: u32, at: i32) dt.Computed(c) {
            @setEvalBranchQuota(100_000);
            switch (@as(DType, @enumFromInt(@as(u8, @truncate(dtype))))) {
                inline else => |d| return get(d, data, at),
            }
        }

        noinline fn put(data: u64, dtype: u32, at: i32, x: dt.Computed(c)) void {
            @setEvalBranchQuota(100_000);
            switch (@as(DType, @enumFromInt(@as(u8, @truncate(dtype))))) {
                inline else => |d| pointer(d, data, at)[0] = dt.store(d, c, x),
            }
        }
    };
}

/// What an element is that is read through flags.
pub inline fn flagged(comptime c: Compute, x: dt.Computed(c), flags: u32) dt.Computed(c) {
    var r = x;
    if (comptime dt.is_complex(dt.Computed(c))) {
        if (flags & abi.OperandFlag.conj != 0) r.im = -r.im;
        if (flags & abi.OperandFlag.neg != 0) r = .{ .re = -r.re, .im = -r.im };
    } else if (flags & abi.OperandFlag.neg != 0) {
        r = switch (c) {
            .f32, .f64 => -r,
            .b8 => r,
            else => 0 -% r,
        };
    }
    return r;
}

/// The dtypes that a dense kernel takes for a compute type.
pub fn dense_dtypes(comptime c: Compute) []const DType {
    return switch (c) {
        .f32 => &.{ .float32, .bfloat16, .float16 },
        .i32 => &.{ .int32, .int16, .int8, .uint8 },
        else => comptime &.{dt.native_dtype(c)},
    };
}

/// The same, on the host.
pub fn is_dense(compute: Compute, d: DType) bool {
    switch (compute) {
        inline else => |c| return std.mem.indexOfScalar(DType, comptime dense_dtypes(c), d) != null,
    }
}

/// Whether several elements from an address on can be read at once. Aligned to all of them they lie within one of the
/// pieces that memory comes in, also those behind a tensor's last.
pub fn is_aligned(d: DType, lanes: usize, address: u64) bool {
    return address % (lanes * dt.size_of(d)) == 0;
}

/// Several elements that lie one after the other, aligned to all of them. They may end where others begin: memory
/// comes in larger pieces, so that what lies behind the last can be read.
pub fn Several(comptime c: Compute, comptime lanes: usize) type {
    return struct {
        pub const Values = [lanes]dt.Computed(c);
        /// As they lie in memory, in whole words where there are several dtypes.
        pub const Raw = if (dense_dtypes(c).len > 1) [lanes]u32 else Values;

        pub inline fn load(data: u64, dtype: u32, at: u32) Values {
            return unpacked(dtype, fetch(data, dtype, at));
        }

        /// The bytes alone. Whoever has several to read fetches all of them first: what waits for one would keep the
        /// next from being asked for.
        pub inline fn fetch(data: u64, dtype: u32, at: u32) Raw {
            if (Raw == Values) return get(dense_dtypes(c)[0], data, at);
            inline for ([_]usize{ 2, 1 }) |size| {
                if (size_in(dtype, size)) return words(size, data, at);
            }
            return words(4, data, at);
        }

        pub inline fn unpacked(dtype: u32, raw: Raw) Values {
            if (Raw == Values) return raw;
            inline for (comptime dense_dtypes(c)[1..]) |d| {
                if (dtype == @intFromEnum(d)) return parts(d, raw);
            }
            return parts(dense_dtypes(c)[0], raw);
        }

        /// One element of the compute type's own dtype for all.
        pub inline fn repeated(x: dt.Computed(c)) Raw {
            return @splat(if (Raw == Values) x else @bitCast(x));
        }

        inline fn size_in(dtype: u32, comptime size: usize) bool {
            var found = false;
            inline for (comptime dense_dtypes(c)) |d| {
                if (@sizeOf(dt.Stored(d)) == size and dtype == @intFromEnum(d)) found = true;
            }
            return found;
        }

        inline fn words(comptime size: usize, data: u64, at: u32) Raw {
            const count = lanes * size / 4;
            const each = @min(4, count);
            const from: Pointer(@Vector(each, u32)) = @ptrFromInt(data + @as(u64, at) * size);
            var r: Raw = undefined;
            inline for (0..count / each) |g| r[g * each ..][0..each].* = from[g];
            return r;
        }

        inline fn parts(comptime d: DType, raw: Raw) Values {
            const size = @sizeOf(dt.Stored(d));
            const Bits = std.meta.Int(.unsigned, 8 * size);
            var r: Values = undefined;
            inline for (&r, 0..) |*x, k| {
                const word = raw[k * size / 4];
                x.* = if (d == .bfloat16)
                    @bitCast(if (k % 2 == 0) word << 16 else word & upper)
                else
                    dt.load(d, c, @bitCast(@as(Bits, @truncate(word >> (k * size % 4 * 8)))));
            }
            return r;
        }

        /// The first `count` of them.
        pub inline fn store(data: u64, dtype: u32, at: u32, x: Values, count: u32) void {
            inline for (comptime dense_dtypes(c)[1..]) |d| {
                if (dtype == @intFromEnum(d)) return some(d, data, at, x, count);
            }
            some(dense_dtypes(c)[0], data, at, x, count);
        }

        inline fn some(comptime d: DType, data: u64, at: u32, x: Values, count: u32) void {
            if (count >= lanes) return put(d, data, at, x);
            const to: Pointer(dt.Stored(d)) = @ptrFromInt(data + @as(u64, at) * @sizeOf(dt.Stored(d)));
            inline for (x[0 .. lanes - 1], 0..) |v, k| {
                if (k < count) to[k] = dt.store(d, c, v);
            }
        }

        /// As a vector's element: complex numbers are words of their bits, or two floats.
        fn Part(comptime d: DType) type {
            return switch (d) {
                .complex64 => u64,
                .complex128 => f64,
                else => dt.Stored(d),
            };
        }

        /// What one access takes: 16 bytes at most.
        fn group(comptime d: DType) usize {
            return @min(lanes, @max(1, 16 / @sizeOf(dt.Stored(d))));
        }

        fn Vector(comptime d: DType) type {
            return @Vector(group(d) * @sizeOf(dt.Stored(d)) / @sizeOf(Part(d)), Part(d));
        }

        inline fn pointer(comptime d: DType, data: u64, at: u32) Pointer(Vector(d)) {
            return @ptrFromInt(data + @as(u64, at) * @sizeOf(dt.Stored(d)));
        }

        inline fn get(comptime d: DType, data: u64, at: u32) Values {
            var r: Values = undefined;
            inline for (0..comptime lanes / group(d)) |g| {
                const raw = pointer(d, data, at)[g];
                inline for (0..comptime group(d)) |k| r[g * group(d) + k] = switch (d) {
                    .complex64 => .{
                        .re = @bitCast(@as(u32, @truncate(raw[k]))),
                        .im = @bitCast(@as(u32, @truncate(raw[k] >> 32))),
                    },
                    .complex128 => .{ .re = raw[2 * k], .im = raw[2 * k + 1] },
                    else => dt.load(d, c, raw[k]),
                };
            }
            return r;
        }

        /// Two bfloat16 make a word.
        inline fn put_pairs(data: u64, at: u32, x: Values) void {
            var words_of: @Vector(lanes / 2, u32) = undefined;
            inline for (0..lanes / 2) |k| words_of[k] = bf16_pair.pair(x[2 * k], x[2 * k + 1]);
            @as(Pointer(@TypeOf(words_of)), @ptrFromInt(data + @as(u64, at) * 2))[0] = words_of;
        }

        const upper: u32 = 0xffff_0000;

        inline fn put(comptime d: DType, data: u64, at: u32, x: Values) void {
            if (d == .bfloat16 and lanes % 2 == 0 and lanes <= 8) return put_pairs(data, at, x);
            inline for (0..comptime lanes / group(d)) |g| {
                var raw: Vector(d) = undefined;
                inline for (0..comptime group(d)) |k| {
                    const v = x[g * group(d) + k];
                    switch (d) {
                        .complex64 => raw[k] = @as(u64, bits(v.im)) << 32 | bits(v.re),
                        .complex128 => {
                            raw[2 * k] = v.re;
                            raw[2 * k + 1] = v.im;
                        },
                        else => raw[k] = dt.store(d, c, v),
                    }
                }
                pointer(d, data, at)[g] = raw;
            }
        }

        inline fn bits(x: f32) u32 {
            return @bitCast(x);
        }
    };
}

/// Several elements of a known dtype, as `Several`, for any compute type.
pub fn Known(comptime d: DType, comptime c: Compute, comptime lanes: usize) type {
    const own: Compute = switch (d) {
        .float32, .bfloat16, .float16 => .f32,
        .float64 => .f64,
        .int32, .int16, .int8, .uint8 => .i32,
        .int64 => .i64,
        .uint64 => .u64,
        .bool => .b8,
        .complex64 => .c64,
        .complex128 => .c128,
        else => @compileError("elements of this dtype are read one by one"),
    };
    const V = Several(own, lanes);
    return struct {
        pub const Raw = V.Raw;

        pub inline fn load(data: u64, at: u32) [lanes]dt.Computed(c) {
            return unpacked(fetch(data, at));
        }

        pub inline fn fetch(data: u64, at: u32) Raw {
            return V.fetch(data, @intFromEnum(d), at);
        }

        pub inline fn unpacked(raw: Raw) [lanes]dt.Computed(c) {
            const values = V.unpacked(@intFromEnum(d), raw);
            if (own == c) return values;
            var x: [lanes]dt.Computed(c) = undefined;
            inline for (&x, values) |*to, v| to.* = dt.cast(c, v);
            return x;
        }

        /// The first `count` of them.
        pub inline fn store(data: u64, at: u32, x: [lanes]dt.Computed(c), count: u32) void {
            if (own == c) return V.store(data, @intFromEnum(d), at, x, count);
            var raw: V.Values = undefined;
            inline for (&raw, x) |*to, v| to.* = dt.cast(own, v);
            V.store(data, @intFromEnum(d), at, raw, count);
        }
    };
}

/// What an element of a dtype stands for in a compute type.
pub fn loader(comptime d: DType, comptime c: Compute) fn (x: dt.Stored(d)) callconv(.@"inline") dt.Computed(c) {
    return struct {
        inline fn of(x: dt.Stored(d)) dt.Computed(c) {
            return dt.load(d, c, x);
        }
    }.of;
}
