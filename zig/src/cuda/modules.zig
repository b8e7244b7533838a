//! Kernels that were loaded, by device. A module is loaded when one of its kernels is launched first.
const std = @import("std");
const abi_cuda = @import("abi_cuda");
const archive = @import("archive.zig");
const context = @import("context.zig");
const driver = @import("driver.zig");
const Lock = @import("lock.zig").Lock;
const newer = @import("newer.zig");
const packed_family = @import("packed_family.zig");

const gpa = std.heap.c_allocator;

var lock: Lock = .{};
var families: std.StringHashMapUnmanaged(archive.Family) = .empty;
var modules: [context.max_devices]std.StringHashMapUnmanaged(driver.Module) = @splat(.empty);

/// What the driver said about the last module that it refused, for the error's text.
var said: [1024:0]u8 = @splat(0);

const jit_error_log = 5;
const jit_error_log_bytes = 6;

/// A kernel `<group>_<variant>` of a family on the current device.
pub fn function(
    device: u32,
    family: []const u8,
    group: []const u8,
    variant: []const u8,
) context.Failure!driver.Function {
    lock.lock();
    defer lock.unlock();
    const module = modules[device].get(group) orelse try load(device, family, group);
    var buffer: [160]u8 = undefined;
    const name = std.fmt.bufPrintZ(&buffer, "{s}_{s}", .{ group, variant }) catch return missing();
    const cu = try context.functions();
    var found: driver.Function = null;
    try context.check(cu.ModuleGetFunction(&found, module, name));
    return found;
}

fn missing() context.Failure {
    return context.fail(abi_cuda.CudaStatus.no_kernel);
}

fn load(device: u32, family: []const u8, group: []const u8) context.Failure!driver.Module {
    const f = families.getPtr(family) orelse try open(family);
    const capability = (try context.use(device)).capability;
    const plain = f.module(group) catch return missing();
    const text = newer.adapted(plain, capability) catch {
        gpa.free(plain);
        return missing();
    };
    defer gpa.free(text);
    const cu = try context.functions();
    var module: driver.Module = null;
    said = @splat(0);
    const options = [_]c_uint{ jit_error_log, jit_error_log_bytes };
    var values = [_]?*anyopaque{ &said, @ptrFromInt(said.len) };
    try context.check(cu.ModuleLoadDataEx(&module, text.ptr, options.len, &options, &values));
    const key = gpa.dupe(u8, group) catch return missing();
    modules[device].put(gpa, key, module) catch return missing();
    return module;
}

/// Of another object.
fn library() *const packed_family.Archive {
    return @extern(*const packed_family.Archive, .{ .name = packed_family.archive_symbol, .visibility = .hidden });
}

/// Whether the library was built with GPU kernels.
pub fn zs_cuda_is_built() callconv(.c) u32 {
    return @intFromBool(library().count > 0);
}

fn open(family: []const u8) context.Failure!*archive.Family {
    const unpack = library().unpack orelse return missing();
    for (library().rows[0..library().count]) |row| {
        if (!std.mem.eql(u8, row.name[0..row.name_length], family)) continue;
        const opened = archive.open(row.bytes[0..row.length], unpack) catch return missing();
        families.put(gpa, family, opened) catch return missing();
        return families.getPtr(family).?;
    }
    return missing();
}

pub fn log() [*:0]const u8 {
    return &said;
}
