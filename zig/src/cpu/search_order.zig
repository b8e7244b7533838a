//! What is looked for in a sorted row, and which of its elements come before it.

pub const Mode = enum { positions, presence };

/// Whether the wanted position lies behind an element of the row. NaN is greater than everything.
pub inline fn beyond(comptime mode: Mode, at: anytype, x: @TypeOf(at), right: bool) bool {
    if (mode == .presence) return at < x;
    return if (right) !(at > x) else !(at >= x);
}
