//! Builds libzensor: one object for each family of kernels and instruction set, one root that chooses among them.
const std = @import("std");
const families = @import("src/cpu/families.zig");

const Variant = struct { name: []const u8, lanes: u16, model: *const std.Target.Cpu.Model };

const x86_variants = [_]Variant{
    .{ .name = "v2", .lanes = 4, .model = &std.Target.x86.cpu.x86_64_v2 },
    .{ .name = "v3", .lanes = 8, .model = &std.Target.x86.cpu.x86_64_v3 },
    .{ .name = "v4", .lanes = 16, .model = &std.Target.x86.cpu.x86_64_v4 },
};
const arm_variants = [_]Variant{
    .{ .name = "neon", .lanes = 4, .model = &std.Target.aarch64.cpu.generic },
};

fn variants_of(arch: std.Target.Cpu.Arch) []const Variant {
    return switch (arch) {
        .x86_64 => &x86_variants,
        .aarch64 => &arm_variants,
        else => @panic("zensor is built for x86_64 and aarch64"),
    };
}

fn add_generated(b: *std.Build, m: *std.Build.Module, name: []const u8) void {
    const file = b.createModule(.{
        .root_source_file = b.path(b.fmt("../generated/{s}.zig", .{name})),
        .target = m.resolved_target,
        .optimize = m.optimize,
    });
    m.addImport(name, file);
}

/// Lets a module know all kernels by name, and the numbers of all families. Only what chooses among them may: what
/// knows them is compiled again for each one more.
fn add_names(b: *std.Build, m: *std.Build.Module) *std.Build.Module {
    add_generated(b, m, "ops");
    for (families.with_numbers ++ families.root_numbers) |name| add_generated(b, m, b.fmt("abi_{s}", .{name}));
    return m;
}

/// Lets an object of a family know the family's own numbers.
fn add_numbers(b: *std.Build, m: *std.Build.Module, family: []const u8) *std.Build.Module {
    for (families.with_numbers) |name| {
        if (std.mem.eql(u8, name, family)) add_generated(b, m, b.fmt("abi_{s}", .{name}));
    }
    return m;
}

/// On Linux they are for exceptions, of which there are none, and for names that a stripped library has not.
fn unwind_tables(optimize: std.builtin.OptimizeMode, os: ?std.Target.Os.Tag) ?std.builtin.UnwindTables {
    return if (optimize != .Debug and os == .linux) .none else null;
}

fn module(
    b: *std.Build,
    path: []const u8,
    query: std.Target.Query,
    optimize: std.builtin.OptimizeMode,
    variant: Variant,
    only: ?[]const u8,
) *std.Build.Module {
    const target = b.resolveTargetQuery(query);
    const m = b.createModule(.{
        .root_source_file = b.path(path),
        .target = target,
        .optimize = optimize,
        .link_libc = true,
        .strip = optimize != .Debug,
        .unwind_tables = unwind_tables(optimize, query.os_tag),
        .pic = true,
    });
    add_generated(b, m, "abi");
    const cfg = b.addOptions();
    cfg.addOption([]const u8, "variant", variant.name);
    cfg.addOption(u16, "lanes", variant.lanes);
    cfg.addOption(?[]const u8, "only", only);
    m.addOptions("cfg", cfg);
    return m;
}

pub fn build(b: *std.Build) void {
    const optimize = b.option(std.builtin.OptimizeMode, "optimize", "Default: ReleaseFast") orelse .ReleaseFast;
    var query = b.standardTargetOptionsQueryOnly(.{});
    const arch = query.cpu_arch orelse b.graph.host.result.cpu.arch;
    const os = query.os_tag orelse b.graph.host.result.os.tag;
    query.cpu_arch = arch;
    query.os_tag = os;
    if (os == .linux and query.abi == null) {
        query.abi = if (b.graph.host.result.abi.isMusl()) .musl else .gnu;
    }
    // An old C library keeps the build usable on every distribution of the last decade.
    if (os == .linux and query.abi == .gnu) query.glibc_version = .{ .major = 2, .minor = 17, .patch = 0 };
    const variants = variants_of(arch);
    // One variant builds three times faster; such a library claims no other.
    const asked = b.option([]const u8, "only", "Build one variant: v2, v3, v4, or native for this machine's best");
    const native = if (asked) |name| std.mem.eql(u8, name, "native") else false;
    const only = if (native) variants[best_variant(b.graph.host.result.cpu)].name else asked;
    query.cpu_model = .{ .explicit = variants[0].model };
    const empty = b.createModule(.{
        .target = b.resolveTargetQuery(query),
        .optimize = optimize,
        .link_libc = true,
        .strip = optimize != .Debug,
        .unwind_tables = unwind_tables(optimize, os),
        .pic = true,
    });
    const lib = b.addLibrary(.{ .name = "zensor", .linkage = .dynamic, .root_module = empty, .use_llvm = true });
    // An object of its own, so that it compiles beside the others and the library only has to be linked.
    const chooser = add_names(b, module(b, "src/root.zig", query, optimize, variants[0], only));
    const root = add_object(b, lib.root_module, "root", chooser);
    if (os == .windows) root.dll_export_fns = true;
    const gpu = module(b, "src/ptx_archive.zig", query, optimize, variants[0], only);
    const with_gpu = b.option(bool, "gpu", "Build the GPU kernels (default: true)") orelse true;
    // Releases are small, and a library for one machine is built quickly.
    if (add_ptx(b, gpu, with_gpu, if (only == null) 19 else 3)) {
        const unpack = module(b, "src/ptx_unpack.zig", query, optimize, variants[0], only);
        _ = add_object(b, lib.root_module, "ptx_unpack", unpack);
    }
    _ = add_object(b, lib.root_module, "ptx_archive", gpu);
    const plain: Variant = .{ .name = families.baseline, .lanes = variants[0].lanes, .model = variants[0].model };
    for (families.plain) |family| add_kernels(b, lib.root_module, family, plain, query, optimize);
    for (variants) |v| {
        if (only) |wanted| if (!std.mem.eql(u8, wanted, v.name)) continue;
        for (families.tuned ++ .{"pointwise"}) |family| add_kernels(b, lib.root_module, family, v, query, optimize);
    }
    b.installArtifact(lib);
    add_tests(b, query, variants);
}

fn add_object(
    b: *std.Build,
    library: *std.Build.Module,
    name: []const u8,
    root: *std.Build.Module,
) *std.Build.Step.Compile {
    const object = b.addObject(.{ .name = name, .root_module = root, .use_llvm = true });
    object.bundle_compiler_rt = false;
    library.addObject(object);
    return object;
}

/// One object for a family and an instruction set.
fn add_kernels(
    b: *std.Build,
    library: *std.Build.Module,
    family: []const u8,
    variant: Variant,
    query: std.Target.Query,
    optimize: std.builtin.OptimizeMode,
) void {
    var q = query;
    q.cpu_model = .{ .explicit = variant.model };
    const path = b.fmt("src/kernels_{s}.zig", .{family});
    const name = b.fmt("kernels_{s}_{s}", .{ family, variant.name });
    _ = add_object(b, library, name, add_numbers(b, module(b, path, q, optimize, variant, null), family));
}

/// The place of the widest variant that a processor can run, as isa.zig tells it when the library is loaded.
fn best_variant(cpu: std.Target.Cpu) usize {
    if (cpu.arch != .x86_64) return 0;
    const has = std.Target.x86.featureSetHasAll;
    if (!has(cpu.features, .{ .avx2, .fma, .bmi2, .f16c })) return 0;
    return if (has(cpu.features, .{ .avx512f, .avx512bw, .avx512dq, .avx512vl, .avx512cd })) 2 else 1;
}

/// Families with kernels for GPUs; each has a root, src/ptx_<family>.zig.
const gpu_families = [_][]const u8{
    "activation",
    "unary",
    "binary",
    "ternary",
    "reduce",
    "softmax",
    "scan",
    "index",
    "index_mask",
    "search",
    "sort",
    "loss",
    "matmul",
    "convolution",
    "foreach",
    "normalization",
    "pooling",
    "sampling",
    "random",
    "range",
};

/// Those of one generation: from capability 8.0 on, and of 9.0 alone.
const newer_families = [_][]const u8{ "tensor_core", "tensor_group" };
const newer_models = [_]*const std.Target.Cpu.Model{ &std.Target.nvptx.cpu.sm_80, &std.Target.nvptx.cpu.sm_90a };

/// GPU kernels from the bodies of the CPU kernels, each family packed as a file that the library holds: `zig build ptx`
/// also installs their texts, share/ptx/<family>.ptx. Code for the oldest GPU that is served runs on all newer ones, as
/// the driver translates it when it loads. Bun runs two steps of this; without it the library has no GPU kernels.
/// Tells whether it has some.
fn add_ptx(b: *std.Build, archive: *std.Build.Module, wanted: bool, compression: u8) bool {
    const step = b.step("ptx", "Compile the GPU kernels to PTX");
    const bun = if (wanted) b.findProgram(&.{"bun"}, &.{}) catch null else null;
    const families_of_ptx: []const []const u8 = if (bun == null) &.{} else &(gpu_families ++ newer_families);
    const names = b.addOptions();
    names.addOption([]const []const u8, "families", families_of_ptx);
    archive.addOptions("ptx", names);
    for (families_of_ptx, 0..) |family, i| {
        const models = std.Target.nvptx.cpu;
        const model = if (i < gpu_families.len) &models.sm_75 else newer_models[i - gpu_families.len];
        const text = ptx_of(b, bun.?, family, model);
        step.dependOn(&b.addInstallFileWithDir(text, .prefix, b.fmt("share/ptx/{s}.ptx", .{family})).step);
        const pack = b.addSystemCommand(&.{bun.?});
        pack.addFileArg(b.path("../scripts/ptx/pack.ts"));
        pack.addFileArg(text);
        pack.addArg(b.fmt("{d}", .{compression}));
        const packed_family = pack.addOutputFileArg(b.fmt("{s}.bin", .{family}));
        archive.addAnonymousImport(b.fmt("ptx_{s}", .{family}), .{ .root_source_file = packed_family });
    }
    return families_of_ptx.len > 0;
}

fn ptx_of(
    b: *std.Build,
    bun: []const u8,
    family: []const u8,
    model: *const std.Target.Cpu.Model,
) std.Build.LazyPath {
    const query: std.Target.Query = .{
        .cpu_arch = .nvptx64,
        .os_tag = .cuda,
        .cpu_model = .{ .explicit = model },
    };
    const variant: Variant = .{ .name = "ptx", .lanes = 1, .model = model };
    const plain = module(b, b.fmt("src/ptx_{s}.zig", .{family}), query, .ReleaseFast, variant, null);
    const root = add_numbers(b, plain, family);
    root.link_libc = false;
    root.pic = null;
    const kernels = b.addObject(.{ .name = b.fmt("ptx_{s}", .{family}), .root_module = root, .use_llvm = true });
    const rename = b.addSystemCommand(&.{bun});
    rename.addFileArg(b.path("../scripts/ptx/name-kernels.ts"));
    rename.addFileArg(kernels.getEmittedLlvmIr());
    const named = rename.addOutputFileArg("kernels.ll");
    const compile = b.addSystemCommand(&.{ b.graph.zig_exe, "clang", "-cc1", "-triple", "nvptx64-unknown-cuda" });
    // Zig has run LLVM's passes already: a second time makes the text 2 % smaller, and ptxas no better code.
    compile.addArgs(&.{ "-Wno-override-module", "-target-cpu", model.name, "-O1", "-disable-llvm-passes" });
    compile.addArgs(&.{ "-S", "-x", "ir", "-o" });
    const ptx = compile.addOutputFileArg(b.fmt("{s}.ptx", .{family}));
    compile.addFileArg(named);
    return ptx;
}

/// Unit tests run with safety on, for the baseline and for the best set that the machine has.
fn add_tests(b: *std.Build, query: std.Target.Query, variants: []const Variant) void {
    const step = b.step("test", "Run the Zig unit tests");
    const tests = b.addTest(.{
        .root_module = add_names(b, module(b, "src/tests.zig", query, .ReleaseSafe, variants[0], null)),
        .use_llvm = true,
    });
    step.dependOn(&b.addRunArtifact(tests).step);
}
