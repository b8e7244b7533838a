//! The shared tables as this library was compiled, as JSON: a test compares it with what TypeScript believes.
const std = @import("std");
const abi = @import("abi");
const ops = @import("ops");
const abi_files = @import("abi_files");
const dt = @import("../core/dtype.zig");

fn number(comptime n: anytype) []const u8 {
    return std.fmt.comptimePrint("{d}", .{n});
}

fn struct_text(comptime T: type) []const u8 {
    var s: []const u8 = "{\"size\":" ++ number(@sizeOf(T)) ++ ",\"align\":" ++ number(@alignOf(T)) ++ ",\"fields\":{";
    for (@typeInfo(T).@"struct".fields, 0..) |f, i| {
        if (i > 0) s = s ++ ",";
        s = s ++ "\"" ++ f.name ++ "\":" ++ number(@offsetOf(T, f.name));
    }
    return s ++ "}}";
}

fn enum_text(comptime T: type) []const u8 {
    var s: []const u8 = "{";
    for (@typeInfo(T).@"enum".fields, 0..) |f, i| {
        if (i > 0) s = s ++ ",";
        s = s ++ "\"" ++ f.name ++ "\":" ++ number(f.value);
    }
    return s ++ "}";
}

fn sizes_text() []const u8 {
    var s: []const u8 = "{";
    for (@typeInfo(abi.DType).@"enum".fields, 0..) |f, i| {
        if (i > 0) s = s ++ ",";
        s = s ++ "\"" ++ f.name ++ "\":" ++ number(@sizeOf(dt.Stored(@enumFromInt(f.value))));
    }
    return s ++ "}";
}

fn codes_text(comptime T: type) []const u8 {
    if (@typeInfo(T) == .@"enum") return enum_text(T);
    var s: []const u8 = "{";
    for (@typeInfo(T).@"struct".decls, 0..) |d, i| {
        if (i > 0) s = s ++ ",";
        s = s ++ "\"" ++ d.name ++ "\":" ++ number(@field(T, d.name));
    }
    return s ++ "}";
}

/// What has groups of named numbers.
const shared = .{
    abi,
    abi_files,
    @import("abi_attention"),
    @import("abi_convolution"),
    @import("abi_cuda"),
    @import("abi_foreach"),
    @import("abi_index"),
    @import("abi_loss"),
    @import("abi_matmul"),
    @import("abi_memory"),
    @import("abi_normalization"),
    @import("abi_pooling"),
    @import("abi_random"),
    @import("abi_range"),
    @import("abi_recurrent"),
    @import("abi_reduce"),
    @import("abi_sampling"),
    @import("abi_scan"),
    @import("abi_search"),
    @import("abi_softmax"),
    @import("abi_sort"),
};

fn groups_text() []const u8 {
    var s: []const u8 = "";
    for (shared) |Family| for (Family.codes) |name| {
        s = s ++ (if (s.len > 0) "," else "") ++ "\"" ++ name ++ "\":" ++ codes_text(@field(Family, name));
    };
    return "{" ++ s ++ "}";
}

fn kernels_text() []const u8 {
    var s: []const u8 = "[";
    for (ops.kernels, 0..) |k, i| {
        if (i > 0) s = s ++ ",";
        s = s ++ "\"" ++ k.family ++ "." ++ k.name ++ "\"";
    }
    return s ++ "]";
}

pub const text: [:0]const u8 = blk: {
    @setEvalBranchQuota(1_000_000);
    break :blk "{\"hash\":\"" ++ ops.hash ++ "\",\"frame\":" ++ struct_text(abi.Frame) ++
        ",\"operand\":" ++ struct_text(abi.Operand) ++ ",\"dtypes\":" ++ enum_text(abi.DType) ++
        ",\"sizes\":" ++ sizes_text() ++ ",\"computes\":" ++ enum_text(abi.Compute) ++
        ",\"statuses\":" ++ enum_text(abi.Status) ++ ",\"job\":" ++ struct_text(abi_files.Job) ++
        ",\"codes\":" ++ groups_text() ++ ",\"kernels\":" ++ kernels_text() ++ "}";
};
