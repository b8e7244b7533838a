//! Which decoder takes an instruction, by its name.
const std = @import("std");
const arithmetic = @import("decode_arithmetic.zig");
const flow = @import("decode_flow.zig");
const group = @import("decode_warpgroup.zig");
const mem = @import("decode_memory.zig");
const moves = @import("decode_moves.zig");
const modules = @import("module.zig");
const Instruction = @import("instruction.zig").Instruction;

const Decode = *const fn (i: *Instruction) modules.Error!void;

const known = std.StaticStringMap(Decode).initComptime(.{
    .{ "add", &arithmetic.add_sub },
    .{ "addc", &arithmetic.carried },
    .{ "sub", &arithmetic.add_sub },
    .{ "subc", &arithmetic.carried },
    .{ "mul", &arithmetic.mul },
    .{ "mad", &arithmetic.mad },
    .{ "madc", &arithmetic.carried },
    .{ "fma", &arithmetic.fma },
    .{ "div", &arithmetic.two },
    .{ "rem", &arithmetic.two },
    .{ "min", &arithmetic.two },
    .{ "max", &arithmetic.two },
    .{ "copysign", &arithmetic.two },
    .{ "and", &arithmetic.logic },
    .{ "or", &arithmetic.logic },
    .{ "xor", &arithmetic.logic },
    .{ "not", &arithmetic.one },
    .{ "cnot", &arithmetic.one },
    .{ "neg", &arithmetic.one },
    .{ "abs", &arithmetic.one },
    .{ "sqrt", &arithmetic.one },
    .{ "rcp", &arithmetic.one },
    .{ "rsqrt", &arithmetic.one },
    .{ "ex2", &arithmetic.one },
    .{ "lg2", &arithmetic.one },
    .{ "sin", &arithmetic.one },
    .{ "cos", &arithmetic.one },
    .{ "tanh", &arithmetic.one },
    .{ "popc", &arithmetic.bit_count },
    .{ "clz", &arithmetic.bit_count },
    .{ "bfind", &arithmetic.bit_count },
    .{ "brev", &arithmetic.one },
    .{ "sad", &arithmetic.sad },
    .{ "shl", &arithmetic.shift },
    .{ "shr", &arithmetic.shift },
    .{ "shf", &arithmetic.funnel },
    .{ "prmt", &arithmetic.permute },
    .{ "lop3", &arithmetic.lookup },
    .{ "bmsk", &arithmetic.bit_mask },
    .{ "bfe", &arithmetic.field },
    .{ "bfi", &arithmetic.field },
    .{ "testp", &arithmetic.classify },
    .{ "setp", &moves.setp },
    .{ "set", &moves.set },
    .{ "selp", &moves.selp },
    .{ "slct", &moves.slct },
    .{ "mov", &moves.mov },
    .{ "cvt", &moves.cvt },
    .{ "cvta", &moves.cvta },
    .{ "isspacep", &moves.isspacep },
    .{ "ld", &mem.load },
    .{ "ldu", &mem.load },
    .{ "st", &mem.store },
    .{ "atom", &mem.atomic },
    .{ "red", &mem.reduction },
    .{ "membar", &mem.fence },
    .{ "fence", &mem.fence },
    .{ "prefetch", &mem.prefetch },
    .{ "prefetchu", &mem.prefetch },
    .{ "cp", &mem.copy_async },
    .{ "bra", &flow.branch },
    .{ "brx", &flow.branch_indexed },
    .{ "call", &flow.call },
    .{ "ret", &flow.ret },
    .{ "exit", &flow.exit },
    .{ "trap", &flow.trap },
    .{ "brkpt", &flow.trap },
    .{ "bar", &flow.barrier },
    .{ "barrier", &flow.barrier },
    .{ "nanosleep", &flow.nanosleep },
    .{ "shfl", &flow.shuffle },
    .{ "vote", &flow.vote },
    .{ "match", &flow.match },
    .{ "activemask", &flow.active_mask },
    .{ "redux", &flow.reduce },
    .{ "ldmatrix", &flow.load_matrix },
    .{ "mma", &flow.multiply_matrices },
    .{ "wgmma", &group.decode },
});

pub fn decode(i: *Instruction) modules.Error!void {
    const take = known.get(i.name) orelse return i.unknown();
    return take(i);
}
