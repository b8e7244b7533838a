//! One instruction set's kernels as the library's root sees them, put together from the symbols of their objects.
const cfg = @import("cfg");
const ops = @import("ops");
const abi = @import("abi");
const families = @import("families.zig");
const fr = @import("../core/frame.zig");
const object = @import("object.zig");
const pointwise = @import("pointwise.zig");

const Specs = pointwise.Specs;

pub const Table = struct {
    run: *const fn (specs: *const Specs, f: *fr.Frame) callconv(.c) abi.Status,
    fast: *const fn (specs: *const Specs, code: u32, out: usize, in: *const [3]usize, n: usize) callconv(.c) abi.Status,
    kernels: [ops.kernels.len]Kernel,
    fasts: [ops.fast.len]*const Specs,
    /// Additions, for what is compiled once.
    sums: *const Specs,

    /// Where the code of a kernel begins; 0 when it has none.
    pub fn code(t: *const Table, index: usize) usize {
        switch (t.kernels[index]) {
            .none => return 0,
            .call => |call| return @intFromPtr(call),
            .body => |specs| {
                for (specs.native) |spec| if (spec) |s| return @intFromPtr(s.loop);
                return 0;
            },
        }
    }
};

/// Kernels of plain families have no entry: the root holds them itself.
const Kernel = union(enum) { none, body: *const Specs, call: object.Call };

fn hidden(comptime T: type, comptime variant: []const u8, comptime family: []const u8, comptime name: []const u8) T {
    return @extern(T, .{ .name = object.symbol(variant, family, name), .visibility = .hidden });
}

/// The table of a variant that this build holds.
pub fn of(comptime wanted: []const u8) *const Table {
    const variant = cfg.only orelse wanted;
    return &struct {
        const table: Table = blk: {
            @setEvalBranchQuota(100_000);
            var t: Table = undefined;
            t.run = hidden(@TypeOf(t.run), variant, "pointwise", "run");
            t.fast = hidden(@TypeOf(t.fast), variant, "pointwise", "fast");
            t.sums = hidden(*const Specs, variant, "binary", "add");
            for (ops.kernels, &t.kernels) |k, *to| to.* = kernel(variant, k);
            for (ops.fast, &t.fasts) |k, *to| to.* = hidden(*const Specs, variant, k.family, k.name);
            break :blk t;
        };
    }.table;
}

fn kernel(comptime variant: []const u8, comptime k: ops.Kernel) Kernel {
    if (!@hasDecl(families.tuned, k.family)) return .none;
    const Family = @field(families.tuned, k.family);
    if (!@hasDecl(Family, k.name)) {
        @compileError("schema op kernel '" ++ k.family ++ "." ++ k.name ++ "' has no Zig body");
    }
    if (object.is_body(@field(Family, k.name))) return .{ .body = hidden(*const Specs, variant, k.family, k.name) };
    return .{ .call = hidden(object.Call, variant, k.family, k.name) };
}
