//! A file job as it crosses the boundary, its flags and its status codes.
const std = @import("std");
const abi_files = @import("abi_files");

const c = std.c;

pub const Status = abi_files.JobStatus;
pub const Flag = abi_files.JobFlag;
pub const Job = abi_files.Job;

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
    job.status = Status.bad_job;
    return error.Failed;
}
