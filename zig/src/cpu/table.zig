//! What one instruction set's object offers to the library's root.
const ops = @import("ops");
const fr = @import("../core/frame.zig");

pub const Table = extern struct {
    pub const Call = *const fn (f: *fr.Frame) callconv(.c) i32;
    pub const Fast = *const fn (code: u32, out: usize, in: *const [3]usize, n: usize) callconv(.c) i32;

    calls: *const [ops.kernels.len]Call,
    fasts: *const [ops.fast.len]Fast,
};
