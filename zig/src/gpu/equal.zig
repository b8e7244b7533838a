//! Device code of the comparison of whole tensors: whoever finds elements that differ, says so.
const abi = @import("abi");
const Dims = @import("dims.zig").Dims;
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const thread = @import("thread.zig");

const Compute = abi.Compute;

/// Elements that a thread of the kernel for elements without gaps takes.
pub const lanes: u32 = 4;

pub const Args = extern struct {
    data: [2]u64,
    /// A byte that becomes 0 where elements differ.
    answer: u64,
    dtype: [2]u32,
    flags: [2]u32,
    dims: Dims(2),
};

fn Kernels(comptime c: Compute) type {
    const T = dt.Computed(c);
    return struct {
        inline fn differ(a: T, b: T) bool {
            return if (comptime dt.is_complex(T)) a.re != b.re or a.im != b.im else a != b;
        }

        inline fn say(a: *const Args, different: bool) void {
            if (different) element.pointer_to(u8, a.answer)[0] = 0;
        }

        fn dense(a: *const Args) callconv(.kernel) void {
            const i = (thread.block() * thread.threads() + thread.index()) * lanes;
            if (i >= a.dims.count) return;
            const V = element.Several(c, lanes);
            const x = V.load(a.data[0], a.dtype[0], i);
            const y = V.load(a.data[1], a.dtype[1], i);
            var different = false;
            // One by one: LLVM crashes where it makes vectors of comparisons of what words are cut into.
            inline for (x, y, 0..) |v, w, k| {
                if (i + k < a.dims.count and differ(v, w)) different = true;
            }
            say(a, different);
        }

        fn strided(a: *const Args) callconv(.kernel) void {
            const i = thread.block() * thread.threads() + thread.index();
            if (i >= a.dims.count) return;
            const at = a.dims.offsets(&.{ 0, 1 }, i);
            const A = element.Any(c);
            const x = A.load(a.data[0] +% at[0], a.dtype[0], a.flags[0], 0);
            say(a, differ(x, A.load(a.data[1] +% at[1], a.dtype[1], a.flags[1], 0)));
        }
    };
}

pub fn exports() void {
    for (@typeInfo(Compute).@"enum".fields) |field| {
        const K = Kernels(@enumFromInt(field.value));
        export_kernel(&K.dense, "reduce_equal_" ++ field.name ++ "_dense", Args);
        export_kernel(&K.strided, "reduce_equal_" ++ field.name ++ "_strided", Args);
    }
}
