//! What newer devices have instructions for: there they take the place of the lines that compute the same.
const std = @import("std");
const bf16_pair = @import("../gpu/bf16_pair.zig");

const gpa = std.heap.c_allocator;

/// How a module begins, and how it has to begin for such instructions.
const heads = [_][2][]const u8{
    .{ ".version 6.3", ".version 7.0" },
    .{ ".target sm_75", ".target sm_80" },
};

/// From 8.0 on.
const least = 80;

/// The text of a module for a device of some capability; the caller's again when there is nothing to do. Takes `text`.
pub fn adapted(text: [:0]const u8, capability: u32) error{OutOfMemory}![:0]const u8 {
    if (capability < least) return text;
    const size = std.mem.replacementSize(u8, text, bf16_pair.computed, bf16_pair.converted);
    if (size == text.len) return text;
    const made = try gpa.allocSentinel(u8, size, 0);
    _ = std.mem.replace(u8, text, bf16_pair.computed, bf16_pair.converted, made);
    for (heads) |head| {
        const at = std.mem.indexOf(u8, made, head[0]) orelse continue;
        @memcpy(made[at..][0..head[1].len], head[1]);
    }
    gpa.free(text);
    return made;
}

test "lines that newer devices have an instruction for" {
    const old = try gpa.dupeZ(u8, heads[0][0] ++ "\n" ++ heads[1][0] ++ "\n{\n" ++ bf16_pair.computed ++ "\n}\n");
    const made = try adapted(old, 90);
    defer gpa.free(made);
    const wanted = heads[0][1] ++ "\n" ++ heads[1][1] ++ "\n{\n" ++ bf16_pair.converted ++ "\n}\n";
    try std.testing.expectEqualStrings(wanted, made);
    const same = try gpa.dupeZ(u8, made);
    defer gpa.free(same);
    try std.testing.expectEqual(same.ptr, (try adapted(same, 75)).ptr);
}
