//! The call frame that TypeScript fills and a kernel reads: all fields are f64, so that one Float64Array
//! writes everything (addresses and counts stay below 2^53) and no BigInt is ever made.
const std = @import("std");
const abi = @import("abi");

pub const DType = abi.DType;
pub const Compute = abi.Compute;
pub const Status = abi.Status;
pub const Frame = abi.Frame;
pub const Operand = abi.Operand;
pub const max_rank = abi.max_rank;

pub inline fn to_int(x: f64) i64 {
    return @intFromFloat(x);
}

pub inline fn to_usize(x: f64) usize {
    return @intFromFloat(x);
}

pub const View = struct {
    data: [*]u8,
    dtype: DType,
    rank: usize,
    flags: u32,
    shape: [*]const f64,
    strides: [*]const f64,

    pub fn size(v: View, dim: usize) usize {
        return to_usize(v.shape[dim]);
    }
    pub fn stride(v: View, dim: usize) isize {
        return @intCast(to_int(v.strides[dim]));
    }
    pub fn numel(v: View) usize {
        var n: usize = 1;
        for (0..v.rank) |d| n *= v.size(d);
        return n;
    }
    pub fn ptr(v: View, comptime T: type) [*]T {
        return @ptrCast(@alignCast(v.data));
    }
};

/// The bytes that an empty tensor's null address is replaced by, so that no kernel forms a null pointer.
var nothing: [64]u8 align(64) = @splat(0);

pub fn view(f: *Frame, index: usize) View {
    const op: *Operand = operand(f, index);
    const address = to_usize(op.data);
    return .{
        .data = if (address == 0) @ptrCast(&nothing) else @ptrFromInt(address),
        .dtype = @enumFromInt(@as(u8, @intFromFloat(op.dtype))),
        .rank = to_usize(op.rank),
        .flags = @intFromFloat(op.flags),
        .shape = &op.shape,
        .strides = &op.strides,
    };
}

pub inline fn operand(f: *Frame, index: usize) *Operand {
    const first: [*]Operand = @ptrCast(@as([*]f64, @ptrCast(f)) + @sizeOf(Frame) / @sizeOf(f64));
    return &first[index];
}

pub inline fn count(f: *const Frame) usize {
    return to_usize(f.operand_count);
}

pub inline fn attr(f: *const Frame, index: usize) f64 {
    return f.attrs[index];
}

pub inline fn attr_int(f: *const Frame, index: usize) i64 {
    return to_int(f.attrs[index]);
}

pub inline fn attr_bool(f: *const Frame, index: usize) bool {
    return f.attrs[index] != 0;
}

/// Leaves the numbers that the error text needs and returns the status.
pub fn fail(f: *Frame, status: Status, detail: []const i64) Status {
    for (detail, 0..) |d, i| f.detail[i] = @floatFromInt(d);
    return status;
}
