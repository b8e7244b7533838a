//! Root of the shared library, compiled for the baseline of the architecture.
comptime {
    _ = @import("abi/exports.zig");
}
