//! Moves blocks of elements between memory (any dtype, any strides) and L1-sized buffers of a compute type.
const std = @import("std");
const abi = @import("abi");
const cfg = @import("cfg");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const half = @import("../core/half.zig");
const iter = @import("../core/iter.zig");
const object = @import("object.zig");

const Compute = abi.Compute;
const DType = abi.DType;

/// Elements per block: all buffers of a four-operand call stay in L1.
pub const block = 1024;
/// Bytes of the widest compute type.
pub const widest = 16;

fn Run(comptime c: Compute) type {
    return *const fn (dst: [*]align(1) dt.Computed(c), src: [*]const u8, stride: isize, n: usize) callconv(.c) void;
}

fn load_run(comptime d: DType, comptime c: Compute) Run(c) {
    return struct {
        fn run(dst: [*]align(1) dt.Computed(c), bytes: [*]const u8, stride: isize, n: usize) callconv(.c) void {
            const src: [*]align(1) const dt.Stored(d) = @ptrCast(bytes);
            if (stride == 1) {
                var i: usize = 0;
                if (comptime vectors(d, c)) {
                    while (i + group <= n) : (i += group) {
                        const x = @as(*align(1) const @Vector(group, u16), @ptrCast(src + i)).*;
                        const halves: @Vector(group, f16) = @bitCast(x);
                        const y = if (d == .bfloat16) half.bf16_to_f32(x) else half.f16_to_f32(halves);
                        @as(*align(1) @Vector(group, f32), @ptrCast(dst + i)).* = y;
                    }
                }
                while (i < n) : (i += 1) dst[i] = dt.load(d, c, src[i]);
            } else if (stride == 0) {
                const x = dt.load(d, c, src[0]);
                for (0..n) |i| dst[i] = x;
            } else {
                var at: isize = 0;
                for (0..n) |i| {
                    dst[i] = dt.load(d, c, @as([*]align(1) const dt.Stored(d), @ptrFromInt(address(src, at)))[0]);
                    at += stride;
                }
            }
        }
    }.run;
}

/// Lanes of the short floats' conversions.
const group = cfg.lanes;

/// The short floats convert by vectors; the compiler does the rest by itself.
fn vectors(comptime d: DType, comptime c: Compute) bool {
    return c == .f32 and (d == .bfloat16 or d == .float16);
}

inline fn address(p: anytype, elements: isize) usize {
    const size = @sizeOf(@typeInfo(@TypeOf(p)).pointer.child);
    return @intFromPtr(p) +% @as(usize, @bitCast(elements * size));
}

fn store_run(comptime d: DType, comptime c: Compute) Run(c) {
    return struct {
        fn run(src: [*]align(1) dt.Computed(c), bytes: [*]const u8, stride: isize, n: usize) callconv(.c) void {
            const dst: [*]align(1) dt.Stored(d) = @ptrCast(@constCast(bytes));
            if (stride == 1) {
                var i: usize = 0;
                if (comptime vectors(d, c)) {
                    while (i + group <= n) : (i += group) {
                        const x = @as(*align(1) const @Vector(group, f32), @ptrCast(src + i)).*;
                        const y: @Vector(group, u16) = if (d == .bfloat16)
                            half.f32_to_bf16(x)
                        else
                            @bitCast(half.f32_to_f16(x));
                        @as(*align(1) @Vector(group, u16), @ptrCast(dst + i)).* = y;
                    }
                }
                while (i < n) : (i += 1) dst[i] = dt.store(d, c, src[i]);
            } else {
                var at: isize = 0;
                for (0..n) |i| {
                    @as([*]align(1) dt.Stored(d), @ptrFromInt(address(dst, at)))[0] = dt.store(d, c, src[i]);
                    at += stride;
                }
            }
        }
    }.run;
}

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
        const loads = table(load_run);
        const stores = table(store_run);
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

pub fn width_of(c: Compute) usize {
    return switch (c) {
        inline else => |k| @sizeOf(dt.Computed(k)),
    };
}

pub fn native_of(c: Compute) DType {
    return switch (c) {
        inline else => |k| comptime dt.native_dtype(k),
    };
}

/// Memory holds values of the compute type as they are.
pub fn is_native(v: *const fr.View, c: Compute) bool {
    return v.dtype == native_of(c) and v.flags == 0;
}

/// One operand of a call, read or written block by block in the order of the space. The compute type is a value, not
/// a parameter: the code exists once.
pub const Operand = struct {
    view: fr.View,
    cursor: iter.Cursor,
    compute: Compute,
    /// Bytes of a compute value, and of an element in memory.
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
        c: Compute,
        f: *fr.Frame,
        space: *const iter.Space,
        k: usize,
        start: usize,
        buffer: [*]u8,
    ) void {
        s.view = fr.view(f, k);
        s.compute = c;
        s.width = width_of(c);
        s.size = dt.size_of(s.view.dtype);
        const native = is_native(&s.view, c);
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
        any_loads[@intFromEnum(s.compute)][@intFromEnum(s.view.dtype)](s.buffer, from, 0, n);
        s.apply_flags(n);
        s.filled = n;
    }

    fn gather(s: *Operand, n: usize) void {
        if (is_native(&s.view, s.compute)) {
            return switch (s.width) {
                inline 1, 2, 4, 8, 16 => |w| s.gather_words(std.meta.Int(.unsigned, 8 * w), n),
                else => unreachable,
            };
        }
        const load = any_loads[@intFromEnum(s.compute)][@intFromEnum(s.view.dtype)];
        const stride = s.cursor.space.strides[s.cursor.k][0];
        var done: usize = 0;
        while (done < n) {
            const run = s.cursor.run(n - done);
            load(s.buffer + done * s.width, s.here(), stride, run);
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
            if (stride == 1) {
                @memcpy(@as([*]u8, @ptrCast(out + done)), @as([*]const u8, @ptrCast(from))[0 .. run * @sizeOf(T)]);
            } else if (stride == 0 and done + run + lanes <= block) {
                // Whole vectors: what they write beyond the run is overwritten next.
                const x: @Vector(lanes, T) = @splat(from[0]);
                var i: usize = 0;
                while (i < run) : (i += lanes) @as(*align(1) @Vector(lanes, T), @ptrCast(out + done + i)).* = x;
            } else {
                var at: isize = 0;
                for (out[done..][0..run]) |*x| {
                    x.* = @as(*align(1) const T, @ptrFromInt(address(from, at))).*;
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
        s.apply_flags(n);
        const store = any_stores[@intFromEnum(s.compute)][@intFromEnum(s.view.dtype)];
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

fn flip_any(c: Compute, flags: u32, buffer: [*]u8, n: usize) void {
    switch (c) {
        inline else => |k| flip(dt.Computed(k), flags, @ptrCast(@alignCast(buffer)), n),
    }
}

/// Applies the conjugate and negative bits of an operand to its elements.
pub noinline fn flip(comptime T: type, flags: u32, values: [*]T, n: usize) void {
    const conj = flags & fr.flag_conj != 0;
    const neg = flags & fr.flag_neg != 0;
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
            s.any.open(c, f, space, k, start, @ptrCast(buffer));
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
