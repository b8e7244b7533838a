//! A product of matrices in a device's memory.
const std = @import("std");
const abi = @import("abi");
const abi_matmul = @import("abi_matmul");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const Failure = @import("launch.zig").Failure;
const Frame = @import("../cpu/matmul_frame.zig").Product;

/// A product in memory; strides are in bytes: of the batch, rows and columns.
pub const Problem = struct {
    compute: abi.Compute,
    dtype: abi.DType,
    size: i64,
    batch: u64,
    m: u64,
    n: u64,
    k: u64,
    data: [4]u64,
    strides: [4][3]i64,
    alpha: [2]f64,
    beta: [2]f64,

    pub const c = 0;
    pub const a = 1;
    pub const b = 2;
    pub const d = 3;

    pub fn of(f: *fr.Frame) Failure!Problem {
        const p = Frame.of(f) orelse return error.Unsupported;
        const alpha = f.attrs[abi_matmul.MatmulAttr.alpha..][0..2].*;
        const size: i64 = @intCast(dt.size_of(p.dtype));
        var r: Problem = .{
            .compute = try compute_of(p.dtype),
            .dtype = p.dtype,
            .size = size,
            .batch = p.batch,
            .m = p.m,
            .n = p.n,
            // Factors that count nothing are not read.
            .k = if (alpha[0] == 0 and alpha[1] == 0) 0 else p.k,
            .data = undefined,
            .strides = undefined,
            .alpha = alpha,
            .beta = f.attrs[abi_matmul.MatmulAttr.beta..][0..2].*,
        };
        for (&r.data, &r.strides, p.data, p.strides) |*data, *to, from, strides| {
            data.* = @intFromPtr(from);
            for (to, strides) |*x, s| x.* = s * size;
        }
        return r;
    }

    pub fn starts(p: *const Problem) bool {
        return p.beta[0] != 0 or p.beta[1] != 0;
    }

    /// The same product with rows and columns exchanged.
    pub fn turned(p: *const Problem) Problem {
        var r = p.*;
        r.m = p.n;
        r.n = p.m;
        r.data = .{ p.data[c], p.data[b], p.data[a], p.data[d] };
        for ([_]usize{ c, b, a, d }, &r.strides) |from, *to| {
            const s = p.strides[from];
            to.* = .{ s[0], s[2], s[1] };
        }
        return r;
    }

    /// From so many rows, columns or terms on.
    pub fn beyond(p: *const Problem, row: u64, column: u64, term: u64, layer: u64) Problem {
        var r = p.*;
        const steps = [4][3]u64{
            .{ layer, row, column }, .{ layer, row, term }, .{ layer, term, column }, .{ layer, row, column },
        };
        for (&r.data, p.strides, steps) |*data, strides, counts| {
            for (strides, counts) |stride, count| data.* +%= @bitCast(stride *% @as(i64, @intCast(count)));
        }
        return r;
    }
};

fn compute_of(d: abi.DType) Failure!abi.Compute {
    return switch (d) {
        .float32, .bfloat16, .float16 => .f32,
        .float64 => .f64,
        .uint8, .int8, .int16, .int32 => .i32,
        .int64 => .i64,
        .complex64 => .c64,
        .complex128 => .c128,
        else => error.Unsupported,
    };
}

/// A number as its bytes in a compute type.
pub fn number(compute: abi.Compute, x: [2]f64) [2]u64 {
    var bytes: [2]u64 = @splat(0);
    switch (compute) {
        inline else => |to| {
            const T = dt.Computed(to);
            const value: T = if (comptime dt.is_complex(T))
                .{ .re = @floatCast(x[0]), .im = @floatCast(x[1]) }
            else if (@typeInfo(T) == .float) @floatCast(x[0]) else dt.integer(T, dt.integer(i64, x[0]));
            @memcpy(std.mem.asBytes(&bytes)[0..@sizeOf(T)], std.mem.asBytes(&value));
        },
    }
    return bytes;
}
