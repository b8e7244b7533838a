//! The library's exported functions: the operators, by a loop over the schema's table, and the services.
const std = @import("std");
const abi = @import("abi");
const abi_memory = @import("abi_memory");
const ops = @import("ops");
const alloc = @import("../core/alloc.zig");
const cuda = @import("../cuda/driver.zig");
const dt = @import("../core/dtype.zig");
const files = @import("../io/files.zig");
const lifetimes = @import("../core/lifetimes.zig");
const fr = @import("../core/frame.zig");
const isa = @import("../core/isa.zig");
const locks = @import("../io/locks.zig");
const names = @import("../io/names.zig");
const manifest = @import("manifest.zig");
const mappings = @import("../io/mappings.zig");
const threads = @import("../core/threads.zig");
const Call = @import("../cpu/object.zig").Call;
const tables = @import("../cpu/table.zig");
const table_of = tables.of;

var level: isa.Level = .baseline;

export fn zs_init(wanted: u32, thread_count: u32) i32 {
    const best = isa.best();
    if (comptime isa.is_x86) {
        const chosen: isa.Level = switch (wanted) {
            abi_memory.IsaLevel.baseline => .baseline,
            abi_memory.IsaLevel.avx2 => .avx2,
            abi_memory.IsaLevel.avx512 => .avx512,
            abi_memory.IsaLevel.best => best,
            else => return @intFromEnum(abi.Status.unsupported),
        };
        if (@intFromEnum(chosen) > @intFromEnum(best)) return @intFromEnum(abi.Status.unsupported);
        level = chosen;
        tables.use(switch (chosen) {
            .baseline => table_of("v2"),
            .avx2 => table_of("v3"),
            .avx512 => table_of("v4"),
        });
    } else {
        if (wanted > abi_memory.IsaLevel.neon) return @intFromEnum(abi.Status.unsupported);
        tables.use(table_of("neon"));
    }
    if (thread_count > 0) threads.set_num_threads(thread_count);
    return 0;
}

export fn zs_isa() [*:0]const u8 {
    return isa.name(level);
}

export fn zs_best_isa() u32 {
    return @intFromEnum(isa.best());
}

/// Where a kernel's code for an instruction set begins, so that a test can read what it was compiled to; 0 when
/// there is none.
export fn zs_kernel_code(wanted: u32, index: u32) f64 {
    if (index >= ops.kernels.len) return 0;
    const chosen = if (comptime isa.is_x86) switch (wanted) {
        abi_memory.IsaLevel.baseline => table_of("v2"),
        abi_memory.IsaLevel.avx2 => table_of("v3"),
        abi_memory.IsaLevel.avx512 => table_of("v4"),
        else => return 0,
    } else if (wanted == abi_memory.IsaLevel.neon) table_of("neon") else return 0;
    return @floatFromInt(chosen.code(index));
}

export fn zs_abi_hash() [*:0]const u8 {
    return ops.hash;
}

export fn zs_manifest() [*:0]const u8 {
    return manifest.text;
}

export fn zs_set_num_threads(n: u32) i32 {
    threads.set_num_threads(@max(1, n));
    return 0;
}

export fn zs_get_num_threads() u32 {
    return threads.num_threads();
}

fn frame_bytes(operands: u32) usize {
    return @sizeOf(abi.Frame) + @as(usize, operands) * @sizeOf(abi.Operand);
}

/// Frames are no tensors: they do not count in the allocator's statistics.
const frame_allocator = std.heap.c_allocator;
const frame_alignment: std.mem.Alignment = .@"64";

export fn zs_frame_create(operands: u32) f64 {
    const bytes = frame_allocator.alignedAlloc(u8, frame_alignment, frame_bytes(operands)) catch return 0;
    @memset(bytes, 0);
    return @floatFromInt(@intFromPtr(bytes.ptr));
}

/// Called by the collector when nobody has the frame any more, at the latest when its thread ends.
fn release_frame(address: ?*anyopaque, operands: ?*anyopaque) callconv(.c) void {
    const bytes: [*]align(frame_alignment.toByteUnits()) u8 = @ptrCast(@alignCast(address orelse return));
    frame_allocator.free(bytes[0..frame_bytes(@intCast(@intFromPtr(operands)))]);
}

export fn zs_release_frame_function() f64 {
    return @floatFromInt(@intFromPtr(&release_frame));
}

export fn zs_alloc(nbytes: f64) f64 {
    if (!(nbytes >= 0 and nbytes < 0x1p48)) return 0;
    const p = alloc.alloc(@intFromFloat(nbytes)) orelse return 0;
    return @floatFromInt(@intFromPtr(p));
}

export fn zs_free(address: f64) void {
    const a: usize = @intFromFloat(address);
    if (a != 0) alloc.dealloc(@ptrFromInt(a));
}

export fn zs_keep(address: f64) void {
    const a: usize = @intFromFloat(address);
    if (a != 0) _ = alloc.keep_alive(@ptrFromInt(a));
}

export fn zs_park(address: f64) u32 {
    return @intFromBool(alloc.park(@ptrFromInt(@as(usize, @intFromFloat(address)))));
}

export fn zs_unpark(address: f64) u32 {
    return @intFromBool(alloc.unpark(@ptrFromInt(@as(usize, @intFromFloat(address)))));
}

/// Called by the collector, from any thread; `block` is the block itself.
fn release_block(_: ?*anyopaque, block: ?*anyopaque) callconv(.c) void {
    if (block) |b| alloc.dealloc(@ptrCast(b));
}

export fn zs_release_function() f64 {
    return @floatFromInt(@intFromPtr(&release_block));
}

export fn zs_empty_cache() void {
    alloc.empty_cache();
}

export fn zs_set_cache_limit(nbytes: f64) void {
    alloc.set_cache_limit(@intFromFloat(@min(@max(nbytes, 0), 0x1p48)));
}

/// The collector takes any word on the stack for a pointer, and its own frames leave much of theirs unwritten: what
/// calls before it left there would keep dead tensors.
export fn zs_clear_stack() void {
    var stale: [16384]u8 = undefined;
    @memset(@as(*volatile [16384]u8, &stale), 0);
}

export fn zs_write_aged(least: f64, most: f64) f64 {
    return @floatFromInt(alloc.write_aged(@intFromFloat(@max(least, 0)), @intFromFloat(@min(most, 0x1p62))));
}

export fn zs_live_bytes() f64 {
    return @floatFromInt(alloc.stat(abi_memory.MemoryStat.live));
}

export fn zs_stat(which: u32) f64 {
    return @floatFromInt(alloc.stat(which));
}

export fn zs_reset_peak() void {
    alloc.reset_peak();
}

export fn zs_fail_alloc_after(n: f64) void {
    alloc.set_fail_after(@intFromFloat(n));
}

export fn zs_copy(to: [*]u8, from: [*]const u8, n: f64) void {
    const count: usize = @intFromFloat(n);
    @memmove(to[0..count], from[0..count]);
}

export fn zs_set(to: [*]u8, value: u32, n: f64) void {
    @memset(to[0..@intFromFloat(n)], @truncate(value));
}

export fn zs_compare(a: [*]const u8, b: [*]const u8, n: f64) i32 {
    const count: usize = @intFromFloat(n);
    return if (std.mem.eql(u8, a[0..count], b[0..count])) 0 else 1;
}

export fn zs_read_numbers(from: [*]const u8, dtype: u32, n: f64, to: [*]f64) i32 {
    const d: abi.DType = @enumFromInt(@as(u8, @intCast(dtype)));
    const count: usize = @intFromFloat(n);
    switch (d) {
        inline .complex64, .complex128 => |k| {
            const src: [*]align(1) const dt.Stored(k) = @ptrCast(from);
            for (0..count) |i| {
                to[2 * i] = src[i].re;
                to[2 * i + 1] = src[i].im;
            }
        },
        inline else => |k| {
            const src: [*]align(1) const dt.Stored(k) = @ptrCast(from);
            for (0..count) |i| to[i] = dt.load(k, .f64, src[i]);
        },
    }
    return checked(0);
}

export fn zs_write_numbers(to: [*]u8, dtype: u32, n: f64, from: [*]const f64) i32 {
    const d: abi.DType = @enumFromInt(@as(u8, @intCast(dtype)));
    const count: usize = @intFromFloat(n);
    switch (d) {
        inline .complex64, .complex128 => |k| {
            const dst: [*]align(1) dt.Stored(k) = @ptrCast(to);
            for (0..count) |i| dst[i] = .{ .re = @floatCast(from[2 * i]), .im = @floatCast(from[2 * i + 1]) };
        },
        inline else => |k| {
            const dst: [*]align(1) dt.Stored(k) = @ptrCast(to);
            for (0..count) |i| dst[i] = dt.store(k, .f64, from[i]);
        },
    }
    return 0;
}

fn kernel_call(comptime index: usize) Call {
    return struct {
        fn call(f: *fr.Frame) callconv(.c) i32 {
            return tables.active.kernels[index].call(f);
        }
    }.call;
}

/// The status of a call, unless a mapped file shrank under it.
inline fn checked(status: i32) i32 {
    return if (mappings.faulted()) @intFromEnum(abi.Status.file_fault) else status;
}

/// Operator calls take the frame's address as a number.
fn by_number(comptime call: Call) fn (f64) callconv(.c) i32 {
    return struct {
        fn go(address: f64) callconv(.c) i32 {
            return checked(call(@ptrFromInt(@as(usize, @intFromFloat(address)))));
        }
    }.go;
}

fn Fast1(comptime index: usize) type {
    return struct {
        inline fn go(code: u32, out: usize, in: *const [3]usize, n: f64) i32 {
            const t = tables.active;
            return checked(@intFromEnum(t.fast(t.fasts[index], code, out, in, @intFromFloat(n))));
        }
        fn unary(code: u32, out: usize, a: usize, n: f64) callconv(.c) i32 {
            return go(code, out, &.{ a, 0, 0 }, n);
        }
        fn binary(code: u32, out: usize, a: usize, b: usize, n: f64) callconv(.c) i32 {
            return go(code, out, &.{ a, b, 0 }, n);
        }
        fn ternary(code: u32, out: usize, a: usize, b: usize, c: usize, n: f64) callconv(.c) i32 {
            return go(code, out, &.{ a, b, c }, n);
        }
    };
}

comptime {
    @setEvalBranchQuota(200_000);
    for (ops.kernels, 0..) |k, i| {
        @export(&by_number(kernel_call(i)), .{ .name = k.symbol });
    }
    for (ops.fast, 0..) |k, i| {
        const F = Fast1(i);
        switch (k.arity) {
            1 => @export(&F.unary, .{ .name = k.symbol }),
            2 => @export(&F.binary, .{ .name = k.symbol }),
            else => @export(&F.ternary, .{ .name = k.symbol }),
        }
    }
    for (.{
        "zs_io_run",                   "zs_io_start", "zs_io_done",    "zs_io_cancel",               "zs_io_finish",
        "zs_io_unmap",                 "zs_io_sync",  "zs_io_reserve", "zs_io_live_maps",            "zs_io_live_bytes",
        "zs_release_mapping_function", "zs_io_keep",  "zs_io_fault",   "zs_release_window_function", "zs_io_descriptor",
        "zs_release_batch_function",   "zs_io_batch",
    }) |name| @export(&@field(files, name), .{ .name = name });
    for (.{ "zs_io_lock", "zs_io_unlock" }) |name| @export(&@field(locks, name), .{ .name = name });
    @export(&names.zs_io_rename, .{ .name = "zs_io_rename" });
    for (.{ "zs_thread_begin", "zs_thread_state", "zs_release_thread_function" }) |name| {
        @export(&@field(lifetimes, name), .{ .name = name });
    }
    for (.{
        cuda,
        @import("../cuda/cublas.zig"),
        @import("../cuda/services.zig"),
        @import("../cuda/events.zig"),
        @import("../cuda/faults.zig"),
        @import("../cuda/pinned.zig"),
        @import("../cuda/ipc.zig"),
        @import("../cuda/launch.zig"),
        @import("../cuda/modules.zig"),
        @import("../cuda/precision.zig"),
    }) |room| {
        for (@typeInfo(room).@"struct".decls) |decl| {
            if (std.mem.startsWith(u8, decl.name, "zs_")) @export(&@field(room, decl.name), .{ .name = decl.name });
        }
    }
    _ = threads;
}
