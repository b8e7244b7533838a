//! Which instruction set this CPU has, and which one is in use.
const builtin = @import("builtin");
const abi_memory = @import("abi_memory");

pub const is_x86 = builtin.cpu.arch == .x86_64;

pub const Level = enum(u32) {
    baseline = abi_memory.IsaLevel.baseline,
    avx2 = abi_memory.IsaLevel.avx2,
    avx512 = abi_memory.IsaLevel.avx512,
};

fn cpuid(leaf: u32, sub: u32) [4]u32 {
    var a: u32 = undefined;
    var b: u32 = undefined;
    var c: u32 = undefined;
    var d: u32 = undefined;
    asm volatile ("cpuid"
        : [a] "={eax}" (a),
          [b] "={ebx}" (b),
          [c] "={ecx}" (c),
          [d] "={edx}" (d),
        : [leaf] "{eax}" (leaf),
          [sub] "{ecx}" (sub),
    );
    return .{ a, b, c, d };
}

/// The register state that the system saves: without it the wide registers must not be used.
fn saved_state() u32 {
    var a: u32 = undefined;
    asm volatile ("xgetbv"
        : [a] "={eax}" (a),
        : [c] "{ecx}" (@as(u32, 0)),
        : .{ .edx = true });
    return a;
}

fn bit(word: u32, index: u5) bool {
    return (word >> index) & 1 == 1;
}

pub fn best() Level {
    if (comptime !is_x86) return .baseline;
    const basic = cpuid(1, 0)[2];
    if (!bit(basic, 27)) return .baseline;
    const saved = saved_state();
    const more = cpuid(7, 0)[1];
    const avx2 = bit(basic, 12) and bit(basic, 29) and bit(more, 5) and bit(more, 8) and bit(more, 3);
    if (!avx2 or saved & 0x06 != 0x06) return .baseline;
    const avx512 = bit(more, 16) and bit(more, 17) and bit(more, 28) and bit(more, 30) and bit(more, 31);
    return if (avx512 and saved & 0xe6 == 0xe6) .avx512 else .avx2;
}

pub fn name(level: Level) [:0]const u8 {
    if (comptime !is_x86) return if (builtin.cpu.arch == .aarch64) "neon" else "baseline";
    return switch (level) {
        .baseline => "baseline",
        .avx2 => "avx2",
        .avx512 => "avx512",
    };
}
