//! What scans read and write along the lines of a plan: from memory to memory where it holds what their loops take,
//! through a buffer elsewhere.
const abi = @import("abi");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const plans = @import("reduce_plan.zig");

const Compute = abi.Compute;
const element = plans.element;

/// Columns in a task, and elements of a line in a block.
pub const max_width = 256;
pub const block = 512;

/// The loop for the compute type that a call names, if there is one.
pub fn loop_of(comptime Loop: type, all: []const ?*const Loop, f: *fr.Frame) ?*const Loop {
    const c: usize = @intFromFloat(f.compute);
    return if (c < all.len) all[c] else null;
}

/// One operand that is read and one that receives as many results.
pub const Ends = struct {
    compute: Compute,
    src: fr.View,
    dst: fr.View,
    /// Steps from one element of a line to the next.
    in: isize,
    out: isize,
    /// Whether lines lie in memory as loops take them.
    reads: bool,
    writes: bool,

    pub fn of(c: Compute, plan: *const plans.Plan, src: fr.View, dst: fr.View) Ends {
        const in = plan.reduced.in[0];
        const out = plan.reduced.out[0][0];
        const native = convert.native_of(c);
        return .{
            .compute = c,
            .src = src,
            .dst = dst,
            .in = in,
            .out = out,
            .reads = in == 1 and convert.is_native(&src, native),
            .writes = out == 1 and convert.is_native(&dst, native),
        };
    }

    pub fn read(e: *const Ends, buffer: [*]u8, at: isize, stride: isize, n: usize) void {
        const from = element(e.src.data, at, dt.size_of(e.src.dtype));
        convert.load(e.compute, e.src.dtype, buffer, from, stride, n);
        if (e.src.flags != 0) convert.flip_any(e.compute, e.src.flags, buffer, n);
    }

    pub fn write(e: *const Ends, buffer: [*]u8, at: isize, stride: isize, n: usize) void {
        const to = element(e.dst.data, at, dt.size_of(e.dst.dtype));
        convert.store_of(e.compute, e.dst.dtype)(buffer, to, stride, n);
    }

    /// Where a loop finds `n` elements of a line, and where it puts its results; `finish` follows.
    pub fn source(e: *const Ends, buffer: [*]u8, at: isize, n: usize) [*]const u8 {
        if (e.reads) return element(e.src.data, at, dt.size_of(e.src.dtype));
        e.read(buffer, at, e.in, n);
        return buffer;
    }

    pub fn target(e: *const Ends, buffer: [*]u8, at: isize) [*]u8 {
        return if (e.writes) element(e.dst.data, at, dt.size_of(e.dst.dtype)) else buffer;
    }

    pub fn finish(e: *const Ends, buffer: [*]u8, at: isize, n: usize) void {
        if (!e.writes) e.write(buffer, at, e.out, n);
    }
};
