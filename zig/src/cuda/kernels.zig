//! Device code: the pointwise bodies of the CPU kernels, one element for each GPU thread at a time.
const std = @import("std");
const abi = @import("abi");
const dt = @import("../core/dtype.zig");
const pw = @import("../cpu/pointwise.zig");
const unary = @import("../cpu/unary.zig");

const thread = struct {
    extern fn @"llvm.nvvm.read.ptx.sreg.tid.x"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.ntid.x"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.ctaid.x"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.nctaid.x"() u32;

    inline fn index() usize {
        const block = @as(usize, @"llvm.nvvm.read.ptx.sreg.ctaid.x"());
        return block * @"llvm.nvvm.read.ptx.sreg.ntid.x"() + @"llvm.nvvm.read.ptx.sreg.tid.x"();
    }
    inline fn count() usize {
        return @as(usize, @"llvm.nvvm.read.ptx.sreg.nctaid.x"()) * @"llvm.nvvm.read.ptx.sreg.ntid.x"();
    }
};

fn Unary(comptime Body: type, comptime c: abi.Compute) type {
    const Out = dt.Computed(if (@hasDecl(Body, "Out")) Body.Out(c) else c);
    const In = dt.Computed(if (@hasDecl(Body, "In")) Body.In(c, 0) else c);
    return struct {
        /// Contiguous operands; any number of blocks and threads covers any number of elements.
        fn kernel(
            n: usize,
            out: [*]addrspace(.global) Out,
            in: [*]addrspace(.global) const In,
            attrs: *const @typeInfo(@FieldType(pw.Params, "attrs")).pointer.child,
        ) callconv(.kernel) void {
            const p: pw.Params = .{ .attrs = attrs };
            var i = thread.index();
            while (i < n) : (i += thread.count()) out[i] = Body.apply(c, p, in[i]);
        }
    };
}

fn computes(comptime Body: type, comptime c: abi.Compute) bool {
    inline for (Body.computes) |k| if (k == c) return true;
    return false;
}

comptime {
    @setEvalBranchQuota(1_000_000);
    for (@typeInfo(unary).@"struct".decls) |decl| {
        const member = @field(unary, decl.name);
        if (@TypeOf(member) != type or !@hasDecl(member, "apply") or member.arity != 1) continue;
        if (!computes(member, .f32)) continue;
        @export(&Unary(member, .f32).kernel, .{ .name = "zs_unary_" ++ decl.name ++ "_f32" });
    }
}
