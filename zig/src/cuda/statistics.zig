//! What the allocator of a device counts: torch's figures, each for all blocks and for the pools of small and of large
//! ones.
const std = @import("std");

pub const Figure = enum {
    allocation,
    segment,
    active,
    inactive_split,
    allocated_bytes,
    reserved_bytes,
    active_bytes,
    inactive_split_bytes,
    requested_bytes,
};

pub const Stat = struct {
    current: i64 = 0,
    peak: i64 = 0,
    allocated: i64 = 0,
    freed: i64 = 0,

    fn add(s: *Stat, n: i64) void {
        s.current += n;
        s.peak = @max(s.peak, s.current);
        if (n > 0) s.allocated += n else s.freed -= n;
    }
};

pub const Counts = struct {
    num_alloc_retries: u64 = 0,
    num_ooms: u64 = 0,
    num_sync_all_streams: u64 = 0,
    num_device_alloc: u64 = 0,
    num_device_free: u64 = 0,
};

const figures = @typeInfo(Figure).@"enum".fields.len;
/// All blocks, small ones, large ones.
const pools = 3;

pub const Statistics = struct {
    stats: [figures][pools]Stat = @splat(@splat(.{})),
    counts: Counts = .{},

    pub fn add(s: *Statistics, figure: Figure, small: bool, n: i64) void {
        if (n == 0) return;
        const row = &s.stats[@intFromEnum(figure)];
        row[0].add(n);
        row[if (small) 1 else 2].add(n);
    }

    pub fn total(s: *const Statistics, figure: Figure) u64 {
        return @intCast(@max(0, s.stats[@intFromEnum(figure)][0].current));
    }

    pub fn reset_peak(s: *Statistics) void {
        for (&s.stats) |*row| for (row) |*one| {
            one.peak = one.current;
        };
    }

    pub fn reset_accumulated(s: *Statistics) void {
        for (&s.stats) |*row| for (row) |*one| {
            one.allocated = 0;
            one.freed = 0;
        };
        s.counts = .{};
    }

    /// As numbers: figure by figure, pool by pool, the fields of Stat; then the counts.
    pub fn write(s: *const Statistics, to: [*]f64) void {
        var i: usize = 0;
        for (s.stats) |row| for (row) |one| inline for (@typeInfo(Stat).@"struct".fields) |field| {
            to[i] = @floatFromInt(@field(one, field.name));
            i += 1;
        };
        inline for (@typeInfo(Counts).@"struct".fields) |field| {
            to[i] = @floatFromInt(@field(s.counts, field.name));
            i += 1;
        }
    }
};

test "totals by pool" {
    var s: Statistics = .{};
    s.add(.allocated_bytes, true, 512);
    s.add(.allocated_bytes, false, 1024);
    s.add(.allocated_bytes, true, -512);
    try std.testing.expectEqual(1024, s.total(.allocated_bytes));
    const row = s.stats[@intFromEnum(Figure.allocated_bytes)];
    try std.testing.expectEqual(Stat{ .current = 1024, .peak = 1536, .allocated = 1536, .freed = 512 }, row[0]);
    try std.testing.expectEqual(Stat{ .current = 0, .peak = 512, .allocated = 512, .freed = 512 }, row[1]);
    s.reset_peak();
    s.reset_accumulated();
    try std.testing.expectEqual(Stat{ .current = 1024, .peak = 1024 }, s.stats[4][0]);
}
