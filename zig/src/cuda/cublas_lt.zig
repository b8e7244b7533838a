//! The part of NVIDIA's library that adds a row to each row of a product, in the same pass over the result. It comes
//! with the other part; what it does not take is left to that.
const std = @import("std");
const builtin = @import("builtin");
const cublas = @import("cublas.zig");
const driver = @import("driver.zig");
const Library = @import("loader.zig").Library;
const Lock = @import("lock.zig").Lock;
const max_devices = @import("context.zig").max_devices;

const Status = c_int;
const Handle = ?*anyopaque;
const Description = ?*anyopaque;
const Layout = ?*anyopaque;

const Functions = struct {
    Create: *const fn (handle: *Handle) callconv(.c) Status,
    MatmulDescCreate: *const fn (made: *Description, compute: c_int, scale: c_int) callconv(.c) Status,
    MatmulDescDestroy: *const fn (description: Description) callconv(.c) Status,
    MatmulDescSetAttribute: *const fn (
        description: Description,
        attribute: c_int,
        value: *const anyopaque,
        bytes: usize,
    ) callconv(.c) Status,
    MatrixLayoutCreate: *const fn (
        made: *Layout,
        dtype: c_int,
        rows: u64,
        columns: u64,
        step: i64,
    ) callconv(.c) Status,
    MatrixLayoutDestroy: *const fn (layout: Layout) callconv(.c) Status,
    Matmul: *const fn (
        handle: Handle,
        description: Description,
        alpha: *const anyopaque,
        a: u64,
        a_layout: Layout,
        b: u64,
        b_layout: Layout,
        beta: *const anyopaque,
        c: u64,
        c_layout: Layout,
        d: u64,
        d_layout: Layout,
        algorithm: ?*const anyopaque,
        workspace: u64,
        workspace_bytes: usize,
        stream: driver.Stream,
    ) callconv(.c) Status,
};

/// Attributes of a description, and the value of one of them.
const turn_a = 3;
const turn_b = 4;
const epilogue = 7;
const bias_pointer = 8;
const adds_bias: c_int = 4;

/// Where the other library does not lead to this one.
const own_names: []const [*:0]const u8 = switch (builtin.os.tag) {
    .windows => &.{ "cublasLt64_13.dll", "cublasLt64_12.dll" },
    else => &.{},
};

var lock: Lock = .{};
var state: enum { unknown, open, absent } = .unknown;
var functions: Functions = undefined;
var handles: [max_devices]Handle = @splat(null);

fn open() bool {
    if (state != .unknown) return state == .open;
    state = .absent;
    const beside = cublas.library() orelse return false;
    // A library's symbols are looked for in those that it depends on, too.
    if (beside.bind(Functions, "cublasLt", &functions)) state = .open;
    for (own_names) |name| {
        if (state == .open) break;
        const l = Library.open(name) orelse continue;
        if (l.bind(Functions, "cublasLt", &functions)) state = .open else l.close();
    }
    return state == .open;
}

fn handle_of(device: u32) ?Handle {
    if (handles[device] == null and functions.Create(&handles[device]) != 0) {
        state = .absent;
        return null;
    }
    return handles[device];
}

/// What one call describes; the library keeps none of it.
const Call = struct {
    description: Description = null,
    layouts: [3]Layout = @splat(null),

    fn free(c: *const Call) void {
        for (c.layouts) |l| if (l != null) {
            _ = functions.MatrixLayoutDestroy(l);
        };
        if (c.description != null) _ = functions.MatmulDescDestroy(c.description);
    }

    fn set(c: *const Call, attribute: c_int, value: anytype) bool {
        return functions.MatmulDescSetAttribute(c.description, attribute, &value, @sizeOf(@TypeOf(value))) == 0;
    }

    /// Matrices by columns, as they lie: of a product by rows the factors are exchanged and turned.
    fn describe(c: *Call, p: *const cublas.Product, bias: u64, types: cublas.Types) bool {
        const scale: c_int = if (types.compute == 70) 1 else 0;
        if (functions.MatmulDescCreate(&c.description, types.compute, scale) != 0) return false;
        const turns = [2]c_int{ @intFromBool(!p.b.by_rows), @intFromBool(!p.a.by_rows) };
        if (!c.set(turn_a, turns[0]) or !c.set(turn_b, turns[1])) return false;
        if (!c.set(epilogue, adds_bias) or !c.set(bias_pointer, bias)) return false;
        const shapes = [3][2]u64{
            if (turns[0] == 0) .{ p.n, p.k } else .{ p.k, p.n },
            if (turns[1] == 0) .{ p.k, p.m } else .{ p.m, p.k },
            .{ p.n, p.m },
        };
        for (&c.layouts, shapes, [_]i64{ p.b.step, p.a.step, p.c.step }) |*l, shape, step| {
            if (functions.MatrixLayoutCreate(l, types.data, shape[0], shape[1], step) != 0) return false;
        }
        return true;
    }
};

const alignment = 256;

/// c = alpha * a @ b + bias for each row. False when the library did not do it, and has written nothing.
pub fn multiply(p: *const cublas.Product, bias: u64, device: u32, stream: driver.Stream) bool {
    const types = cublas.types_of(p.dtype) orelse return false;
    // The library chooses a kernel for what allocations begin at, unless it is told otherwise.
    if ((p.a.data | p.b.data | p.c.data | bias) % alignment != 0) return false;
    lock.lock();
    defer lock.unlock();
    if (!open()) return false;
    const handle = handle_of(device) orelse return false;
    var call: Call = .{};
    defer call.free();
    if (!call.describe(p, bias, types)) return false;
    const nothing: [2]u64 = @splat(0);
    const a, const b, const c = call.layouts;
    const to = p.c.data;
    const from = .{ p.b.data, p.a.data };
    // The library chooses an algorithm that needs no memory of its own.
    return functions.Matmul(
        handle,
        call.description,
        p.alpha,
        from[0],
        a,
        from[1],
        b,
        &nothing,
        to,
        c,
        to,
        c,
        null,
        0,
        0,
        stream,
    ) == 0;
}
