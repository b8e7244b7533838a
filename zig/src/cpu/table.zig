//! One instruction set's kernels as the library's root sees them, put together from the symbols of their objects.
const cfg = @import("cfg");
const ops = @import("ops");
const abi = @import("abi");
const families = @import("families.zig");
const object = @import("object.zig");
const pointwise = @import("pointwise.zig");

const Kernel = object.Kernel;
const Specs = pointwise.Specs;

pub const Table = struct {
    fast: *const fn (specs: *const Specs, code: u32, out: usize, in: *const [3]usize, n: usize) callconv(.c) abi.Status,
    kernels: [ops.kernels.len]*const Kernel,
    fasts: [ops.fast.len]*const Specs,
    /// Additions, for what is compiled once.
    sums: *const Specs,

    /// Where the code of a kernel begins; 0 when it has none.
    pub fn code(t: *const Table, index: usize) usize {
        const specs = t.kernels[index].specs orelse return @intFromPtr(t.kernels[index].call);
        for (specs.native) |spec| if (spec) |s| return @intFromPtr(s.loop);
        return 0;
    }
};

/// The kernels of the instruction set in use.
pub var active: *const Table = undefined;
var sums: *const Specs = undefined;

comptime {
    @export(&sums, .{ .name = "zs_sums", .visibility = .hidden });
}

pub fn use(table: *const Table) void {
    active = table;
    sums = table.sums;
}

fn hidden(comptime T: type, comptime name: []const u8) T {
    return @extern(T, .{ .name = name, .visibility = .hidden });
}

/// The table of a variant that this build holds.
pub fn of(comptime wanted: []const u8) *const Table {
    const variant = cfg.only orelse wanted;
    return &struct {
        const table: Table = blk: {
            @setEvalBranchQuota(1_000_000);
            var t: Table = undefined;
            t.fast = hidden(@TypeOf(t.fast), object.symbol(variant, "pointwise", "fast"));
            t.sums = specs_of(variant, "binary", "add");
            for (ops.kernels, &t.kernels) |k, *to| {
                const compiled = if (families.is_plain(k.family)) families.baseline else variant;
                to.* = hidden(*const Kernel, object.symbol(compiled, k.family, k.name));
            }
            for (ops.fast, &t.fasts) |k, *to| to.* = specs_of(variant, k.family, k.name);
            break :blk t;
        };
    }.table;
}

fn specs_of(comptime variant: []const u8, comptime family: []const u8, comptime name: []const u8) *const Specs {
    return hidden(*const Specs, object.symbol(variant, family, name) ++ "_specs");
}
