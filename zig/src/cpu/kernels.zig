//! Root of one instruction set's object: compiles every kernel family for it and exports one hidden table.
const abi = @import("abi");
const cfg = @import("cfg");
const ops = @import("ops");
const families = @import("families.zig");
const fr = @import("../core/frame.zig");
const driver = @import("pointwise_driver.zig");
const pointwise = @import("pointwise.zig");
const Table = @import("table.zig").Table;

fn body_of(comptime family: []const u8, comptime name: []const u8) type {
    return @field(@field(families.tuned, family), name);
}

fn missing(comptime k: anytype) noreturn {
    @compileError("schema op kernel '" ++ k.family ++ "." ++ k.name ++ "' has no Zig body");
}

fn entry(comptime k: ops.Kernel) Table.Call {
    if (!@hasDecl(families.tuned, k.family)) return undefined_call;
    const Family = @field(families.tuned, k.family);
    if (!@hasDecl(Family, k.name)) missing(k);
    const member = @field(Family, k.name);
    return struct {
        fn call(f: *fr.Frame) callconv(.c) i32 {
            if (@TypeOf(member) == type) return @intFromEnum(driver.run(pointwise.specs(member), f));
            return @intFromEnum(@as(abi.Status, member(f)));
        }
    }.call;
}

fn undefined_call(_: *fr.Frame) callconv(.c) i32 {
    return @intFromEnum(abi.Status.unsupported);
}

fn fast_entry(comptime k: ops.Fast) Table.Fast {
    return struct {
        fn call(code: u32, out: usize, in: *const [3]usize, n: usize) callconv(.c) i32 {
            return @intFromEnum(driver.fast(pointwise.specs(body_of(k.family, k.name)), code, out, in, n));
        }
    }.call;
}

const calls: [ops.kernels.len]Table.Call = blk: {
    @setEvalBranchQuota(100_000);
    var t: [ops.kernels.len]Table.Call = undefined;
    for (ops.kernels, 0..) |k, i| t[i] = entry(k);
    break :blk t;
};

const fasts: [ops.fast.len]Table.Fast = blk: {
    @setEvalBranchQuota(100_000);
    var t: [ops.fast.len]Table.Fast = undefined;
    for (ops.fast, 0..) |k, i| t[i] = fast_entry(k);
    break :blk t;
};

const table: Table = .{ .calls = &calls, .fasts = &fasts };

comptime {
    @export(&table, .{ .name = "zs_table_" ++ cfg.variant, .visibility = .hidden });
}
