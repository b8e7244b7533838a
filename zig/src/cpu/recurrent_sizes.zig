//! What both directions of recurrent layers share.
const std = @import("std");
const abi_recurrent = @import("abi_recurrent");
const cfg = @import("cfg");
const fr = @import("../core/frame.zig");
const vmath = @import("vmath.zig");

pub const Mode = abi_recurrent.RecurrentMode;

/// Gates for each hidden feature.
pub fn gates_of(comptime mode: Mode) usize {
    return switch (mode) {
        .tanh, .relu => 1,
        .gru => 3,
        .lstm => 4,
    };
}

/// What is kept of a step: its gates, of GRU also what the hidden state contributes to the new one.
pub fn kept_of(comptime mode: Mode) usize {
    return if (mode == .gru) 4 else gates_of(mode);
}

pub const Sizes = struct {
    steps: usize,
    batch: usize,
    hidden: usize,
    reverse: bool,

    /// From an operand of steps x batch x hidden.
    pub fn of(f: *fr.Frame, outputs: usize) ?Sizes {
        const y = fr.view(f, outputs);
        if (y.rank != 3) return null;
        return .{
            .steps = y.size(0),
            .batch = y.size(1),
            .hidden = y.size(2),
            .reverse = fr.attr_bool(f, abi_recurrent.RecurrentAttr.reverse),
        };
    }

    /// Where the step that is taken as number `i` lies.
    pub fn place(s: *const Sizes, i: usize) usize {
        return if (s.reverse) s.steps - 1 - i else i;
    }
};

pub fn fits(f: *fr.Frame, index: usize, count: usize) bool {
    return fr.view(f, index).numel() == count;
}

pub fn Lines(comptime T: type) type {
    return struct {
        pub const lanes = cfg.lanes * 4 / @sizeOf(T);
        pub const V = @Vector(lanes, T);

        pub inline fn load(p: [*]const T, left: usize) V {
            return if (left >= lanes) p[0..lanes].* else load_part(p, left);
        }

        noinline fn load_part(p: [*]const T, left: usize) V {
            var some: [lanes]T = @splat(0);
            for (0..left) |i| some[i] = p[i];
            return some;
        }

        pub inline fn store(p: [*]T, x: V, left: usize) void {
            if (left >= lanes) p[0..lanes].* = x else store_part(p, x, left);
        }

        noinline fn store_part(p: [*]T, x: V, left: usize) void {
            const some: [lanes]T = x;
            for (0..left) |i| p[i] = some[i];
        }

        /// Not inlined: the code of each is long, and a step calls several.
        pub noinline fn sigmoid(x: V) V {
            return vmath.sigmoid(x);
        }

        pub noinline fn tanh(x: V) V {
            return vmath.tanh(x);
        }

        pub inline fn one(comptime x: T) V {
            return @splat(x);
        }
    };
}
