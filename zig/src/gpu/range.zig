//! Device code of sequences of numbers: the CPU's elements, one for each thread.
const abi = @import("abi");
const cpu = @import("../cpu/range.zig");
const dt = @import("../core/dtype.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const Pointer = @import("element.zig").Pointer;
const thread = @import("thread.zig");

pub const Args = @import("range_args.zig").Range;

fn number(a: *const Args) ?u64 {
    const i = thread.block() * thread.threads() + thread.index();
    return if (i < a.count) a.first + i else null;
}

fn Arange(comptime X: type) type {
    return struct {
        fn run(a: *const Args) callconv(.kernel) void {
            const i = number(a) orelse return;
            const start: X = @bitCast(a.start[0]);
            const step: X = @bitCast(a.end[0]);
            switch (@as(abi.DType, @enumFromInt(@as(u8, @truncate(a.dtype))))) {
                .bool, .complex64, .complex128 => {},
                inline else => |d| if (comptime (cpu.is_integer(d) == (X == i64))) {
                    @as(Pointer(dt.Stored(d)), @ptrFromInt(a.data))[i] = cpu.element(d, start, step, i);
                },
            }
        }
    };
}

fn spaced(a: *const Args) callconv(.kernel) void {
    const i = number(a) orelse return;
    const start: [2]f64 = @bitCast(a.start);
    const end: [2]f64 = @bitCast(a.end);
    switch (@as(abi.DType, @enumFromInt(@as(u8, @truncate(a.dtype))))) {
        .bool => {},
        inline else => |d| {
            const x = cpu.spaced_element(d, start, end, a.powers != 0, a.base, i, a.total);
            @as(Pointer(dt.Stored(d)), @ptrFromInt(a.data))[i] = x;
        },
    }
}

pub fn exports() void {
    export_kernel(&Arange(i64).run, "range_arange_i64_all", Args);
    export_kernel(&Arange(f64).run, "range_arange_f64_all", Args);
    export_kernel(&spaced, "range_spaced_f64_all", Args);
}
