//! Device code of draws by weight: a block for each row.
const abi = @import("abi");
const abi_random = @import("abi_random");
const args = @import("random_args.zig");
const dt = @import("../core/dtype.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const philox = @import("../cpu/philox.zig");
const Pointer = @import("element.zig").Pointer;
const thread = @import("thread.zig");

const Args = args.Draw;
const threads = 256;

fn Rows(comptime c: abi.Compute) type {
    const T = dt.Computed(c);
    return struct {
        var shared: [threads]T addrspace(.shared) = undefined;
        var places: [threads]u32 addrspace(.shared) = undefined;

        /// Sums of the weights up to each, divided by the sum of all. Each thread has a part of the row.
        fn sums(a: *const Args) callconv(.kernel) void {
            const t = thread.index();
            const row = thread.block();
            const from = weights_of(a, row);
            const to = @as(Pointer(T), @ptrFromInt(a.sums)) + @as(u64, row) * a.count;
            const each = (a.count + threads - 1) / threads;
            const first = @min(a.count, t * each);
            const end = @min(a.count, first + each);
            var sum: T = 0;
            var wrong: u32 = 0;
            for (first..end) |i| {
                const w = from[i];
                if (w - w != 0) wrong = @intFromEnum(abi_random.Distribution.not_finite);
                if (w < 0) wrong = @intFromEnum(abi_random.Distribution.negative);
                sum += w;
            }
            shared[t] = sum;
            thread.barrier();
            var below: T = 0;
            var all: T = 0;
            for (0..threads) |i| {
                if (i == t) below = all;
                all += shared[i];
            }
            if (t == 0 and !(all > 0) and wrong == 0) wrong = @intFromEnum(abi_random.Distribution.empty);
            if (wrong != 0) _ = @atomicRmw(u32, &word(a.wrong)[0], .Max, wrong, .monotonic);
            for (first..end) |i| {
                below += from[i];
                to[i] = below / all;
            }
        }

        inline fn word(at: u64) Pointer(u32) {
            return @ptrFromInt(at);
        }

        inline fn weights_of(a: *const Args, row: u32) Pointer(T) {
            return @as(Pointer(T), @ptrFromInt(a.weights)) + @as(u64, row) * a.count;
        }

        inline fn results_of(a: *const Args, row: u32) Pointer(i64) {
            return @as(Pointer(i64), @ptrFromInt(a.to)) + @as(u64, row) * a.samples;
        }

        /// A thread for each sample finds where in the sums a number between 0 and 1 belongs.
        fn sample(a: *const Args) callconv(.kernel) void {
            const i = thread.block() * thread.threads() + thread.index();
            const across = thread.blocks() * thread.threads();
            const row = thread.block_y();
            const cumulative = @as(Pointer(T), @ptrFromInt(a.sums)) + @as(u64, row) * a.count;
            const weights = weights_of(a, row);
            if (i >= a.samples) return;
            const w = philox.words(a.seed, @as(u64, row) * across + i, a.place);
            const r: T = philox.unit_f32(w[0]);
            var begin: u32 = 0;
            var end = a.count;
            while (begin < end) {
                const middle = begin + (end - begin) / 2;
                if (cumulative[middle] < r) begin = middle + 1 else end = middle;
            }
            // Rounding may lead beyond the last, and equal sums to one without weight.
            if (begin == a.count) begin = a.count - 1;
            while (begin > 0 and weights[begin] == 0) begin -= 1;
            results_of(a, row)[i] = begin;
        }

        /// The positions of the largest numbers of each row: what comes after the one found last is searched again.
        fn largest(a: *const Args) callconv(.kernel) void {
            const t = thread.index();
            const row = thread.block();
            const from = weights_of(a, row);
            const to = results_of(a, row);
            var last: u32 = none;
            var last_value: T = 0;
            for (0..a.samples) |s| {
                var best: u32 = none;
                var value: T = 0;
                var i = t;
                while (i < a.count) : (i += threads) {
                    const x = from[i];
                    if (last != none and !before(last_value, last, x, i)) continue;
                    if (best == none or before(x, i, value, best)) {
                        best = i;
                        value = x;
                    }
                }
                shared[t] = value;
                places[t] = best;
                thread.barrier();
                inline for (.{ 128, 64, 32, 16, 8, 4, 2, 1 }) |half| {
                    if (t < half and places[t + half] != none) {
                        if (places[t] == none or before(shared[t + half], places[t + half], shared[t], places[t])) {
                            shared[t] = shared[t + half];
                            places[t] = places[t + half];
                        }
                    }
                    thread.barrier();
                }
                last = places[0];
                last_value = shared[0];
                if (t == 0) to[s] = last;
                thread.barrier();
            }
        }

        const none: u32 = 0xffff_ffff;

        /// NaN first, then descending, equal numbers by position.
        inline fn before(x: T, i: u32, y: T, k: u32) bool {
            if (x > y) return true;
            if (x < y) return false;
            const x_nan = x != x;
            if (x_nan != (y != y)) return x_nan;
            return i < k;
        }
    };
}

pub fn exports() void {
    for ([_]abi.Compute{ .f32, .f64 }) |c| {
        const name = @tagName(c);
        export_kernel(&Rows(c).sums, "random_multinomial_" ++ name ++ "_sums", Args);
        export_kernel(&Rows(c).sample, "random_multinomial_" ++ name ++ "_sample", Args);
        export_kernel(&Rows(c).largest, "random_largest_" ++ name ++ "_rows", Args);
    }
}
