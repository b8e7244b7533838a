//! Pinned memory of the host, which devices copy from and to by themselves. Blocks are powers of two and are kept for
//! reuse, as torch keeps them; one that copies still read or write serves again once they have passed.
const std = @import("std");
const context = @import("context.zig");
const driver = @import("driver.zig");
const events = @import("events.zig");
const Lock = @import("lock.zig").Lock;

const gpa = std.heap.c_allocator;

const portable: c_uint = 1;
const least = 512;

const Pending = struct { device: u32, event: driver.Event, block: *Block };

const Block = struct {
    address: u64,
    size: u64,
    /// 0 while nobody has it.
    owners: u32 = 1,
    uses: std.ArrayList(events.Use) = .empty,
    /// Events that have not passed yet.
    waiting: u32 = 0,
};

var lock: Lock = .{};
/// All blocks by address.
var blocks: std.ArrayList(*Block) = .empty;
var free: [64]std.ArrayList(*Block) = @splat(.empty);
var pending: std.ArrayList(Pending) = .empty;
var live_bytes: u64 = 0;

const Failure = context.Failure || std.mem.Allocator.Error;

fn size_class(bytes: u64) usize {
    return std.math.log2_int_ceil(u64, @max(least, bytes));
}

/// The first block above an address.
fn above(address: u64) usize {
    return std.sort.upperBound(*Block, blocks.items, address, struct {
        fn compare(wanted: u64, b: *Block) std.math.Order {
            return std.math.order(wanted, b.address);
        }
    }.compare);
}

fn find(address: u64) ?*Block {
    const at = above(address);
    if (at == 0) return null;
    const b = blocks.items[at - 1];
    return if (address - b.address < b.size) b else null;
}

/// Makes those blocks free whose copies are done.
fn settle() void {
    var i: usize = 0;
    while (i < pending.items.len) {
        const p = pending.items[i];
        _ = context.use(p.device) catch return;
        if (!events.passed(p.event)) {
            i += 1;
            continue;
        }
        events.give(p.device, p.event);
        _ = pending.orderedRemove(i);
        p.block.waiting -= 1;
        if (p.block.waiting == 0) offer(p.block);
    }
}

fn offer(b: *Block) void {
    // Without memory for the list the block is lost to this process.
    free[size_class(b.size)].append(gpa, b) catch {};
}

fn allocate(device: u32, bytes: u64) Failure!*Block {
    lock.lock();
    defer lock.unlock();
    settle();
    const class = size_class(bytes);
    const b = free[class].pop() orelse try fresh(device, @as(u64, 1) << @intCast(class));
    b.owners = 1;
    live_bytes += b.size;
    return b;
}

fn fresh(device: u32, size: u64) Failure!*Block {
    _ = try context.use(device);
    const cu = try context.functions();
    const b = try gpa.create(Block);
    errdefer gpa.destroy(b);
    try blocks.ensureUnusedCapacity(gpa, 1);
    var at: ?*anyopaque = null;
    var r = cu.MemHostAlloc(&at, size, portable);
    if (r == driver.out_of_memory) {
        try empty_free();
        r = cu.MemHostAlloc(&at, size, portable);
    }
    try context.check(r);
    b.* = .{ .address = @intFromPtr(at), .size = size };
    blocks.insertAssumeCapacity(above(b.address), b);
    return b;
}

fn empty_free() context.Failure!void {
    const cu = try context.functions();
    for (&free) |*list| while (list.pop()) |b| {
        try context.check(cu.MemFreeHost(@ptrFromInt(b.address)));
        _ = blocks.orderedRemove(above(b.address) - 1);
        b.uses.deinit(gpa);
        gpa.destroy(b);
    };
}

/// Runs on any thread, the collector's among them.
fn release(_: ?*anyopaque, at: ?*anyopaque) callconv(.c) void {
    lock.lock();
    defer lock.unlock();
    leave(@ptrCast(@alignCast(at orelse return)));
}

/// One more owner of the block of an address: a thread that works on. False when nobody has such a block.
pub fn keep(address: u64) bool {
    lock.lock();
    defer lock.unlock();
    const b = find(address) orelse return false;
    if (b.owners == 0) return false;
    b.owners += 1;
    return true;
}

/// Such an owner goes. False when nobody has such a block.
pub fn drop(address: u64) bool {
    lock.lock();
    defer lock.unlock();
    const b = find(address) orelse return false;
    if (b.owners == 0) return false;
    leave(b);
    return true;
}

/// After the last owner, and after the copies that streams still make, the block serves again.
fn leave(b: *Block) void {
    b.owners -= 1;
    if (b.owners > 0) return;
    live_bytes -= b.size;
    for (b.uses.items) |use| {
        const event = events.mark(use.device, use.stream) catch continue;
        pending.append(gpa, .{ .device = use.device, .event = event, .block = b }) catch {
            events.wait(event) catch {};
            events.give(use.device, event);
            continue;
        };
        b.waiting += 1;
    }
    b.uses.clearRetainingCapacity();
    if (b.waiting == 0) offer(b);
}

/// Notes that a stream works on the block of an address. False when the memory is not pinned.
pub fn record(address: u64, device: u32, stream: u64) bool {
    lock.lock();
    defer lock.unlock();
    const b = find(address) orelse return false;
    const use: events.Use = .{ .device = device, .stream = stream };
    for (b.uses.items) |known| if (std.meta.eql(known, use)) return true;
    // What cannot be noted is waited for, by the caller.
    b.uses.append(gpa, use) catch return false;
    return true;
}

/// Writes where a pinned block begins, and the block as the release function wants it.
pub fn zs_cuda_host_alloc(nbytes: f64, device: u32, to: *[2]f64) callconv(.c) i32 {
    const b = allocate(device, @intFromFloat(nbytes)) catch |e| return switch (e) {
        error.Cuda => context.code,
        error.OutOfMemory => driver.negative(driver.out_of_memory),
    };
    to.* = .{ @floatFromInt(b.address), @floatFromInt(@intFromPtr(b)) };
    return 0;
}

pub fn zs_cuda_release_host_function() callconv(.c) f64 {
    return @floatFromInt(@intFromPtr(&release));
}

/// 1 for an address in pinned memory.
pub fn zs_cuda_is_pinned(address: f64) callconv(.c) i32 {
    lock.lock();
    defer lock.unlock();
    const b = find(@intFromFloat(address)) orelse return 0;
    return @intFromBool(b.owners > 0);
}

/// Bytes of pinned blocks that somebody has.
pub fn zs_cuda_host_live_bytes() callconv(.c) f64 {
    lock.lock();
    defer lock.unlock();
    return @floatFromInt(live_bytes);
}

/// Gives pinned blocks that nobody has back to the driver.
/// Any device's context will do, but none is made for this.
pub fn zs_cuda_host_empty_cache() callconv(.c) i32 {
    lock.lock();
    defer lock.unlock();
    if (blocks.items.len == 0) return 0;
    for (0..context.max_devices) |device| if (context.is_used(@intCast(device))) {
        _ = context.use(@intCast(device)) catch return context.code;
        break;
    };
    settle();
    empty_free() catch return context.code;
    return 0;
}

test "sizes of blocks" {
    try std.testing.expectEqual(9, size_class(1));
    try std.testing.expectEqual(9, size_class(512));
    try std.testing.expectEqual(10, size_class(513));
}
