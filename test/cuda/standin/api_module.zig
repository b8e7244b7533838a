//! Entry points that load PTX and find what it defines.
const std = @import("std");
const decode = @import("decode.zig");
const initial = @import("initial.zig");
const machine = @import("machine.zig");
const memory = @import("memory.zig");
const modules = @import("module.zig");
const report = @import("report.zig");
const settings = @import("settings.zig");
const state = @import("state.zig");
const Code = state.Code;
const Context = state.Context;

const gpa = state.gpa;

pub const Loaded = struct {
    arena: std.heap.ArenaAllocator,
    context: *Context,
    parsed: modules.Module = undefined,
    functions: std.StringArrayHashMapUnmanaged(*Function) = .empty,
};

pub const Function = struct {
    kernel: *machine.Kernel,
    module: *Loaded,
    /// Dynamic shared memory that launches may ask for.
    max_dynamic: u32 = 0,
};

/// Options of the driver's loader that are heeded: where its messages go.
const Logs = struct {
    info: ?[*]u8 = null,
    info_bytes: usize = 0,
    errors: ?[*]u8 = null,
    error_bytes: usize = 0,
    info_place: ?*?*anyopaque = null,
    error_place: ?*?*anyopaque = null,

    fn read(count: c_uint, options: ?[*]const c_int, values: ?[*]?*anyopaque) ?Logs {
        var logs: Logs = .{};
        if (count == 0) return logs;
        const names = options orelse return null;
        const given = values orelse return null;
        for (names[0..count], given[0..count]) |name, *value| switch (name) {
            3 => logs.info = @ptrCast(value.*),
            4 => {
                logs.info_bytes = @intFromPtr(value.*);
                logs.info_place = value;
            },
            5 => logs.errors = @ptrCast(value.*),
            6 => {
                logs.error_bytes = @intFromPtr(value.*);
                logs.error_place = value;
            },
            else => {},
        };
        return logs;
    }

    fn write(to: ?[*]u8, room: usize, place: ?*?*anyopaque, text: []const u8) void {
        var n: usize = 0;
        if (to) |buffer| if (room > 0) {
            n = @min(room - 1, text.len);
            @memcpy(buffer[0..n], text[0..n]);
            buffer[n] = 0;
        };
        if (place) |p| p.* = @ptrFromInt(n);
    }

    fn tell(l: *const Logs, failed: bool) void {
        const text: []const u8 = if (failed) std.mem.span(report.last()) else "";
        write(l.errors, l.error_bytes, l.error_place, text);
        write(l.info, l.info_bytes, l.info_place, "");
    }
};

export fn cuModuleLoadData(module: ?*?*anyopaque, image: ?[*:0]const u8) c_int {
    return cuModuleLoadDataEx(module, image, 0, null, null);
}

export fn cuModuleLoadDataEx(
    module: ?*?*anyopaque,
    image: ?[*:0]const u8,
    count: c_uint,
    options: ?[*]const c_int,
    values: ?[*]?*anyopaque,
) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    var code = state.enter(&c);
    if (code != 0) return code;
    const to = module orelse return Code.invalid_value;
    const text = image orelse return Code.invalid_value;
    const logs = Logs.read(count, options, values) orelse return Code.invalid_value;
    code = load(c, std.mem.span(text), to);
    logs.tell(code != 0);
    return code;
}

fn load(c: *Context, image: []const u8, to: *?*anyopaque) c_int {
    if (settings.current.refuse_module != 0) {
        report.say("the module is refused, as was asked for", .{});
        return @intCast(settings.current.refuse_module);
    }
    if (image.len < 8 or image[0] == 0x7F or image[0] >= 0x80) {
        report.say("the image is no PTX", .{});
        return Code.invalid_image;
    }
    const m = gpa.create(Loaded) catch return Code.out_of_memory;
    m.* = .{ .arena = .init(gpa), .context = c };
    const code = fill(m, image);
    if (code != 0 or !state.keep(m, .module)) {
        unload(m);
        return if (code != 0) code else Code.out_of_memory;
    }
    report.count("modules", 1);
    to.* = m;
    return 0;
}

var kernels: u64 = 0;

/// The newest PTX that a driver of some version reads: 8.4 for CUDA 12.4.
fn newest_ptx() u64 {
    const version = settings.current.version;
    const major = version / 1000;
    const minor = version % 1000 / 10;
    return switch (major) {
        0...9 => 60 + minor,
        10 => 63 + minor,
        else => (major - 4) * 10 + minor,
    };
}

fn fill(m: *Loaded, image: []const u8) c_int {
    const arena = m.arena.allocator();
    const source = arena.dupe(u8, image) catch return Code.out_of_memory;
    modules.parse(arena, source, &m.parsed) catch |e| return refused(m, e);
    if (m.parsed.version > newest_ptx()) {
        report.say("PTX {d}.{d} is newer than this driver", .{ m.parsed.version / 10, m.parsed.version % 10 });
        return Code.unsupported_ptx;
    }
    const capability = settings.current.capability;
    if (m.parsed.target > capability or (m.parsed.is_exact and m.parsed.target != capability)) {
        report.say("PTX for sm_{d} on a device of sm_{d}", .{ m.parsed.target, capability });
        return Code.no_binary;
    }
    place_variables(m) catch |e| return refused(m, e);
    for (m.parsed.functions.values()) |*f| {
        if (!f.defined) continue;
        const k = decode.kernel(arena, &m.parsed, f) catch |e| return refused(m, e);
        if (!f.entry) continue;
        kernels += 1;
        k.number = kernels;
        const made = arena.create(Function) catch return Code.out_of_memory;
        made.* = .{ .kernel = k, .module = m, .max_dynamic = (48 << 10) -| k.shared_bytes };
        m.functions.put(arena, k.name, made) catch return Code.out_of_memory;
        if (!state.keep(made, .function)) return Code.out_of_memory;
    }
    return 0;
}

fn refused(m: *Loaded, e: modules.Error) c_int {
    if (e == error.OutOfMemory) return Code.out_of_memory;
    report.say("PTX refused: {s}", .{m.parsed.problem});
    return Code.invalid_ptx;
}

/// Variables of the module get device memory, then their values, which may be addresses of each other.
fn place_variables(m: *Loaded) modules.Error!void {
    const all = m.parsed.variables.values();
    for (all) |*v| {
        if (v.space != .global and v.space != .constant) continue;
        v.address = memory.allocate(@max(1, v.size), m.context.device) orelse return error.OutOfMemory;
        memory.find(v.address).?.of_module = true;
    }
    for (all) |*v| {
        if (v.address == 0) {
            if (v.init.len > 0) return m.parsed.refuse(v.init[0].at, "shared memory has no first value", .{});
            continue;
        }
        try initial.fill(&m.parsed, v, memory.host(v.address)[0..v.size]);
        memory.find(v.address).?.read_only = v.space == .constant;
    }
}

fn unload(m: *Loaded) void {
    for (m.functions.values()) |f| state.drop(f);
    for (m.parsed.variables.values()) |v| if (v.address != 0) {
        _ = memory.free(v.address);
    };
    m.arena.deinit();
    gpa.destroy(m);
}

export fn cuModuleUnload(module: ?*anyopaque) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    if (!state.is(module, .module)) return Code.invalid_handle;
    state.drop(module.?);
    unload(@ptrCast(@alignCast(module.?)));
    report.uncount("modules", 1);
    return 0;
}

fn loaded(module: ?*anyopaque, name: ?[*:0]const u8, found: **Loaded) c_int {
    var c: *Context = undefined;
    const code = state.enter(&c);
    if (code != 0) return code;
    if (!state.is(module, .module)) return Code.invalid_handle;
    if (name == null) return Code.invalid_value;
    found.* = @ptrCast(@alignCast(module.?));
    return 0;
}

export fn cuModuleGetFunction(function: ?*?*anyopaque, module: ?*anyopaque, name: ?[*:0]const u8) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var m: *Loaded = undefined;
    const code = loaded(module, name, &m);
    if (code != 0) return code;
    const to = function orelse return Code.invalid_value;
    to.* = m.functions.get(std.mem.span(name.?)) orelse return Code.not_found;
    return 0;
}

export fn cuModuleGetGlobal_v2(address: ?*u64, bytes: ?*usize, module: ?*anyopaque, name: ?[*:0]const u8) c_int {
    state.lock.lock();
    defer state.lock.unlock();
    var m: *Loaded = undefined;
    const code = loaded(module, name, &m);
    if (code != 0) return code;
    const v = m.parsed.variables.get(std.mem.span(name.?)) orelse return Code.not_found;
    if (v.address == 0) return Code.not_found;
    if (address) |to| to.* = v.address;
    if (bytes) |to| to.* = v.size;
    return 0;
}
