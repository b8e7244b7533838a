//! Root of the scan kernels for GPUs.
comptime {
    @import("gpu/scan.zig").exports();
}
