//! Where each kernel family of the schema lives. `tuned` families are compiled once for every instruction set, each as
//! an object of its own (`families` in build.zig), `plain` ones once, for the baseline, with the library's root.
pub const tuned = struct {
    pub const random = @import("random_kernels.zig");
    pub const softmax = @import("softmax.zig");
    pub const matmul = @import("matmul.zig");
    pub const unary = @import("unary.zig");
    pub const binary = @import("binary.zig");
    pub const ternary = @import("ternary.zig");
    pub const copy = @import("copy.zig");
    pub const reduce = @import("reduce.zig");
    pub const scan = @import("scan.zig");
    pub const sort = @import("sort.zig");
};

pub const plain = struct {
    pub const index = @import("index.zig");
    pub const index_mask = @import("index_mask.zig");
    pub const range = @import("range.zig");
    pub const search = @import("search.zig");
};
