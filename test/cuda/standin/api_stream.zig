//! Entry points for streams and events. Work runs when it is given; the times of events are real.
const std = @import("std");
const later = @import("later.zig");
const report = @import("report.zig");
const state = @import("state.zig");
const now = @import("lock.zig").now;
const Code = state.Code;
const Context = state.Context;

const gpa = state.gpa;

const Stream = struct { context: *Context, flags: c_uint, priority: c_int };
const Event = struct { context: *Context, flags: c_uint, recorded: bool = false, at: u64 = 0, mark: later.Mark = .{} };

const disable_timing: c_uint = 2;

/// Null and the two fixed handles are the default streams.
pub fn valid(stream: ?*anyopaque) bool {
    return @intFromPtr(stream) <= 2 or state.is(stream, .stream);
}

/// Whether a stream is one of a context's own.
pub fn belongs(stream: ?*anyopaque, context: *const Context) bool {
    if (@intFromPtr(stream) <= 2) return true;
    const s: *const Stream = @ptrCast(@alignCast(stream.?));
    return s.context == context;
}

fn create_stream(stream: ?*?*anyopaque, flags: c_uint, priority: c_int) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    const to = stream orelse return Code.invalid_value;
    if (flags > 1) return Code.invalid_value;
    const s = gpa.create(Stream) catch return Code.out_of_memory;
    s.* = .{ .context = c, .flags = flags, .priority = priority };
    if (!state.keep(s, .stream)) return Code.out_of_memory;
    report.count("streams", 1);
    to.* = s;
    return 0;
}

export fn cuStreamCreate(stream: ?*?*anyopaque, flags: c_uint) c_int {
    return create_stream(stream, flags, 0);
}

export fn cuStreamCreateWithPriority(stream: ?*?*anyopaque, flags: c_uint, priority: c_int) c_int {
    return create_stream(stream, flags, std.math.clamp(priority, -5, 0));
}

export fn cuCtxGetStreamPriorityRange(least: ?*c_int, greatest: ?*c_int) c_int {
    if (least) |to| to.* = 0;
    if (greatest) |to| to.* = -5;
    return 0;
}

export fn cuStreamDestroy_v2(stream: ?*anyopaque) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    const code = state.begin();
    if (code != 0) return code;
    if (!state.is(stream, .stream)) return Code.invalid_handle;
    state.drop(stream.?);
    gpa.destroy(@as(*Stream, @ptrCast(@alignCast(stream.?))));
    report.uncount("streams", 1);
    return 0;
}

/// A call on a stream in the current context.
fn on(stream: ?*anyopaque, context: **Context) c_int {
    const code = state.enter(context);
    if (code != 0) return code;
    return if (valid(stream)) 0 else Code.invalid_handle;
}

export fn cuStreamSynchronize(stream: ?*anyopaque) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = on(stream, &c);
    if (code != 0) return code;
    later.finish(c, stream);
    return state.synchronise(c);
}

export fn cuStreamQuery(stream: ?*anyopaque) c_int {
    {
        state.lock.lock();
        defer state.lock.unlock();
        var c: *Context = undefined;
        const code = on(stream, &c);
        if (code != 0) return code;
        if (!later.is_idle(c, stream)) return Code.not_ready;
    }
    return cuStreamSynchronize(stream);
}

export fn cuStreamWaitEvent(stream: ?*anyopaque, event: ?*anyopaque, flags: c_uint) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = on(stream, &c);
    if (code != 0) return code;
    if (flags > 1) return Code.invalid_value;
    const e = event_of(event) orelse return Code.invalid_handle;
    later.wait(c, stream, &e.mark);
    return 0;
}

export fn cuLaunchHostFunc(
    stream: ?*anyopaque,
    function: ?*const fn (?*anyopaque) callconv(.c) void,
    data: ?*anyopaque,
) c_int {
    {
        state.lock.lock();
        defer state.lock.unlock();
        var c: *Context = undefined;
        const code = on(stream, &c);
        if (code != 0) return code;
        later.finish(c, stream);
        if (c.pending != 0) return 0;
    }
    const call = function orelse return Code.invalid_value;
    call(data);
    return 0;
}

export fn cuEventCreate(event: ?*?*anyopaque, flags: c_uint) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    const to = event orelse return Code.invalid_value;
    if (flags > 7) return Code.invalid_value;
    const e = gpa.create(Event) catch return Code.out_of_memory;
    e.* = .{ .context = c, .flags = flags };
    if (!state.keep(e, .event)) return Code.out_of_memory;
    report.count("events", 1);
    to.* = e;
    return 0;
}

export fn cuEventDestroy_v2(event: ?*anyopaque) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    const code = state.begin();
    if (code != 0) return code;
    const e = event_of(event) orelse return Code.invalid_handle;
    state.drop(e);
    gpa.destroy(e);
    report.uncount("events", 1);
    return 0;
}

fn event_of(event: ?*anyopaque) ?*Event {
    return if (state.is(event, .event)) @ptrCast(@alignCast(event.?)) else null;
}

export fn cuEventRecord(event: ?*anyopaque, stream: ?*anyopaque) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = on(stream, &c);
    if (code != 0) return code;
    const e = event_of(event) orelse return Code.invalid_handle;
    if (e.context != c or !belongs(stream, c)) return Code.invalid_handle;
    e.recorded = true;
    e.at = now();
    later.record(c, stream, &e.mark);
    return 0;
}

export fn cuEventQuery(event: ?*anyopaque) c_int {
    {
        state.lock.lock();
        defer state.lock.unlock();
        const e = event_of(event) orelse return Code.invalid_handle;
        if (!e.mark.is_done()) return Code.not_ready;
    }
    return cuEventSynchronize(event);
}

export fn cuEventSynchronize(event: ?*anyopaque) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    const e = event_of(event) orelse return Code.invalid_handle;
    later.finish_mark(&e.mark);
    return if (e.recorded) state.synchronise(c) else 0;
}

export fn cuEventElapsedTime(milliseconds: ?*f32, start: ?*anyopaque, end: ?*anyopaque) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    const code = state.begin();
    if (code != 0) return code;
    const to = milliseconds orelse return Code.invalid_value;
    const a = event_of(start) orelse return Code.invalid_handle;
    const b = event_of(end) orelse return Code.invalid_handle;
    if (!a.recorded or !b.recorded or (a.flags | b.flags) & disable_timing != 0) return Code.invalid_handle;
    const nanoseconds = @as(i64, @bitCast(b.at)) - @as(i64, @bitCast(a.at));
    to.* = @floatCast(@as(f64, @floatFromInt(nanoseconds)) / 1e6);
    return 0;
}
