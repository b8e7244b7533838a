//! Root of the kernels of random numbers for GPUs.
comptime {
    @import("gpu/random.zig").exports();
}
