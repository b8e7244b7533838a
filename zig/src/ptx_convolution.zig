//! Root of the kernels for GPUs of convolutions.
comptime {
    @import("gpu/convolution.zig").exports();
}
