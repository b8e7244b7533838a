//! Streams that run their work as late as they may. With the setting `later` what a program gives a stream is kept, and
//! done when somebody waits for it; then other streams go on only as far as events make them. So a program that forgets
//! to order two streams, or takes memory back too early, sees it every time.
const std = @import("std");
const settings = @import("settings.zig");
const state = @import("state.zig");
const Context = state.Context;

const gpa = state.gpa;

/// What an event stands for: it is done when its queue has come to it.
const Recording = struct { queue: *Queue, done: bool = false };

/// The latest recording of an event. Recordings stay: a stream may wait for one after the event was recorded again.
pub const Mark = struct {
    latest: ?*Recording = null,

    pub fn is_done(m: *const Mark) bool {
        return if (m.latest) |r| r.done else true;
    }
};

pub const Run = *const fn (c: *Context, data: []const u8) void;

const Step = union(enum) {
    work: struct { run: Run, data: []align(16) const u8 },
    record: *Recording,
    wait: *Recording,
};

const Queue = struct { context: *Context, stream: u64, steps: std.ArrayList(Step) = .empty, next: usize = 0 };

var queues: std.ArrayList(*Queue) = .empty;

fn handle(stream: ?*anyopaque) u64 {
    // The two fixed handles are the default stream as well.
    return if (@intFromPtr(stream) <= 2) 0 else @intFromPtr(stream);
}

fn queue_of(c: *Context, stream: ?*anyopaque) *Queue {
    const wanted = handle(stream);
    for (queues.items) |q| if (q.context == c and q.stream == wanted) return q;
    const q = gpa.create(Queue) catch @panic("out of memory");
    q.* = .{ .context = c, .stream = wanted };
    queues.append(gpa, q) catch @panic("out of memory");
    return q;
}

fn put(q: *Queue, what: Step) void {
    q.steps.append(gpa, what) catch @panic("out of memory");
}

/// Runs a piece of work now, or keeps it for its stream.
pub fn give(c: *Context, stream: ?*anyopaque, run: Run, data: []const u8) void {
    if (!settings.current.later) return run(c, data);
    const kept = gpa.alignedAlloc(u8, .fromByteUnits(16), data.len) catch @panic("out of memory");
    @memcpy(kept, data);
    put(queue_of(c, stream), .{ .work = .{ .run = run, .data = kept } });
}

pub fn record(c: *Context, stream: ?*anyopaque, mark: *Mark) void {
    mark.latest = null;
    if (!settings.current.later) return;
    const r = gpa.create(Recording) catch @panic("out of memory");
    r.* = .{ .queue = queue_of(c, stream) };
    mark.latest = r;
    put(r.queue, .{ .record = r });
}

pub fn wait(c: *Context, stream: ?*anyopaque, mark: *Mark) void {
    const r = mark.latest orelse return;
    if (!r.done) put(queue_of(c, stream), .{ .wait = r });
}

fn step(q: *Queue) void {
    const s = q.steps.items[q.next];
    q.next += 1;
    switch (s) {
        .work => |w| {
            w.run(q.context, w.data);
            gpa.free(w.data);
        },
        .record => |r| r.done = true,
        .wait => |r| reach(r),
    }
    if (q.next < q.steps.items.len) return;
    q.steps.clearRetainingCapacity();
    q.next = 0;
}

fn reach(r: *Recording) void {
    while (!r.done and r.queue.steps.items.len > 0) step(r.queue);
}

/// Runs what an event waits for.
pub fn finish_mark(mark: *Mark) void {
    if (mark.latest) |r| reach(r);
}

/// Runs what a stream has been given.
pub fn finish(c: *Context, stream: ?*anyopaque) void {
    const q = queue_of(c, stream);
    while (q.steps.items.len > 0) step(q);
}

pub fn finish_all() void {
    for (queues.items) |q| while (q.steps.items.len > 0) step(q);
}

pub fn is_idle(c: *Context, stream: ?*anyopaque) bool {
    return queue_of(c, stream).steps.items.len == 0;
}
