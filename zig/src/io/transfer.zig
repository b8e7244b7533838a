//! Opening files, and moving bytes between them and memory. Each function notes in the job why it failed.
const std = @import("std");
const builtin = @import("builtin");
const jb = @import("job.zig");
const mappings = @import("mappings.zig");

const c = std.c;
const Job = jb.Job;
const Flag = jb.Flag;
const Failure = jb.Failure;
const lastError = jb.lastError;
const errnoOf = jb.errnoOf;
const whole = jb.whole;
const badJob = jb.badJob;

pub fn openFile(path: [*:0]const u8, flags: u32, exclusive: bool) c_int {
    var o: c.O = .{ .CLOEXEC = true, .NONBLOCK = true, .NOCTTY = true };
    o.ACCMODE = if (flags & (Flag.writable | Flag.write) != 0) .RDWR else .RDONLY;
    if (flags & Flag.create != 0) o.CREAT = true;
    if (exclusive) o.EXCL = true;
    if (flags & Flag.no_follow != 0) o.NOFOLLOW = true;
    while (true) {
        const fd = c.open(path, o, @as(c_uint, 0o644));
        if (fd >= 0 or c._errno().* != @intFromEnum(c.E.INTR)) return fd;
    }
}

pub fn sizeOf(fd: c_int) i64 {
    return c.lseek(fd, 0, c.SEEK.END);
}

/// What tells a mapped file from others; nothing where the system does not say.
pub fn identityOf(fd: c_int) mappings.File {
    if (builtin.os.tag != .linux) return .{};
    const linux = std.os.linux;
    var found: linux.Statx = undefined;
    const mask: linux.STATX = .{ .INO = true, .BTIME = true };
    if (linux.errno(linux.statx(fd, "", linux.AT.EMPTY_PATH, mask, &found)) != .SUCCESS) return .{};
    if (!found.mask.INO or !found.mask.BTIME) return .{};
    return .{
        .device = @as(u64, found.dev_major) << 32 | found.dev_minor,
        .inode = found.ino,
        .born = @as(i128, found.btime.sec) * 1_000_000_000 + found.btime.nsec,
    };
}

/// The number of a file as it is told, 0 where it is not known.
pub fn inodeOf(fd: c_int) f64 {
    if (builtin.os.tag != .linux) return 0;
    const linux = std.os.linux;
    var found: linux.Statx = undefined;
    if (linux.errno(linux.statx(fd, "", linux.AT.EMPTY_PATH, .{ .INO = true }, &found)) != .SUCCESS) return 0;
    return if (found.ino < 1 << 53) @floatFromInt(found.ino) else 0;
}

/// Why a transfer from or to memory failed. The system gives no signal when the memory is a mapped file that lacks a
/// page: touching it here does, which notes the file.
fn memoryFailed(job: *Job, memory: [*]const u8, fills: bool) Failure {
    job.status = lastError();
    if (job.status == errnoOf(.FAULT)) {
        const byte: *volatile u8 = @constCast(&memory[0]);
        const held = byte.*;
        if (fills) byte.* = held;
        if (mappings.faulted()) job.status = jb.Status.memory_fault;
    }
    return error.Failed;
}

const ext4 = 0xEF53;

/// Blocks for a large part at the end of a file. Only ext4, which otherwise accounts for each page by itself, takes a
/// tenth less time this way; tmpfs would clear the pages first. A full disk is told before anything is written.
pub fn reserve(job: *Job, fd: c_int, nbytes: usize, offset: usize) Failure!void {
    if (builtin.os.tag != .linux or nbytes < 64 << 10) return;
    if (@as(f64, @floatFromInt(offset + nbytes)) <= job.file_size or fileSystemOf(fd) != ext4) return;
    const keep_size = 1;
    const linux = std.os.linux;
    if (linux.errno(linux.fallocate(fd, keep_size, @intCast(offset), @intCast(nbytes))) != .NOSPC) return;
    job.status = errnoOf(.NOSPC);
    return error.Failed;
}

fn fileSystemOf(fd: c_int) usize {
    const linux = std.os.linux;
    // The type is the first word of a struct of at most 120 bytes.
    var found: [16]usize = @splat(0);
    const result = linux.syscall2(.fstatfs, @intCast(fd), @intFromPtr(&found));
    return if (linux.errno(result) == .SUCCESS) found[0] else 0;
}

pub fn writeAll(job: *Job, fd: c_int, data: [*]const u8, nbytes: usize, offset: usize) Failure!void {
    // Large writes go in pieces so that a signal or a full disk is noticed between them.
    const piece: usize = 16 << 20;
    var done: usize = 0;
    while (done < nbytes) {
        const n = c.pwrite(fd, data + done, @min(piece, nbytes - done), @intCast(offset + done));
        if (n < 0) {
            if (c._errno().* == @intFromEnum(c.E.INTR)) continue;
            return memoryFailed(job, data + done, false);
        }
        if (n == 0) {
            job.status = errnoOf(.NOSPC);
            return error.Failed;
        }
        done += @intCast(n);
    }
    job.file_size = @max(job.file_size, @as(f64, @floatFromInt(offset + nbytes)));
}

fn sourceFailed(job: *Job, status: f64) Failure {
    job.status = status;
    job.source_offset = -1;
    return error.Failed;
}

pub fn copyAll(job: *Job, fd: c_int, nbytes: usize, offset: usize) Failure!void {
    const from = whole(job.source_offset) orelse return badJob(job);
    const path: [*:0]const u8 = @ptrFromInt(whole(job.data) orelse return badJob(job));
    if (nbytes == 0) return;
    const source = openFile(path, 0, false);
    if (source < 0) return sourceFailed(job, lastError());
    defer _ = c.close(source);
    const size = sizeOf(source);
    if (size < 0 or size == std.math.maxInt(i64)) return sourceFailed(job, jb.Status.not_a_file);
    if (@as(usize, @intCast(size)) < from or @as(usize, @intCast(size)) - from < nbytes) {
        job.file_size = @floatFromInt(size);
        return sourceFailed(job, jb.Status.source_short);
    }
    var done: usize = if (builtin.os.tag == .linux) try copyInKernel(job, source, fd, nbytes, from, offset) else 0;
    if (done < nbytes) {
        const room = std.heap.c_allocator.alloc(u8, 1 << 20) catch {
            job.status = errnoOf(.NOMEM);
            return error.Failed;
        };
        defer std.heap.c_allocator.free(room);
        while (done < nbytes) {
            const n = c.pread(source, room.ptr, @min(room.len, nbytes - done), @intCast(from + done));
            if (n < 0 and c._errno().* == @intFromEnum(c.E.INTR)) continue;
            if (n < 0) return sourceFailed(job, lastError());
            if (n == 0) return sourceFailed(job, jb.Status.source_short);
            try writeAll(job, fd, room.ptr, @intCast(n), offset + done);
            done += @intCast(n);
        }
    }
    job.file_size = @max(job.file_size, @as(f64, @floatFromInt(offset + nbytes)));
}

/// Bytes copied before the system would not go on this way, as between some file systems.
fn copyInKernel(job: *Job, source: c_int, fd: c_int, nbytes: usize, from: usize, offset: usize) Failure!usize {
    const linux = std.os.linux;
    var done: usize = 0;
    while (done < nbytes) {
        var at: i64 = @intCast(from + done);
        var to: i64 = @intCast(offset + done);
        const n = linux.copy_file_range(source, &at, fd, &to, @min(nbytes - done, 1 << 30), 0);
        switch (linux.errno(n)) {
            .SUCCESS => {
                // Nothing at all: some file systems say so instead of refusing.
                if (n == 0) return done;
                done += n;
            },
            .INTR => {},
            .XDEV, .INVAL, .NOSYS, .OPNOTSUPP, .BADF, .PERM => return done,
            else => |e| {
                job.status = errnoOf(e);
                return error.Failed;
            },
        }
    }
    return done;
}

pub fn readAll(job: *Job, fd: c_int, data: [*]u8, nbytes: usize, offset: usize) Failure!void {
    var done: usize = 0;
    while (done < nbytes) {
        const n = c.pread(fd, data + done, nbytes - done, @intCast(offset + done));
        if (n < 0) {
            if (c._errno().* == @intFromEnum(c.E.INTR)) continue;
            return memoryFailed(job, data + done, true);
        }
        done += @intCast(n);
        if (n == 0 or @as(f64, @floatFromInt(offset + done)) == job.file_size) break;
    }
    job.mapped = @floatFromInt(done);
}
