//! Entry points that launch kernels and ask about them.
const std = @import("std");
const api_device = @import("api_device.zig");
const api_module = @import("api_module.zig");
const later = @import("later.zig");
const machine = @import("machine.zig");
const report = @import("report.zig");
const schedule = @import("schedule.zig");
const settings = @import("settings.zig");
const state = @import("state.zig");
const streams = @import("api_stream.zig");
const Code = state.Code;
const Context = state.Context;
const Function = api_module.Function;

fn function_of(handle: ?*anyopaque) ?*Function {
    return if (state.is(handle, .function)) @ptrCast(@alignCast(handle.?)) else null;
}

export fn cuFuncGetAttribute(value: ?*c_int, attribute: c_int, function: ?*anyopaque) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    const code = state.begin();
    if (code != 0) return code;
    const to = value orelse return Code.invalid_value;
    const f = function_of(function) orelse return Code.invalid_handle;
    const k = f.kernel;
    to.* = @intCast(switch (attribute) {
        0 => k.max_threads,
        1 => k.shared_bytes,
        2, 7 => 0,
        3 => k.local_bytes,
        4 => @min(255, k.register_count),
        5 => f.module.parsed.version,
        6 => settings.current.capability,
        8 => f.max_dynamic,
        9 => return minus_one(to),
        else => return Code.invalid_value,
    });
    return 0;
}

fn minus_one(to: *c_int) c_int {
    to.* = -1;
    return 0;
}

export fn cuFuncSetAttribute(function: ?*anyopaque, attribute: c_int, value: c_int) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    const f = function_of(function) orelse return Code.invalid_handle;
    switch (attribute) {
        8 => {
            const room = api_device.max_shared_opted() - @as(i64, f.kernel.shared_bytes);
            if (value < 0 or value > room) return Code.invalid_value;
            f.max_dynamic = @intCast(value);
        },
        9 => if (value < -1 or value > 100) return Code.invalid_value,
        else => return Code.invalid_value,
    }
    return 0;
}

export fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: ?*c_int,
    function: ?*anyopaque,
    threads: c_int,
    dynamic: usize,
) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    const to = blocks orelse return Code.invalid_value;
    const f = function_of(function) orelse return Code.invalid_handle;
    if (threads <= 0) return Code.invalid_value;
    const n: u64 = @intCast(threads);
    const shared = f.kernel.shared_bytes + dynamic;
    const by_shared = if (shared == 0) 32 else (api_device.max_shared_opted() + 1024) / (shared + 1024);
    const by_threads = 2048 / std.mem.alignForward(u64, n, machine.lanes);
    to.* = if (n > f.kernel.max_threads) 0 else @intCast(@min(32, @min(by_shared, by_threads)));
    return 0;
}

/// A kernel's parameters in one buffer, from either way of giving them.
fn gather(k: *const machine.Kernel, params: ?[*]?*anyopaque, extra: ?[*]?*anyopaque, into: []u8) c_int {
    if (params != null and extra != null) return Code.invalid_value;
    if (extra) |list| return from_buffer(k, list, into);
    if (k.params.len == 0) return 0;
    const given = params orelse return Code.invalid_value;
    for (k.params, 0..) |p, n| {
        const from: [*]const u8 = @ptrCast(given[n] orelse return Code.invalid_value);
        @memcpy(into[p.offset..][0..p.size], from[0..p.size]);
    }
    return 0;
}

/// Pairs of a name and a value: 1 the buffer, 2 its size, 0 the end.
fn from_buffer(k: *const machine.Kernel, list: [*]?*anyopaque, into: []u8) c_int {
    var buffer: ?[*]const u8 = null;
    var bytes: usize = 0;
    var n: usize = 0;
    while (list[n] != null) : (n += 2) switch (@intFromPtr(list[n])) {
        1 => buffer = @ptrCast(list[n + 1]),
        2 => bytes = @as(*const usize, @ptrCast(@alignCast(list[n + 1] orelse return Code.invalid_value))).*,
        else => return Code.invalid_value,
    };
    const from = buffer orelse return Code.invalid_value;
    if (bytes != k.param_bytes) return Code.invalid_value;
    @memcpy(into[0..bytes], from[0..bytes]);
    return 0;
}

/// Sizes that a device does not have, told in words.
fn objection(f: *const Function, grid: [3]u32, block: [3]u32, dynamic: u32) ?[]const u8 {
    const k = f.kernel;
    for (grid, block) |g, b| if (g == 0 or b == 0) return "a size is 0";
    if (grid[0] > std.math.maxInt(i32) or grid[1] > 65535 or grid[2] > 65535) return "the grid is too large";
    const threads = @as(u64, block[0]) * block[1] * block[2];
    if (block[0] > 1024 or block[1] > 1024 or block[2] > 64 or threads > 1024) return "the block is too large";
    if (threads > k.max_threads) return "the block has more threads than .maxntid";
    if (k.required[0] != 0 and !std.mem.eql(u32, &k.required, &block)) return "the block is not as .reqntid wants";
    if (dynamic > f.max_dynamic) return "more dynamic shared memory than the function may use";
    return null;
}

const Shape = struct { grid: [3]u32, block: [3]u32, dynamic: u32 };

fn launch(c: *Context, f: *Function, shape: Shape, params: []const u8) c_int {
    const s = &settings.current;
    // Kernels after a fault do not run.
    if (c.pending != 0) return 0;
    if (s.fail_launch != settings.none) {
        s.fail_launch -|= 1;
        if (s.fail_launch == 0) {
            s.fail_launch = settings.none;
            report.say("the launch of {s} fails, as was asked for", .{f.kernel.name});
            c.pending = @intCast(s.launch_error);
            return if (s.blocking) state.synchronise(c) else 0;
        }
    }
    var l: machine.Launch = .{
        .kernel = f.kernel,
        .grid = shape.grid,
        .block = shape.block,
        .params = params,
        .dynamic_bytes = shape.dynamic,
        .device_index = c.device,
    };
    c.pending = schedule.run(&l);
    return if (s.blocking) state.synchronise(c) else 0;
}

export fn cuLaunchKernel(
    function: ?*anyopaque,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    dynamic: c_uint,
    stream: ?*anyopaque,
    params: ?[*]?*anyopaque,
    extra: ?[*]?*anyopaque,
) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    var code = state.enter(&c);
    if (code != 0) return code;
    const f = function_of(function) orelse return Code.invalid_handle;
    if (!streams.valid(stream) or !streams.belongs(stream, c)) return Code.invalid_handle;
    if (f.module.context != c) return Code.invalid_context;
    const shape: Shape = .{
        .grid = .{ grid_x, grid_y, grid_z },
        .block = .{ block_x, block_y, block_z },
        .dynamic = dynamic,
    };
    if (objection(f, shape.grid, shape.block, shape.dynamic)) |words| {
        report.say("launch of {s}: {s}", .{ f.kernel.name, words });
        return Code.invalid_value;
    }
    var buffer: [4352]u8 align(16) = undefined;
    code = gather(f.kernel, params, extra, &buffer);
    if (code != 0) return code;
    const given = buffer[0..f.kernel.param_bytes];
    if (!settings.current.later) return launch(c, f, shape, given);
    var kept: Kept = .{ .function = f, .shape = shape, .bytes = given.len };
    @memcpy(kept.params[0..given.len], given);
    later.give(c, stream, Kept.run, std.mem.asBytes(&kept));
    return 0;
}

/// A launch that its stream has not come to yet.
const Kept = struct {
    params: [4352]u8 align(16) = undefined,
    function: *Function,
    shape: Shape,
    bytes: usize,

    fn run(c: *Context, data: []const u8) void {
        const kept: *const Kept = @ptrCast(@alignCast(data.ptr));
        _ = launch(c, kept.function, kept.shape, kept.params[0..kept.bytes]);
    }
};
