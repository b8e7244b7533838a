//! From tokens to instructions: one kernel with all the functions it calls. What is not known is refused, with the
//! instruction's text: nothing is skipped.
const std = @import("std");
const machine = @import("machine.zig");
const modules = @import("module.zig");
const types = @import("types.zig");
const Error = modules.Error;
const Ins = machine.Ins;
const Ty = types.Ty;

pub const Register = struct { at: u32, ty: Ty };

/// A variable's place: an offset in its space, or an address.
pub const Place = struct { space: types.Space, at: u64, size: u32, dynamic: bool = false };

pub const Symbol = union(enum) {
    register: Register,
    /// `%r<9>`: places one after the other.
    registers: struct { first: u32, count: u32, ty: Ty },
    place: Place,
    /// `.branchtargets`: places among the extras.
    table: struct { first: u32, count: u32 },
};

/// A function as a part of the kernel that is decoded.
pub const Instance = struct {
    function: *const modules.Function,
    start: u32 = machine.never,
    return_at: u32,
    params: []Place,
    results: []Place,
    calls: std.ArrayList(*Instance) = .empty,
    state: enum { fresh, open, done } = .fresh,
};

/// More than any device has of registers, local or shared memory; beyond it nothing is counted on.
const most_bytes: u32 = 64 << 20;

const Fixup = struct { ins: u32 = 0, extra: u32 = machine.never, label: []const u8, at: u32 };
const Label = struct { name: []const u8, pc: u32 };

pub const Decoder = struct {
    arena: std.mem.Allocator,
    module: *modules.Module,
    code: std.ArrayList(Ins) = .empty,
    extras: std.ArrayList(u32) = .empty,
    constants: std.ArrayList(machine.Constant) = .empty,
    constant_index: std.AutoHashMapUnmanaged(machine.Constant, u32) = .empty,
    /// Constants, by index, that grow by the place of dynamic shared memory.
    dynamic: std.ArrayList(u32) = .empty,
    specials: std.ArrayList(machine.SpecialPlace) = .empty,
    scopes: std.ArrayList(std.StringHashMapUnmanaged(Symbol)) = .empty,
    labels: std.ArrayList(Label) = .empty,
    fixups: std.ArrayList(Fixup) = .empty,
    instances: std.StringArrayHashMapUnmanaged(*Instance) = .empty,
    entry_calls: std.ArrayList(*Instance) = .empty,
    current: ?*Instance = null,
    shared: std.StringHashMapUnmanaged(u32) = .empty,
    file_top: u32 = 64,
    predicate_top: u32 = 4,
    predicate_end: u32 = 64,
    local_top: u32 = 0,
    param_bytes: u32 = 0,
    shared_top: u32 = 0,
    dynamic_align: u32 = 16,
    register_count: u32 = 0,
    calls: std.ArrayList(struct { ins: u32, to: *Instance }) = .empty,

    pub fn refuse(d: *Decoder, at: u32, comptime format: []const u8, args: anytype) Error {
        return d.module.refuse(at, format, args);
    }

    /// Room for 32 lanes of `width` bytes.
    pub fn slot(d: *Decoder, width: u32) u32 {
        const at = d.file_top;
        d.file_top += width * machine.lanes;
        return at;
    }

    pub fn predicate_slot(d: *Decoder) u32 {
        if (d.predicate_top == d.predicate_end) {
            d.predicate_top = d.slot(2);
            d.predicate_end = d.predicate_top + 64;
        }
        d.predicate_top += 4;
        return d.predicate_top - 4;
    }

    pub fn slot_of(d: *Decoder, ty: Ty) u32 {
        d.register_count += 1;
        return if (ty == .pred) d.predicate_slot() else d.slot(ty.width());
    }

    /// A place that holds the same value in every lane; width 1 is a predicate.
    pub fn constant(d: *Decoder, width: u32, value: u64) Error!u32 {
        const kept = switch (width) {
            1 => value & 1,
            2 => value & 0xFFFF,
            4 => value & 0xFFFF_FFFF,
            else => value,
        };
        const found = try d.constant_index.getOrPut(d.arena, .{ .at = 0, .width = width, .value = kept });
        if (!found.found_existing) {
            found.value_ptr.* = if (width == 1) d.predicate_slot() else d.slot(width);
            try d.constants.append(d.arena, .{ .at = found.value_ptr.*, .width = width, .value = kept });
        }
        return found.value_ptr.*;
    }

    /// A place that holds an address: a constant, but where dynamic shared memory begins is known last.
    pub fn address_constant(d: *Decoder, width: u32, place: Place, offset: u64) Error!u32 {
        if (!place.dynamic) return d.constant(width, place.at +% offset);
        try d.dynamic.append(d.arena, @intCast(d.constants.items.len));
        const at = d.slot(width);
        try d.constants.append(d.arena, .{ .at = at, .width = width, .value = offset });
        return at;
    }

    pub fn special(d: *Decoder, which: machine.Special) Error!u32 {
        for (d.specials.items) |s| if (s.which == which) return s.at;
        const at = d.slot(4);
        try d.specials.append(d.arena, .{ .at = at, .which = which });
        return at;
    }

    pub fn extra(d: *Decoder, places: []const u32) Error!u32 {
        const first: u32 = @intCast(d.extras.items.len);
        try d.extras.appendSlice(d.arena, places);
        return first;
    }

    pub fn define(d: *Decoder, at: u32, name: []const u8, symbol: Symbol) Error!void {
        const scope = &d.scopes.items[d.scopes.items.len - 1];
        const found = try scope.getOrPut(d.arena, name);
        if (found.found_existing) return d.refuse(at, "'{s}' is declared twice", .{name});
        found.value_ptr.* = symbol;
    }

    fn in_scopes(d: *Decoder, name: []const u8) ?Symbol {
        var n = d.scopes.items.len;
        while (n > 0) : (n -= 1) if (d.scopes.items[n - 1].get(name)) |s| return s;
        return null;
    }

    pub fn find_register(d: *Decoder, name: []const u8) ?Register {
        if (d.in_scopes(name)) |s| return if (s == .register) s.register else null;
        const prefix = std.mem.trimEnd(u8, name, "0123456789");
        if (prefix.len == name.len) return null;
        const family = d.in_scopes(prefix) orelse return null;
        if (family != .registers) return null;
        const number = std.fmt.parseInt(u32, name[prefix.len..], 10) catch return null;
        const r = family.registers;
        if (number >= r.count) return null;
        const stride: u32 = if (r.ty == .pred) 4 else r.ty.width() * machine.lanes;
        return .{ .at = r.first + number * stride, .ty = r.ty };
    }

    pub fn find_table(d: *Decoder, name: []const u8) ?@FieldType(Symbol, "table") {
        const s = d.in_scopes(name) orelse return null;
        return if (s == .table) s.table else null;
    }

    /// A variable by its name: the function's, or the module's.
    pub fn find_place(d: *Decoder, name: []const u8) Error!?Place {
        if (d.in_scopes(name)) |s| return if (s == .place) s.place else null;
        const v = d.module.variables.getPtr(name) orelse return null;
        if (v.space != .shared) return .{ .space = v.space, .at = v.address, .size = v.size };
        return try d.shared_place(v);
    }

    pub fn shared_place(d: *Decoder, v: *const modules.Variable) Error!Place {
        if (v.dynamic) {
            d.dynamic_align = @max(d.dynamic_align, v.alignment);
            // Its offset is known when all others have theirs.
            return .{ .space = .shared, .at = 0, .size = 0, .dynamic = true };
        }
        const found = try d.shared.getOrPut(d.arena, v.name);
        if (!found.found_existing) {
            d.shared_top = std.mem.alignForward(u32, d.shared_top, @max(1, v.alignment));
            found.value_ptr.* = d.shared_top + machine.first_offset;
            if (d.shared_top < most_bytes) d.shared_top += v.size;
        }
        return .{ .space = .shared, .at = found.value_ptr.*, .size = v.size };
    }

    pub fn local_place(d: *Decoder, v: *const modules.Variable) Place {
        d.local_top = std.mem.alignForward(u32, d.local_top, @max(8, v.alignment));
        const at = d.local_top + machine.first_offset;
        if (d.local_top < most_bytes) d.local_top += v.size;
        return .{ .space = .local, .at = at, .size = v.size };
    }

    pub fn label(d: *Decoder, name: []const u8) Error!void {
        try d.labels.append(d.arena, .{ .name = name, .pc = @intCast(d.code.items.len) });
    }

    /// The instruction that was emitted last goes on at a label.
    pub fn fix_last(d: *Decoder, name: []const u8, at: u32) Error!void {
        const last: u32 = @intCast(d.code.items.len - 1);
        try d.fixups.append(d.arena, .{ .ins = last, .label = name, .at = at });
    }

    pub fn fix_extra(d: *Decoder, place: u32, name: []const u8, at: u32) Error!void {
        try d.fixups.append(d.arena, .{ .extra = place, .label = name, .at = at });
    }

    /// Ends a scope: labels in it are known to it alone, what they do not answer is asked further out.
    pub fn resolve(d: *Decoder, first_label: usize, first_fixup: usize, outermost: bool) Error!void {
        var kept = first_fixup;
        for (d.fixups.items[first_fixup..]) |f| {
            const pc: ?u32 = for (d.labels.items[first_label..]) |l| {
                if (std.mem.eql(u8, l.name, f.label)) break l.pc;
            } else null;
            if (pc) |target| {
                if (f.extra == machine.never) d.code.items[f.ins].x = target else d.extras.items[f.extra] = target;
            } else {
                if (outermost) return d.refuse(f.at, "there is no label '{s}'", .{f.label});
                d.fixups.items[kept] = f;
                kept += 1;
            }
        }
        d.fixups.items.len = kept;
        d.labels.items.len = first_label;
    }

    pub fn instance(d: *Decoder, f: *const modules.Function) Error!*Instance {
        const found = try d.instances.getOrPut(d.arena, f.name);
        if (found.found_existing) return found.value_ptr.*;
        const made = try d.arena.create(Instance);
        made.* = .{
            .function = f,
            .return_at = d.slot(4),
            .params = try d.arena.alloc(Place, f.params.len),
            .results = try d.arena.alloc(Place, f.results.len),
        };
        for (made.params, f.params) |*p, *v| p.* = d.local_place(v);
        for (made.results, f.results) |*p, *v| p.* = d.local_place(v);
        found.value_ptr.* = made;
        return made;
    }
};

/// A function that calls itself, by whatever way, would need a stack.
fn refuse_cycles(d: *Decoder, list: []const *Instance) Error!void {
    for (list) |f| {
        if (f.state == .open) return d.refuse(0, "function '{s}' calls itself: recursion is not known", .{
            f.function.name,
        });
        if (f.state == .done) continue;
        f.state = .open;
        try refuse_cycles(d, f.calls.items);
        f.state = .done;
    }
}

/// Decodes a kernel; or, with `f` a function, checks that it could be part of one.
pub fn kernel(arena: std.mem.Allocator, m: *modules.Module, f: *const modules.Function) Error!*machine.Kernel {
    const body = @import("body.zig");
    var d: Decoder = .{ .arena = arena, .module = m };
    const params = try arena.alloc(machine.Param, f.params.len);
    var param_bytes: u32 = 0;
    if (f.entry) {
        for (params, f.params) |*p, v| {
            param_bytes = std.mem.alignForward(u32, param_bytes, @max(1, v.alignment));
            p.* = .{ .offset = param_bytes, .size = v.size };
            param_bytes += v.size;
        }
        if (param_bytes > 4352) return d.refuse(0, "'{s}' has {d} bytes of parameters", .{ f.name, param_bytes });
        d.param_bytes = param_bytes;
        try body.entry(&d, f, params);
    } else _ = try d.instance(f);
    var n: usize = 0;
    while (n < d.instances.count()) : (n += 1) try body.function(&d, d.instances.values()[n]);
    const most = @max(d.file_top, d.local_top);
    if (most >= most_bytes or d.shared_top > 227 << 10) return d.refuse(0, "'{s}' needs too much memory", .{f.name});
    for (d.calls.items) |c| d.code.items[c.ins].x = c.to.start;
    try refuse_cycles(&d, d.entry_calls.items);
    try refuse_cycles(&d, d.instances.values());
    const dynamic_at = std.mem.alignForward(u32, d.shared_top, d.dynamic_align);
    for (d.dynamic.items) |place| d.constants.items[place].value +%= dynamic_at + machine.first_offset;
    const k = try arena.create(machine.Kernel);
    k.* = .{
        .name = f.name,
        .code = d.code.items,
        .text = m.source,
        .params = params,
        .param_bytes = param_bytes,
        .file_bytes = std.mem.alignForward(u32, d.file_top, 64),
        .constants = d.constants.items,
        .specials = d.specials.items,
        .local_bytes = std.mem.alignForward(u32, d.local_top, 64),
        .shared_bytes = d.shared_top,
        .dynamic_at = dynamic_at,
        .extras = d.extras.items,
        .max_threads = @min(1024, f.max_threads),
        .required = f.required,
        .register_count = d.register_count,
    };
    return k;
}
