//! Moves blocks of elements between memory (any dtype, any strides) and L1-sized buffers of a compute type.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const object = @import("object.zig");
const panel = @import("panel.zig");
const runs = @import("convert_run.zig");
const strided = @import("strided.zig");

const Compute = abi.Compute;
const DType = abi.DType;

/// Elements per block: all buffers of a four-operand call stay in L1.
pub const block = 1024;
/// Bytes of the widest compute type.
pub const widest = 16;

const Run = runs.Run;

const dtype_count = @typeInfo(DType).@"enum".fields.len;

/// A conversion whose buffer's type is known by its compute type alone.
const AnyRun = *const fn (buffer: [*]u8, bytes: [*]const u8, stride: isize, n: usize) callconv(.c) void;

const compute_count = @typeInfo(Compute).@"enum".fields.len;
const Runs = [compute_count][dtype_count]AnyRun;

/// The conversions are compiled with the pointwise driver; the other objects of an instruction set find them there.
const any_loads = conversions("loads");
const any_stores = conversions("stores");

fn conversions(comptime name: []const u8) *const Runs {
    return @extern(*const Runs, .{ .name = object.symbol(cfg.variant, "pointwise", name), .visibility = .hidden });
}

pub fn export_tables() void {
    const made = struct {
        const loads = table(runs.load_run);
        const stores = table(runs.store_run);
    };
    inline for (.{ "loads", "stores" }) |name| {
        const symbol = object.symbol(cfg.variant, "pointwise", name);
        @export(&@field(made, name), .{ .name = symbol, .visibility = .hidden });
    }
}

fn table(comptime make: anytype) Runs {
    var t: Runs = undefined;
    for (@typeInfo(Compute).@"enum".fields) |c| {
        for (@typeInfo(DType).@"enum".fields) |d| {
            t[c.value][d.value] = @ptrCast(make(@enumFromInt(d.value), @enumFromInt(c.value)));
        }
    }
    return t;
}

pub fn load_of(c: Compute, d: DType) AnyRun {
    return any_loads[@intFromEnum(c)][@intFromEnum(d)];
}

/// `n` elements that are `stride` apart, in a compute type.
pub fn load(c: Compute, d: DType, to: [*]u8, from: [*]const u8, stride: isize, n: usize) void {
    const run = load_of(c, d);
    const size = dt.size_of(d);
    if (!strided.has_vectors(stride) or size > 8) return run(to, from, stride, n);
    if (d == native_of(c)) return strided.read_any(size, to, from, stride, n);
    // Brought together first, a part at a time: conversions of elements without gaps go by vectors.
    var part: [256 * 8]u8 align(64) = undefined;
    const width = dt.size_of(native_of(c));
    const step: usize = @bitCast(stride * @as(isize, @intCast(size)));
    var done: usize = 0;
    while (done < n) {
        const some = @min(256, n - done);
        strided.read_any(size, &part, @ptrFromInt(@intFromPtr(from) +% step *% done), stride, some);
        run(to + done * width, &part, 1, some);
        done += some;
    }
}

pub fn store_of(c: Compute, d: DType) AnyRun {
    return any_stores[@intFromEnum(c)][@intFromEnum(d)];
}

pub fn native_of(c: Compute) DType {
    return switch (c) {
        inline else => |k| comptime dt.native_dtype(k),
    };
}

/// Memory holds values of the dtype as they are.
pub fn is_native(v: *const fr.View, d: DType) bool {
    return v.dtype == d and v.flags == 0;
}

/// Room for one element of any type.
const Element = [1]u128;

/// One element that a loop takes for many.
pub const Constant = struct {
    view: fr.View,
    wanted: DType,
    compute: Compute,

    /// The element at `from` as the loop takes it.
    fn read(s: *const Constant, from: [*]const u8, to: [*]align(widest) u8) void {
        const size = dt.size_of(s.wanted);
        if (is_native(&s.view, s.wanted)) return @memcpy(to[0..size], from[0..size]);
        s.read_full(from, to);
        if (s.wanted == native_of(s.compute)) return;
        var full = @as(*Element, @ptrCast(to)).*;
        store_of(s.compute, s.wanted)(@ptrCast(&full), to, 1, 1);
    }

    /// The element at `from` in the compute type.
    fn read_full(s: *const Constant, from: [*]const u8, to: [*]align(widest) u8) void {
        load_of(s.compute, s.view.dtype)(to, from, 0, 1);
        if (s.view.flags != 0) flip_any(s.compute, s.view.flags, to, 1);
    }

    /// Whether it is a value of the loop's dtype.
    pub fn fits(s: *const Constant) bool {
        var short: Element = undefined;
        var back: Element = .{0};
        var full: Element = .{0};
        s.read(s.view.data, @ptrCast(&short));
        load_of(s.compute, s.wanted)(@ptrCast(&back), @ptrCast(&short), 0, 1);
        s.read_full(s.view.data, @ptrCast(&full));
        return back[0] == full[0];
    }
};

/// One operand of a call, read or written block by block in the order of the space. The types are values, not
/// parameters: the code exists once.
pub const Operand = struct {
    view: fr.View,
    cursor: iter.Cursor,
    /// What the loop takes, and the compute type that other dtypes are converted through.
    wanted: DType,
    compute: Compute,
    /// Bytes of an element for the loop, and in memory.
    width: usize,
    size: usize,
    dense: bool,
    /// No gaps along the innermost dimension, and no conversion.
    linear: bool,
    constant: bool,
    /// One element for each run of the innermost dimension.
    repeats: bool,
    buffer: [*]u8,
    filled: usize,

    pub fn open(
        s: *Operand,
        d: DType,
        c: Compute,
        f: *fr.Frame,
        space: *const iter.Space,
        k: usize,
        start: usize,
        buffer: [*]u8,
    ) void {
        s.view = fr.view(f, k);
        s.wanted = d;
        s.compute = c;
        s.width = dt.size_of(d);
        s.size = dt.size_of(s.view.dtype);
        const native = is_native(&s.view, d);
        s.dense = native and space.is_dense(k);
        s.linear = native and space.strides[k][0] == 1;
        s.constant = space.is_constant(k);
        s.repeats = !s.constant and space.strides[k][0] == 0 and k != 0;
        s.buffer = buffer;
        s.filled = 0;
        if (s.dense) {
            s.cursor.offset = @intCast(start);
        } else if (!s.constant or k == 0) {
            s.cursor.reset(space, k, start);
        }
    }

    inline fn here(s: *const Operand) [*]u8 {
        return at_offset(s.view.data, s.cursor.offset, s.size);
    }

    /// The next `n` elements as compute values, without a copy where memory already holds them so.
    pub fn read(s: *Operand, n: usize) [*]const u8 {
        if (s.dense) {
            const at = s.here();
            s.cursor.offset += @intCast(n);
            return at;
        }
        if (s.constant) {
            if (s.filled < n) s.spread(n);
            return s.buffer;
        }
        s.gather(n);
        return s.buffer;
    }

    /// As `read`, for elements that lie within one run of the innermost dimension. Pieces of a run never grow.
    pub fn read_run(s: *Operand, n: usize) [*]const u8 {
        if (s.repeats) {
            if (s.cursor.index[0] == 0 or s.filled < n) s.spread(n);
            s.cursor.advance(n);
            return s.buffer;
        }
        if (s.dense or s.constant or !s.linear) return s.read(n);
        const at = s.here();
        s.cursor.advance(n);
        return at;
    }

    pub fn target_run(s: *Operand) [*]u8 {
        return if (s.dense or s.linear) s.here() else s.buffer;
    }

    pub fn commit_run(s: *Operand, n: usize) void {
        if (s.dense or !s.linear) return s.commit(n);
        s.cursor.advance(n);
    }

    /// The present element, `n` times.
    fn spread(s: *Operand, n: usize) void {
        const from = if (s.constant) s.view.data else s.here();
        var element: Element = undefined;
        const one: Constant = .{ .view = s.view, .wanted = s.wanted, .compute = s.compute };
        one.read(from, @ptrCast(&element));
        panel.repeat(s.width, s.buffer, @intFromPtr(&element), n);
        s.filled = n;
    }

    fn gather(s: *Operand, n: usize) void {
        if (is_native(&s.view, s.wanted)) {
            return switch (s.width) {
                inline 1, 2, 4, 8, 16 => |w| s.gather_words(std.meta.Int(.unsigned, 8 * w), n),
                else => unreachable,
            };
        }
        const stride = s.cursor.space.strides[s.cursor.k][0];
        var done: usize = 0;
        while (done < n) {
            const run = s.cursor.run(n - done);
            load(s.compute, s.view.dtype, s.buffer + done * s.width, s.here(), stride, run);
            s.cursor.advance(run);
            done += run;
        }
        s.apply_flags(n);
    }

    /// `gather` without a conversion: runs are often short, so nothing is called for each.
    fn gather_words(s: *Operand, comptime T: type, n: usize) void {
        const stride = s.cursor.space.strides[s.cursor.k][0];
        const out: [*]align(1) T = @ptrCast(s.buffer);
        const lanes = 64 / @sizeOf(T);
        var done: usize = 0;
        while (done < n) {
            const run = s.cursor.run(n - done);
            const from: [*]align(1) const T = @ptrCast(s.here());
            if (stride == 0 and done + run + lanes <= block) {
                // Whole vectors: what they write beyond the run is overwritten next.
                const x: @Vector(lanes, T) = @splat(from[0]);
                var i: usize = 0;
                while (i < run) : (i += lanes) @as(*align(1) @Vector(lanes, T), @ptrCast(out + done + i)).* = x;
            } else strided.read(T, out + done, from, stride, run);
            s.cursor.advance(run);
            done += run;
        }
    }

    /// `commit` without a conversion.
    fn scatter_words(s: *Operand, comptime T: type, n: usize) void {
        const stride = s.cursor.space.strides[s.cursor.k][0];
        const from: [*]const T = @ptrCast(@alignCast(s.buffer));
        var done: usize = 0;
        while (done < n) {
            const run = s.cursor.run(n - done);
            const to: [*]align(1) T = @ptrCast(s.here());
            if (stride == 1) {
                @memcpy(to[0..run], from[done..][0..run]);
            } else {
                var at: isize = 0;
                for (from[done..][0..run]) |x| {
                    @as(*align(1) T, @ptrFromInt(address(to, at))).* = x;
                    at += stride;
                }
            }
            s.cursor.advance(run);
            done += run;
        }
    }

    inline fn apply_flags(s: *Operand, n: usize) void {
        if (s.view.flags != 0) flip_any(s.compute, s.view.flags, s.buffer, n);
    }

    /// Where the next `n` results may be computed to: memory itself, or the buffer.
    pub fn target(s: *Operand) [*]u8 {
        return if (s.dense) s.here() else s.buffer;
    }

    /// Moves on after `n` results were computed to `target()`.
    pub fn commit(s: *Operand, n: usize) void {
        if (s.dense) {
            s.cursor.offset += @intCast(n);
            return;
        }
        if (is_native(&s.view, s.wanted)) {
            return switch (s.width) {
                inline 1, 2, 4, 8, 16 => |w| s.scatter_words(std.meta.Int(.unsigned, 8 * w), n),
                else => unreachable,
            };
        }
        s.apply_flags(n);
        const store = store_of(s.compute, s.view.dtype);
        const stride = s.cursor.space.strides[s.cursor.k][0];
        var done: usize = 0;
        while (done < n) {
            const run = s.cursor.run(n - done);
            store(s.buffer + done * s.width, s.here(), stride, run);
            s.cursor.advance(run);
            done += run;
        }
    }
};

/// `n` elements of `size` bytes, each side with its stride.
pub fn copy_words(size: usize, to: struct { [*]u8, isize }, from: struct { [*]const u8, isize }, n: usize) void {
    if (to[1] == 1 and from[1] == 1) return @memcpy(to[0][0 .. n * size], from[0][0 .. n * size]);
    switch (size) {
        inline 1, 2, 4, 8, 16 => |w| {
            const T = std.meta.Int(.unsigned, 8 * w);
            const out: [*]align(1) T = @ptrCast(to[0]);
            const in: [*]align(1) const T = @ptrCast(from[0]);
            if (to[1] == 1) return strided.read(T, out, in, from[1], n);
            for (0..n) |i| {
                const k: isize = @intCast(i);
                const x = @as(*align(1) const T, @ptrFromInt(address(in, k * from[1]))).*;
                @as(*align(1) T, @ptrFromInt(address(out, k * to[1]))).* = x;
            }
        },
        else => unreachable,
    }
}

inline fn address(p: anytype, elements: isize) usize {
    const size = @sizeOf(@typeInfo(@TypeOf(p)).pointer.child);
    return @intFromPtr(p) +% @as(usize, @bitCast(elements * size));
}

pub fn flip_any(c: Compute, flags: u32, buffer: [*]u8, n: usize) void {
    switch (c) {
        inline else => |k| flip(dt.Computed(k), flags, @ptrCast(@alignCast(buffer)), n),
    }
}

/// Applies the conjugate and negative bits of an operand to its elements.
pub noinline fn flip(comptime T: type, flags: u32, values: [*]T, n: usize) void {
    const conj = flags & abi.OperandFlag.conj != 0;
    const neg = flags & abi.OperandFlag.neg != 0;
    for (values[0..n]) |*x| {
        if (comptime dt.is_complex(T)) {
            if (conj) x.im = -x.im;
            if (neg) x.* = .{ .re = -x.re, .im = -x.im };
        } else if (comptime @typeInfo(T) == .float) {
            if (neg) x.* = -x.*;
        } else if (neg) {
            x.* = 0 -% x.*;
        }
    }
}

/// An operand whose compute type is known: what kernels that are no pointwise bodies read through.
pub fn Stream(comptime c: Compute) type {
    const T = dt.Computed(c);
    return struct {
        const Self = @This();
        any: Operand,

        pub inline fn load(d: DType) Run(c) {
            return @ptrCast(any_loads[@intFromEnum(c)][@intFromEnum(d)]);
        }

        pub inline fn store(d: DType) Run(c) {
            return @ptrCast(any_stores[@intFromEnum(c)][@intFromEnum(d)]);
        }

        pub fn open(s: *Self, f: *fr.Frame, space: *const iter.Space, k: usize, start: usize, buffer: [*]T) void {
            s.any.open(dt.native_dtype(c), c, f, space, k, start, @ptrCast(buffer));
        }

        pub fn read(s: *Self, n: usize) [*]const T {
            return @ptrCast(@alignCast(s.any.read(n)));
        }
    };
}

inline fn at_offset(data: [*]u8, elements: isize, size: usize) [*]u8 {
    const bytes = elements * @as(isize, @intCast(size));
    return @ptrFromInt(@intFromPtr(data) +% @as(usize, @bitCast(bytes)));
}
