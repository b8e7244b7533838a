//! Root of the shared library, compiled for the baseline of the architecture.
const std = @import("std");

/// The host program handles signals; threads need no stacks for them.
pub const std_options: std.Options = .{ .signal_stack_size = null };

comptime {
    _ = @import("abi/exports.zig");
}
