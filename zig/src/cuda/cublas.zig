//! NVIDIA's library of matrix products, used where it is installed and the operands suit it. Nothing depends on it:
//! what it does not take, or fails at, is left to the own kernels.
const std = @import("std");
const abi = @import("abi");
const builtin = @import("builtin");
const driver = @import("driver.zig");
const Library = @import("loader.zig").Library;
const Lock = @import("lock.zig").Lock;
const precision = @import("precision.zig");

const Handle = ?*anyopaque;
const Status = c_int;

const Functions = struct {
    Create_v2: *const fn (handle: *Handle) callconv(.c) Status,
    SetStream_v2: *const fn (handle: Handle, stream: driver.Stream) callconv(.c) Status,
    GemmStridedBatchedEx: *const fn (
        handle: Handle,
        turn_a: c_int,
        turn_b: c_int,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: *const anyopaque,
        a: u64,
        a_type: c_int,
        a_step: c_int,
        a_batch: c_longlong,
        b: u64,
        b_type: c_int,
        b_step: c_int,
        b_batch: c_longlong,
        beta: *const anyopaque,
        c: u64,
        c_type: c_int,
        c_step: c_int,
        c_batch: c_longlong,
        batch: c_int,
        compute: c_int,
        algorithm: c_int,
    ) callconv(.c) Status,
};

const default_names: []const [*:0]const u8 = switch (builtin.os.tag) {
    .windows => &.{ "cublas64_13.dll", "cublas64_12.dll" },
    .linux => &.{ "libcublas.so.13", "libcublas.so.12", "libcublas.so" },
    else => &.{},
};

var lock: Lock = .{};
var state: enum { unknown, open, refused } = .unknown;
var functions: Functions = undefined;
var opened: Library = undefined;
/// A library that was named instead of the usual ones.
var named: [4096:0]u8 = @splat(0);

/// A handle has memory for one stream's work: each stream has one of its own.
const Entry = struct { device: u32, stream: driver.Stream, handle: Handle };
var entries: [32]Entry = undefined;
var entry_count: usize = 0;

/// Before the first product: whether libraries may be used, and another one than the usual, or null.
pub fn zs_cuda_libraries(allowed: u32, path: ?[*:0]const u8) callconv(.c) void {
    lock.lock();
    defer lock.unlock();
    if (allowed == 0) {
        state = .refused;
        return;
    }
    const text = std.mem.span(path orelse return);
    if (text.len >= named.len) return;
    @memcpy(named[0..text.len], text);
    named[text.len] = 0;
}

fn open() bool {
    if (state != .unknown) return state == .open;
    state = .refused;
    const usual = named[0] == 0;
    const found = if (usual) Library.open_first(default_names) else Library.open(&named);
    const l = found orelse return false;
    if (!l.bind(Functions, "cublas", &functions)) {
        l.close();
        return false;
    }
    state = .open;
    opened = l;
    return true;
}

/// The library, where it is used.
pub fn library() ?Library {
    lock.lock();
    defer lock.unlock();
    return if (open()) opened else null;
}

fn handle_of(device: u32, stream: driver.Stream) ?Handle {
    for (entries[0..entry_count]) |e| if (e.device == device and e.stream == stream) return e.handle;
    if (entry_count == entries.len) return null;
    var handle: Handle = null;
    if (functions.Create_v2(&handle) != 0) {
        state = .refused;
        return null;
    }
    if (functions.SetStream_v2(handle, stream) != 0) return null;
    entries[entry_count] = .{ .device = device, .stream = stream, .handle = handle };
    entry_count += 1;
    return handle;
}

/// A factor by rows or by columns: the other step is one element.
pub const Factor = struct { data: u64, by_rows: bool, step: i64, batch: i64 };

/// c = beta * c + alpha * a @ b with c by rows; steps are in elements.
pub const Product = struct {
    dtype: abi.DType,
    batch: u64,
    m: u64,
    n: u64,
    k: u64,
    a: Factor,
    b: Factor,
    c: Factor,
    /// In the type that sums are in.
    alpha: *const anyopaque,
    beta: *const anyopaque,
};

pub const Types = struct { data: c_int, compute: c_int };

/// The library's numbers for a dtype and for how it is multiplied and summed.
pub fn types_of(d: abi.DType) ?Types {
    const single: c_int = if (precision.allows_tf32()) 77 else 68;
    return switch (d) {
        .float32 => .{ .data = 0, .compute = single },
        .float64 => .{ .data = 1, .compute = 70 },
        .float16 => .{ .data = 2, .compute = 68 },
        .bfloat16 => .{ .data = 14, .compute = 68 },
        .complex64 => .{ .data = 4, .compute = single },
        .complex128 => .{ .data = 5, .compute = 70 },
        else => null,
    };
}

pub fn takes(d: abi.DType) bool {
    if (types_of(d) == null) return false;
    lock.lock();
    defer lock.unlock();
    return open();
}

/// False when the library did not do it. It knows matrices by columns: a product by rows is the product of the factors,
/// exchanged and turned.
pub fn multiply(p: *const Product, device: u32, stream: driver.Stream) bool {
    const types = types_of(p.dtype) orelse return false;
    const sizes = [_]u64{ p.m, p.n, p.k, p.batch };
    for (sizes) |s| if (s > std.math.maxInt(c_int)) return false;
    for ([_]i64{ p.a.step, p.b.step, p.c.step }) |s| if (s > std.math.maxInt(c_int)) return false;
    lock.lock();
    defer lock.unlock();
    if (!open()) return false;
    const handle = handle_of(device, stream) orelse return false;
    const usual_algorithm = -1;
    return functions.GemmStridedBatchedEx(
        handle,
        @intFromBool(!p.b.by_rows),
        @intFromBool(!p.a.by_rows),
        @intCast(p.n),
        @intCast(p.m),
        @intCast(p.k),
        p.alpha,
        p.b.data,
        types.data,
        @intCast(p.b.step),
        p.b.batch,
        p.a.data,
        types.data,
        @intCast(p.a.step),
        p.a.batch,
        p.beta,
        p.c.data,
        types.data,
        @intCast(p.c.step),
        p.c.batch,
        @intCast(p.batch),
        types.compute,
        usual_algorithm,
    ) == 0;
}
