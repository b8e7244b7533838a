//! Reading and writing elements at positions that index tensors give. One layout serves `x[i, j]`, gather, scatter,
//! index_select, index_add and take:
//!   operand 0  the dense side (result of a read, source of a write), its shape is the iteration space
//!   operand 1  the indexed tensor: its strides over that space, zero along the indexed dimensions
//!   operand 2  strides only: the position in the index tensors of each element of the space
//!   operand 3… index tensors, int64 or int32 without gaps: shape [count, size, dim], strides [1, stride, 0], where
//!              size, dim and stride are those of the dimension that the tensor indexes
//! Attribute 0: negative indices count from the end. Attribute 1: how a write combines (see Mode).
const std = @import("std");
const abi = @import("abi");
const abi_index = @import("abi_index");
const combine = @import("index_combine.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const parallel = @import("../core/parallel.zig");
const pw = @import("pointwise.zig");

const grain = 16384;
/// Bytes of a line that the processor's nearest cache holds.
const most_fetched = 32 << 10;
const first_index = 3;
const none = std.math.maxInt(usize);

const Mode = abi_index.IndexMode;

/// The loops of additions of the instruction set in use, which take whole rows: the library's root tells.
const sums = @extern(*const *const pw.Specs, .{ .name = "zs_sums", .visibility = .hidden });

/// The loop that adds elements of a dtype as `Combine` does; null where they are widened first or are truth values.
fn row_of_sums(d: dt.DType) ?pw.Spec.Loop {
    const specs = sums.*;
    if (d == .bool) return null;
    if (pw.short_index(d)) |k| return if (specs.short[k]) |s| s.loop else null;
    for (specs.native) |native| if (native) |s| if (s.types[0] == d) return s.loop;
    return null;
}

/// One index tensor and the dimension that it indexes.
const Index = struct {
    data: [*]const u8,
    narrow: bool,
    count: usize,
    size: i64,
    dim: i64,
    stride: i64,

    inline fn load(x: *const Index, p: usize) i64 {
        if (x.narrow) return @as([*]align(1) const i32, @ptrCast(x.data))[p];
        return @as([*]align(1) const i64, @ptrCast(x.data))[p];
    }

    /// The offset that position `p` adds, or null when its index lies outside.
    inline fn offset(x: *const Index, p: usize, wrap: bool) ?isize {
        const i = x.load(p);
        const at = if (i < 0 and wrap) i + x.size else i;
        if (@as(u64, @bitCast(at)) >= @as(u64, @bitCast(x.size))) return null;
        return @intCast(at * x.stride);
    }
};

const Indices = struct {
    list: [fr.max_rank]Index = undefined,
    len: usize = 0,
    wrap: bool,

    fn init(f: *fr.Frame) ?Indices {
        var s: Indices = .{ .wrap = fr.attr_bool(f, abi_index.IndexAttr.wrap) };
        const n = fr.count(f);
        if (n <= first_index or n - first_index > fr.max_rank) return null;
        for (first_index..n) |k| {
            const v = fr.view(f, k);
            if (v.dtype != .int64 and v.dtype != .int32) return null;
            s.list[s.len] = .{
                .data = v.data,
                .narrow = v.dtype == .int32,
                .count = v.size(abi_index.IndexFact.count),
                .size = fr.to_int(v.shape[abi_index.IndexFact.size]),
                .dim = fr.to_int(v.shape[abi_index.IndexFact.dim]),
                .stride = fr.to_int(v.strides[1]),
            };
            s.len += 1;
        }
        return s;
    }

    inline fn offset(s: *const Indices, p: usize) ?isize {
        if (s.len == 1) return s.list[0].offset(p, s.wrap);
        var sum: isize = 0;
        for (s.list[0..s.len]) |*x| sum += x.offset(p, s.wrap) orelse return null;
        return sum;
    }

    /// The status of the first index outside at position `p`.
    fn report(s: *const Indices, f: *fr.Frame, p: usize) abi.Status {
        for (s.list[0..s.len]) |*x| {
            if (x.offset(p, s.wrap) == null) {
                f.detail[abi_index.IndexDetail.index] = @floatFromInt(x.load(p));
                f.detail[abi_index.IndexDetail.dim] = @floatFromInt(x.dim);
                f.detail[abi_index.IndexDetail.size] = @floatFromInt(x.size);
                return .index_out_of_bounds;
            }
        }
        return .bad_argument;
    }

    /// The first position with an index outside, or `none`.
    fn validate(s: *const Indices) usize {
        var first: usize = none;
        for (s.list[0..s.len]) |*x| {
            const bad = check_one(x, s.wrap);
            if (bad < first) first = bad;
        }
        return first;
    }
};

fn check_one(x: *const Index, wrap: bool) usize {
    const fine = if (x.narrow) all_inside(i32, x, wrap) else all_inside(i64, x, wrap);
    return if (fine) none else first_outside(x, 0, x.count, wrap);
}

fn all_inside(comptime I: type, x: *const Index, wrap: bool) bool {
    const U = std.meta.Int(.unsigned, @bitSizeOf(I));
    // No dimension has more places than the index type can count, or every index is inside its end.
    if (x.size > std.math.maxInt(I)) return first_outside(x, 0, x.count, wrap) == none;
    const low: I = @intCast(if (wrap) -x.size else 0);
    const places: U = @intCast(if (wrap) 2 * @as(i128, x.size) else x.size);
    var outside: U = 0;
    for (@as([*]align(1) const I, @ptrCast(x.data))[0..x.count]) |i| {
        outside |= @intFromBool(@as(U, @bitCast(i -% low)) >= places);
    }
    return outside == 0;
}

fn first_outside(x: *const Index, begin: usize, end: usize, wrap: bool) usize {
    for (begin..end) |p| if (x.offset(p, wrap) == null) return p;
    return none;
}

inline fn at_element(comptime T: type, base: usize, offset: isize) *align(1) T {
    return @ptrFromInt(base +% @as(usize, @bitCast(offset * @as(isize, @sizeOf(T)))));
}

const Call = struct {
    space: *const iter.Space,
    indices: *const Indices,
    dense: usize,
    indexed: usize,
    /// Smallest position whose index lies outside.
    bad: *std.atomic.Value(usize),
    /// Adds one row to another.
    add: ?pw.Spec.Loop = null,
};

/// out[...] = self[indices]
pub fn get(f: *fr.Frame) abi.Status {
    var space: iter.Space = undefined;
    space.init(f, 3);
    if (space.total == 0) return .ok;
    const indices = Indices.init(f) orelse return .bad_argument;
    var bad = std.atomic.Value(usize).init(none);
    const c: Call = .{
        .space = &space,
        .indices = &indices,
        .dense = @intFromPtr(fr.view(f, 0).data),
        .indexed = @intFromPtr(fr.view(f, 1).data),
        .bad = &bad,
    };
    switch (dt.size_of(fr.view(f, 0).dtype)) {
        1 => parallel.parallel_for(space.total, grain, c, Reader(u8).part),
        2 => parallel.parallel_for(space.total, grain, c, Reader(u16).part),
        4 => parallel.parallel_for(space.total, grain, c, Reader(u32).part),
        8 => parallel.parallel_for(space.total, grain, c, Reader(u64).part),
        16 => parallel.parallel_for(space.total, grain, c, Reader(u128).part),
        else => return .unsupported,
    }
    const p = bad.load(.monotonic);
    return if (p == none) .ok else indices.report(f, p);
}

/// Where the three operands stand, and how far one step moves each.
const Walk = struct {
    dense: iter.Cursor,
    indexed: iter.Cursor,
    position: iter.Cursor,
    step: [3]isize,

    fn init(s: *const iter.Space, begin: usize) Walk {
        return .{
            .dense = iter.Cursor.init(s, 0, begin),
            .indexed = iter.Cursor.init(s, 1, begin),
            .position = iter.Cursor.init(s, 2, begin),
            .step = .{ s.strides[0][0], s.strides[1][0], s.strides[2][0] },
        };
    }

    fn advance(w: *Walk, n: usize) void {
        w.dense.advance(n);
        w.indexed.advance(n);
        w.position.advance(n);
    }
};

fn Reader(comptime T: type) type {
    return struct {
        fn part(c: Call, begin: usize, end: usize) void {
            var w = Walk.init(c.space, begin);
            var done = begin;
            while (done < end) {
                const n = w.dense.run(end - done);
                if (w.step[2] == 0) row(c, &w, n) else elements(c, &w, n);
                w.advance(n);
                done += n;
            }
        }

        /// The whole run has one index: its elements lie along other dimensions.
        inline fn row(c: Call, w: *const Walk, n: usize) void {
            const p: usize = @intCast(w.position.offset);
            const base = c.indices.offset(p) orelse {
                _ = c.bad.fetchMin(p, .monotonic);
                return;
            };
            const from = w.indexed.offset + base;
            if (w.step[0] == 1 and w.step[1] == 1) {
                const d: [*]align(1) T = @ptrCast(at_element(T, c.dense, w.dense.offset));
                const s: [*]align(1) const T = @ptrCast(at_element(T, c.indexed, from));
                if (n < 16) {
                    for (0..n) |i| d[i] = s[i];
                } else @memcpy(d[0..n], s[0..n]);
                return;
            }
            for (0..n) |i| {
                const k: isize = @intCast(i);
                const to = at_element(T, c.dense, w.dense.offset + k * w.step[0]);
                to.* = at_element(T, c.indexed, from + k * w.step[1]).*;
            }
        }

        inline fn elements(c: Call, w: *const Walk, n: usize) void {
            const x = &c.indices.list[0];
            if (c.indices.len == 1 and !x.narrow and w.step[2] == 1) {
                const line: Line(T) = .of(c, w, x);
                const wrap = c.indices.wrap;
                if (w.step[1] == 0) line.fetch(n, x.stride);
                const simple = w.step[0] == 1 and w.step[1] == 0 and x.stride == 1;
                const done = if (simple and wrap)
                    line.read(n, 1, 0, 1, true)
                else if (simple)
                    line.read(n, 1, 0, 1, false)
                else
                    line.read(n, w.step[0], w.step[1], x.stride, wrap);
                if (done < n) {
                    const p: usize = @intCast(w.position.offset);
                    _ = c.bad.fetchMin(p + done, .monotonic);
                }
                return;
            }
            for (0..n) |i| {
                const k: isize = @intCast(i);
                const p: usize = @intCast(w.position.offset + k * w.step[2]);
                const base = c.indices.offset(p) orelse {
                    _ = c.bad.fetchMin(p, .monotonic);
                    continue;
                };
                const from = w.indexed.offset + k * w.step[1] + base;
                at_element(T, c.dense, w.dense.offset + k * w.step[0]).* = at_element(T, c.indexed, from).*;
            }
        }
    };
}

/// A run of elements whose one index tensor holds an int64 for each, one after the other.
fn Line(comptime T: type) type {
    return struct {
        index: [*]align(1) const i64,
        size: i64,
        dense: usize,
        indexed: usize,

        fn of(c: Call, w: *const Walk, x: *const Index) @This() {
            return .{
                .index = @as([*]align(1) const i64, @ptrCast(x.data)) + @as(usize, @intCast(w.position.offset)),
                .size = x.size,
                .dense = @intFromPtr(at_element(T, c.dense, w.dense.offset)),
                .indexed = @intFromPtr(at_element(T, c.indexed, w.indexed.offset)),
            };
        }

        /// Asks for a short line whose elements are about to be read in any order: in its own order it comes sooner.
        inline fn fetch(line: Line(T), n: usize, stride: i64) void {
            const step: usize = @intCast(@abs(stride) * @sizeOf(T));
            const span = @as(usize, @intCast(line.size)) * step;
            if (stride <= 1 or span > most_fetched or span / 64 > n) return;
            var at: usize = 0;
            while (at < span) : (at += 64) @prefetch(@as([*]const u8, @ptrFromInt(line.indexed + at)), .{});
        }

        /// How many elements were read before an index that lies outside.
        inline fn read(line: Line(T), n: usize, to: isize, from: isize, stride: i64, wrap: bool) usize {
            for (0..n) |i| {
                const k: isize = @intCast(i);
                const given = line.index[i];
                const at = if (wrap and given < 0) given + line.size else given;
                if (@as(u64, @bitCast(at)) >= @as(u64, @bitCast(line.size))) return i;
                at_element(T, line.dense, k * to).* = at_element(T, line.indexed, k * from + at * stride).*;
            }
            return n;
        }

        fn write_any(
            line: Line(T),
            comptime Op: type,
            comptime mode: Mode,
            n: usize,
            w: *const Walk,
            stride: i64,
            wrap: bool,
        ) void {
            line.write(Op, mode, n, w.step[0], w.step[1], stride, wrap);
        }

        /// All indices were found inside before.
        inline fn write(
            line: Line(T),
            comptime Op: type,
            comptime mode: Mode,
            n: usize,
            from: isize,
            to: isize,
            stride: i64,
            wrap: bool,
        ) void {
            for (0..n) |i| {
                const k: isize = @intCast(i);
                const given = line.index[i];
                const at = if (wrap and given < 0) given + line.size else given;
                Op.apply(
                    at_element(T, line.indexed, k * to + at * stride),
                    at_element(T, line.dense, k * from),
                    mode,
                );
            }
        }
    };
}

/// self[indices] = source, or combined with it; all indices are checked before anything is written. One thread, in
/// the order of the space: of several writes to one element the last one stays.
pub fn put(f: *fr.Frame) abi.Status {
    var space: iter.Space = undefined;
    space.init(f, 3);
    if (space.total == 0) return .ok;
    const indices = Indices.init(f) orelse return .bad_argument;
    const wrong = indices.validate();
    if (wrong != none) return indices.report(f, wrong);
    const mode: Mode = @enumFromInt(@as(u8, @intCast(fr.attr_int(f, abi_index.IndexAttr.mode))));
    var bad = std.atomic.Value(usize).init(none);
    var c: Call = .{
        .space = &space,
        .indices = &indices,
        .dense = @intFromPtr(fr.view(f, 0).data),
        .indexed = @intFromPtr(fr.view(f, 1).data),
        .bad = &bad,
    };
    const dtype = fr.view(f, 1).dtype;
    if (mode == .add) c.add = row_of_sums(dtype);
    switch (mode) {
        .assign => switch (dt.size_of(dtype)) {
            inline 1, 2, 4, 8, 16 => |size| write(Assign(std.meta.Int(.unsigned, 8 * size)), c, mode, .assign),
            else => return .unsupported,
        },
        else => switch (dtype) {
            inline else => |d| write(Combine(d), c, mode, .add),
        },
    }
    return .ok;
}

fn Assign(comptime T: type) type {
    return struct {
        const Stored = T;
        inline fn apply(to: *align(1) T, from: *align(1) const T, _: Mode) void {
            to.* = from.*;
        }
    };
}

fn Combine(comptime d: dt.DType) type {
    const c = combine.type_of(d);
    return struct {
        const Stored = dt.Stored(d);
        inline fn apply(to: *align(1) Stored, from: *align(1) const Stored, mode: Mode) void {
            const a = dt.load(d, c, to.*);
            const b = dt.load(d, c, from.*);
            to.* = dt.store(d, c, combine.Values(c).apply(mode, a, b));
        }
    };
}

/// Lines of the one mode that is asked for most have loops of their own.
fn write(comptime Op: type, c: Call, mode: Mode, comptime often: Mode) void {
    const T = Op.Stored;
    const total = c.space.total;
    const x = &c.indices.list[0];
    const wrap = c.indices.wrap;
    var w = Walk.init(c.space, 0);
    const in_line = mode == often and c.indices.len == 1 and !x.narrow and w.step[2] == 1;
    const simple = w.step[0] == 1 and w.step[1] == 0 and x.stride == 1 and !wrap;
    var done: usize = 0;
    while (done < total) {
        const n = w.dense.run(total - done);
        if (in_line) {
            const line: Line(T) = .of(c, &w, x);
            if (simple) line.write(Op, often, n, 1, 0, 1, false) else line.write_any(Op, often, n, &w, x.stride, wrap);
        } else run_of_writes(Op, c, &w, mode, n);
        w.advance(n);
        done += n;
    }
}

/// Elements from which on a row is written as a whole.
const least_row = 16;
const no_attrs: pw.Params.Attrs = @splat(0);

fn run_of_writes(comptime Op: type, c: Call, w: *const Walk, mode: Mode, n: usize) void {
    const T = Op.Stored;
    const one_row = w.step[2] == 0;
    const row: isize = if (one_row) c.indices.offset(@intCast(w.position.offset)).? else 0;
    if (one_row and w.step[0] == 1 and w.step[1] == 1 and n >= least_row) {
        const to: [*]u8 = @ptrCast(at_element(T, c.indexed, w.indexed.offset + row));
        const from: [*]const u8 = @ptrCast(at_element(T, c.dense, w.dense.offset));
        if (mode == .assign) return @memmove(to[0 .. n * @sizeOf(T)], from[0 .. n * @sizeOf(T)]);
        if (c.add) |add| return add(.{ .attrs = &no_attrs }, to, &.{ to, from, from }, n);
    }
    for (0..n) |i| {
        const k: isize = @intCast(i);
        const base = if (one_row) row else c.indices.offset(@intCast(w.position.offset + k * w.step[2])).?;
        const to = at_element(T, c.indexed, w.indexed.offset + k * w.step[1] + base);
        Op.apply(to, at_element(T, c.dense, w.dense.offset + k * w.step[0]), mode);
    }
}
