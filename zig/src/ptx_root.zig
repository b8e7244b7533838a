//! Root of the GPU kernels; it stands above cuda/, cpu/ and core/ so that all can be imported.
comptime {
    _ = @import("cuda/kernels.zig");
}
