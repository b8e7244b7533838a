//! Softmax and its logarithm along one dimension of dense operands, and their gradients. Every row is summed by one
//! thread in an order that depends on its length only. The loops of softmax_inner.zig, for floats and doubles, are
//! values here; short floats and the last columns come to them through buffers.
const std = @import("std");
const abi = @import("abi");
const abi_softmax = @import("abi_softmax");
const convert = @import("convert.zig");
const fr = @import("../core/frame.zig");
const dt = @import("../core/dtype.zig");
const inner = @import("softmax_inner.zig");
const parallel = @import("../core/parallel.zig");

/// Elements worth handing to another thread.
const grain = 16384;

/// exp(x) / sum(exp(x)). Operand 0 is the result, 1 the input; attribute 0 the dimension.
pub fn softmax(f: *fr.Frame) abi.Status {
    return run(&comptime inner.loops(.softmax), f);
}

/// The logarithm of `softmax`.
pub fn log_softmax(f: *fr.Frame) abi.Status {
    return run(&comptime inner.loops(.log_softmax), f);
}

/// Operand 0 is the gradient of the input, 1 that of the result, 2 the result.
pub fn softmax_backward(f: *fr.Frame) abi.Status {
    return run(&comptime inner.loops(.softmax_backward), f);
}

pub fn log_softmax_backward(f: *fr.Frame) abi.Status {
    return run(&comptime inner.loops(.log_softmax_backward), f);
}

/// Elements [outer][size][inner] of dense operands.
const Layout = struct {
    outer: usize = 1,
    size: usize = 1,
    inner: usize = 1,
    data: [3][*]u8 = undefined,

    fn of(f: *fr.Frame, operands: usize) ?Layout {
        const first = fr.view(f, 0);
        const dim = fr.attr_int(f, abi_softmax.SoftmaxAttr.dim);
        if (dim < 0 or (dim >= first.rank and first.rank != 0)) return null;
        var l: Layout = .{};
        for (0..first.rank) |d| {
            const part = if (d < dim) &l.outer else if (d == dim) &l.size else &l.inner;
            part.* *= first.size(d);
        }
        const total = l.outer * l.size * l.inner;
        for (0..operands) |i| {
            const v = fr.view(f, i);
            if (v.dtype != first.dtype or v.numel() != total) return null;
            l.data[i] = v.data;
        }
        return l;
    }
};

const Loop = inner.Loop;

/// Elements of a row that are converted without asking for memory.
const on_stack = 512;

fn run(loops: *const inner.Loops, f: *fr.Frame) abi.Status {
    const first = fr.view(f, 0);
    const loop = switch (first.dtype) {
        .float64 => loops.f64,
        .float32, .float16, .bfloat16 => loops.f32,
        else => return .unsupported,
    };
    const l = Layout.of(f, loop.operands) orelse return fr.fail(f, .bad_argument, &.{0});
    if (l.outer * l.size * l.inner == 0) return .ok;
    var failed: std.atomic.Value(bool) = .init(false);
    const job: Job = .{ .loop = loop, .l = &l, .dtype = first.dtype, .failed = &failed };
    if (l.inner == 1) {
        parallel.parallel_for(l.outer, @max(1, grain / l.size), &job, Job.rows);
    } else {
        const strips = (l.inner - 1) / loop.lanes + 1;
        const step = @max(1, grain / (l.size * loop.lanes));
        parallel.parallel_for(l.outer * strips, step, &job, Job.columns);
    }
    return if (failed.load(.acquire)) .out_of_memory else .ok;
}

const Job = struct {
    loop: *const Loop,
    l: *const Layout,
    dtype: dt.DType,
    failed: *std.atomic.Value(bool),

    /// The dtype that the loops take.
    fn wanted(j: *const Job) dt.DType {
        return if (j.loop.size == 8) .float64 else .float32;
    }

    fn at(j: *const Job, operand: usize, element: usize) [*]u8 {
        return j.l.data[operand] + element * dt.size_of(j.dtype);
    }

    fn rows(j: *const Job, begin: usize, end: usize) void {
        const n = j.l.size;
        const operands = j.loop.operands;
        if (j.dtype == j.wanted()) {
            for (begin..end) |i| j.loop.row(j.at(0, i * n), j.at(1, i * n), j.at(operands - 1, i * n), n);
            return;
        }
        var small: [2 * on_stack * 4]u8 align(64) = undefined;
        const room = n * j.loop.size;
        const scratch = if (n <= on_stack) null else parallel.Scratch.acquire(2 * room) orelse
            return j.failed.store(true, .release);
        defer if (scratch) |s| s.release();
        const buffer: [*]u8 = if (scratch) |s| s.slice(u8, 2 * room).ptr else &small;
        const c: abi.Compute = .f32;
        for (begin..end) |i| {
            for (1..operands) |k| convert.load_of(c, j.dtype)(buffer + (k - 1) * room, j.at(k, i * n), 1, n);
            j.loop.row(buffer, buffer, buffer + (operands - 2) * room, n);
            convert.store_of(c, j.dtype)(buffer, j.at(0, i * n), 1, n);
        }
    }

    /// Strips of neighbouring columns, each column of a strip in its own lane.
    fn columns(j: *const Job, begin: usize, end: usize) void {
        const l = j.l;
        const lanes = j.loop.lanes;
        const strips = (l.inner - 1) / lanes + 1;
        const direct = j.dtype == j.wanted();
        for (begin..end) |t| {
            const first = t % strips * lanes;
            const start = t / strips * l.size * l.inner + first;
            const width = @min(lanes, l.inner - first);
            if (direct and width == lanes) {
                const last = j.at(j.loop.operands - 1, start);
                j.loop.strip(j.at(0, start), j.at(1, start), last, l.size, l.inner);
            } else j.buffered_strip(start, width);
        }
    }

    fn buffered_strip(j: *const Job, start: usize, width: usize) void {
        const l = j.l;
        const lanes = j.loop.lanes;
        const operands = j.loop.operands;
        const room = l.size * lanes * j.loop.size;
        const scratch = parallel.Scratch.acquire(2 * room) orelse return j.failed.store(true, .release);
        defer scratch.release();
        const buffer = scratch.slice(u8, 2 * room).ptr;
        // Lanes that no column has compute with zeros.
        if (width < lanes) @memset(buffer[0 .. 2 * room], 0);
        const c: abi.Compute = if (j.loop.size == 8) .f64 else .f32;
        for (1..operands) |k| {
            for (0..l.size) |i| {
                const to = buffer + (k - 1) * room + i * lanes * j.loop.size;
                convert.load_of(c, j.dtype)(to, j.at(k, start + i * l.inner), 1, width);
            }
        }
        j.loop.strip(buffer, buffer, buffer + (operands - 2) * room, l.size, lanes);
        for (0..l.size) |i| {
            const from = buffer + i * lanes * j.loop.size;
            convert.store_of(c, j.dtype)(from, j.at(0, start + i * l.inner), 1, width);
        }
    }
};
