//! Where each kernel family of the schema lives. `tuned` families are compiled once for every instruction set,
//! `plain` ones once, for the baseline.
pub const tuned = struct {
    pub const unary = @import("unary.zig");
    pub const binary = @import("binary.zig");
    pub const ternary = @import("ternary.zig");
    pub const copy = @import("copy.zig");
};

pub const plain = struct {};
