//! Every file with unit tests. The hidden symbols that kernels expect come from the thread pool.
comptime {
    _ = @import("core/alloc.zig");
    _ = @import("core/threads.zig");
}
