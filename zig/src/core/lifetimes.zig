//! The program's threads (its main one and its Workers) that have loaded the library and have not ended. The runtime
//! gives a thread's handle back when it ends, however it ends. Files that an unfinished save left tell its thread.
const std = @import("std");

const Thread = extern struct {
    /// First, so that the other side can read it at the handle.
    number: f64,
    next: ?*Thread,
};

var lock: std.atomic.Value(u32) = .init(0);
var first: ?*Thread = null;
var last_number: f64 = 0;

fn acquire() void {
    while (lock.cmpxchgWeak(0, 1, .acquire, .monotonic) != null) std.atomic.spinLoopHint();
}

fn release() void {
    lock.store(0, .release);
}

/// Notes the calling thread: a handle, whose first field is a number that no other thread of this process has had.
pub fn zs_thread_begin() callconv(.c) f64 {
    const self = std.heap.c_allocator.create(Thread) catch return 0;
    acquire();
    defer release();
    last_number += 1;
    self.* = .{ .number = last_number, .next = first };
    first = self;
    return @floatFromInt(@intFromPtr(self));
}

/// Whether the thread of this number goes on.
pub fn zs_thread_lives(number: f64) callconv(.c) i32 {
    acquire();
    defer release();
    var at = first;
    while (at) |t| : (at = t.next) if (t.number == number) return 1;
    return 0;
}

fn end(_: ?*anyopaque, handle: ?*anyopaque) callconv(.c) void {
    const self: *Thread = @ptrCast(@alignCast(handle orelse return));
    acquire();
    var at = &first;
    while (at.*) |t| : (at = &t.next) {
        if (t != self) continue;
        at.* = t.next;
        break;
    }
    release();
    std.heap.c_allocator.destroy(self);
}

/// Address of the function that ends a thread: (any address, the handle).
pub fn zs_release_thread_function() callconv(.c) f64 {
    return @floatFromInt(@intFromPtr(&end));
}

test "threads live until their handles are given back" {
    const a = zs_thread_begin();
    const b = zs_thread_begin();
    const thread: *Thread = @ptrFromInt(@as(usize, @intFromFloat(a)));
    const other: *Thread = @ptrFromInt(@as(usize, @intFromFloat(b)));
    const numbers = [2]f64{ thread.number, other.number };
    end(null, thread);
    try std.testing.expectEqual(0, zs_thread_lives(numbers[0]));
    try std.testing.expectEqual(1, zs_thread_lives(numbers[1]));
    end(null, other);
    try std.testing.expectEqual(0, zs_thread_lives(numbers[1]));
}
