//! Device code of matrix products: a block computes a square tile of the result, in registers. Both factors pass
//! through shared memory in slices of the sum, in two buffers: the next slice is on its way while this one is
//! multiplied, and one barrier for each is enough.
const std = @import("std");
const abi = @import("abi");
const args = @import("matmul_args.zig");
const dt = @import("../core/dtype.zig");
const element = @import("element.zig");
const export_kernel = @import("pointwise.zig").export_kernel;
const thread = @import("thread.zig");

const Compute = abi.Compute;
const Product = args.Product;

/// Arithmetic of a compute type, as on the CPU.
pub fn Arithmetic(comptime c: Compute) type {
    return struct {
        pub const T = dt.Computed(c);
        pub const zero: T = if (dt.is_complex(T)) .{ .re = 0, .im = 0 } else 0;
        const one: T = if (dt.is_complex(T)) .{ .re = 1, .im = 0 } else 1;

        pub inline fn add(x: T, y: T) T {
            if (comptime dt.is_complex(T)) return .{ .re = x.re + y.re, .im = x.im + y.im };
            return if (comptime @typeInfo(T) == .float) x + y else x +% y;
        }

        inline fn multiply(x: T, y: T) T {
            if (comptime dt.is_complex(T)) {
                return .{ .re = x.re * y.re - x.im * y.im, .im = x.re * y.im + x.im * y.re };
            }
            return if (comptime @typeInfo(T) == .float) x * y else x *% y;
        }

        pub inline fn multiply_add(x: T, y: T, s: T) T {
            if (comptime dt.is_complex(T)) {
                const R = @FieldType(T, "re");
                return .{
                    .re = @mulAdd(R, -x.im, y.im, @mulAdd(R, x.re, y.re, s.re)),
                    .im = @mulAdd(R, x.im, y.re, @mulAdd(R, x.re, y.im, s.im)),
                };
            }
            return if (comptime @typeInfo(T) == .float) @mulAdd(T, x, y, s) else s +% x *% y;
        }

        inline fn is_one(x: T) bool {
            return if (comptime dt.is_complex(T)) x.re == 1 and x.im == 0 else x == 1;
        }

        pub inline fn number(words: *const [2]u64) T {
            const first = words[0];
            return switch (c) {
                .c128 => .{ .re = @bitCast(first), .im = @bitCast(words[1]) },
                .c64 => .{
                    .re = @bitCast(@as(u32, @truncate(first))),
                    .im = @bitCast(@as(u32, @truncate(first >> 32))),
                },
                else => @bitCast(@as(std.meta.Int(.unsigned, @bitSizeOf(T)), @truncate(first))),
            };
        }

        /// Of a complex64, as a word.
        pub inline fn bits(x: T) u64 {
            return @as(u64, @as(u32, @bitCast(x.im))) << 32 | @as(u32, @bitCast(x.re));
        }

        /// alpha * x, and beta * d when there is one.
        pub inline fn blend(a: *const Product, x: T, starts: bool, d: T) T {
            const alpha = number(&a.alpha);
            const scaled = if (is_one(alpha)) x else multiply(alpha, x);
            if (!starts) return scaled;
            const beta = number(&a.beta);
            return add(scaled, if (is_one(beta)) d else multiply(beta, d));
        }
    };
}

/// One element of the dtypes that a compute type is stored as.
pub fn One(comptime c: Compute) type {
    const dtypes = element.dense_dtypes(c);
    return struct {
        pub inline fn load(dtype: u32, at: u64) dt.Computed(c) {
            inline for (comptime dtypes[1..]) |d| {
                if (dtype == @intFromEnum(d)) return dt.load(d, c, pointer(d, at)[0]);
            }
            return dt.load(dtypes[0], c, pointer(dtypes[0], at)[0]);
        }
        pub inline fn store(dtype: u32, at: u64, x: dt.Computed(c)) void {
            inline for (comptime dtypes[1..]) |d| {
                if (dtype == @intFromEnum(d)) {
                    pointer(d, at)[0] = dt.store(d, c, x);
                    return;
                }
            }
            pointer(dtypes[0], at)[0] = dt.store(dtypes[0], c, x);
        }
        inline fn pointer(comptime d: abi.DType, at: u64) element.Pointer(dt.Stored(d)) {
            return @ptrFromInt(at);
        }
    };
}

/// Results that lie side by side in a row.
pub fn Output(comptime c: Compute, comptime wide: usize) type {
    const A = Arithmetic(c);
    return struct {
        /// Those that are inside of the matrix, with what beta multiplies.
        pub inline fn write(a: *const Product, given: [wide]A.T, row: u32, column: u32, z: u32) void {
            const count = a.n - column;
            var x = given;
            const d = moved(moved(moved(a.d.data, a.d.batch, z), a.d.row, row), a.d.column, column);
            inline for (&x, 0..) |*v, i| {
                const starts = a.starts != 0 and i < count;
                v.* = A.blend(a, v.*, starts, if (starts) One(c).load(a.d.dtype, moved(d, a.d.column, i)) else A.zero);
            }
            const to = moved(moved(moved(a.c.data, a.c.batch, z), a.c.row, row), a.c.column, column);
            if (a.c.whole != 0) return element.Several(c, wide).store(to, a.c.dtype, 0, x, count);
            inline for (x, 0..) |v, i| {
                if (i < count) One(c).store(a.c.dtype, moved(to, a.c.column, i), v);
            }
        }
    };
}

/// An address so many steps further.
pub inline fn moved(at: u64, step: i64, count: u32) u64 {
    return at +% @as(u64, @bitCast(step *% @as(i64, count)));
}

/// The tile of a block. Blocks that run at the same time take a square of tiles, and share what lies in the cache.
pub const Spot = struct {
    row: u32,
    column: u32,

    pub inline fn of(a: *const Product, block: u32) Spot {
        const band = 8;
        const whole = band * a.tile_columns;
        const first = block / whole * band;
        const rows = @min(band, a.tile_rows - first);
        const inside = block % whole;
        return .{ .row = first + inside % rows, .column = inside / rows };
    }
};

fn Tiles(comptime c: Compute, comptime groups: u32) type {
    const A = Arithmetic(c);
    const T = A.T;
    const shape: args.Shape = .of(@sizeOf(T), groups);
    const wide = shape.wide;
    const side = shape.side();
    const depth = shape.depth();
    // One piece more in a row: pieces that are stored across rows then go to different banks.
    const stride = side + wide;
    const mine = groups * wide;
    // As a vector's elements: complex numbers are words of their bits, or two floats.
    const Part = switch (c) {
        .c64 => u64,
        .c128 => f64,
        else => T,
    };
    const Piece = @Vector(16 / @sizeOf(Part), Part);
    const Slice = [depth][stride]T;
    const Values = [wide]T;

    return struct {
        var slices: [2][2]Slice align(16) addrspace(.shared) = undefined;

        inline fn get(p: Piece, comptime i: usize) T {
            return switch (c) {
                .c64 => A.number(&.{ p[i], 0 }),
                .c128 => .{ .re = p[2 * i], .im = p[2 * i + 1] },
                else => p[i],
            };
        }

        inline fn unpack(p: Piece) Values {
            var r: Values = undefined;
            inline for (&r, 0..) |*x, i| x.* = get(p, i);
            return r;
        }

        inline fn pack(values: *const Values) Piece {
            var r: Piece = undefined;
            inline for (values, 0..) |x, i| switch (c) {
                .c64 => r[i] = A.bits(x),
                .c128 => {
                    r[2 * i] = x.re;
                    r[2 * i + 1] = x.im;
                },
                else => r[i] = x,
            };
            return r;
        }

        /// Elements without gaps. They are written where they belong, one by one: what branches return as a whole
        /// would go by way of local memory.
        inline fn read_whole(r: *Values, dtype: u32, at: u64) void {
            const dtypes = comptime element.dense_dtypes(c);
            inline for (dtypes, 0..) |d, which| {
                if (dtypes.len == 1 or dtype == @intFromEnum(d)) {
                    if (which == 0) {
                        const raw = @as(element.Pointer(Piece), @ptrFromInt(at))[0];
                        inline for (r, 0..) |*x, i| x.* = get(raw, i);
                    } else {
                        const bits = @bitSizeOf(dt.Stored(d));
                        const raw = @as(element.Pointer(std.meta.Int(.unsigned, wide * bits)), @ptrFromInt(at))[0];
                        const Bits = std.meta.Int(.unsigned, bits);
                        inline for (r, 0..) |*x, i| {
                            x.* = dt.load(d, c, @bitCast(@as(Bits, @truncate(raw >> i * bits))));
                        }
                    }
                }
            }
        }

        inline fn piece(at: *addrspace(.shared) T) *addrspace(.shared) Piece {
            return @ptrCast(@alignCast(at));
        }

        /// How a thread brings its pieces of a factor from memory to shared memory.
        const Carrier = struct {
            at: u64,
            step: i64,
            ahead: i64,
            /// Elements of the factor from this thread's first on, outwards.
            left: i32,
            outer: u32,
            k: u32,
            dtype: u32,
            along: args.Along,
            whole: u32,

            inline fn of(f: *const args.Factor, first: u32, count: u32, batch: u32, k: u32) Carrier {
                const t = thread.index();
                const pieces = if (f.along == .inner) depth / wide else side / wide;
                const across = t / pieces;
                const inside = t % pieces * wide;
                const outer = if (f.along == .inner) across else inside;
                const inner = if (f.along == .inner) inside else across;
                const start = moved(moved(f.data, f.batch, batch), f.outer, first + outer);
                return .{
                    .at = moved(start, f.inner, k + inner),
                    .step = if (f.along == .inner) f.inner else f.outer,
                    .ahead = f.inner * depth,
                    .left = @as(i32, @intCast(count)) - @as(i32, @intCast(first + outer)),
                    .outer = outer,
                    .k = inner,
                    .dtype = f.dtype,
                    .along = f.along,
                    .whole = f.whole,
                };
            }

            /// The next piece; zeros where the factor ends. `k` of the sum are left.
            inline fn fetch(s: *Carrier, k: i32) Values {
                const inner = k - @as(i32, @intCast(s.k));
                const count = if (s.along == .inner)
                    (if (s.left > 0) inner else 0)
                else
                    (if (inner > 0) s.left else 0);
                const from = s.at;
                s.at +%= @bitCast(s.ahead);
                var r: Values = @splat(A.zero);
                if (s.whole != 0 and count >= wide) read_whole(&r, s.dtype, from) else {
                    inline for (&r, 0..) |*x, i| {
                        if (i < count) x.* = One(c).load(s.dtype, moved(from, s.step, i));
                    }
                }
                return r;
            }

            inline fn put(s: *const Carrier, to: *addrspace(.shared) Slice, x: *const Values) void {
                if (s.along == .inner) {
                    inline for (x, 0..) |v, i| to[s.k + i][s.outer] = v;
                } else piece(&to[s.k][s.outer]).* = pack(x);
            }
        };

        /// The part of a tile's rows and columns that is a thread's: a warp has 4 by 8 of the 16 by 16.
        inline fn row_of(t: u32) u32 {
            return t / 64 * 4 + t % 32 / 8;
        }
        inline fn column_of(t: u32) u32 {
            return t / 32 % 2 * 8 + t % 8;
        }

        inline fn fragment(row: *addrspace(.shared) [stride]T, at: u32) [mine]T {
            var r: [mine]T = undefined;
            inline for (0..groups) |g| r[g * wide ..][0..wide].* = unpack(piece(&row[(16 * g + at) * wide]).*);
            return r;
        }

        fn run(a: *const Product) callconv(.kernel) void {
            @setEvalBranchQuota(100_000);
            const t = thread.index();
            const spot: Spot = .of(a, thread.block());
            const z = thread.block_z();
            const batch = z / a.splits;
            const first = z % a.splits * a.k_each;
            var left: i32 = @intCast(@min(a.k_each, a.k - first));
            var from_a: Carrier = .of(&a.a, spot.row * side, a.m, batch, first);
            var from_b: Carrier = .of(&a.b, spot.column * side, a.n, batch, first);
            var sums: [mine][mine]T = @splat(@splat(A.zero));
            const row = row_of(t);
            const column = column_of(t);

            from_a.put(&slices[0][0], &from_a.fetch(left));
            from_b.put(&slices[0][1], &from_b.fetch(left));
            thread.barrier();
            var now: u32 = 0;
            while (left > 0) {
                left -= depth;
                const next_a = from_a.fetch(left);
                const next_b = from_b.fetch(left);
                inline for (0..depth) |k| {
                    const x = fragment(&slices[now][0][k], row);
                    const y = fragment(&slices[now][1][k], column);
                    inline for (0..mine) |i| inline for (0..mine) |j| {
                        sums[i][j] = A.multiply_add(x[i], y[j], sums[i][j]);
                    };
                }
                now ^= 1;
                from_a.put(&slices[now][0], &next_a);
                from_b.put(&slices[now][1], &next_b);
                thread.barrier();
            }
            finish(a, &sums, row, column, spot, z);
        }

        /// Through shared memory a row of all threads at a time, so that the result is written in whole rows.
        inline fn finish(a: *const Product, sums: *[mine][mine]T, row: u32, column: u32, spot: Spot, z: u32) void {
            const staged: *addrspace(.shared) [16][side]T = @ptrCast(&slices);
            for (0..mine) |i| {
                inline for (0..mine) |which| {
                    if (i == which) inline for (0..groups) |g| {
                        const at = &staged[row][(16 * g + column) * wide];
                        piece(at).* = pack(sums[which][g * wide ..][0..wide]);
                    };
                }
                thread.barrier();
                const above = @as(u32, @intCast(i)) / wide * 16;
                for (0..groups) |u| {
                    const v = thread.index() + @as(u32, @intCast(u)) * args.threads;
                    const r = v / (side / wide);
                    const q = v % (side / wide) * wide;
                    const to_row = spot.row * side + (above + r) * wide + @as(u32, @intCast(i)) % wide;
                    const to_column = spot.column * side + q;
                    if (to_row >= a.m or to_column >= a.n) continue;
                    Output(c, wide).write(a, unpack(piece(&staged[r][q]).*), to_row, to_column, z);
                }
                thread.barrier();
            }
        }
    };
}

/// Adds up the results of those that shared a sum, `a` of the arguments, always in one order.
fn Combine(comptime c: Compute) type {
    const A = Arithmetic(c);
    return struct {
        fn run(a: *const Product) callconv(.kernel) void {
            const i = thread.block() * thread.threads() + thread.index();
            const z = thread.block_z();
            if (i >= a.m * a.n) return;
            var from = moved(moved(a.a.data, a.a.batch, z), @sizeOf(A.T), i);
            var sum = A.zero;
            for (0..a.splits) |_| {
                sum = A.add(sum, One(c).load(a.a.dtype, from));
                from +%= @bitCast(a.a.inner);
            }
            const row = i / a.n;
            const column = i % a.n;
            const d = moved(moved(moved(a.d.data, a.d.batch, z), a.d.row, row), a.d.column, column);
            const starts = a.starts != 0;
            const x = A.blend(a, sum, starts, if (starts) One(c).load(a.d.dtype, d) else A.zero);
            const to = moved(moved(moved(a.c.data, a.c.batch, z), a.c.row, row), a.c.column, column);
            One(c).store(a.c.dtype, to, x);
        }
    };
}

pub const computes = [_]Compute{ .f32, .f64, .i32, .i64, .c64, .c128 };

pub fn exports() void {
    for (computes) |c| {
        const name = "matmul_gemm_" ++ @tagName(c);
        export_kernel(&Tiles(c, 2).run, name ++ "_large", Product);
        export_kernel(&Tiles(c, 1).run, name ++ "_small", Product);
        export_kernel(&Combine(c).run, name ++ "_combine", Product);
    }
}
