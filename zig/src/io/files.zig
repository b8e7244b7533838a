//! Files and mappings: batches of jobs that open, write, size and map files, alone or with several threads.
//! Everything outside is hostile: each job ends with a status (0, -errno, or one of our own codes below -10000),
//! nothing panics.
//! Addresses and sizes cross the boundary as f64, exact below 2^53, so that the other side never needs a BigInt.
const std = @import("std");
const builtin = @import("builtin");
const alloc = @import("../core/alloc.zig");
const jb = @import("job.zig");
const mappings = @import("mappings.zig");
const pinned = @import("../cuda/pinned.zig");
const transfer = @import("transfer.zig");

const c = std.c;
const posix_host = builtin.os.tag != .windows and builtin.os.tag != .wasi;

pub const Job = jb.Job;
const Flag = jb.Flag;
const Failure = jb.Failure;
const lastError = jb.lastError;
const errnoOf = jb.errnoOf;
const whole = jb.whole;
const badJob = jb.badJob;
const openFile = transfer.openFile;
const sizeOf = transfer.sizeOf;
const identityOf = transfer.identityOf;
const inodeOf = transfer.inodeOf;

fn openStatus(flags: u32) f64 {
    const code = lastError();
    if (code == errnoOf(.EXIST)) return jb.Status.exists;
    if (flags & Flag.no_follow != 0 and code == errnoOf(.LOOP)) return jb.Status.symlink;
    return code;
}

fn anonymousFile() c_int {
    if (builtin.os.tag != .linux) return -1;
    // The system call itself: C libraries before glibc 2.27 have no function for it.
    const result = std.os.linux.memfd_create("zensor", 1);
    const code = std.os.linux.errno(result);
    if (code == .SUCCESS) return @intCast(result);
    c._errno().* = @intFromEnum(code);
    return -1;
}

fn resize(job: *Job, fd: c_int, size: usize) Failure!void {
    while (c.ftruncate(fd, @intCast(size)) != 0) {
        if (c._errno().* == @intFromEnum(c.E.INTR)) continue;
        job.status = lastError();
        return error.Failed;
    }
    job.file_size = @floatFromInt(size);
}

/// What maps a whole file that was there already, for reading and writing through.
const plain_map = Flag.map | Flag.shared | Flag.writable;

fn mapDescriptor(job: *Job, fd: c_int, length: usize, flags: u32, offset: usize) Failure!bool {
    if (length == 0) return false;
    const identity: mappings.File = if (fd >= 0 and job.path != 0) identityOf(fd) else .{};
    if (identity.inode < 1 << 53) job.inode = @floatFromInt(identity.inode);
    const file: mappings.File = if (flags == plain_map and offset == 0) identity else .{};
    const moves = flags & (Flag.write | Flag.read | Flag.copy) != 0;
    const path = whole(if (moves or job.data == 0) job.path else job.data) orelse 0;
    const name: ?[*:0]const u8 = if (path == 0) null else @ptrFromInt(path);
    if (file.inode != 0) if (mappings.shared(file, length, name)) |start| {
        job.address = @floatFromInt(start);
        job.mapped = @floatFromInt(length);
        return false;
    };
    var m: c.MAP = .{ .TYPE = if (flags & Flag.shared != 0) .SHARED else .PRIVATE };
    if (@hasField(c.MAP, "NORESERVE")) m.NORESERVE = true;
    if (@hasField(c.MAP, "POPULATE") and flags & Flag.populate != 0) m.POPULATE = true;
    if (fd < 0) m.ANONYMOUS = true;
    const address = c.mmap(null, length, .{ .READ = true, .WRITE = true }, m, fd, @intCast(offset));
    if (address == c.MAP_FAILED) {
        job.status = lastError();
        return error.Failed;
    }
    job.address = @floatFromInt(@intFromPtr(address));
    job.mapped = @floatFromInt(length);
    const kept = flags & Flag.keep_fd != 0 and fd >= 0 and mayKeep(fd);
    mappings.add(@intFromPtr(address), length, offset, name, if (kept) fd else -1);
    mappings.share(@intFromPtr(address), file);
    return kept;
}

/// Half of the descriptors that the process may have are left to others.
fn mayKeep(fd: c_int) bool {
    var limit: c.rlimit = undefined;
    if (c.getrlimit(.NOFILE, &limit) != 0) return false;
    return @as(u64, @intCast(fd)) < limit.cur / 2;
}

fn openForJob(job: *Job, path: [*:0]const u8, flags: u32, wanted: ?usize) Failure!c_int {
    var fd = openFile(path, flags, flags & Flag.exclusive != 0);
    if (fd < 0) {
        job.status = openStatus(flags);
        return error.Failed;
    }
    errdefer _ = c.close(fd);
    var size = sizeOf(fd);
    if (size < 0 or size == std.math.maxInt(i64)) {
        job.status = jb.Status.not_a_file;
        return error.Failed;
    }
    if (flags & Flag.replace != 0 and size != 0 and (wanted == null or size != @as(i64, @intCast(wanted.?)))) {
        const fresh = replaceFile(path, flags);
        if (fresh < 0) {
            job.status = openStatus(flags);
            return error.Failed;
        }
        _ = c.close(fd);
        fd = fresh;
        size = 0;
    }
    job.file_size = @floatFromInt(size);
    // Whoever writes aside has to know the file again.
    if (flags & Flag.create != 0) job.inode = inodeOf(fd);
    return fd;
}

fn replaceFile(path: [*:0]const u8, flags: u32) c_int {
    if (c.unlink(path) != 0 and c._errno().* != @intFromEnum(c.E.NOENT)) return -1;
    return openFile(path, flags | Flag.create, true);
}

fn runPosix(job: *Job) Failure!void {
    const bits = whole(job.flags) orelse return badJob(job);
    const flags: u32 = @truncate(bits);
    const path_address = whole(job.path) orelse return badJob(job);
    const offset = whole(job.offset) orelse return badJob(job);
    const wanted: ?usize = if (job.nbytes == -1) null else (whole(job.nbytes) orelse return badJob(job));
    const moves = flags & (Flag.write | Flag.read | Flag.copy) != 0;
    if (moves and (wanted == null or (job.data == 0 and wanted.? > 0))) return badJob(job);

    const fd = if (path_address == 0)
        anonymousFile()
    else
        try openForJob(job, @ptrFromInt(path_address), flags, wanted);
    if (fd < 0 and path_address == 0 and wanted == null) return badJob(job);
    var keep = false;
    defer if (fd >= 0 and !keep) {
        _ = c.close(fd);
    };
    if (flags & Flag.read != 0) {
        const data = whole(job.data) orelse return badJob(job);
        if (wanted.? > 0) try transfer.readAll(job, fd, @ptrFromInt(data), wanted.?, offset);
        job.status = 0;
        return;
    }
    if (flags & Flag.copy != 0) try transfer.copyAll(job, fd, wanted orelse return badJob(job), offset);
    if (fd >= 0) try fillDescriptor(job, fd, flags, wanted, offset, path_address == 0);
    if (flags & Flag.map != 0) {
        const length = wanted orelse (@as(usize, @intFromFloat(job.file_size)) -| offset);
        keep = try mapDescriptor(job, fd, length, flags, offset);
    }
    job.status = 0;
}

fn fillDescriptor(job: *Job, fd: c_int, flags: u32, wanted: ?usize, offset: usize, anonymous: bool) Failure!void {
    if (flags & Flag.write != 0) {
        const data = whole(job.data) orelse return badJob(job);
        if (wanted.? > 0) {
            try transfer.reserve(job, fd, wanted.?, offset);
            try transfer.writeAll(job, fd, @ptrFromInt(data), wanted.?, offset);
        }
    }
    if (wanted) |nbytes| {
        const end: f64 = @floatFromInt(offset + nbytes);
        if (job.file_size < end) {
            if (flags & Flag.grow == 0 and !anonymous) {
                job.status = jb.Status.too_small;
                return error.Failed;
            }
            try resize(job, fd, offset + nbytes);
        }
    }
    if (flags & Flag.fsync != 0 and c.fsync(fd) != 0) {
        job.status = lastError();
        return error.Failed;
    }
}

fn runJob(job: *Job) bool {
    job.address = 0;
    job.file_size = 0;
    job.mapped = 0;
    job.inode = 0;
    if (!posix_host) {
        job.status = jb.Status.unsupported;
        return false;
    }
    runPosix(job) catch return false;
    return true;
}

/// A batch that several threads share. Jobs are claimed one by one, in order.
const Batch = struct {
    jobs: [*]Job,
    count: u32,
    next: std.atomic.Value(u32) = .init(0),
    done: std.atomic.Value(u32) = .init(0),
    failed: std.atomic.Value(u32) = .init(0),
    cancelled: std.atomic.Value(bool) = .init(false),

    fn work(self: *Batch) void {
        while (true) {
            const i = self.next.fetchAdd(1, .monotonic);
            if (i >= self.count) return;
            if (self.cancelled.load(.monotonic)) {
                self.jobs[i].status = jb.Status.cancelled;
                _ = self.failed.fetchAdd(1, .monotonic);
            } else if (!runJob(&self.jobs[i])) {
                _ = self.failed.fetchAdd(1, .monotonic);
            }
            _ = self.done.fetchAdd(1, .release);
        }
    }
};

/// A batch beside the program. Whoever started it may go away, a Worker that is terminated for example, and its
/// memory with it: so the batch owns what it uses, and ends when its last thread has left and nobody has its handle.
const Background = struct {
    batch: Batch,
    /// Threads at work, and one for the handle.
    users: std.atomic.Value(u32) = .init(1),
    /// The mappings that were made belong to whoever asked for the result.
    taken: std.atomic.Value(bool) = .init(false),
    memory: []const f64,

    fn work(self: *Background) void {
        self.batch.work();
        self.leave();
    }

    fn leave(self: *Background) void {
        if (self.users.fetchSub(1, .acq_rel) != 1) return;
        if (!self.taken.load(.acquire)) for (self.batch.jobs[0..self.batch.count]) |job| {
            if (job.mapped > 0 and job.address > 0) _ = zs_io_unmap(job.address, job.mapped);
        };
        self.disown(self.memory.len);
        std.heap.c_allocator.free(self.memory);
        std.heap.c_allocator.destroy(self);
    }

    /// Becomes an owner of all memory: blocks and pinned blocks by their addresses, mappings by the negative ones.
    fn own(self: *Background) bool {
        for (self.memory, 0..) |at, i| {
            const address = whole(@abs(at)) orelse 0;
            if (address != 0 and if (at < 0) mappings.keep(address) else keep_block(address)) continue;
            self.disown(i);
            return false;
        }
        return true;
    }

    fn disown(self: *Background, count: usize) void {
        for (self.memory[0..count]) |at| {
            const address: usize = @intFromFloat(@abs(at));
            if (at < 0) {
                _ = mappings.drop(address, 0);
            } else if (!pinned.drop(address)) alloc.dealloc(@ptrFromInt(address));
        }
    }

    fn keep_block(address: usize) bool {
        return pinned.keep(address) or alloc.keep_alive(@ptrFromInt(address));
    }
};

const max_threads = 64;

fn jobsAt(address: f64, count: u32) ?[*]Job {
    const a = whole(address) orelse return null;
    if (count > 0 and (a == 0 or a % @alignOf(Job) != 0)) return null;
    return if (count == 0) @ptrFromInt(@alignOf(Job)) else @ptrFromInt(a);
}

fn spawn(wanted: u32, comptime work: anytype, batch: anytype, threads: ?[]std.Thread) u32 {
    var spawned: u32 = 0;
    while (spawned < @min(wanted, max_threads)) : (spawned += 1) {
        const thread = std.Thread.spawn(.{ .stack_size = 256 << 10 }, work, .{batch}) catch break;
        if (threads) |list| list[spawned] = thread else thread.detach();
    }
    return spawned;
}

/// Runs `count` jobs with up to `threads` threads, the caller among them. Returns how many failed, -1 for a bad
/// argument.
pub fn zs_io_run(jobs: f64, count: u32, threads: u32) callconv(.c) i32 {
    var batch: Batch = .{ .jobs = jobsAt(jobs, count) orelse return -1, .count = count };
    var helpers: [max_threads]std.Thread = undefined;
    const spawned = spawn(@min(threads, count) -| 1, Batch.work, &batch, &helpers);
    batch.work();
    for (helpers[0..spawned]) |thread| thread.join();
    return @intCast(batch.failed.load(.monotonic));
}

/// A batch without jobs; 0 without memory. Whoever wants to start one takes care first that its handle is given back:
/// a Worker may be terminated between any two steps.
pub fn zs_io_batch() callconv(.c) f64 {
    const self = std.heap.c_allocator.create(Background) catch return 0;
    self.* = .{ .batch = .{ .jobs = @ptrFromInt(@alignOf(Job)), .count = 0 }, .memory = &.{} };
    return @floatFromInt(@intFromPtr(self));
}

/// Starts the jobs of a new batch in the background. `memory` lists the blocks (and, as negative addresses, the
/// mappings) that the jobs lie in, read and write: they stay until the last thread has left. Returns 0, or -1 when it
/// could not start.
pub fn zs_io_start(handle: f64, jobs: f64, count: u32, threads: u32, memory: f64, memory_count: u32) callconv(.c) i32 {
    const self = backgroundAt(handle) orelse return -1;
    const list = jobsAt(jobs, count) orelse return -1;
    const owned = whole(memory) orelse return -1;
    if (owned == 0 or owned % @alignOf(f64) != 0 or self.memory.len > 0) return -1;
    const places: [*]const f64 = @ptrFromInt(owned);
    self.memory = std.heap.c_allocator.dupe(f64, places[0..memory_count]) catch return -1;
    if (!self.own()) {
        std.heap.c_allocator.free(self.memory);
        self.memory = &.{};
        return -1;
    }
    self.batch = .{ .jobs = list, .count = count };
    const wanted: u32 = @min(@max(@min(threads, count), 1), max_threads);
    _ = self.users.fetchAdd(wanted, .acq_rel);
    const spawned = spawn(wanted, Background.work, self, null);
    for (spawned..wanted) |_| self.leave();
    return if (spawned > 0) 0 else -1;
}

fn backgroundAt(handle: f64) ?*Background {
    const a = whole(handle) orelse return null;
    return if (a == 0) null else @ptrFromInt(a);
}

/// How many jobs of a background batch have ended so far.
pub fn zs_io_done(handle: f64) callconv(.c) i32 {
    const self = backgroundAt(handle) orelse return -1;
    return @intCast(self.batch.done.load(.acquire));
}

/// Asks a background batch to skip the jobs it has not begun.
pub fn zs_io_cancel(handle: f64) callconv(.c) void {
    const self = backgroundAt(handle) orelse return;
    self.batch.cancelled.store(true, .monotonic);
}

/// How many jobs failed. Mappings that were made belong to the caller from now on.
pub fn zs_io_finish(handle: f64) callconv(.c) i32 {
    const self = backgroundAt(handle) orelse return -1;
    self.taken.store(true, .release);
    return @intCast(self.batch.failed.load(.monotonic));
}

/// The handle is gone: jobs that have not begun do not begin.
fn releaseBatch(_: ?*anyopaque, handle: ?*anyopaque) callconv(.c) void {
    const self: *Background = @ptrCast(@alignCast(handle orelse return));
    self.batch.cancelled.store(true, .monotonic);
    self.leave();
}

/// Address of the function that gives a handle back: (any address, the handle). The collector calls it too.
pub fn zs_release_batch_function() callconv(.c) f64 {
    return @floatFromInt(@intFromPtr(&releaseBatch));
}

fn unmap(address: usize, nbytes: usize) i32 {
    if (!posix_host) return @intFromFloat(jb.Status.unsupported);
    if (address == 0 or nbytes == 0) return 0;
    if (address % std.heap.pageSize() != 0) return @intFromFloat(jb.Status.bad_job);
    return mappings.drop(address, nbytes);
}

/// Gives a mapping back.
pub fn zs_io_unmap(address: f64, nbytes: f64) callconv(.c) i32 {
    return unmap(whole(address) orelse return -1, whole(nbytes) orelse return -1);
}

fn releaseMapping(bytes: ?*anyopaque, ctx: ?*anyopaque) callconv(.c) void {
    _ = unmap(@intFromPtr(bytes), @intFromPtr(ctx));
}

/// For buffers over a part of a mapping: the context is where the mapping begins.
fn releaseWindow(_: ?*anyopaque, ctx: ?*anyopaque) callconv(.c) void {
    // What has a window was found in the table, which knows its length.
    _ = mappings.drop(@intFromPtr(ctx), 0);
}

/// Address of the function that a collector calls to drop a part: (first byte, where the mapping begins).
pub fn zs_release_window_function() callconv(.c) f64 {
    return @floatFromInt(@intFromPtr(&releaseWindow));
}

/// Adds an owner to a mapping: one release more is needed. Returns 0, or -1 when it is no mapping of ours.
pub fn zs_io_keep(address: f64) callconv(.c) i32 {
    return if (mappings.keep(whole(address) orelse return -1)) 0 else -1;
}

/// The open descriptor of a mapping that keeps one, else -1.
pub fn zs_io_descriptor(address: f64) callconv(.c) i32 {
    return mappings.descriptor(whole(address) orelse return -1);
}

/// The path of a mapped file of which a page could not be had, once; 0 when there is none. Negative when the file is as
/// long as its mapping: then the disk is full, or broken.
pub fn zs_io_fault() callconv(.c) f64 {
    const fault = mappings.take() orelse return 0;
    const address: f64 = @floatFromInt(@intFromPtr(fault.path));
    return if (fault.shorter) address else -address;
}

/// Address of the function that a collector calls to drop a mapping: (first byte, length as a pointer-sized number).
pub fn zs_release_mapping_function() callconv(.c) f64 {
    return @floatFromInt(@intFromPtr(&releaseMapping));
}

/// Writes changed pages of a shared mapping to its file and waits.
pub fn zs_io_sync(address: f64, nbytes: f64) callconv(.c) i32 {
    if (!posix_host) return @intFromFloat(jb.Status.unsupported);
    const a = whole(address) orelse return -1;
    const n = whole(nbytes) orelse return -1;
    const page = std.heap.pageSize();
    const start = a - a % page;
    if (start == 0 or n == 0) return 0;
    if (c.msync(@ptrFromInt(start), n + (a - start), c.MSF.SYNC) != 0) return -@as(i32, @intCast(c._errno().*));
    return 0;
}

/// Reserves an address range without access rights; unmap gives it back. Negative: -errno.
pub fn zs_io_reserve(nbytes: f64) callconv(.c) f64 {
    if (!posix_host) return jb.Status.unsupported;
    const n = whole(nbytes) orelse return jb.Status.bad_job;
    if (n == 0) return jb.Status.bad_job;
    var m: c.MAP = .{ .TYPE = .PRIVATE, .ANONYMOUS = true };
    if (@hasField(c.MAP, "NORESERVE")) m.NORESERVE = true;
    const address = c.mmap(null, n, .{}, m, -1, 0);
    if (address == c.MAP_FAILED) return lastError();
    mappings.add(@intFromPtr(address), n, 0, null, -1);
    return @floatFromInt(@intFromPtr(address));
}

/// Mappings made here that are still alive.
pub fn zs_io_live_maps() callconv(.c) f64 {
    return mappings.maps();
}

/// Bytes of address space in those mappings.
pub fn zs_io_live_bytes() callconv(.c) f64 {
    return mappings.bytes();
}

/// Size of a page of memory.
pub fn zs_io_page_size() callconv(.c) f64 {
    return @floatFromInt(std.heap.pageSize());
}

test "write, map, grow and refuse" {
    if (!posix_host) return error.SkipZigTest;
    var name_buffer: [64]u8 = undefined;
    const name = try std.fmt.bufPrintZ(&name_buffer, "/tmp/zs-io-test-{d}", .{c.getpid()});
    defer _ = c.unlink(name);
    const text = "hello";
    const at = struct {
        fn f(p: anytype) f64 {
            return @floatFromInt(@intFromPtr(p));
        }
    }.f;
    const blank = std.mem.zeroes(Job);
    var jobs: [3]Job = @splat(blank);
    for (&jobs) |*job| job.path = at(name.ptr);
    jobs[0].data = at(text);
    jobs[0].nbytes = 5;
    jobs[0].flags = Flag.write | Flag.create | Flag.map | Flag.shared;
    jobs[1].nbytes = 10;
    jobs[1].flags = Flag.map;
    jobs[2].nbytes = 5;
    jobs[2].flags = Flag.create | Flag.exclusive | Flag.write;
    jobs[2].data = at(text);
    try std.testing.expectEqual(@as(i32, 2), zs_io_run(at(&jobs), 3, 1));
    try std.testing.expectEqual(@as(f64, 0), jobs[0].status);
    try std.testing.expectEqual(jb.Status.too_small, jobs[1].status);
    try std.testing.expectEqual(jb.Status.exists, jobs[2].status);
    const mapped: [*]const u8 = @ptrFromInt(@as(usize, @intFromFloat(jobs[0].address)));
    try std.testing.expectEqualStrings(text, mapped[0..5]);
    try std.testing.expectEqual(@as(i32, 0), zs_io_unmap(jobs[0].address, jobs[0].mapped));
    try std.testing.expectEqual(@as(f64, 0), zs_io_live_maps());
    try std.testing.expectEqual(@as(i32, -1), zs_io_run(3, 1, 1));
}
