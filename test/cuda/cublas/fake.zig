//! A stand-in for NVIDIA's library of matrix products: computes with the plainest loops, on the memory of the driver
//! that ZENSOR_LIBCUDA names, and counts. Arguments that the library would refuse are refused.
const std = @import("std");

extern "c" fn getenv(name: [*:0]const u8) ?[*:0]const u8;
extern "c" fn dlopen(name: [*:0]const u8, mode: c_int) ?*anyopaque;
extern "c" fn dlsym(handle: ?*anyopaque, name: [*:0]const u8) ?*anyopaque;

const gpa = std.heap.c_allocator;
const invalid_value = 7;
const not_supported = 15;

var products: u64 = 0;
var refused: u64 = 0;
var fails = false;
/// Products whose factors may be rounded to tf32.
var fast: u64 = 0;

export fn zsFakeProducts() f64 {
    return @floatFromInt(products);
}
export fn zsFakeRefused() f64 {
    return @floatFromInt(refused);
}
export fn zsFakeFast() f64 {
    return @floatFromInt(fast);
}
/// From now on every product fails.
export fn zsFakeFail() void {
    fails = true;
}

export fn cublasCreate_v2(handle: *?*anyopaque) c_int {
    handle.* = @ptrFromInt(64);
    return 0;
}

export fn cublasSetStream_v2(handle: ?*anyopaque, stream: ?*anyopaque) c_int {
    _ = stream;
    return if (@intFromPtr(handle) == 64) 0 else invalid_value;
}

/// A matrix by columns, copied from the device.
const Matrix = struct {
    at: u64,
    rows: usize,
    columns: usize,
    step: usize,
    kind: c_int,
    bytes: []u8,

    fn of(at: u64, rows: usize, columns: usize, step: usize, kind: c_int) ?Matrix {
        if (step < @max(1, rows)) return null;
        const size = size_of(kind) orelse return null;
        const bytes = gpa.alloc(u8, ((columns - 1) * step + rows) * size) catch return null;
        _ = driver("cuMemcpyDtoH_v2", fn ([*]u8, u64, usize) callconv(.c) c_int)(bytes.ptr, at, bytes.len);
        return .{ .at = at, .rows = rows, .columns = columns, .step = step, .kind = kind, .bytes = bytes };
    }

    fn size_of(kind: c_int) ?usize {
        return switch (kind) {
            2, 14 => 2,
            0 => 4,
            1, 4 => 8,
            5 => 16,
            else => null,
        };
    }

    fn get(m: *const Matrix, row: usize, column: usize) [2]f64 {
        const size = size_of(m.kind).?;
        const from = m.bytes[(column * m.step + row) * size ..][0..size];
        return switch (m.kind) {
            0 => .{ @as(*align(1) const f32, @ptrCast(from)).*, 0 },
            1 => .{ @as(*align(1) const f64, @ptrCast(from)).*, 0 },
            2 => .{ @as(*align(1) const f16, @ptrCast(from)).*, 0 },
            4 => .{ @as(*align(1) const [2]f32, @ptrCast(from))[0], @as(*align(1) const [2]f32, @ptrCast(from))[1] },
            5 => @as(*align(1) const [2]f64, @ptrCast(from)).*,
            else => .{ @as(f32, @bitCast(@as(u32, @as(*align(1) const u16, @ptrCast(from)).*) << 16)), 0 },
        };
    }

    fn set(m: *const Matrix, row: usize, column: usize, x: [2]f64) void {
        const size = size_of(m.kind).?;
        const to = m.bytes[(column * m.step + row) * size ..][0..size];
        switch (m.kind) {
            0 => @as(*align(1) f32, @ptrCast(to)).* = @floatCast(x[0]),
            1 => @as(*align(1) f64, @ptrCast(to)).* = x[0],
            2 => @as(*align(1) f16, @ptrCast(to)).* = @floatCast(x[0]),
            4 => @as(*align(1) [2]f32, @ptrCast(to)).* = .{ @floatCast(x[0]), @floatCast(x[1]) },
            5 => @as(*align(1) [2]f64, @ptrCast(to)).* = x,
            else => {
                const bits: u32 = @bitCast(@as(f32, @floatCast(x[0])));
                @as(*align(1) u16, @ptrCast(to)).* = @truncate((bits +% 0x7fff +% (bits >> 16 & 1)) >> 16);
            },
        }
    }
};

fn driver(comptime name: [:0]const u8, comptime F: type) *const F {
    const library = dlopen(getenv("ZENSOR_LIBCUDA").?, 1);
    return @ptrCast(@alignCast(dlsym(library, name)));
}

fn number(at: *const anyopaque, kind: c_int) [2]f64 {
    return switch (kind) {
        1 => .{ @as(*const f64, @ptrCast(@alignCast(at))).*, 0 },
        4 => .{ @as(*const [2]f32, @ptrCast(@alignCast(at)))[0], @as(*const [2]f32, @ptrCast(@alignCast(at)))[1] },
        5 => @as(*const [2]f64, @ptrCast(@alignCast(at))).*,
        else => .{ @as(*const f32, @ptrCast(@alignCast(at))).*, 0 },
    };
}

fn times(x: [2]f64, y: [2]f64) [2]f64 {
    return .{ x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0] };
}

export fn cublasGemmStridedBatchedEx(
    handle: ?*anyopaque,
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
) c_int {
    const wide = c_type == 1 or c_type == 5;
    const single = c_type == 0 or c_type == 4;
    const may_round = compute == 77 and single;
    if (fails or @intFromPtr(handle) != 64 or algorithm != -1 or a_type != c_type or b_type != c_type or
        (compute != @as(c_int, if (wide) 70 else 68) and !may_round))
    {
        refused += 1;
        return not_supported;
    }
    _ = driver("cuCtxSynchronize", fn () callconv(.c) c_int)();
    const rows: usize, const columns: usize, const depth: usize = .{ @intCast(m), @intCast(n), @intCast(k) };
    const size: i64 = @intCast(Matrix.size_of(c_type) orelse return invalid_value);
    for (0..@intCast(batch)) |i| {
        const far: i64 = @intCast(i);
        const as = .{ if (turn_a == 0) rows else depth, if (turn_a == 0) depth else rows };
        const bs = .{ if (turn_b == 0) depth else columns, if (turn_b == 0) columns else depth };
        const x = Matrix.of(a +% @as(u64, @bitCast(far * a_batch * size)), as[0], as[1], @intCast(a_step), a_type);
        const y = Matrix.of(b +% @as(u64, @bitCast(far * b_batch * size)), bs[0], bs[1], @intCast(b_step), b_type);
        const z = Matrix.of(c +% @as(u64, @bitCast(far * c_batch * size)), rows, columns, @intCast(c_step), c_type);
        if (x == null or y == null or z == null) {
            refused += 1;
            return invalid_value;
        }
        multiply(&x.?, &y.?, &z.?, .{ turn_a, turn_b }, depth, number(alpha, c_type), number(beta, c_type));
        const r = z.?;
        _ = driver("cuMemcpyHtoD_v2", fn (u64, [*]const u8, usize) callconv(.c) c_int)(r.at, r.bytes.ptr, r.bytes.len);
        for ([_]Matrix{ x.?, y.?, r }) |one| gpa.free(one.bytes);
    }
    products += 1;
    if (may_round) fast += 1;
    return 0;
}

fn multiply(
    x: *const Matrix,
    y: *const Matrix,
    z: *const Matrix,
    turn: [2]c_int,
    depth: usize,
    alpha: [2]f64,
    beta: [2]f64,
) void {
    for (0..z.rows) |i| for (0..z.columns) |j| {
        var sum: [2]f64 = .{ 0, 0 };
        for (0..depth) |q| {
            const l = if (turn[0] == 0) x.get(i, q) else x.get(q, i);
            const r = if (turn[1] == 0) y.get(q, j) else y.get(j, q);
            const one = times(l, r);
            sum = .{ sum[0] + one[0], sum[1] + one[1] };
        }
        const scaled = times(alpha, sum);
        // With beta 0 nothing is read from what lies there.
        const kept = if (beta[0] == 0 and beta[1] == 0) [2]f64{ 0, 0 } else times(beta, z.get(i, j));
        z.set(i, j, .{ scaled[0] + kept[0], scaled[1] + kept[1] });
    };
}

/// Products that had a row added, and the objects of the library's other part that are alive.
var biased: u64 = 0;
var objects: i64 = 0;

export fn zsFakeBiased() f64 {
    return @floatFromInt(biased);
}
export fn zsFakeObjects() f64 {
    return @floatFromInt(objects);
}

const Description = struct {
    compute: c_int,
    scale: c_int,
    turns: [2]c_int = .{ 0, 0 },
    epilogue: c_int = 1,
    bias: u64 = 0,
};
const Layout = struct { kind: c_int, rows: u64, columns: u64, step: i64 };

export fn cublasLtCreate(handle: *?*anyopaque) c_int {
    handle.* = @ptrFromInt(128);
    return 0;
}

export fn cublasLtMatmulDescCreate(made: *?*Description, compute: c_int, scale: c_int) c_int {
    const d = gpa.create(Description) catch return 3;
    d.* = .{ .compute = compute, .scale = scale };
    made.* = d;
    objects += 1;
    return 0;
}

export fn cublasLtMatmulDescDestroy(d: *Description) c_int {
    gpa.destroy(d);
    objects -= 1;
    return 0;
}

export fn cublasLtMatmulDescSetAttribute(
    d: *Description,
    attribute: c_int,
    value: *const anyopaque,
    bytes: usize,
) c_int {
    if (bytes != @as(usize, if (attribute == 8) 8 else 4)) return invalid_value;
    const number_at: *const c_int = @ptrCast(@alignCast(value));
    switch (attribute) {
        3, 4 => d.turns[@intCast(attribute - 3)] = number_at.*,
        7 => d.epilogue = number_at.*,
        8 => d.bias = @as(*const u64, @ptrCast(@alignCast(value))).*,
        else => return invalid_value,
    }
    return 0;
}

export fn cublasLtMatrixLayoutCreate(made: *?*Layout, kind: c_int, rows: u64, columns: u64, step: i64) c_int {
    const l = gpa.create(Layout) catch return 3;
    l.* = .{ .kind = kind, .rows = rows, .columns = columns, .step = step };
    made.* = l;
    objects += 1;
    return 0;
}

export fn cublasLtMatrixLayoutDestroy(l: *Layout) c_int {
    gpa.destroy(l);
    objects -= 1;
    return 0;
}

fn lt_refused() c_int {
    refused += 1;
    return not_supported;
}

/// With an algorithm and memory that it chooses itself, and a row of the result's dtype.
export fn cublasLtMatmul(
    handle: ?*anyopaque,
    d: *const Description,
    alpha: *const anyopaque,
    a: u64,
    a_layout: *const Layout,
    b: u64,
    b_layout: *const Layout,
    beta: *const anyopaque,
    c: u64,
    c_layout: *const Layout,
    to: u64,
    to_layout: *const Layout,
    algorithm: ?*const anyopaque,
    workspace: u64,
    workspace_bytes: usize,
    stream: ?*anyopaque,
) c_int {
    _ = stream;
    const kind = c_layout.kind;
    const compute: c_int = if (kind == 1) 70 else 68;
    const suits = @intFromPtr(handle) == 128 and c == to and c_layout == to_layout and algorithm == null and
        workspace == 0 and workspace_bytes == 0 and a_layout.kind == kind and b_layout.kind == kind and
        (d.compute == compute or (d.compute == 77 and kind == 0)) and d.scale == @as(c_int, if (kind == 1) 1 else 0);
    if (fails or !suits or kind == 4 or kind == 5 or d.epilogue != 4 or d.bias == 0) return lt_refused();
    if (number(beta, kind)[0] != 0) return lt_refused();
    const stored_a, const stored_b = .{ a_layout, b_layout };
    const rows, const columns = .{ c_layout.rows, c_layout.columns };
    const depth = if (d.turns[0] == 0) stored_a.columns else stored_a.rows;
    const fits = rows == (if (d.turns[0] == 0) stored_a.rows else stored_a.columns) and
        depth == (if (d.turns[1] == 0) stored_b.rows else stored_b.columns) and
        columns == (if (d.turns[1] == 0) stored_b.columns else stored_b.rows);
    if (!fits) return lt_refused();
    _ = driver("cuCtxSynchronize", fn () callconv(.c) c_int)();
    const x = Matrix.of(a, stored_a.rows, stored_a.columns, @intCast(stored_a.step), kind) orelse return lt_refused();
    const y = Matrix.of(b, stored_b.rows, stored_b.columns, @intCast(stored_b.step), kind) orelse return lt_refused();
    const z = Matrix.of(c, rows, columns, @intCast(c_layout.step), kind) orelse return lt_refused();
    const row = Matrix.of(d.bias, rows, 1, rows, kind) orelse return lt_refused();
    for (0..rows) |i| for (0..columns) |j| {
        var sum: f64 = 0;
        for (0..depth) |q| {
            const l = if (d.turns[0] == 0) x.get(i, q) else x.get(q, i);
            const r = if (d.turns[1] == 0) y.get(q, j) else y.get(j, q);
            sum += l[0] * r[0];
        }
        z.set(i, j, .{ number(alpha, kind)[0] * sum + row.get(i, 0)[0], 0 });
    };
    _ = driver("cuMemcpyHtoD_v2", fn (u64, [*]const u8, usize) callconv(.c) c_int)(z.at, z.bytes.ptr, z.bytes.len);
    for ([_]Matrix{ x, y, z, row }) |one| gpa.free(one.bytes);
    biased += 1;
    return 0;
}
