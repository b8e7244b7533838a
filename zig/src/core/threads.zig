//! Fork-join thread pool. One job at a time: a caller that finds the pool busy (a nested call, or another
//! JavaScript Worker's thread) simply does its own work alone, so nothing can deadlock. Workers spin briefly for
//! the next job, then sleep. A caller waits only for workers that really joined its job, never for one that the
//! system has not woken up yet. Threads are detached: they never hold up the end of the process.

const std = @import("std");
const builtin = @import("builtin");
const futex = @import("futex.zig");
const scratch = @import("scratch.zig");

pub const Body = *const fn (ctx: ?*anyopaque, begin: usize, end: usize) callconv(.c) void;

pub const max_threads = 256;
const spin_rounds = 2000;
const chunks_per_thread = 4;

const open_bit: u32 = 1 << 31;
const waiting_bit: u32 = 1 << 30;
const count_mask: u32 = waiting_bit - 1;

const Job = struct {
    body: Body = undefined,
    ctx: ?*anyopaque = null,
    n: usize = 0,
    chunk: usize = 1,
    next: std.atomic.Value(usize) align(64) = .init(0),

    /// Takes chunks until none is left. Compares counts of chunks, so that `next` cannot wrap round.
    fn work(self: *Job) void {
        const chunks = (self.n - 1) / self.chunk + 1;
        while (true) {
            const i = self.next.fetchAdd(1, .monotonic);
            if (i >= chunks) return;
            const begin = i * self.chunk;
            self.body(self.ctx, begin, begin + @min(self.chunk, self.n - begin));
        }
    }
};

var job: Job = .{};
/// Held by the thread whose job it is.
var busy: std.atomic.Value(bool) align(64) = .init(false);
/// open_bit while workers may join | waiting_bit when the caller sleeps on it | number of workers inside.
var state: futex.Word align(64) = .init(0);
/// Goes up by one with every job; workers sleep on it.
var generation: futex.Word align(64) = .init(0);
var sleepers: std.atomic.Value(u32) = .init(0);
/// 0 until someone asks for the default.
var wanted_threads: std.atomic.Value(u32) align(64) = .init(0);
/// Workers that may join the current job.
var join_limit: std.atomic.Value(u32) = .init(0);
/// Workers started so far; only changed by the holder of `busy`.
var started: u32 = 0;
var start_failed = false;

fn default_threads() u32 {
    if (builtin.single_threaded) return 1;
    const n = std.Thread.getCpuCount() catch 1;
    return @intCast(std.math.clamp(n, 1, max_threads));
}

/// The number of threads a parallel operation may use, the caller's own included.
pub fn num_threads() u32 {
    const n = wanted_threads.load(.monotonic);
    if (n != 0) return n;
    const d = default_threads();
    // A number set by someone else in between must not be overwritten.
    return wanted_threads.cmpxchgStrong(0, d, .monotonic, .monotonic) orelse d;
}

/// Sets that number; 0 means the default (all processors), and more than `max_threads` means `max_threads`.
pub fn set_num_threads(n: u32) void {
    wanted_threads.store(if (n == 0) default_threads() else @min(n, max_threads), .monotonic);
}

fn worker() void {
    var seen: u32 = 0;
    while (true) {
        var spins: u32 = 0;
        var now = generation.load(.acquire);
        while (now == seen) : (now = generation.load(.acquire)) {
            if (spins < spin_rounds) {
                spins += 1;
                std.atomic.spinLoopHint();
                continue;
            }
            _ = sleepers.fetchAdd(1, .seq_cst);
            if (generation.load(.seq_cst) == seen) futex.wait(&generation, seen);
            _ = sleepers.fetchSub(1, .seq_cst);
        }
        seen = now;
        if (!join()) continue;
        job.work();
        // The last one out wakes a caller that went to sleep.
        const before = state.fetchSub(1, .acq_rel);
        if (before & count_mask == 1 and before & waiting_bit != 0) futex.wake(&state, 1);
    }
}

fn join() bool {
    var s = state.load(.acquire);
    while (s & open_bit != 0 and s & count_mask < join_limit.load(.monotonic)) {
        s = state.cmpxchgWeak(s, s + 1, .acq_rel, .acquire) orelse return true;
    }
    return false;
}

/// Workers must not receive the host's signals, except those that a thread brings on itself.
fn start_workers(count: u32) void {
    if (start_failed) return;
    const masks = builtin.os.tag == .linux;
    var old: std.posix.sigset_t = undefined;
    if (masks) {
        var set = std.posix.sigfillset();
        for ([_]std.posix.SIG{ .SEGV, .BUS, .FPE, .ILL, .TRAP, .ABRT }) |sig| std.posix.sigdelset(&set, sig);
        std.posix.sigprocmask(std.posix.SIG.BLOCK, &set, &old);
    }
    defer if (masks) std.posix.sigprocmask(std.posix.SIG.SETMASK, &old, null);
    while (started < count) : (started += 1) {
        const thread = std.Thread.spawn(.{ .stack_size = 1 << 20 }, worker, .{}) catch {
            start_failed = true;
            return;
        };
        thread.detach();
    }
}

/// Calls `body` for disjoint ranges that cover [0, n). At most `grain` items, one thread, or a busy pool: one call
/// on this thread. Ranges hold at least about `grain` items and do not depend on timing, only on the number of threads.
pub fn parallel_for(n: usize, grain: usize, ctx: ?*anyopaque, body: Body) void {
    if (n == 0) return;
    const least = @max(grain, 1);
    const threads = num_threads();
    if (n <= least or threads == 1 or busy.swap(true, .acquire)) return body(ctx, 0, n);
    defer busy.store(false, .release);
    const pieces = @min((n - 1) / least + 1, threads * chunks_per_thread);
    if (started < threads - 1) start_workers(threads - 1);
    const helpers: u32 = @intCast(@min(pieces - 1, @min(threads - 1, started)));
    if (helpers == 0) return body(ctx, 0, n);
    job.body = body;
    job.ctx = ctx;
    job.n = n;
    job.chunk = (n - 1) / pieces + 1;
    job.next.store(0, .monotonic);
    join_limit.store(helpers, .monotonic);
    state.store(open_bit, .release);
    _ = generation.fetchAdd(1, .seq_cst);
    if (sleepers.load(.seq_cst) > 0) futex.wake(&generation, helpers);
    job.work();
    wait_for_workers();
}

/// Closes the job to newcomers and waits until those inside have left.
fn wait_for_workers() void {
    var s = state.fetchAnd(~open_bit, .acq_rel) & ~open_bit;
    var spins: u32 = 0;
    while (s & count_mask != 0) : (s = state.load(.acquire)) {
        if (spins < spin_rounds) {
            spins += 1;
            std.atomic.spinLoopHint();
            continue;
        }
        s = state.fetchOr(waiting_bit, .acq_rel) | waiting_bit;
        if (s & count_mask != 0) futex.wait(&state, s);
    }
    state.store(0, .monotonic);
}

fn c_num_threads() callconv(.c) u32 {
    return num_threads();
}

fn c_parallel_for(n: usize, grain: usize, ctx: ?*anyopaque, body: Body) callconv(.c) void {
    parallel_for(n, grain, ctx, body);
}

comptime {
    _ = scratch;
    @export(&c_num_threads, .{ .name = "zs_num_threads", .visibility = .hidden });
    @export(&c_parallel_for, .{ .name = "zs_parallel_for", .visibility = .hidden });
}

const TestSum = struct {
    marks: []u8,
    calls: std.atomic.Value(u32) = .init(0),
    nested: bool = false,

    fn body(p: ?*anyopaque, begin: usize, end: usize) callconv(.c) void {
        const self: *TestSum = @ptrCast(@alignCast(p));
        _ = self.calls.fetchAdd(1, .monotonic);
        if (self.nested) {
            var inner: TestSum = .{ .marks = self.marks[begin..end] };
            return parallel_for(end - begin, 1, &inner, body);
        }
        for (self.marks[begin..end]) |*m| m.* += 1;
    }
};

test "every item is visited once, for any number of threads, nested too" {
    defer set_num_threads(0);
    var marks: [1000]u8 = undefined;
    for ([_]u32{ 1, 2, 3, 7 }) |t| for ([_]usize{ 1, 2, 3, 64, 999, 1000 }) |n| for ([_]bool{ false, true }) |nested| {
        set_num_threads(t);
        for (0..20) |_| {
            @memset(&marks, 0);
            var ctx: TestSum = .{ .marks = &marks, .nested = nested };
            parallel_for(n, 1, &ctx, TestSum.body);
            for (marks, 0..) |m, i| try std.testing.expectEqual(@as(u8, @intFromBool(i < n)), m);
        }
    };
}

test "a range within the grain is one inline call; n = 0 is none" {
    var marks: [64]u8 = @splat(0);
    var ctx: TestSum = .{ .marks = &marks };
    parallel_for(64, 64, &ctx, TestSum.body);
    try std.testing.expectEqual(1, ctx.calls.raw);
    parallel_for(0, 1, &ctx, TestSum.body);
    try std.testing.expectEqual(1, ctx.calls.raw);
}

test "several threads calling at once" {
    const Caller = struct {
        fn run(ok: *std.atomic.Value(u32)) void {
            var marks: [512]u8 = undefined;
            for (0..300) |_| {
                @memset(&marks, 0);
                var ctx: TestSum = .{ .marks = &marks };
                parallel_for(512, 8, &ctx, TestSum.body);
                for (marks) |m| if (m != 1) return;
            }
            _ = ok.fetchAdd(1, .monotonic);
        }
    };
    set_num_threads(3);
    defer set_num_threads(0);
    var ok: std.atomic.Value(u32) = .init(0);
    var callers: [4]std.Thread = undefined;
    for (&callers) |*c| c.* = try std.Thread.spawn(.{}, Caller.run, .{&ok});
    for (callers) |c| c.join();
    try std.testing.expectEqual(4, ok.raw);
}
