//! What kernel objects see of the thread pool and the work buffers. Kernels are compiled once for each instruction
//! set, the pool exists once; the calls go through symbols that are hidden inside the library.

const std = @import("std");

const Body = *const fn (ctx: ?*anyopaque, begin: usize, end: usize) callconv(.c) void;
const Lease = extern struct { ptr: [*]align(4096) u8, len: usize, slot: u32 };

fn hidden(comptime F: type, comptime name: []const u8) F {
    return @extern(F, .{ .name = name, .visibility = .hidden });
}

const zs_parallel_for = hidden(*const fn (usize, usize, ?*anyopaque, Body) callconv(.c) void, "zs_parallel_for");
const zs_num_threads = hidden(*const fn () callconv(.c) u32, "zs_num_threads");
const zs_scratch_acquire = hidden(*const fn (usize, *Lease) callconv(.c) bool, "zs_scratch_acquire");
const zs_scratch_release = hidden(*const fn (*const Lease) callconv(.c) void, "zs_scratch_release");

/// The number of threads a parallel operation may use, the caller's own included.
pub fn num_threads() u32 {
    return zs_num_threads();
}

/// Calls `body(ctx, begin, end)` for disjoint ranges that cover [0, n); up to `grain` items stay on this thread
/// with no overhead. How the ranges are cut depends on the number of threads: a result must not depend on the cuts.
/// Nested and concurrent calls are allowed and run on the calling thread alone.
pub fn parallel_for(
    n: usize,
    grain: usize,
    ctx: anytype,
    comptime body: fn (ctx: @TypeOf(ctx), begin: usize, end: usize) void,
) void {
    if (n == 0) return;
    if (n <= grain) return body(ctx, 0, n);
    const Context = @TypeOf(ctx);
    const thunk = struct {
        fn call(p: ?*anyopaque, begin: usize, end: usize) callconv(.c) void {
            const typed: *const Context = @ptrCast(@alignCast(p));
            body(typed.*, begin, end);
        }
    };
    var copy = ctx;
    zs_parallel_for(n, grain, @ptrCast(&copy), thunk.call);
}

/// A borrowed work buffer, aligned to a page, content undefined.
pub const Scratch = struct {
    lease: Lease,

    /// Null when the system has no memory left. Pair with `release` on the same thread or another.
    pub fn acquire(bytes: usize) ?Scratch {
        var s: Scratch = undefined;
        return if (zs_scratch_acquire(bytes, &s.lease)) s else null;
    }

    pub fn release(s: *const Scratch) void {
        zs_scratch_release(&s.lease);
    }

    pub fn slice(s: *const Scratch, comptime T: type, count: usize) []align(4096) T {
        std.debug.assert(count * @sizeOf(T) <= s.lease.len);
        return @as([*]align(4096) T, @ptrCast(s.lease.ptr))[0..count];
    }
};
