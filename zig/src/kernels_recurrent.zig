//! Root of the object with recurrent layers and their gradients.
comptime {
    @import("cpu/object.zig").exports("recurrent", @import("cpu/recurrent.zig"));
}
