//! What the stand-in pretends to be, and the faults it is asked for: from the environment when it is loaded, and
//! from `zsStandinControl` at any time.
const std = @import("std");

extern "c" fn getenv(name: [*:0]const u8) ?[*:0]const u8;

pub const processors = 34;

pub const Settings = struct {
    devices: u64 = 1,
    memory: u64 = 6 << 30,
    capability: u64 = 80,
    version: u64 = 12040,
    /// Threads of the host for kernels; 0 for one on each processor.
    threads: u64 = 0,
    timeout_ms: u64 = 120_000,
    /// A launch gives its error at once, as with CUDA_LAUNCH_BLOCKING.
    blocking: bool = false,
    race_faults: bool = false,
    /// Streams run their work as late as they may (see later.zig).
    later: bool = false,

    /// The result of cuInit.
    init_error: u64 = 0,
    /// Allocations fail now; after so many more succeeded; beyond so many bytes. `none` for never.
    out_of_memory: bool = false,
    allocations_left: u64 = none,
    bytes_limit: u64 = none,
    /// The n-th launch from now on (1 is the next) fails with `launch_error`, told at the next synchronisation.
    fail_launch: u64 = none,
    launch_error: u64 = 719,
    /// Every module is refused with this code.
    refuse_module: u64 = 0,
    /// Every call fails with this code: 999 for a lost device.
    lost: u64 = 0,
};

pub const none: u64 = std.math.maxInt(u64);

pub var current: Settings = .{};

fn assign(comptime T: type, to: *T, value: u64) void {
    if (T == bool) to.* = value != 0 else to.* = value;
}

/// False for a name that is none.
pub fn set(name: []const u8, value: u64) bool {
    if (std.mem.eql(u8, name, "reset")) {
        current = .{};
        return true;
    }
    inline for (@typeInfo(Settings).@"struct".fields) |field| {
        if (std.mem.eql(u8, name, field.name)) {
            assign(field.type, &@field(current, field.name), value);
            return true;
        }
    }
    return false;
}

/// ZENSOR_STANDIN is a list such as "memory=1048576,lost=999"; what it does not know is told on standard error.
pub fn read_environment() void {
    if (getenv("CUDA_LAUNCH_BLOCKING")) |text| current.blocking = text[0] == '1';
    const text = std.mem.span(getenv("ZENSOR_STANDIN") orelse return);
    var parts = std.mem.tokenizeAny(u8, text, ", ");
    while (parts.next()) |part| {
        const equals = std.mem.indexOfScalar(u8, part, '=') orelse part.len;
        const value = if (equals == part.len) 1 else std.fmt.parseInt(u64, part[equals + 1 ..], 10) catch none;
        if (!set(part[0..equals], value)) std.debug.print("ZENSOR_STANDIN: unknown setting '{s}'\n", .{part});
    }
}
