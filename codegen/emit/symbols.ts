/** generated/symbols.ts, generated/kernels.ts and generated/ops.zig: the export table, seen from both sides. */
import type { Model } from "../model/load.ts";
import { abiHash } from "./abi.ts";

export function symbolOf(path: string): string {
  return `zs_k_${path.replace(".", "_")}`;
}

/** Native functions that are opened together, when the first of them is called. */
const LATE = { FILES: /^zs_io_/, CUDA: /^zs_cuda_/ };

function nativeLines(natives: Model["natives"]): string[] {
  return natives.flatMap((n) => [
    `  /** ${n.doc} */`,
    `  ${n.name}: { args: ${JSON.stringify(n.args)}, returns: "${n.returns}" },`,
  ]);
}

export function emitSymbols(model: Model): string {
  const late = Object.entries(LATE).map(([name, names]) => ({
    name,
    rows: model.natives.filter((n) => names.test(n.name)),
  }));
  const isLate = new Set(late.flatMap((one) => one.rows));
  const out = ["/** What is opened with the library. */", "export const NATIVES = {"];
  out.push(...nativeLines(model.natives.filter((n) => !isLate.has(n))), "} as const;", "");
  for (const { name, rows } of late) {
    const what = `Those for ${name === "CUDA" ? name : name.toLowerCase()}: opened when one is first called.`;
    out.push(`/** ${what} */`, `export const ${name} = {`, ...nativeLines(rows), "} as const;", "");
  }
  out.push("const KERNELS = {");
  for (const k of model.kernels) out.push(`  ${symbolOf(k)}: { args: ["f64"], returns: "i32" },`);
  for (const f of model.fast) {
    const args = JSON.stringify(["u32", ...new Array(f.arity + 1).fill("ptr"), "f64"]);
    out.push(`  ${symbolOf(f.path)}_fast: { args: ${args}, returns: "i32" },`);
  }
  out.push("} as const;", "");
  out.push("/** All that the library exports. */");
  out.push("export const SYMBOLS = /* @__PURE__ */ Object.assign({}, NATIVES, FILES, CUDA, KERNELS);", "");
  return out.join("\n");
}

export function emitKernels(model: Model): string {
  const out = ['import { Kernel } from "../src/dispatch/kernel.ts";', ""];
  const fast = new Map(model.fast.map((f) => [f.path, f]));
  out.push(
    "// Kernels of the native library by their paths: names of the module, so that none is looked up in an object.",
  );
  const names = model.kernels.map((path) => path.replace(".", "_"));
  for (const [id, path] of model.kernels.entries()) {
    const f = fast.get(path);
    let mask = 0;
    for (const c of f?.computes ?? []) mask |= 1 << model.computes.indexOf(c);
    out.push(`export const ${names[id]} = new Kernel(${id}, "${path}", ${f?.arity ?? 0}, ${mask});`);
  }
  out.push(
    "",
    "/** Every one of them. */",
    "export const K = {",
    ...names.map((name) => `  ${name},`),
    "} as const;",
    "",
  );
  return out.join("\n");
}

export function emitOpsZig(model: Model): string {
  // Not in abi.zig, which every object reads: a kernel more is no reason to compile the others again.
  const out = [
    "/// Equal on both sides, or the library is not loaded.",
    `pub const hash: [:0]const u8 = "${abiHash(model)}";`,
    "",
  ];
  out.push("pub const Kernel = struct {");
  out.push("    family: []const u8,", "    name: []const u8,", "    symbol: []const u8,");
  out.push("    /// Whether CUDA devices have it.", "    cuda: bool,", "};", "");
  const onCuda = new Set(model.ops.flatMap((op) => op.kernels?.cuda ?? []));
  const row = (path: string): string => {
    const [family, name] = path.split(".");
    const places = `.family = "${family}", .name = "${name}", .symbol = "${symbolOf(path)}"`;
    return `    .{ ${places}, .cuda = ${onCuda.has(path)} },`;
  };
  out.push("/// Every kernel that the schema names.", "pub const kernels = [_]Kernel{");
  for (const path of model.kernels) out.push(row(path));
  out.push("};", "", "pub const Fast = struct {");
  out.push("    family: []const u8,", "    name: []const u8,", "    symbol: []const u8,", "    arity: usize,");
  out.push("    computes: []const []const u8,", "};", "");
  out.push("/// Kernels that also take plain addresses and a count.", "pub const fast = [_]Fast{");
  for (const f of model.fast) {
    const [family, name] = f.path.split(".");
    const list = f.computes.map((c) => `"${c}"`).join(", ");
    out.push(
      "    .{",
      `        .family = "${family}",`,
      `        .name = "${name}",`,
      `        .symbol = "${symbolOf(f.path)}_fast",`,
      `        .arity = ${f.arity},`,
      `        .computes = ${f.computes.length === 1 ? `&.{${list}}` : `&.{ ${list} }`},`,
      "    },",
    );
  }
  out.push("};", "");
  return out.join("\n");
}
