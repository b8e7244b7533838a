//! The kernel families of the schema. Each is compiled from a root of its own, src/kernels_<family>.zig, which imports
//! no other family: what changes in one is compiled alone.
const std = @import("std");

/// Compiled once for every instruction set.
pub const tuned = [_][]const u8{
    "activation", "attention",     "binary",  "convolution", "copy",   "foreach",
    "matmul",     "normalization", "random",  "recurrent",   "reduce", "scan",
    "softmax",    "sort",          "ternary", "unary",
};

/// Compiled once, for the baseline.
pub const plain = [_][]const u8{ "index", "index_mask", "loss", "pooling", "range", "sampling", "search" };

/// Families with numbers that TypeScript shares, generated/abi_<family>.zig: imported as `abi_<family>` there and in
/// the library's root, and nowhere else, so that one number more is compiled by these objects alone.
pub const with_numbers = [_][]const u8{
    "attention",     "convolution", "foreach", "index",   "loss",      "matmul",
    "normalization", "pooling",     "random",  "range",   "recurrent", "reduce",
    "sampling",      "scan",        "search",  "softmax", "sort",
};

/// Numbers of the same kind that belong to the library's root alone.
pub const root_numbers = [_][]const u8{ "cuda", "files", "memory" };

/// What stands for an instruction set in the symbols of plain families.
pub const baseline = "plain";

pub fn is_plain(comptime family: []const u8) bool {
    for (plain) |name| if (std.mem.eql(u8, name, family)) return true;
    for (tuned) |name| if (std.mem.eql(u8, name, family)) return false;
    @compileError("families.zig does not have the kernel family '" ++ family ++ "' of the schema");
}
