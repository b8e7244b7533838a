//! Root of the shared library, compiled for the baseline of the architecture.
const std = @import("std");

/// The host program handles signals; threads need no stacks for them.
pub const std_options: std.Options = .{ .signal_stack_size = null };

/// Nothing here panics; what the standard library would print then takes half a megabyte, and system functions that
/// older C libraries lack.
pub const panic = std.debug.no_panic;

comptime {
    _ = @import("abi/exports.zig");
}
