//! Device code of copies between operands whose near elements lie along two different dimensions: a block reads a
//! square along the one, and writes it along the other.
const abi = @import("abi");
const args = @import("args.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const thread = @import("thread.zig");

/// Elements of a square's side. A block has a fourth of that many threads for each of its rows.
pub const side = 32;
pub const threads = 256;
const rows_at_once = threads / side;

pub fn Kernel(comptime c: abi.Compute) type {
    return struct {
        const Args = args.Pointwise(2);

        /// A column more: neighbours in a column lie in different banks.
        var square: [side][side + 1]dt.Computed(c) addrspace(.shared) = undefined;

        /// Dimension 0 is near in the result, dimension 1 in the source; both are of one dtype.
        pub fn turned(a: *const Args) callconv(.kernel) void {
            const across = a.sizes[0].size;
            const down = a.sizes[1].size;
            const squares = .{ (across + side - 1) / side, (down + side - 1) / side };
            var rest = thread.block();
            const x0 = rest % squares[0] * side;
            rest /= squares[0];
            const y0 = rest % squares[1] * side;
            rest /= squares[1];
            var offsets: [2]i32 = @splat(0);
            for (2..@max(a.rank, 2)) |d| {
                const quotient = a.sizes[d].divide(rest);
                const index: i32 = @intCast(rest - quotient * a.sizes[d].size);
                inline for (&offsets, 0..) |*o, k| o.* += index * a.operands[k].strides[d];
                rest = quotient;
            }
            const near = thread.index() % side;
            const first = thread.index() / side;
            inline for (comptime element.dense_dtypes(c)) |d| {
                if (a.operands[1].dtype == @intFromEnum(d)) inline for (0..side / rows_at_once) |n| {
                    const row = first + @as(u32, n * rows_at_once);
                    const x = x0 + row;
                    if (x < across and y0 + near < down) {
                        const at = place(a, 1, x, y0 + near) + offsets[1];
                        square[row][near] = dt.load(d, c, pointer(d, a, 1, at)[0]);
                    }
                };
            }
            thread.barrier();
            inline for (comptime element.dense_dtypes(c)) |d| {
                if (a.operands[1].dtype == @intFromEnum(d)) inline for (0..side / rows_at_once) |n| {
                    const row = first + @as(u32, n * rows_at_once);
                    const y = y0 + row;
                    if (x0 + near < across and y < down) {
                        const at = place(a, 0, x0 + near, y) + offsets[0];
                        pointer(d, a, 0, at)[0] = dt.store(d, c, square[near][row]);
                    }
                };
            }
        }

        inline fn place(a: *const Args, comptime operand: usize, x: u32, y: u32) i32 {
            const strides = &a.operands[operand].strides;
            return @as(i32, @intCast(x)) * strides[0] + @as(i32, @intCast(y)) * strides[1];
        }

        inline fn pointer(comptime d: abi.DType, a: *const Args, k: usize, at: i32) element.Pointer(dt.Stored(d)) {
            const bytes = @as(i64, at) * @sizeOf(dt.Stored(d));
            return @ptrFromInt(a.operands[k].data +% @as(u64, @bitCast(bytes)));
        }
    };
}
