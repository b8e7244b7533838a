//! What the object of one family and one instruction set offers to the library's root: each kernel under a hidden
//! symbol of its own. A pointwise body gives its loops as data, for the driver; every other kernel gives a function.
const abi = @import("abi");
const cfg = @import("cfg");
const fr = @import("../core/frame.zig");
const pointwise = @import("pointwise.zig");

pub const Call = *const fn (f: *fr.Frame) callconv(.c) i32;

/// Exports the kernels among a family's public declarations.
pub fn exports(comptime family: []const u8, comptime Family: type) void {
    @setEvalBranchQuota(100_000);
    for (@typeInfo(Family).@"struct".decls) |decl| {
        const member = @field(Family, decl.name);
        const name = symbol(cfg.variant, family, decl.name);
        if (is_body(member)) {
            @export(pointwise.specs(member), .{ .name = name, .visibility = .hidden });
        } else if (@TypeOf(member) == fn (*fr.Frame) abi.Status) {
            const entry = struct {
                fn call(f: *fr.Frame) callconv(.c) i32 {
                    return @intFromEnum(member(f));
                }
            };
            @export(&entry.call, .{ .name = name, .visibility = .hidden });
        }
    }
}

pub fn is_body(comptime member: anytype) bool {
    return @TypeOf(member) == type and @typeInfo(member) == .@"struct" and @hasDecl(member, "apply");
}

pub fn symbol(comptime variant: []const u8, comptime family: []const u8, comptime name: []const u8) []const u8 {
    return "zs_" ++ variant ++ "_" ++ family ++ "_" ++ name;
}
