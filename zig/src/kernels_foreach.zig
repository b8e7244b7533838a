//! Root of the object with the kernels over lists of tensors.
comptime {
    @import("cpu/object.zig").exports("foreach", @import("cpu/foreach.zig"));
}
