//! Products by the matrix units of GPUs of capability 9.0, of 16-bit floats, and of float32 rounded to tf32: sums in
//! f32, rounded once. There the units reach their full rate only with factors that they read from shared memory
//! themselves. Two groups of four warps have 64 rows each of a tile. Slices have 128 bytes of terms. Those of
//! 16-bit floats come by asynchronous copies of 16 bytes: of the slices in shared memory one is multiplied while
//! another may still be, and the others are on their way. One barrier a slice is enough, and the units find the next
//! products queued. Those of tf32 come by registers: while one is multiplied, and another may still be, the next is
//! written.
const std = @import("std");
const args = @import("matmul_args.zig");
const double = @import("tensor_double.zig");
const export_sized = @import("pointwise.zig").export_sized;
const matmul = @import("matmul.zig");
const elements = @import("matmul_elements.zig");
const moved = elements.moved;
const rounded = @import("tensor_rounded.zig");
const thread = @import("thread.zig");
const warp = @import("warp_matrix.zig");
const group = @import("warp_group.zig");

const Along = args.Along;
const Product = args.Product;
const Group = args.Group;

/// As many bytes as the launch says.
extern var group_shared: [0]u8 align(1024) addrspace(.shared);

/// A thread's pieces of a factor of 16-bit elements: eight threads have a line of shared memory.
fn Carrier(comptime along: Along, comptime side: u32) type {
    const lines = args.threads / 8;
    const pieces = side / lines;
    const reads = Group.reads(.bfloat16);
    const wide = reads.wide;
    const depth = reads.depth;
    comptime std.debug.assert(side % lines == 0 and depth % lines == 0);
    return struct {
        const Self = @This();

        at: u64,
        left: i32,
        k: i32,
        to: u32,

        inline fn of(f: *const args.Factor, first: u32, count: u32, batch: u32, term: u32) Self {
            const line = thread.index() / 8;
            const across = thread.index() % 8 * wide;
            const outer = if (along == .inner) line else across;
            const inner = if (along == .inner) across else line;
            const start = moved(moved(f.data, f.batch, batch), f.outer, first + outer);
            return .{
                .at = moved(start, f.inner, term + inner),
                .left = @as(i32, @intCast(count)) - @as(i32, @intCast(first + outer)),
                .k = @intCast(inner),
                .to = group.piece(line, thread.index() % 8),
            };
        }

        /// Starts the copies of the next slice, of whose terms `k` are left; zeros where the factor ends.
        inline fn fetch(s: *Self, f: *const args.Factor, to: u32, k: i32) void {
            inline for (0..pieces) |u| {
                const outer: u32 = if (along == .inner) u * lines else u * lines / depth * depth;
                const inner: u32 = if (along == .inner) 0 else u * lines % depth;
                const terms = k - s.k - @as(i32, inner);
                const left = s.left - @as(i32, outer);
                const some = if (along == .inner) (if (left > 0) terms else 0) else (if (terms > 0) left else 0);
                const count: u32 = @intCast(@max(0, @min(some, wide)));
                const from = moved(moved(s.at, f.outer, outer), f.inner, inner);
                const place = to + s.to + @as(u32, u) * lines * group.row_bytes;
                warp.copy_async(place, if (count > 0) from else f.data, count * 2);
            }
            s.at +%= @bitCast(f.ahead);
        }
    };
}

fn Tiles(comptime kind: args.Kind, comptime tile: args.Tile, comptime la: Along, comptime lb: Along) type {
    const columns = tile.columns;
    const groups = tile.rows / group.rows;
    const depth = Group.reads(kind).depth;
    const a_bytes = tile.rows * group.row_bytes;
    const slice_bytes = tile.slice_bytes();
    const stages = tile.stages(kind);
    // Factors of tf32 are turned on their way.
    const turns = kind != .tf32;
    // Slices of tf32 in registers: small tiles are multiplied before what comes from far is there.
    const far = if (columns == 64) 2 else 1;
    // Of 64 elements across the sum with all terms of a slice.
    const deep = depth * group.row_bytes;
    // A row of results in shared memory, as far apart as makes no conflicts.
    const staged_row = columns + 8;

    return struct {
        comptime {
            std.debug.assert(args.threads == groups * 4 * thread.warp);
            std.debug.assert(slice_bytes == a_bytes + columns * group.row_bytes);
            std.debug.assert(groups * 4 * 16 * staged_row * 4 <= slice_bytes * stages);
        }

        inline fn multiply(at: u32) void {
            const which = thread.index() / (4 * thread.warp);
            const a = group.factor(at + which * group.rows * group.row_bytes, deep);
            const b = group.factor(at + a_bytes, deep);
            const left = if (turns) la else .inner;
            const right = if (turns) lb else .inner;
            group.begin();
            inline for (0..group.row_bytes / group.term_bytes) |step| {
                const from_a = group.after(a, left, step);
                group.multiply_add(kind, columns, left, right, from_a, group.after(b, right, step));
            }
            group.commit();
        }

        fn run(a: *const Product) callconv(.kernel) void {
            @setEvalBranchQuota(100_000);
            const spot: matmul.Spot = .of(a, thread.block());
            const z = thread.block_z();
            const batch = z / a.splits;
            const first = z % a.splits * a.k_each;
            const terms: i32 = @intCast(@min(a.k_each, a.k - first));
            group.declare(columns);
            if (kind == .tf32) {
                var from_a: rounded.Carrier(la, tile.rows) = .of(&a.a, spot.row * tile.rows, a.m, batch, first);
                var from_b: rounded.Carrier(lb, columns) = .of(&a.b, spot.column * columns, a.n, batch, first);
                by_registers(a, terms, &from_a, &from_b);
            } else {
                var from_a: Carrier(la, tile.rows) = .of(&a.a, spot.row * tile.rows, a.m, batch, first);
                var from_b: Carrier(lb, columns) = .of(&a.b, spot.column * columns, a.n, batch, first);
                by_copies(a, terms, &from_a, &from_b);
            }
            group.wait(0);
            thread.barrier();
            finish(a, spot);
        }

        inline fn by_copies(a: *const Product, terms: i32, from_a: anytype, from_b: anytype) void {
            const base = warp.address(&group_shared);
            var left = terms;
            var ahead = left;
            inline for (0..stages - 2) |s| {
                const to = base + @as(u32, s) * slice_bytes;
                from_a.fetch(&a.a, to, ahead);
                from_b.fetch(&a.b, to + a_bytes, ahead);
                warp.commit();
                ahead -= depth;
            }
            var now: u32 = 0;
            while (left > 0) : (left -= depth) {
                warp.wait(stages - 3);
                group.show();
                thread.barrier();
                multiply(base + now * slice_bytes);
                if (ahead > 0) {
                    const to = base + (now + stages - 2) % stages * slice_bytes;
                    from_a.fetch(&a.a, to, ahead);
                    from_b.fetch(&a.b, to + a_bytes, ahead);
                }
                warp.commit();
                ahead -= depth;
                group.wait(1);
                now = (now + 1) % stages;
            }
        }

        /// The units are shown a slice before the next ones are read, as that waits for all that is on its way; the
        /// compiler moves nothing ahead of a meeting.
        inline fn by_registers(a: *const Product, terms: i32, from_a: anytype, from_b: anytype) void {
            const base = warp.address(&group_shared);
            from_a.put(base, &from_a.fetch(&a.a, terms));
            from_b.put(base + a_bytes, &from_b.fetch(&a.b, terms));
            group.show();
            var left = terms;
            var ahead = left;
            var next: [far]struct { @TypeOf(from_a.*).Values, @TypeOf(from_b.*).Values } = undefined;
            inline for (&next) |*n| {
                ahead -= depth;
                n.* = .{ from_a.fetch(&a.a, ahead), from_b.fetch(&a.b, ahead) };
            }
            var now: u32 = 0;
            while (true) inline for (&next) |*n| {
                if (left <= 0) return;
                thread.barrier();
                multiply(base + now * slice_bytes);
                now = if (now == stages - 1) 0 else now + 1;
                left -= depth;
                if (left > 0) {
                    const to = base + now * slice_bytes;
                    from_a.put(to, &n[0]);
                    from_b.put(to + a_bytes, &n[1]);
                    group.show();
                    thread.meet();
                    ahead -= depth;
                    n.* = .{ from_a.fetch(&a.a, ahead), from_b.fetch(&a.b, ahead) };
                }
                group.wait(1);
            };
        }

        /// Through shared memory, so that neighbouring lanes write neighbours: a warp has 16 rows of its own.
        inline fn finish(a: *const Product, spot: matmul.Spot) void {
            const w = thread.index() / thread.warp;
            const lane = thread.lane();
            const staged: *addrspace(.shared) [groups * 4][16][staged_row]f32 = @ptrCast(&group_shared);
            const mine = &staged[w];
            inline for (0..columns / 8) |j| {
                inline for (0..2) |lower| {
                    const to = &mine[lane / 4 + @as(u32, lower) * 8][j * 8 + lane % 4 * 2];
                    const first = j * 4 + lower * 2;
                    const pair = @Vector(2, f32){ group.sum(first), group.sum(first + 1) };
                    @as(*addrspace(.shared) @Vector(2, f32), @ptrCast(@alignCast(to))).* = pair;
                }
            }
            thread.meet();
            const in_row = columns / 4;
            for (0..16 * in_row / thread.warp) |u| {
                const v = lane + @as(u32, @intCast(u)) * thread.warp;
                const r = v / in_row;
                const q = v % in_row * 4;
                const row = spot.row * tile.rows + w * 16 + r;
                const column = spot.column * columns + q;
                if (row >= a.m or column >= a.n) continue;
                const from: *addrspace(.shared) const @Vector(4, f32) = @ptrCast(@alignCast(&mine[r][q]));
                elements.Output(.f32, 4).write(a, from.*, row, column, thread.block_z());
            }
        }
    };
}

pub fn exports() void {
    for (Group.kinds) |kind| for (Group.tiles) |tile| {
        const group_name = std.fmt.comptimePrint("tensor_group_{t}_{d}x{d}_", .{ kind, tile.rows, tile.columns });
        for (std.enums.values(Along)) |la| for (std.enums.values(Along)) |lb| {
            const name = group_name ++ Group.variants[Group.variant(la, lb)];
            export_sized(&Tiles(kind, tile, la, lb).run, name, Product, args.threads, 1);
        };
    };
    double.exports(.whole, "tensor_group_float64");
}
