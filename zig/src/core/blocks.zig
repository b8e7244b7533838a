//! Regions of the system cut into blocks, and the free ones found by size. A block that becomes free joins its free
//! neighbours, so that it serves any size afterwards. Everything here runs under the allocator's lock.
const std = @import("std");
const pages = @import("pages.zig");

pub const header_size = 64;
pub const min_block = header_size + 512;

pub const State = enum(u64) {
    none = 0,
    live = 0x7a656e736f72_0001,
    /// In a list of blocks of one size, which do not join.
    quick = 0x7a656e736f72_0002,
    /// Free for the statistics, but its owner keeps it to hand it out again.
    parked = 0x7a656e736f72_0003,
    /// Joined and found by size.
    free = 0x7a656e736f72_0004,
    /// Its pages are on their way back to the system.
    leaving = 0x7a656e736f72_0005,
    _,
};

/// Before the bytes of each block.
pub const Block = extern struct {
    state: State,
    /// Bytes with this header.
    size: usize,
    requested: usize,
    /// The neighbour below; a region begins with a block that has none.
    before: ?*Block,
    /// In the list that the block is in.
    next: ?*Block,
    /// Bytes that had been handed out when the block was, the last time.
    stamp: u64,
    owners: u32,
    arena: Arena.Kind,
    /// Whether its region ends with it.
    last: bool,
    unused: [10]u8,

    comptime {
        std.debug.assert(@sizeOf(Block) == header_size);
    }

    pub fn bytes(b: *Block) [*]u8 {
        return @as([*]u8, @ptrCast(b)) + header_size;
    }
    pub fn of(address: [*]u8) *Block {
        return @ptrCast(@alignCast(address - header_size));
    }
    pub fn isRegion(b: *const Block) bool {
        return b.before == null and b.last;
    }
    fn after(b: *Block) ?*Block {
        if (b.last) return null;
        return @ptrCast(@alignCast(@as([*]u8, @ptrCast(b)) + b.size));
    }
    /// The one that became free before this free one did.
    pub fn older(b: *Block) ?*Block {
        return b.free().older;
    }
    /// How many of its bytes may lie on pages.
    pub fn touched(b: *Block) usize {
        return if (b.state == .free) b.free().touched else b.size;
    }
    fn free(b: *Block) *Free {
        return @ptrCast(@alignCast(b.bytes()));
    }
};

/// What a free block holds in the place of somebody's bytes.
const Free = extern struct {
    previous: ?*Block,
    /// Neighbours by the time when they became free.
    older: ?*Block,
    newer: ?*Block,
    /// Bytes from the header on that may lie on pages; the others have never been written, or were given back.
    touched: usize,
};
pub const least_touched = header_size + @sizeOf(Free);

/// Blocks of less do not hold a whole page that could go back.
pub const ages_from = 8 << 10;

/// Sixteen classes for each power of two.
const class_count = 40 * 16;

fn classOf(size: usize) usize {
    const power: usize = std.math.log2_int(usize, size);
    return @min((power - 9) * 16 + ((size >> @intCast(power - 4)) & 15), class_count - 1);
}

pub const Totals = struct {
    /// Bytes of all regions.
    mapped: usize = 0,
    /// Bytes of free blocks that may lie on pages.
    idle: usize = 0,
    /// Bytes of free blocks that do not.
    clean: usize = 0,
};

pub var totals: Totals = .{};
/// The free blocks by age: what goes back first.
var oldest: ?*Block = null;
pub var newest: ?*Block = null;

pub const Arena = struct {
    kind: Kind,
    heads: [class_count]?*Block = @splat(null),
    present: [class_count / 64]u64 = @splat(0),

    /// Blocks of less than 32 KiB lie on ordinary pages, up to 1 MiB on shared huge pages: one at a time they would lie
    /// on small ones, and a loop over fresh results would wait for the processor's tables. Larger ones begin as regions
    /// of their own.
    pub const Kind = enum(u8) { small, middle, large };

    fn link(a: *Arena, b: *Block, touched: usize) void {
        const c = classOf(b.size);
        const f = b.free();
        b.state = .free;
        b.next = a.heads[c];
        f.* = .{ .previous = null, .older = null, .newer = null, .touched = @min(touched, b.size) };
        if (b.next) |n| n.free().previous = b;
        a.heads[c] = b;
        a.present[c / 64] |= @as(u64, 1) << @intCast(c % 64);
        totals.idle += f.touched;
        totals.clean += b.size - f.touched;
        if (b.size < ages_from) return;
        f.older = newest;
        if (newest) |n| n.free().newer = b else oldest = b;
        newest = b;
    }

    /// Takes a free block out of all lists; how much of it may lie on pages.
    fn unlink(a: *Arena, b: *Block) usize {
        const c = classOf(b.size);
        const f = b.free();
        if (b.next) |n| n.free().previous = f.previous;
        if (f.previous) |p| p.next = b.next else a.heads[c] = b.next;
        if (a.heads[c] == null) a.present[c / 64] &= ~(@as(u64, 1) << @intCast(c % 64));
        totals.idle -= f.touched;
        totals.clean -= b.size - f.touched;
        b.state = .none;
        if (b.size < ages_from) return f.touched;
        if (f.newer) |n| n.free().older = f.older else newest = f.older;
        if (f.older) |o| o.free().newer = f.newer else oldest = f.newer;
        return f.touched;
    }

    /// Makes a block free of which so many bytes may lie on pages. It joins its neighbours.
    pub fn insert(a: *Arena, block: *Block, touched: usize) void {
        var b = block;
        var used = @max(touched, least_touched);
        b.state = .none;
        if (b.before) |p| if (p.state == .free) {
            _ = a.unlink(p);
            p.size += b.size;
            p.last = b.last;
            used += p.size - b.size;
            b = p;
        };
        if (b.after()) |n| if (n.state == .free) {
            used = b.size + a.unlink(n);
            b.size += n.size;
            b.last = n.last;
        };
        if (b.after()) |n| n.before = b;
        a.link(b, used);
    }

    /// A free block of `want` bytes with its header, or null.
    pub fn take(a: *Arena, want: usize) ?*Block {
        const b = a.find(want) orelse return null;
        const touched = a.unlink(b);
        a.split(b, want, touched);
        return b;
    }

    /// A region of the system becomes a block of `want` bytes, and what is left of it a free one.
    pub fn adopt(a: *Arena, region: [*]u8, size: usize, want: usize) *Block {
        const b: *Block = @ptrCast(@alignCast(region));
        b.* = std.mem.zeroInit(Block, .{ .size = size, .arena = a.kind, .last = true });
        totals.mapped += size;
        a.split(b, want, 0);
        return b;
    }

    fn find(a: *Arena, want: usize) ?*Block {
        const c = classOf(want);
        var chosen: ?*Block = null;
        var at = a.heads[c];
        for (0..32) |_| {
            const b = at orelse break;
            at = b.next;
            if (b.size < want) continue;
            if (a.kind != .large) return b;
            // The one of this size that was handed out last: the processor's caches still hold most of it.
            if (chosen) |other| if (isBetter(other, b, want)) continue;
            chosen = b;
        }
        if (chosen != null) return chosen;
        const larger = a.heads[a.firstFrom(c + 1) orelse return null].?;
        // A few bytes of a great block would leave nothing for who asks for such a one again.
        if (a.kind == .large and larger.size / 16 > want) return null;
        return larger;
    }

    fn isBetter(a: *const Block, b: *const Block, want: usize) bool {
        if ((a.size == want) != (b.size == want)) return a.size == want;
        return a.stamp > b.stamp;
    }

    fn firstFrom(a: *const Arena, class: usize) ?usize {
        if (class >= class_count) return null;
        var word = class / 64;
        var bits = a.present[word] & (~@as(u64, 0) << @intCast(class % 64));
        while (bits == 0) {
            word += 1;
            if (word == a.present.len) return null;
            bits = a.present[word];
        }
        return word * 64 + @ctz(bits);
    }

    /// Cuts off what is worth keeping by itself.
    fn split(a: *Arena, b: *Block, want: usize, touched: usize) void {
        const rest = b.size - want;
        const worth: usize = switch (a.kind) {
            .small => min_block,
            .middle => 4096,
            .large => @max(64 << 10, want / 8 + 1),
        };
        if (rest < worth) return;
        const other: *Block = @ptrCast(@alignCast(@as([*]u8, @ptrCast(b)) + want));
        other.* = std.mem.zeroInit(Block, .{ .size = rest, .arena = a.kind, .last = b.last, .before = b });
        b.size = want;
        b.last = false;
        if (other.after()) |n| n.before = other;
        a.link(other, @max(touched -| want, least_touched));
    }
};

pub var arenas: [3]Arena = .{ .{ .kind = .small }, .{ .kind = .middle }, .{ .kind = .large } };

pub fn arenaOf(b: *const Block) *Arena {
    return &arenas[@intFromEnum(b.arena)];
}

/// A region leaves with its only block.
pub fn forget(b: *Block) void {
    b.state = .leaving;
    totals.mapped -= b.size;
}

/// Takes free blocks with whole pages, the oldest first, until no more than `target` idle bytes are left: a list.
pub fn evict(target: usize) ?*Block {
    var list: ?*Block = null;
    var at = oldest;
    while (at) |b| {
        if (totals.idle <= target) break;
        at = b.free().newer;
        const whole = b.isRegion();
        if (!whole and !isPurgeable(b)) continue;
        const touched = arenaOf(b).unlink(b);
        if (whole) forget(b) else b.state = .leaving;
        // Where its bytes on pages end, for who gives them back.
        b.requested = touched;
        b.next = list;
        list = b;
    }
    return list;
}

fn isPurgeable(b: *Block) bool {
    const start, const end = purgeable(b, b.free().touched);
    return start < end;
}

/// The whole pages of a free block that hold none of what it says of itself.
fn purgeable(b: *const Block, touched: usize) struct { usize, usize } {
    const from = @intFromPtr(b);
    const start, const end = pages.within(from + least_touched, from + b.size);
    return .{ start, @min(end, std.mem.alignForward(usize, from + touched, std.heap.pageSize())) };
}

/// Gives the pages of a leaving block back; how much of it may lie on pages afterwards. Needs no lock.
pub fn purge(b: *const Block) usize {
    const start, const end = purgeable(b, b.requested);
    if (start < end) pages.purge(start, end);
    return start - @intFromPtr(b);
}
