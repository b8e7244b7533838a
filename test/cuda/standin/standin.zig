//! A stand-in for the CUDA driver library: its entry points over host memory, with kernels run by an interpreter of
//! PTX. For tests alone; what it says and computes is emulated, and everything it says says so.
const std = @import("std");
const builtin = @import("builtin");
const report = @import("report.zig");
const settings = @import("settings.zig");
const state = @import("state.zig");

comptime {
    _ = @import("api_device.zig");
    _ = @import("api_errors.zig");
    _ = @import("api_ipc.zig");
    _ = @import("api_launch.zig");
    _ = @import("api_memory.zig");
    _ = @import("api_module.zig");
    _ = @import("api_stream.zig");
}

/// Changes a setting (see settings.zig); 0, or 1 for a name that is none. "reset" takes all back.
export fn zsStandinControl(name: ?[*:0]const u8, value: u64) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    const text = name orelse return 1;
    if (std.mem.eql(u8, std.mem.span(text), "clear")) {
        // As a new process would find the devices: no fault, no report.
        for (&state.contexts) |*c| {
            c.pending = 0;
            c.sticky = 0;
        }
        report.clear();
        return 0;
    }
    return @intFromBool(!settings.set(std.mem.span(text), value));
}

/// What the stand-in said last.
export fn zsStandinReport() [*:0]const u8 {
    return report.last();
}

/// A counter by its name (see report.zig), or the highest number for a name that is none.
export fn zsStandinCounter(name: ?[*:0]const u8) u64 {
    const text = name orelse return settings.none;
    return report.counter(std.mem.span(text)) orelse settings.none;
}

const Constructor = *const fn () callconv(.c) void;

fn start() callconv(.c) void {
    settings.read_environment();
}

const section = if (builtin.os.tag == .macos) "__DATA,__mod_init_func" else ".init_array";

export const zsStandinStart: Constructor linksection(section) = &start;
