//! What a GPU thread knows of itself. The intrinsics have LLVM's names: unlike inline assembly they say which of them
//! must not be moved into other control flow.
const i = struct {
    extern fn @"llvm.nvvm.read.ptx.sreg.tid.x"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.ntid.x"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.ctaid.x"() u32;
    extern fn @"llvm.nvvm.read.ptx.sreg.nctaid.x"() u32;
};

/// In its block.
pub inline fn index() u32 {
    return i.@"llvm.nvvm.read.ptx.sreg.tid.x"();
}
pub inline fn threads() u32 {
    return i.@"llvm.nvvm.read.ptx.sreg.ntid.x"();
}
pub inline fn block() u32 {
    return i.@"llvm.nvvm.read.ptx.sreg.ctaid.x"();
}
pub inline fn blocks() u32 {
    return i.@"llvm.nvvm.read.ptx.sreg.nctaid.x"();
}
