//! What the four warps of a group do together on GPUs of capability 9.0: products whose factors lie in shared memory,
//! of which a group has several on their way. All threads of a group come here together, and nobody touches the sums of
//! a product, or what its factors lie in, until the group has waited for it.
const std = @import("std");
const args = @import("matmul_args.zig");

const Along = args.Along;

/// Rows of one product, and bytes of the terms of its sum.
pub const rows = 64;
pub const term_bytes = 32;
/// Terms of a product of 16-bit elements.
const terms = 16;

/// A thread's sums are registers that have names: nothing may copy them while products are on their way. They are of
/// rows 16w + l / 4 and 8 further on, where w is the warp's number in its group and l the lane, and of columns
/// 8j + l % 4 * 2 and the next; four for each j.
fn sums(comptime columns: u32) u32 {
    return columns / 8 * 4;
}

/// A row of a slice in shared memory: 64 elements (of tf32 32) in the direction in which the factor lies, in eight
/// pieces that are exchanged by bits of the row's number, as the units want them.
pub const row_bytes = 128;

pub inline fn piece(line: u32, which: u32) u32 {
    return line * row_bytes + ((which ^ line % 8) * 16);
}

/// What tells the units where a factor lies: eight rows of 128 bytes make a block of 1024; the blocks of the next rows
/// follow it. Of a factor that lies across the sum, 64 elements and all of their terms, `deep` bytes, come before the
/// next 64.
pub inline fn factor(at: u32, deep: u32) u64 {
    const exchanged: u64 = 1 << 62;
    return exchanged | @as(u64, 1024 >> 4) << 32 | @as(u64, deep >> 4) << 16 | at >> 4;
}

/// The same, so many products further.
pub inline fn after(description: u64, comptime along: Along, comptime count: u32) u64 {
    return description + comptime (if (along == .inner) count * term_bytes else count * terms * row_bytes) >> 4;
}

/// What this thread wrote into shared memory is seen by the units, once it has met the others.
pub inline fn show() void {
    asm volatile ("fence.proxy.async.shared::cta;" ::: .{ .memory = true });
}

/// Before the first product, and before one whose sums were touched.
pub inline fn begin() void {
    asm volatile ("wgmma.fence.sync.aligned;" ::: .{ .memory = true });
}

/// Ends a set of products.
pub inline fn commit() void {
    asm volatile ("wgmma.commit_group.sync.aligned;" ::: .{ .memory = true });
}

/// Waits until at most so many sets are on their way.
pub inline fn wait(comptime sets: u32) void {
    asm volatile ("wgmma.wait_group.sync.aligned " ++ [_]u8{'0' + sets} ++ ";" ::: .{ .memory = true });
}

fn turned(comptime along: Along) []const u8 {
    return if (along == .inner) "0" else "1";
}

/// The registers of sums as assembly names them; written once for all products.
fn Named(comptime columns: u32) type {
    return struct {
        const list = blk: {
            @setEvalBranchQuota(1_000_000);
            var text: []const u8 = "sum0";
            for (1..sums(columns)) |i| text = text ++ std.fmt.comptimePrint(", sum{d}", .{i});
            break :blk text;
        };
        const zeros = blk: {
            @setEvalBranchQuota(1_000_000);
            var text: []const u8 = std.fmt.comptimePrint(".reg .f32 sum<{d}>;\n", .{sums(columns)});
            for (0..sums(columns)) |i| text = text ++ std.fmt.comptimePrint("mov.f32 sum{d}, 0f00000000;\n", .{i});
            break :blk text;
        };
    };
}

/// Begins a kernel: its sums are zero.
pub inline fn declare(comptime columns: u32) void {
    asm volatile (Named(columns).zeros);
}

/// A sum that the group has waited for.
pub inline fn sum(comptime i: usize) f32 {
    return asm volatile (std.fmt.comptimePrint("mov.f32 %[r], sum{d};", .{i})
        : [r] "=f" (-> f32),
    );
}

/// Starts to add the product of 64 rows of `a` and the columns of `b` to the sums. Only 16-bit factors may lie across
/// the sum.
pub inline fn multiply_add(
    comptime kind: args.Kind,
    comptime columns: u32,
    comptime la: Along,
    comptime lb: Along,
    a: u64,
    b: u64,
) void {
    const turns = comptime ", " ++ turned(la) ++ ", " ++ turned(lb);
    const depth, const name, const more = comptime switch (kind) {
        .bfloat16 => .{ "k16", "bf16", turns },
        .float16 => .{ "k16", "f16", turns },
        .tf32 => .{ "k8", "tf32", "" },
        .float64 => @compileError("doubles are multiplied otherwise"),
    };
    const shape = comptime std.fmt.comptimePrint("m64n{d}", .{columns}) ++ depth;
    asm volatile ("wgmma.mma_async.sync.aligned." ++ shape ++ ".f32." ++ name ++ "." ++ name ++ " {" ++
            Named(columns).list ++ "}, %[a], %[b], 1, 1, 1" ++ more ++ ";"
        :
        : [a] "l" (a),
          [b] "l" (b),
        : .{ .memory = true });
}
