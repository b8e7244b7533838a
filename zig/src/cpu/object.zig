//! What the object of one family and one instruction set offers to the library's root: each kernel under a hidden
//! symbol of its own. The root knows them by the schema's names alone, so it is not compiled again when one changes.
const abi = @import("abi");
const cfg = @import("cfg");
const fr = @import("../core/frame.zig");
const pointwise = @import("pointwise.zig");

const Specs = pointwise.Specs;

pub const Call = *const fn (f: *fr.Frame) callconv(.c) i32;

pub const Kernel = extern struct {
    call: Call,
    /// The loops of a pointwise body, which the call gives to the driver.
    specs: ?*const Specs,
};

/// The driver of pointwise kernels is an object too.
pub const Run = fn (specs: *const Specs, f: *fr.Frame) callconv(.c) abi.Status;

/// Exports the kernels among a family's public declarations.
pub fn exports(comptime family: []const u8, comptime Family: type) void {
    @setEvalBranchQuota(100_000);
    for (@typeInfo(Family).@"struct".decls) |decl| {
        const member = @field(Family, decl.name);
        const name = symbol(cfg.variant, family, decl.name);
        if (is_body(member)) {
            const specs = pointwise.specs(member);
            @export(specs, .{ .name = name ++ "_specs", .visibility = .hidden });
            @export(&Kernel{ .call = call_of_body(specs), .specs = specs }, .{ .name = name, .visibility = .hidden });
        } else if (@TypeOf(member) == fn (*fr.Frame) abi.Status) {
            @export(&Kernel{ .call = call_of(member), .specs = null }, .{ .name = name, .visibility = .hidden });
        }
    }
}

fn call_of_body(comptime specs: *const Specs) Call {
    return &struct {
        fn call(f: *fr.Frame) callconv(.c) i32 {
            const name = comptime symbol(cfg.variant, "pointwise", "run");
            return @intFromEnum(@extern(*const Run, .{ .name = name, .visibility = .hidden })(specs, f));
        }
    }.call;
}

fn call_of(comptime member: fn (*fr.Frame) abi.Status) Call {
    return &struct {
        fn call(f: *fr.Frame) callconv(.c) i32 {
            return @intFromEnum(member(f));
        }
    }.call;
}

fn is_body(comptime member: anytype) bool {
    return @TypeOf(member) == type and @typeInfo(member) == .@"struct" and @hasDecl(member, "apply");
}

pub fn symbol(comptime variant: []const u8, comptime family: []const u8, comptime name: []const u8) []const u8 {
    return "zs_" ++ variant ++ "_" ++ family ++ "_" ++ name;
}
