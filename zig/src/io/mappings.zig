//! The mappings that exist: who owns them, which file they show, and what happens when a page of a file cannot be had.
//! Touching a page behind the end of a file that was cut short raises SIGBUS, and so does a page for which a full disk
//! has no room. Here zeros take the place of the page and of those behind it, the path of the file is noted, and the
//! call that touched it (or the next one) fails with `file_fault`; the program goes on. When the error is reported the
//! file's own pages come back: later calls see the file as it is then, and fail again if it still lacks them. Nothing
//! that seems to be written is lost without an error.
const std = @import("std");
const builtin = @import("builtin");

const c = std.c;
const posix_host = builtin.os.tag != .windows and builtin.os.tag != .wasi;
const has_signals = builtin.os.tag == .linux or builtin.os.tag.isDarwin();

/// What is known about one mapping. `start` is written last and read first: a signal may come at any time.
const Entry = struct {
    start: std.atomic.Value(usize) = .init(0),
    length: usize = 0,
    /// Where in the file it begins.
    offset: usize = 0,
    path: ?[*:0]u8 = null,
    /// Releases that are still to be ignored, because another owner was added.
    extra_owners: u32 = 0,
    /// One more than the descriptor that is closed with the mapping, 0 for none: a table of zeros takes no room in the
    /// library.
    after_fd: c_int = 0,
    /// The file, when its mapping may be handed out again; `inode` is 0 otherwise.
    file: File = .{},
    /// One more than the slot of the next mapping in this chain of `by_file`.
    after_next: u32 = 0,
    /// The first page that could not be had; 0 while all could.
    lost_from: std.atomic.Value(usize) = .init(0),
};

/// What tells a file from every other. The time of its birth is part of it: file servers give numbers out again.
pub const File = struct {
    device: u64 = 0,
    inode: u64 = 0,
    born: i128 = 0,

    fn chain(self: File) usize {
        return (self.inode +% self.device) *% 0x9e3779b97f4a7c15 >> (64 - chain_bits);
    }
};

/// Twice the number of mappings that Linux allows a process by default.
const slots = 1 << 17;
const removed = 1;
/// As bytes: a hundred thousand structs, each with its gaps, keep the compiler busy for ten seconds.
var table_bytes: [slots * @sizeOf(Entry)]u8 align(@alignOf(Entry)) = @splat(0);
const table: *[slots]Entry = @ptrCast(&table_bytes);
const chain_bits = 14;
/// One more than the slot of the first mapping of each chain of files.
var by_file: [1 << chain_bits]u32 = @splat(0);
var lock = std.atomic.Value(u32).init(0);
var live_maps = std.atomic.Value(i64).init(0);
var live_bytes = std.atomic.Value(i64).init(0);

var pending = std.atomic.Value(u32).init(0);
var fault_path: [4097]u8 = @splat(0);
/// Bytes that the file must have for the page that was missed.
var fault_need: usize = 0;

/// The pages of a file that zeros stand in for.
const Tail = struct {
    /// Where the mapping begins; 0 for a free place.
    start: usize = 0,
    page: usize = 0,
    end: usize = 0,
    /// Where the file's pages wait meanwhile.
    aside: usize = 0,
};
/// More at a time are not kept.
pub const most_tails = 64;
var tails: [most_tails]Tail = @splat(.{});
var tail_count: usize = 0;

var handler_installed = false;
var previous: if (has_signals) c.Sigaction else void = undefined;

fn acquire() void {
    while (lock.cmpxchgWeak(0, 1, .acquire, .monotonic) != null) std.atomic.spinLoopHint();
}

fn release() void {
    lock.store(0, .release);
}

fn slotOf(start: usize) usize {
    return (start >> 12) *% 0x9e3779b97f4a7c15 >> (@bitSizeOf(usize) - 17);
}

fn find(start: usize) ?*Entry {
    var i = slotOf(start);
    for (0..slots) |_| {
        const at = table[i].start.load(.monotonic);
        if (at == start) return &table[i];
        if (at == 0) return null;
        i = (i + 1) % slots;
    }
    return null;
}

/// The mapping that a file has already, with one more owner, when it has `length` bytes. Where memory is collected late
/// a file is loaded again long before its last mapping has gone. It may have another name by now: `path`.
pub fn shared(file: File, length: usize, path: ?[*:0]const u8) ?usize {
    acquire();
    defer release();
    var at = by_file[file.chain()];
    while (at != 0) {
        const entry = &table[at - 1];
        if (std.meta.eql(entry.file, file) and entry.length >= length and entry.lost_from.load(.acquire) == 0) {
            entry.extra_owners += 1;
            if (path) |p| rename(entry, p);
            return entry.start.load(.monotonic);
        }
        at = entry.after_next;
    }
    return null;
}

fn rename(entry: *Entry, path: [*:0]const u8) void {
    const old = entry.path orelse return;
    if (std.mem.orderZ(u8, old, path) == .eq) return;
    entry.path = copyPath(path) orelse return;
    std.heap.c_allocator.free(std.mem.span(old));
}

/// Lets `shared` find a mapping.
pub fn share(start: usize, file: File) void {
    if (file.inode == 0) return;
    acquire();
    defer release();
    const entry = find(start) orelse return;
    const head = &by_file[file.chain()];
    entry.file = file;
    entry.after_next = head.*;
    head.* = slotNumber(entry) + 1;
}

fn slotNumber(entry: *const Entry) u32 {
    return @intCast((@intFromPtr(entry) - @intFromPtr(table)) / @sizeOf(Entry));
}

fn leaveChain(entry: *Entry) void {
    if (entry.file.inode == 0) return;
    var link = &by_file[entry.file.chain()];
    while (link.* != slotNumber(entry) + 1) link = &table[link.* - 1].after_next;
    link.* = entry.after_next;
    entry.file = .{};
    entry.after_next = 0;
}

/// Notes a new mapping; `path` is null for memory without a file, `fd` goes with the mapping unless it is -1.
pub fn add(start: usize, length: usize, offset: usize, path: ?[*:0]const u8, fd: c_int) void {
    _ = live_maps.fetchAdd(1, .monotonic);
    _ = live_bytes.fetchAdd(@intCast(length), .monotonic);
    const copy: ?[*:0]u8 = if (path) |p| copyPath(p) else null;
    acquire();
    defer release();
    if (has_signals and !handler_installed and path != null) install();
    var i = slotOf(start);
    for (0..slots) |_| {
        const entry = &table[i];
        if (entry.start.load(.monotonic) <= removed) {
            entry.length = length;
            entry.offset = offset;
            entry.path = copy;
            entry.extra_owners = 0;
            entry.after_fd = fd + 1;
            entry.lost_from.store(0, .monotonic);
            entry.start.store(start, .release);
            return;
        }
        i = (i + 1) % slots;
    }
    // More mappings than the table holds: this one works, but is not protected.
    if (fd >= 0) _ = c.close(fd);
    if (copy) |p| std.heap.c_allocator.free(std.mem.span(p));
}

fn copyPath(path: [*:0]const u8) ?[*:0]u8 {
    return (std.heap.c_allocator.dupeZ(u8, std.mem.span(path)) catch return null).ptr;
}

/// One more owner: the next `drop` of this mapping leaves it in place.
pub fn keep(start: usize) bool {
    acquire();
    defer release();
    const entry = find(start) orelse return false;
    entry.extra_owners += 1;
    return true;
}

/// Gives a mapping back when this was its last owner. `fallback` is its length where the table had no room for it.
/// Returns 0 or -errno.
pub fn drop(start: usize, fallback: usize) i32 {
    if (!posix_host) return 0;
    var length = fallback;
    var fd: c_int = -1;
    acquire();
    if (find(start)) |entry| {
        if (entry.extra_owners > 0) {
            entry.extra_owners -= 1;
            release();
            return 0;
        }
        length = entry.length;
        fd = entry.after_fd - 1;
        leaveChain(entry);
        entry.start.store(removed, .release);
        if (entry.path) |p| std.heap.c_allocator.free(std.mem.span(p));
        entry.path = null;
        dropTails(start);
    }
    release();
    if (fd >= 0) _ = c.close(fd);
    if (length >= long_unmap and unmapBeside(start, length)) {
        noteGone(length);
        return 0;
    }
    if (c.munmap(@ptrFromInt(start), length) != 0) return -@as(i32, @intCast(c._errno().*));
    noteGone(length);
    return 0;
}

fn noteGone(length: usize) void {
    _ = live_maps.fetchSub(1, .monotonic);
    _ = live_bytes.fetchSub(@intCast(length), .monotonic);
}

/// Giving so many bytes back may take a millisecond for each few megabytes, when a deleted file goes with them. The
/// collector would hold the program up for that.
const long_unmap = 16 << 20;

fn unmapBeside(start: usize, length: usize) bool {
    const work = struct {
        fn f(address: usize, nbytes: usize) void {
            _ = c.munmap(@ptrFromInt(address), nbytes);
        }
    }.f;
    const thread = std.Thread.spawn(.{ .stack_size = 64 << 10 }, work, .{ start, length }) catch return false;
    thread.detach();
    return true;
}

/// The descriptor that goes with a mapping, -1 when there is none.
pub fn descriptor(start: usize) c_int {
    acquire();
    defer release();
    const entry = find(start) orelse return -1;
    return entry.after_fd - 1;
}

/// Mappings made here that are still alive.
pub fn maps() f64 {
    return @floatFromInt(live_maps.load(.monotonic));
}

/// Bytes of address space in those mappings.
pub fn bytes() f64 {
    return @floatFromInt(live_bytes.load(.monotonic));
}

/// True when a page of a mapped file could not be had since the last `take`.
pub fn faulted() bool {
    return pending.load(.monotonic) != 0;
}

/// The file that lacked a page.
pub const Fault = struct {
    path: [*:0]const u8,
    /// The file is shorter than its mapping; otherwise the disk could not give or take the page.
    shorter: bool,
};

/// The file that faulted, once; null when none did. Its own pages are back in place then.
pub fn take() ?Fault {
    if (!has_signals) return null;
    if (!faulted()) return null;
    acquire();
    const found = pending.swap(0, .monotonic) != 0;
    for (&tails) |*tail| if (tail.start != 0) restore(tail);
    loseAgain();
    release();
    if (!found) return null;
    const path = fault_path[0..4096 :0].ptr;
    const fd = c.open(path, .{ .ACCMODE = .RDONLY, .CLOEXEC = true, .NONBLOCK = true }, @as(c_uint, 0));
    if (fd < 0) return .{ .path = path, .shorter = true };
    defer _ = c.close(fd);
    const size = c.lseek(fd, 0, c.SEEK.END);
    return .{ .path = path, .shorter = size < 0 or @as(usize, @intCast(size)) < fault_need };
}

/// Where a file's own pages could not be kept, every use of them fails again: they show an empty file.
fn loseAgain() void {
    if (builtin.os.tag != .linux) return;
    var fd: c_int = -1;
    defer if (fd >= 0) {
        _ = c.close(fd);
    };
    for (table) |*entry| {
        const page = entry.lost_from.load(.acquire);
        const start = entry.start.load(.monotonic);
        if (page == 0 or start <= removed) continue;
        if (fd < 0) {
            const empty = linux.memfd_create("zensor-lost", 1);
            if (linux.errno(empty) != .SUCCESS) return;
            fd = @intCast(empty);
        }
        const m: c.MAP = .{ .TYPE = .SHARED, .FIXED = true };
        _ = c.mmap(@ptrFromInt(page), start + entry.length - page, .{ .READ = true, .WRITE = true }, m, fd, 0);
    }
}

fn restore(tail: *Tail) void {
    const length = tail.end - tail.page;
    if (move(tail.aside, length, .{ .MAYMOVE = true, .FIXED = true }, tail.page)) {
        if (find(tail.start)) |entry| entry.lost_from.store(0, .release);
    } else _ = unmapAt(tail.aside, length);
    tail.* = .{};
    tail_count -= 1;
}

fn dropTails(start: usize) void {
    if (tail_count == 0) return;
    for (&tails) |*tail| {
        if (tail.start != start) continue;
        _ = unmapAt(tail.aside, tail.end - tail.page);
        tail.* = .{};
        tail_count -= 1;
    }
}

fn unmapAt(address: usize, length: usize) bool {
    return c.munmap(@ptrFromInt(address), length) == 0;
}

const linux = std.os.linux;

fn move(from: usize, length: usize, flags: linux.MREMAP, to: usize) bool {
    if (builtin.os.tag != .linux) return false;
    const result = linux.mremap(@ptrFromInt(from), length, length, flags, @ptrFromInt(to));
    return linux.errno(result) == .SUCCESS;
}

/// Puts the file's pages aside, so that they can come back. Where the system cannot do that they are gone.
fn putAside(start: usize, page: usize, end: usize) void {
    if (builtin.os.tag != .linux) return;
    for (&tails) |*tail| {
        if (tail.start != 0) continue;
        const flags: linux.MREMAP = .{ .MAYMOVE = true, .DONTUNMAP = true };
        const moved = linux.mremap(@ptrFromInt(page), end - page, end - page, flags, null);
        if (linux.errno(moved) != .SUCCESS) return;
        tail.* = .{ .start = start, .page = page, .end = end, .aside = moved };
        tail_count += 1;
        return;
    }
}

/// Where zeros that stand there already begin.
fn freeEnd(page: usize, end: usize) usize {
    var least = end;
    for (&tails) |tail| {
        if (tail.page > page) least = @min(least, tail.page);
    }
    return least;
}

/// True when zeros stand there already: another thread was faster.
fn replaced(address: usize) bool {
    for (&tails) |tail| {
        if (tail.start != 0 and tail.page <= address and address < tail.end) return true;
    }
    return false;
}

fn install() void {
    if (!has_signals) return;
    handler_installed = true;
    var action = std.mem.zeroes(c.Sigaction);
    action.handler = .{ .sigaction = onBusError };
    action.mask = std.posix.sigemptyset();
    action.flags = c.SA.SIGINFO | c.SA.ONSTACK;
    std.posix.sigaction(.BUS, &action, &previous);
}

fn faultAddress(info: *const c.siginfo_t) usize {
    return switch (builtin.os.tag) {
        .linux => @intFromPtr(info.fields.sigfault.addr),
        else => @intFromPtr(info.addr),
    };
}

/// Only calls that are safe in a signal handler: no allocation. Who holds the lock touches no mapping, so that no
/// thread comes here with it.
fn onBusError(signal: c.SIG, info: *const c.siginfo_t, context: ?*anyopaque) callconv(.c) void {
    if (repair(faultAddress(info))) return;
    chain(signal, info, context);
}

fn repair(address: usize) bool {
    for (table) |*entry| {
        const start = entry.start.load(.acquire);
        if (start <= removed or entry.path == null or address < start or address - start >= entry.length) continue;
        acquire();
        defer release();
        if (replaced(address)) return true;
        const page = address - address % std.heap.pageSize();
        const end = freeEnd(page, std.mem.alignForward(usize, start + entry.length, std.heap.pageSize()));
        const lost = entry.lost_from.load(.monotonic);
        if (lost == 0 or page < lost) entry.lost_from.store(page, .release);
        putAside(start, page, end);
        if (!putZeros(page, end)) return false;
        const path = entry.path orelse return true;
        if (!faulted()) {
            var i: usize = 0;
            while (i < fault_path.len - 1 and path[i] != 0) : (i += 1) fault_path[i] = path[i];
            fault_path[i] = 0;
            fault_need = entry.offset + (@max(address, start) - start) + 1;
            pending.store(1, .release);
        }
        return true;
    }
    return false;
}

/// Zeros that belong to nobody.
fn putZeros(page: usize, end: usize) bool {
    var m: c.MAP = .{ .TYPE = .PRIVATE, .ANONYMOUS = true, .FIXED = true };
    if (@hasField(c.MAP, "NORESERVE")) m.NORESERVE = true;
    return c.mmap(@ptrFromInt(page), end - page, .{ .READ = true, .WRITE = true }, m, -1, 0) != c.MAP_FAILED;
}

/// Not ours: whoever handled the signal before handles it now.
fn chain(signal: c.SIG, info: *const c.siginfo_t, context: ?*anyopaque) void {
    if (previous.flags & c.SA.SIGINFO != 0) {
        if (previous.handler.sigaction) |f| return f(signal, info, context);
    } else if (previous.handler.handler) |f| {
        // 1 is "ignore", which the system does not honour for real faults either.
        if (@intFromPtr(f) > 1) return f(signal);
    }
    // The default action: restore it, and the faulting instruction raises the signal again.
    std.posix.sigaction(.BUS, &previous, null);
}
