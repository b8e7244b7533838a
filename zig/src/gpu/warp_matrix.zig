//! What the lanes of a warp do together on GPUs from capability 8.0 on: fragments of matrices, their products, copies
//! to shared memory that go on by themselves. All of a block's threads have to come here together: the compiler does
//! not know that of assembly, so nothing may depend on the thread around a call.
const args = @import("matmul_args.zig");

/// Where something is in shared memory, as these instructions take it.
pub inline fn address(at: anytype) u32 {
    return @truncate(@intFromPtr(at));
}

/// Four tiles of 8 by 8 elements of 16 bits; lanes 8i to 8i + 7 give the rows of tile i. `turned` exchanges rows and
/// columns of each.
pub inline fn load(comptime turned: bool, at: u32) [4]u32 {
    var r0: u32 = undefined;
    var r1: u32 = undefined;
    var r2: u32 = undefined;
    var r3: u32 = undefined;
    const turn = if (turned) ".trans" else "";
    asm volatile ("ldmatrix.sync.aligned.m8n8.x4" ++ turn ++ ".shared.b16 {%[a], %[b], %[c], %[d]}, [%[at]];"
        : [a] "=r" (r0),
          [b] "=r" (r1),
          [c] "=r" (r2),
          [d] "=r" (r3),
        : [at] "r" (at),
        : .{ .memory = true });
    return .{ r0, r1, r2, r3 };
}

/// The nearest number with ten bits of a fraction, ties away from zero.
pub inline fn to_tf32(x: u32) u32 {
    return asm ("cvt.rna.tf32.f32 %[r], %[x];"
        : [r] "=r" (-> u32),
        : [x] "f" (@as(f32, @bitCast(x))),
    );
}

/// 16 by 16 times 16 by 8, added to sums in f32; for tf32 16 by 8 times 8 by 8.
pub inline fn multiply_add(comptime kind: args.Kind, a: [4]u32, b: [2]u32, sums: [4]f32) [4]f32 {
    var r0: f32 = undefined;
    var r1: f32 = undefined;
    var r2: f32 = undefined;
    var r3: f32 = undefined;
    const shape, const name = switch (kind) {
        .bfloat16 => .{ "m16n8k16", "bf16" },
        .float16 => .{ "m16n8k16", "f16" },
        .tf32 => .{ "m16n8k8", "tf32" },
        .float64 => @compileError("doubles have products of their own"),
    };
    asm volatile ("mma.sync.aligned." ++ shape ++ ".row.col.f32." ++ name ++ "." ++ name ++ ".f32 " ++
            "{%[r0], %[r1], %[r2], %[r3]}, {%[a0], %[a1], %[a2], %[a3]}, {%[b0], %[b1]}, " ++
            "{%[s0], %[s1], %[s2], %[s3]};"
        : [r0] "=f" (r0),
          [r1] "=f" (r1),
          [r2] "=f" (r2),
          [r3] "=f" (r3),
        : [a0] "r" (a[0]),
          [a1] "r" (a[1]),
          [a2] "r" (a[2]),
          [a3] "r" (a[3]),
          [b0] "r" (b[0]),
          [b1] "r" (b[1]),
          [s0] "f" (sums[0]),
          [s1] "f" (sums[1]),
          [s2] "f" (sums[2]),
          [s3] "f" (sums[3]),
    );
    return .{ r0, r1, r2, r3 };
}

/// How doubles are multiplied: as the units of capability 9.0 do it at their full rate, or as all from 8.0 on can.
pub const Doubles = enum { whole, halves };

/// 16 by 8 times 8 by 8. Of the left factor the upper and the lower 8 rows of the first four terms, then of the others.
pub inline fn multiply_add_doubles(comptime how: Doubles, a: [4]f64, b: [2]f64, sums: [4]f64) [4]f64 {
    if (how == .halves) {
        var r = sums;
        inline for (0..2) |k| inline for (0..2) |lower| {
            r[2 * lower ..][0..2].* = half_product(a[2 * k + lower], b[k], r[2 * lower ..][0..2].*);
        };
        return r;
    }
    var r0: f64 = undefined;
    var r1: f64 = undefined;
    var r2: f64 = undefined;
    var r3: f64 = undefined;
    asm volatile ("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%[r0], %[r1], %[r2], %[r3]}, " ++
            "{%[a0], %[a1], %[a2], %[a3]}, {%[b0], %[b1]}, {%[s0], %[s1], %[s2], %[s3]};"
        : [r0] "=d" (r0),
          [r1] "=d" (r1),
          [r2] "=d" (r2),
          [r3] "=d" (r3),
        : [a0] "d" (a[0]),
          [a1] "d" (a[1]),
          [a2] "d" (a[2]),
          [a3] "d" (a[3]),
          [b0] "d" (b[0]),
          [b1] "d" (b[1]),
          [s0] "d" (sums[0]),
          [s1] "d" (sums[1]),
          [s2] "d" (sums[2]),
          [s3] "d" (sums[3]),
    );
    return .{ r0, r1, r2, r3 };
}

/// 8 by 4 times 4 by 8.
inline fn half_product(a: f64, b: f64, sums: [2]f64) [2]f64 {
    var r0: f64 = undefined;
    var r1: f64 = undefined;
    asm volatile ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%[r0], %[r1]}, {%[a]}, {%[b]}, {%[s0], %[s1]};"
        : [r0] "=d" (r0),
          [r1] "=d" (r1),
        : [a] "d" (a),
          [b] "d" (b),
          [s0] "d" (sums[0]),
          [s1] "d" (sums[1]),
    );
    return .{ r0, r1 };
}

/// 16 bytes from the device's memory, of which so many are read; the others become 0.
pub inline fn copy_async(to: u32, from: u64, bytes: u32) void {
    asm volatile ("cp.async.cg.shared.global [%[to]], [%[from]], 16, %[bytes];"
        :
        : [to] "r" (to),
          [from] "l" (from),
          [bytes] "r" (bytes),
        : .{ .memory = true });
}

/// Eight bytes, or zeros.
pub inline fn copy_async_8(to: u32, from: u64, bytes: u32) void {
    asm volatile ("cp.async.ca.shared.global [%[to]], [%[from]], 8, %[bytes];"
        :
        : [to] "r" (to),
          [from] "l" (from),
          [bytes] "r" (bytes),
        : .{ .memory = true });
}

/// Ends a group of copies.
pub inline fn commit() void {
    asm volatile ("cp.async.commit_group;" ::: .{ .memory = true });
}

/// Waits until at most so many groups are on their way.
pub inline fn wait(comptime groups: u32) void {
    asm volatile ("cp.async.wait_group " ++ [_]u8{'0' + groups} ++ ";" ::: .{ .memory = true });
}

/// Four bytes of shared memory.
pub inline fn load_4(at: u32) u32 {
    return asm volatile ("ld.shared.b32 %[r], [%[at]];"
        : [r] "=r" (-> u32),
        : [at] "r" (at),
        : .{ .memory = true });
}

/// Neighbouring words of the device's memory, aligned to all of them, or zeros: what a branch loads would be waited for
/// at its end.
pub inline fn load_words(comptime count: u32, at: u64, is_there: bool) [count]u32 {
    if (count == 2) {
        var r0: u32 = undefined;
        var r1: u32 = undefined;
        asm volatile ("{ .reg .pred there; setp.ne.u32 there, %[is], 0; mov.b32 %[a], 0; mov.b32 %[b], 0; " ++
                "@there ld.global.v2.b32 {%[a], %[b]}, [%[at]]; }"
            : [a] "=&r" (r0),
              [b] "=&r" (r1),
            : [at] "l" (at),
              [is] "r" (@as(u32, @intFromBool(is_there))),
            : .{ .memory = true });
        return .{ r0, r1 };
    }
    var r0: u32 = undefined;
    var r1: u32 = undefined;
    var r2: u32 = undefined;
    var r3: u32 = undefined;
    asm volatile ("{ .reg .pred there; setp.ne.u32 there, %[is], 0; mov.b32 %[a], 0; mov.b32 %[b], 0; " ++
            "mov.b32 %[c], 0; mov.b32 %[d], 0; @there ld.global.v4.b32 {%[a], %[b], %[c], %[d]}, [%[at]]; }"
        : [a] "=&r" (r0),
          [b] "=&r" (r1),
          [c] "=&r" (r2),
          [d] "=&r" (r3),
        : [at] "l" (at),
          [is] "r" (@as(u32, @intFromBool(is_there))),
        : .{ .memory = true });
    return .{ r0, r1, r2, r3 };
}

/// Two doubles of shared memory.
pub inline fn load_doubles(at: u32) [2]f64 {
    var r0: f64 = undefined;
    var r1: f64 = undefined;
    asm volatile ("ld.shared.v2.f64 {%[a], %[b]}, [%[at]];"
        : [a] "=d" (r0),
          [b] "=d" (r1),
        : [at] "r" (at),
        : .{ .memory = true });
    return .{ r0, r1 };
}

/// 16 bytes to shared memory.
pub inline fn store_16(to: u32, words: [4]u32) void {
    asm volatile ("st.shared.v4.b32 [%[to]], {%[a], %[b], %[c], %[d]};"
        :
        : [to] "r" (to),
          [a] "r" (words[0]),
          [b] "r" (words[1]),
          [c] "r" (words[2]),
          [d] "r" (words[3]),
        : .{ .memory = true });
}
