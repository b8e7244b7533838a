//! Sleep and wake on a 32-bit word: the one blocking primitive the thread pool needs on every system we build for.

const std = @import("std");
const builtin = @import("builtin");

pub const Word = std.atomic.Value(u32);

/// Sleeps while the word still holds `expected`. May return early: callers re-check in a loop.
pub fn wait(word: *const Word, expected: u32) void {
    switch (builtin.os.tag) {
        .linux => _ = std.os.linux.futex_4arg(&word.raw, .{ .cmd = .WAIT, .private = true }, expected, null),
        .macos, .ios => _ = std.c.__ulock_wait(.{ .op = .COMPARE_AND_WAIT, .NO_ERRNO = true }, &word.raw, expected, 0),
        .windows => _ = std.os.windows.ntdll.RtlWaitOnAddress(&word.raw, &expected, @sizeOf(u32), null),
        else => std.Thread.yield() catch {},
    }
}

/// Wakes at most `count` sleepers (systems that can only wake one or all wake all when `count` > 1).
pub fn wake(word: *const Word, count: u32) void {
    switch (builtin.os.tag) {
        .linux => {
            const most: u32 = @min(count, std.math.maxInt(i32));
            _ = std.os.linux.futex_3arg(&word.raw, .{ .cmd = .WAKE, .private = true }, most);
        },
        .macos, .ios => {
            const flags: std.c.UL = .{ .op = .COMPARE_AND_WAIT, .NO_ERRNO = true, .WAKE_ALL = count > 1 };
            _ = std.c.__ulock_wake(flags, &word.raw, 0);
        },
        .windows => if (count > 1) {
            std.os.windows.ntdll.RtlWakeAddressAll(&word.raw);
        } else std.os.windows.ntdll.RtlWakeAddressSingle(&word.raw),
        else => {},
    }
}
