//! How a kernel fails: the first fault of a launch ends it and is told in words.
const std = @import("std");
const lexer = @import("lexer.zig");
const machine = @import("machine.zig");
const memory = @import("memory.zig");
const report = @import("report.zig");
const Ins = machine.Ins;
const Warp = machine.Warp;

pub const illegal_address: c_int = 700;
pub const timeout: c_int = 702;
pub const assert: c_int = 710;
pub const illegal_instruction: c_int = 715;
pub const misaligned_address: c_int = 716;
pub const launch_failed: c_int = 719;

/// Stops the launch; only the first of its faults is kept.
pub fn raise(w: *Warp, i: ?*const Ins, mask: u32, code: c_int, comptime format: []const u8, args: anytype) void {
    const launch = w.block.launch;
    w.limit = 0;
    w.active = 0;
    if (launch.stopped.swap(true, .acq_rel)) return;
    launch.fault_code = code;
    report.count("faults", 1);
    say(w, i, mask, format, args);
}

/// A fault, or only a report for code 0.
pub fn tell(w: *Warp, i: *const Ins, mask: u32, code: c_int, comptime format: []const u8, args: anytype) void {
    if (code != 0) raise(w, i, mask, code, format, args) else say(w, i, mask, format, args);
}

fn say(w: *Warp, i: ?*const Ins, mask: u32, comptime format: []const u8, args: anytype) void {
    const launch = w.block.launch;
    const k = launch.kernel;
    const lane: u32 = @min(@ctz(mask), machine.lanes - 1);
    const t = thread_of(launch, w.index * machine.lanes + lane);
    const id = w.block.id;
    const at = if (i) |ins| ins.at else 0;
    const line = if (i == null) 0 else lexer.line_of(k.text, at);
    const words = if (i == null) "" else lexer.statement(k.text, at);
    const where = "kernel {s}, line {d} \"{s}\", block ({d},{d},{d}), thread ({d},{d},{d}): ";
    report.say(where ++ format, .{ k.name, line, words, id[0], id[1], id[2], t[0], t[1], t[2] } ++ args);
}

pub fn thread_of(launch: *const machine.Launch, flat: u32) [3]u32 {
    const x = @max(1, launch.block[0]);
    const y = @max(1, launch.block[1]);
    return .{ flat % x, flat / x % y, flat / x / y };
}

/// An access that no live memory answers, or one that is not aligned.
pub fn access(w: *Warp, i: *const Ins, lane: u32, address: u64, bytes: u64, verb: []const u8, space: []const u8) void {
    const mask = @as(u32, 1) << @intCast(lane);
    if (address % bytes != 0) {
        return raise(w, i, mask, misaligned_address, "misaligned {s} of {d} bytes at 0x{x} ({s})", .{
            verb, bytes, address, space,
        });
    }
    var buffer: [200]u8 = undefined;
    const near = if (address >= memory.tag) memory.describe(address, &buffer) else "no address of device memory";
    raise(w, i, mask, illegal_address, "illegal {s} of {d} bytes at 0x{x} ({s}): {s}", .{
        verb, bytes, address, space, near,
    });
}
