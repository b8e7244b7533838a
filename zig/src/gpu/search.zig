//! Device code that finds positions in sorted rows by halving: a thread for each value. See cpu/search.zig.
const std = @import("std");
const abi = @import("abi");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const fault = @import("fault.zig");
const order = @import("../cpu/search_order.zig");
const thread = @import("thread.zig");

const Pointer = element.Pointer;

pub const Args = extern struct {
    out: u64,
    sorted: u64,
    values: u64,
    /// 0 where rows lie in their order.
    places: u64,
    record: u64,
    /// Of the first value of this launch, among all.
    first: u64,
    length: u64,
    per_row: u64,
    count: u32,
    fault: u32,
    narrow: u32,
    right: u32,
};

fn Search(comptime T: type, comptime mode: order.Mode) type {
    return struct {
        fn find(a: *const Args) callconv(.kernel) void {
            const i = thread.block() * thread.threads() + thread.index();
            if (i >= a.count) return;
            const at = a.first + i;
            const base = if (a.per_row > a.first + a.count) 0 else at / a.per_row * a.length;
            const x = @as(Pointer(T), @ptrFromInt(a.values))[at];
            var low: u64 = 0;
            var high: u64 = a.length;
            while (low < high) {
                const middle = low + (high - low) / 2;
                var place = middle;
                if (a.places != 0) {
                    const given = @as(Pointer(i64), @ptrFromInt(a.places))[base + middle];
                    place = @bitCast(given);
                    if (place >= a.length) return fault.tell(a.record, a.fault, given, 0, @intCast(a.length));
                }
                const y = @as(Pointer(T), @ptrFromInt(a.sorted))[base + place];
                if (order.beyond(mode, y, x, a.right != 0)) low = middle + 1 else high = middle;
            }
            switch (mode) {
                .presence => {
                    const there = low < a.length and @as(Pointer(T), @ptrFromInt(a.sorted))[base + low] == x;
                    @as(Pointer(u8), @ptrFromInt(a.out))[at] = @intFromBool(there);
                },
                .positions => if (a.narrow != 0) {
                    @as(Pointer(i32), @ptrFromInt(a.out))[at] = @intCast(low);
                } else {
                    @as(Pointer(i64), @ptrFromInt(a.out))[at] = @intCast(low);
                },
            }
        }
    };
}

pub fn exports() void {
    for ([_]abi.Compute{ .f32, .f64, .i64 }) |c| {
        const T = dt.Computed(c);
        export_kernel(&Search(T, .positions).find, "search_searchsorted_" ++ @tagName(c) ++ "_find", Args);
        export_kernel(&Search(T, .presence).find, "search_isin_" ++ @tagName(c) ++ "_find", Args);
    }
}
