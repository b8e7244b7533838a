//! Runs launches: blocks are spread over threads of the host, a block's warps take turns between barriers.
const std = @import("std");
const control = @import("ops_control.zig");
const async_copies = @import("ops_async.zig");
const faults = @import("faults.zig");
const machine = @import("machine.zig");
const report = @import("report.zig");
const settings = @import("settings.zig");
const now = @import("lock.zig").now;
const Block = machine.Block;
const Launch = machine.Launch;
const Special = machine.Special;
const Warp = machine.Warp;

const gpa = std.heap.c_allocator;
/// Backward branches until other warps get their turn.
const quantum = 1 << 16;
/// Threads of a kernel that are worth a thread of the host.
const threads_each = 4096;
const poison: u8 = 0xCD;

fn run_warp(w: *Warp, turn: u32) void {
    w.quantum = quantum;
    var executed: u64 = 0;
    defer w.executed += executed;
    while (true) {
        if (w.pc >= w.limit and !control.choose(w, turn)) return;
        const i = &w.code[w.pc];
        w.pc += 1;
        const mask = w.active & (w.pred(i.guard).* ^ i.flip);
        executed += @popCount(mask);
        if (mask != 0) i.run(w, i, mask);
    }
}

fn is_ready(w: *const Warp) bool {
    for (w.parts[0..w.part_count]) |p| if (p.wait == .ready) return true;
    return false;
}

/// Lets go whom a barrier has waited for; false when there is none.
fn release_barriers(b: *Block) bool {
    var live: u32 = 0;
    for (b.warps) |*w| live += @popCount(w.live);
    var any = false;
    for (&b.barriers, 0..) |*bar, id| {
        if (bar.arrived == 0) continue;
        if (bar.arrived < if (bar.expected == 0) live else bar.expected) continue;
        for (b.warps) |*w| control.release(w, @intCast(id));
        bar.* = .{};
        b.epoch += 1;
        any = true;
    }
    return any;
}

/// Nobody can go on: says who waits for what.
fn report_deadlock(b: *Block) void {
    for (b.warps) |*w| for (w.parts[0..w.part_count]) |p| {
        if (p.wait != .warp) continue;
        const i = &w.code[p.pc];
        const words = "divergent: lanes 0x{x} of warp {d} wait here for lanes 0x{x}, which are elsewhere";
        return faults.raise(w, i, p.mask, faults.launch_failed, words, .{ p.mask, w.index, w.live & ~p.mask });
    };
    for (b.warps) |*w| for (w.parts[0..w.part_count]) |p| {
        const bar = b.barriers[p.barrier];
        const i = &w.code[p.pc - 1];
        const words = "deadlock: warp {d} waits at barrier {d}, where {d} threads arrived";
        return faults.raise(w, i, p.mask, faults.timeout, words, .{ w.index, p.barrier, bar.arrived });
    };
}

fn run_block(b: *Block) void {
    var turn: u32 = 0;
    while (!b.launch.stopped.load(.monotonic)) : (turn +%= 1) {
        var unfinished = false;
        var ready = false;
        for (b.warps) |*w| {
            if (w.part_count == 0) continue;
            if (is_ready(w)) run_warp(w, turn);
            unfinished = unfinished or w.part_count > 0;
            ready = ready or is_ready(w);
        }
        if (!unfinished) return;
        if (ready) {
            if (now() > b.launch.deadline) {
                const w = &b.warps[0];
                return faults.raise(w, null, 1, faults.timeout, "the launch does not end", .{});
            }
            continue;
        }
        if (!release_barriers(b)) return report_deadlock(b);
        turn = machine.never;
    }
}

fn special(b: *const Block, w: *const Warp, which: Special, lane: u32) u32 {
    const l = b.launch;
    const t = faults.thread_of(l, w.index * machine.lanes + lane);
    const bit = @as(u32, 1) << @intCast(lane);
    return switch (which) {
        .tid_x => t[0],
        .tid_y => t[1],
        .tid_z => t[2],
        .ntid_x => l.block[0],
        .ntid_y => l.block[1],
        .ntid_z => l.block[2],
        .ctaid_x => b.id[0],
        .ctaid_y => b.id[1],
        .ctaid_z => b.id[2],
        .nctaid_x => l.grid[0],
        .nctaid_y => l.grid[1],
        .nctaid_z => l.grid[2],
        .laneid => lane,
        .warpid => w.index,
        .nwarpid => @intCast(b.warps.len),
        .smid => b.id[0] % settings.processors,
        .nsmid => settings.processors,
        .gridid => 1,
        .lanemask_eq => bit,
        .lanemask_lt => bit - 1,
        .lanemask_le => bit | (bit - 1),
        .lanemask_gt => ~(bit | (bit - 1)),
        .lanemask_ge => ~(bit - 1),
        .dynamic_smem_size => l.dynamic_bytes,
        .total_smem_size => @intCast(b.shared.len),
    };
}

fn of_block(which: Special) bool {
    return switch (which) {
        .ctaid_x, .ctaid_y, .ctaid_z, .smid => true,
        else => false,
    };
}

fn set_specials(b: *Block, w: *Warp, comptime each_block: bool) void {
    for (b.launch.kernel.specials) |s| {
        if (each_block and !of_block(s.which)) continue;
        if (of_block(s.which)) {
            w.vec(u32, s.at).* = @splat(special(b, w, s.which, 0));
        } else for (w.lane(u32, s.at), 0..) |*to, l| to.* = special(b, w, s.which, @intCast(l));
    }
}

fn set_constants(w: *Warp) void {
    w.pred(0).* = machine.full;
    for (w.kernel().constants) |c| switch (c.width) {
        1 => w.pred(c.at).* = if (c.value != 0) machine.full else 0,
        2 => w.vec(u16, c.at).* = @splat(@truncate(c.value)),
        4 => w.vec(u32, c.at).* = @splat(@truncate(c.value)),
        else => w.vec(u64, c.at).* = @splat(c.value),
    };
}

/// Memory of one thread of the host for the blocks that it runs.
const Room = struct {
    bytes: []align(64) u8,
    block: Block,
    kernel: u64,
    shape: [3]u32,
    dynamic: u32,

    /// Whether a launch finds its registers, constants and sizes here.
    fn suits(room: *const Room, l: *const Launch) bool {
        const same = room.kernel == l.kernel.number and room.dynamic == l.dynamic_bytes;
        return same and std.mem.eql(u32, &room.shape, &l.block);
    }

    fn renew(room: *Room, launch: *Launch) void {
        room.block.launch = launch;
        for (room.block.warps) |*w| {
            w.executed = 0;
            w.seen = @splat(.{});
            set_specials(&room.block, w, false);
        }
    }

    fn free(room: *Room) void {
        for (room.block.warps) |*w| {
            async_copies.release(w);
            w.products.release();
        }
        gpa.free(room.bytes);
    }

    fn make(launch: *Launch) ?*Room {
        const k = launch.kernel;
        const warps = (launch.threads() + machine.lanes - 1) / machine.lanes;
        // Exactly what the kernel has: an access beyond it is a fault.
        const shared = if (launch.dynamic_bytes > 0) k.dynamic_at + launch.dynamic_bytes else k.shared_bytes;
        const local = std.mem.alignForward(u32, k.local_bytes, 64) * machine.lanes;
        const words = (shared + 3) / 4;
        const sizes = [_]usize{
            @sizeOf(Room),             @sizeOf(Warp) * warps, @as(usize, k.file_bytes) * warps,
            @as(usize, local) * warps, shared,                words * @sizeOf(machine.Shadow),
        };
        var total: usize = 0;
        for (sizes) |s| total += std.mem.alignForward(usize, s, 64);
        const bytes = gpa.alignedAlloc(u8, .@"64", total) catch return null;
        var at: usize = 0;
        var parts: [sizes.len][]align(64) u8 = undefined;
        for (&parts, sizes) |*p, s| {
            p.* = @alignCast(bytes[at..][0..s]);
            at += std.mem.alignForward(usize, s, 64);
        }
        @memset(parts[2], poison);
        @memset(parts[3], poison);
        @memset(parts[5], 0);
        const room: *Room = @ptrCast(@alignCast(parts[0].ptr));
        const all: [*]Warp = @ptrCast(@alignCast(parts[1].ptr));
        const shadow: [*]machine.Shadow = @ptrCast(@alignCast(parts[5].ptr));
        room.* = .{
            .bytes = bytes,
            .kernel = k.number,
            .shape = launch.block,
            .dynamic = launch.dynamic_bytes,
            .block = .{
                .launch = launch,
                .shared = parts[4],
                .shadow = shadow[0..words],
                .warps = all[0..warps],
            },
        };
        for (room.block.warps, 0..) |*w, n| {
            w.* = .{
                .file = @alignCast(parts[2].ptr + n * k.file_bytes),
                .block = &room.block,
                .code = k.code.ptr,
                .local = parts[3][n * local ..][0..local],
                .index = @intCast(n),
            };
            set_constants(w);
            set_specials(&room.block, w, false);
        }
        return room;
    }
};

fn start_block(b: *Block, n: u64) void {
    const l = b.launch;
    b.id = .{
        @intCast(n % l.grid[0]),
        @intCast(n / l.grid[0] % l.grid[1]),
        @intCast(n / l.grid[0] / l.grid[1]),
    };
    b.epoch += 1;
    b.barriers = @splat(.{});
    if (b.shared.len > 0) @memset(b.shared, poison);
    var left = l.threads();
    for (b.warps) |*w| {
        const count = @min(left, machine.lanes);
        left -= count;
        w.live = if (count == machine.lanes) machine.full else (@as(u32, 1) << @intCast(count)) - 1;
        w.parts[0] = .{ .pc = 0, .mask = w.live };
        w.part_count = 1;
        w.active = 0;
        w.pc = 0;
        w.limit = 0;
        set_specials(b, w, true);
    }
}

/// Rooms of the last launches, for further ones of the same kernels; guarded by the lock of the driver.
var spares: [8]?*Room = @splat(null);
var next_spare: usize = 0;

/// The part of a launch that the calling thread does.
fn work_here(launch: *Launch) void {
    for (spares) |spare| if (spare) |room| if (room.suits(launch)) {
        room.renew(launch);
        return work(launch, room);
    };
    const place = &spares[next_spare];
    next_spare = (next_spare + 1) % spares.len;
    if (place.*) |room| room.free();
    place.* = Room.make(launch);
    work(launch, place.*);
}

fn work_beside(launch: *Launch) void {
    const room = Room.make(launch);
    work(launch, room);
    if (room) |r| r.free();
}

fn work(launch: *Launch, place: ?*Room) void {
    const room = place orelse {
        launch.fault_code = 2;
        launch.stopped.store(true, .release);
        return;
    };
    const b = &room.block;
    const total = launch.blocks();
    const chunk = std.math.clamp(total / 256, 1, 64);
    while (!launch.stopped.load(.monotonic)) {
        const first = launch.next.fetchAdd(chunk, .monotonic);
        if (first >= total) break;
        for (first..@min(first + chunk, total)) |n| {
            start_block(b, n);
            run_block(b);
            for (b.warps) |*w| {
                async_copies.drop(w);
                w.products.drop();
            }
            if (launch.stopped.load(.monotonic)) break;
        }
    }
    var executed: u64 = 0;
    for (b.warps) |*w| executed += w.executed;
    _ = launch.executed.fetchAdd(executed, .monotonic);
}

var processors: u64 = 0;

fn host_threads() u64 {
    if (settings.current.threads > 0) return @min(64, settings.current.threads);
    if (processors == 0) processors = std.Thread.getCpuCount() catch 1;
    return @min(64, processors);
}

/// Runs a launch to its end; the code of its fault, or 0.
pub fn run(launch: *Launch) c_int {
    const started = now();
    launch.deadline = started + settings.current.timeout_ms * std.time.ns_per_ms;
    const all = launch.blocks();
    const wanted = @min(host_threads(), @min(all, 1 + all * launch.threads() / threads_each));
    var helpers: [64]std.Thread = undefined;
    var count: usize = 0;
    while (count + 1 < wanted) : (count += 1) {
        helpers[count] = std.Thread.spawn(.{ .stack_size = 1 << 20 }, work_beside, .{launch}) catch break;
    }
    work_here(launch);
    for (helpers[0..count]) |t| t.join();
    report.count("launches", 1);
    report.count("blocks", all);
    report.count("thread_instructions", launch.executed.load(.monotonic));
    report.count("launch_nanoseconds", now() - started);
    return launch.fault_code;
}
