//! Root of the object with the scan kernels.
comptime {
    @import("cpu/object.zig").exports("scan", @import("cpu/scan.zig"));
}
