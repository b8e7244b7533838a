//! A file job as it crosses the boundary, its flags and its status codes.
const std = @import("std");

const c = std.c;

/// Status codes that are not an errno.
pub const status_too_small: f64 = -10001;
pub const status_exists: f64 = -10002;
pub const status_symlink: f64 = -10003;
pub const status_bad_job: f64 = -10004;
pub const status_unsupported: f64 = -10005;
pub const status_cancelled: f64 = -10006;
pub const status_not_a_file: f64 = -10007;
pub const status_source_short: f64 = -10008;
pub const status_memory_fault: f64 = -10009; // bytes in memory are those of a mapped file that lacks them

/// What a job does, as bits of `Job.flags`.
pub const Flag = struct {
    pub const write: u32 = 1; // write `nbytes` from `data` at `offset`
    pub const create: u32 = 2; // make the file when it is missing
    pub const exclusive: u32 = 4; // the file must not exist
    pub const no_follow: u32 = 8; // refuse a symbolic link as the last component
    pub const map: u32 = 16; // map `nbytes` (or the whole file when -1)
    pub const shared: u32 = 32; // the mapping writes through; otherwise it is copy-on-write
    pub const writable: u32 = 64; // open for writing
    pub const fsync: u32 = 128; // flush before the job counts as done
    // An existing file of another size is unlinked first, so that old mappings of it stay whole.
    pub const replace: u32 = 256;
    pub const grow: u32 = 512; // a shorter file is extended to `nbytes` (sparse)
    // The descriptor stays open as long as the mapping, so that others can be told of memory that has no path.
    pub const keep_fd: u32 = 1024;
    pub const populate: u32 = 2048; // fault the mapping in at once
    // Write `nbytes` from the file whose path is at `data`, from `source_offset` on, without taking them into memory.
    pub const copy: u32 = 8192;
    pub const read: u32 = 4096; // read up to `nbytes` bytes at `offset` into `data`; `mapped` tells how many
};

/// One job as it lies in memory: eleven doubles, the last six written by us.
pub const Job = extern struct {
    path: f64, // address of a zero-terminated path; 0 asks for anonymous shared memory
    data: f64, // address of the bytes to write; of a job that only maps, the path that the file will have
    nbytes: f64, // how many bytes; -1 with `map` means the whole file
    flags: f64,
    offset: f64, // where in the file to write, and from where to map (page aligned)
    status: f64,
    address: f64,
    file_size: f64,
    source_offset: f64, // where to copy from; -1 afterwards when it is the source that failed
    mapped: f64, // length of the mapping, 0 when nothing was mapped
    inode: f64, // of the file that was mapped; 0 where it is not known
};

pub const Failure = error{Failed};

pub fn lastError() f64 {
    return -@as(f64, @floatFromInt(c._errno().*));
}

pub fn errnoOf(e: c.E) f64 {
    return -@as(f64, @floatFromInt(@intFromEnum(e)));
}

/// A size or an address that came as a double; null when it is no non-negative integer below 2^53.
pub fn whole(value: f64) ?usize {
    if (!(value >= 0) or value > 9007199254740991.0 or @trunc(value) != value) return null;
    return @intFromFloat(value);
}

pub fn badJob(job: *Job) Failure {
    job.status = status_bad_job;
    return error.Failed;
}
