//! Root of one instruction set's kernels; it stands above cpu/ and core/ so that both can be imported.
comptime {
    _ = @import("cpu/kernels.zig");
}
