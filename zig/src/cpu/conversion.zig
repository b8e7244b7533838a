//! Copies that convert: memory to memory in one pass where one side has the compute type, else through a buffer.
const abi = @import("abi");
const convert = @import("convert.zig");
const dt = @import("../core/dtype.zig");
const fr = @import("../core/frame.zig");
const iter = @import("../core/iter.zig");
const parallel = @import("../core/parallel.zig");
const pw = @import("pointwise.zig");

const Job = struct {
    space: *const iter.Space,
    to: fr.View,
    from: fr.View,
    c: abi.Compute,
    way: Way,

    fn part(j: Job, begin: usize, end: usize) void {
        var to: iter.Cursor = undefined;
        var from: iter.Cursor = undefined;
        to.reset(j.space, 0, begin);
        from.reset(j.space, 1, begin);
        var left = end - begin;
        while (left > 0) {
            const n = to.run(left);
            j.run(at(&j.to, to.offset), at(&j.from, from.offset), n);
            to.advance(n);
            from.advance(n);
            left -= n;
        }
    }

    fn run(j: Job, to: [*]u8, from: [*]const u8, n: usize) void {
        const out = j.space.strides[0][0];
        const in = j.space.strides[1][0];
        switch (j.way) {
            .load => {
                convert.load(j.c, j.from.dtype, to, from, in, n);
                if (j.from.flags != 0) convert.flip_any(j.c, j.from.flags, to, n);
            },
            .store => convert.store_of(j.c, j.to.dtype)(@constCast(from), to, out, n),
            .bytes => @memcpy(to[0..n], from[0..n]),
            .buffer => {
                var buffer: [convert.block * convert.widest]u8 align(64) = undefined;
                var done: usize = 0;
                while (done < n) {
                    const some = @min(convert.block, n - done);
                    const k: isize = @intCast(done);
                    const source = at_pointer(from, k * in, dt.size_of(j.from.dtype));
                    const target = at_pointer(to, k * out, dt.size_of(j.to.dtype));
                    convert.load(j.c, j.from.dtype, &buffer, source, in, some);
                    if (j.from.flags != j.to.flags) convert.flip_any(j.c, j.from.flags ^ j.to.flags, &buffer, some);
                    convert.store_of(j.c, j.to.dtype)(&buffer, target, out, some);
                    done += some;
                }
            },
        }
    }
};

const Way = enum { load, store, bytes, buffer };

/// Operand 0 receives operand 1.
pub fn run(f: *fr.Frame, space: *const iter.Space, c: abi.Compute) abi.Status {
    const to = fr.view(f, 0);
    const from = fr.view(f, 1);
    var job: Job = .{ .space = space, .to = to, .from = from, .c = c, .way = way_of(&to, &from, space, c) };
    if (from.dtype == .bool and is_small(to.dtype) and space.strides[0][0] == 1) {
        // Truth values are zeros and ones of bytes as well.
        job.c = .b8;
        job.way = .load;
    }
    parallel.parallel_for(space.total, pw.grain, job, Job.part);
    return .ok;
}

fn way_of(to: *const fr.View, from: *const fr.View, space: *const iter.Space, c: abi.Compute) Way {
    const dense = space.strides[0][0] == 1;
    if (dense and convert.is_native(to, convert.native_of(c))) return .load;
    const in = space.strides[1][0];
    if (to.flags == 0 and in == 1) {
        if (convert.is_native(from, convert.native_of(c))) return .store;
        if (dense and from.flags == 0 and is_small(to.dtype) and is_small(from.dtype)) return .bytes;
    }
    return .buffer;
}

/// Integers of one byte: the same bits in either.
fn is_small(d: abi.DType) bool {
    return d == .uint8 or d == .int8;
}

fn at(v: *const fr.View, elements: isize) [*]u8 {
    return at_pointer(v.data, elements, dt.size_of(v.dtype));
}

fn at_pointer(p: anytype, elements: isize, size: usize) @TypeOf(p) {
    return @ptrFromInt(@intFromPtr(p) +% @as(usize, @bitCast(elements * @as(isize, @intCast(size)))));
}
