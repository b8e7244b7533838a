//! Root of the kernels for GPUs over lists of tensors.
comptime {
    @import("gpu/foreach.zig").exports();
}
