//! How a kernel tells that it was given what it must not use, an index out of range say: it leaves the element out
//! and writes down why, in a record that the host looks at after it has waited. The first one is told, until somebody
//! looks.
const thread = @import("thread.zig");

/// Lies in memory that host and device have in common.
pub const Record = extern struct {
    state: u32,
    /// The number of the error's text.
    kind: u32,
    numbers: [3]i64,

    pub const empty: u32 = 0;
    /// Somebody is writing.
    pub const taken: u32 = 1;
    pub const full: u32 = 2;
};

/// A function of its own: it hardly ever runs.
pub noinline fn tell(record: u64, kind: u32, a: i64, b: i64, c: i64) void {
    const r: *addrspace(.global) volatile Record = @ptrFromInt(record);
    if (r.state != Record.empty) return;
    if (@cmpxchgStrong(u32, &r.state, Record.empty, Record.taken, .monotonic, .monotonic) != null) return;
    r.kind = kind;
    r.numbers[0] = a;
    r.numbers[1] = b;
    r.numbers[2] = c;
    thread.fence_host();
    r.state = Record.full;
}
