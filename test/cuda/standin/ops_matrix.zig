//! Matrix tiles that the lanes of a warp hold together: loads from shared memory, and products.
const std = @import("std");
const access = @import("access.zig");
const control = @import("ops_control.zig");
const half = @import("half.zig");
const machine = @import("machine.zig");
const types = @import("types.zig");
const Handler = machine.Handler;
const Ins = machine.Ins;
const Ty = types.Ty;
const Warp = machine.Warp;

pub const transposed_flag: u32 = 0x100;
pub const short_flag: u32 = 0x200;

/// Lanes 8k to 8k+7 give the addresses of the rows of tile k; `e` holds the number of tiles and flags.
pub fn load(w: *Warp, i: *const Ins, mask: u32) void {
    if (!control.together(w, mask, machine.full)) return;
    const count = i.e & 0xFF;
    for (w.kernel().extras[i.x..][0..count], 0..) |to, tile| {
        var rows: [8][8]u16 = undefined;
        for (&rows, 0..) |*row, r| {
            const l: u32 = @intCast(tile * 8 + r);
            const base = if (i.e & short_flag != 0) w.lane(u32, i.a)[l] else w.lane(u64, i.a)[l];
            const at = base +% i.imm;
            const from = access.resolve(w, i, .shared, l, at, 16, false) orelse return;
            if (access.shared_offset(.shared, at)) |o| access.note_shared(w, i, l, o, 16, false);
            @memcpy(std.mem.asBytes(row), from[0..16]);
        }
        for (w.lane(u32, to), 0..) |*r, l| {
            const row = l / 4;
            const column = l % 4 * 2;
            const turned = i.e & transposed_flag != 0;
            const low = if (turned) rows[column][row] else rows[row][column];
            const high = if (turned) rows[column + 1][row] else rows[row][column + 1];
            r.* = @as(u32, high) << 16 | low;
        }
    }
}

pub const Shape = enum { m8n8k4, m16n8k4, m16n8k8, m16n8k16 };

pub const Sizes = struct { a: usize, b: usize, c: usize };

/// Registers of each operand; null for what does not exist.
pub fn sizes(shape: Shape, ty: Ty, sum: Ty) ?Sizes {
    if (ty == .f64) return if (sum == .f64) doubles(shape) else null;
    const c: usize = if (sum == .f32) 4 else if (sum == .f16 and ty == .f16) 2 else return null;
    return switch (ty) {
        .f16, .bf16 => switch (shape) {
            .m16n8k8 => .{ .a = 2, .b = 1, .c = c },
            .m16n8k16 => .{ .a = 4, .b = 2, .c = c },
            .m8n8k4, .m16n8k4 => null,
        },
        .tf32 => switch (shape) {
            .m16n8k4 => .{ .a = 2, .b = 1, .c = c },
            .m16n8k8 => .{ .a = 4, .b = 2, .c = c },
            .m8n8k4, .m16n8k16 => null,
        },
        else => null,
    };
}

/// Of f64, where each register holds one number.
fn doubles(shape: Shape) Sizes {
    return switch (shape) {
        .m8n8k4 => .{ .a = 1, .b = 1, .c = 2 },
        .m16n8k4 => .{ .a = 2, .b = 1, .c = 4 },
        .m16n8k8 => .{ .a = 4, .b = 2, .c = 4 },
        .m16n8k16 => .{ .a = 8, .b = 4, .c = 4 },
    };
}

/// A group of four lanes holds rows of A and C and a column of B; of every four terms a lane has one.
fn double_product(comptime shape: Shape) Handler {
    const n = comptime doubles(shape);
    const rows = n.c * 4;
    const high = n.c / 2;
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            if (!control.together(w, mask, machine.full)) return;
            const extras = w.kernel().extras;
            var d: [rows][8]f64 = undefined;
            for (&d, 0..) |*line, row| for (line, 0..) |*s, column| {
                s.* = w.lane(f64, extras[i.c + row / 8 * 2 + column % 2])[row % 8 * 4 + column / 2];
                for (0..n.b * 4) |k| {
                    const x = w.lane(f64, extras[i.a + k / 4 * high + row / 8])[row % 8 * 4 + k % 4];
                    const y = w.lane(f64, extras[i.b + k / 4])[column * 4 + k % 4];
                    s.* = @mulAdd(f64, x, y, s.*);
                }
            };
            for (d, 0..) |line, row| for (line, 0..) |s, column| {
                w.lane(f64, extras[i.d + row / 8 * 2 + column % 2])[row % 8 * 4 + column / 2] = s;
            };
        }
    }.run;
}

fn element(comptime ty: Ty, bits: u32, part: usize) f32 {
    if (ty == .tf32) return @bitCast(bits & 0xFFFF_E000);
    return half.widen(ty, @truncate(bits >> @intCast(part * 16)));
}

/// Tiles are held by groups of four lanes: a group holds a row of A and C and a column of B, a lane of it two
/// neighbouring places of every eight (of every four, one of each, for tf32).
fn product(comptime shape: Shape, comptime ty: Ty, comptime sum: Ty) Handler {
    const n = comptime sizes(shape, ty, sum).?;
    const depth = if (shape == .m16n8k4) 4 else if (shape == .m16n8k8) 8 else 16;
    const each = if (ty == .tf32) 1 else 2;
    return struct {
        fn run(w: *Warp, i: *const Ins, mask: u32) void {
            if (!control.together(w, mask, machine.full)) return;
            const extras = w.kernel().extras;
            var a: [16][depth]f32 = undefined;
            var b: [depth][8]f32 = undefined;
            for (extras[i.a..][0..n.a], 0..) |at, r| for (w.lane(u32, at), 0..) |bits, l| {
                const row = l / 4 + r % 2 * 8;
                for (0..each) |p| a[row][r / 2 * 4 * each + l % 4 * each + p] = element(ty, bits, p);
            };
            for (extras[i.b..][0..n.b], 0..) |at, r| for (w.lane(u32, at), 0..) |bits, l| {
                for (0..each) |p| b[r * 4 * each + l % 4 * each + p][l / 4] = element(ty, bits, p);
            };
            var d: [16][8]f32 = undefined;
            for (0..16) |row| for (0..8) |column| {
                var s: f64 = read(w, extras[i.c..], row, column);
                for (0..depth) |k| s += @as(f64, a[row][k]) * b[k][column];
                d[row][column] = @floatCast(s);
            };
            for (0..16) |row| for (0..8) |column| write(w, extras[i.d..], row, column, d[row][column]);
        }

        fn read(w: *Warp, places: []const u32, row: usize, column: usize) f32 {
            const l = row % 8 * 4 + column / 2;
            if (sum == .f32) return w.lane(f32, places[row / 8 * 2 + column % 2])[l];
            return half.widen(.f16, @truncate(w.lane(u32, places[row / 8])[l] >> @intCast(column % 2 * 16)));
        }

        fn write(w: *Warp, places: []const u32, row: usize, column: usize, value: f32) void {
            const l = row % 8 * 4 + column / 2;
            if (sum == .f32) {
                w.lane(f32, places[row / 8 * 2 + column % 2])[l] = value;
                return;
            }
            const to = &w.lane(u32, places[row / 8])[l];
            const shift: u5 = @intCast(column % 2 * 16);
            const bits: u32 = half.narrow(.f16, .{ .value = value }, .nearest);
            to.* = (to.* & ~(@as(u32, 0xFFFF) << shift)) | bits << shift;
        }
    }.run;
}

pub fn pick(shape: Shape, ty: Ty, sum: Ty) ?Handler {
    switch (shape) {
        inline else => |s| switch (ty) {
            .f64 => return if (sum == .f64) double_product(s) else null,
            inline .f16, .bf16, .tf32 => |t| switch (sum) {
                inline .f32, .f16 => |u| {
                    if (comptime sizes(s, t, u) == null) return null;
                    return product(s, t, u);
                },
                else => return null,
            },
            else => return null,
        },
    }
}
