/**
 * What operators that a program does not use cost it: writes the library again with every entry of the schema twice,
 * the second under a made-up name, and builds it there.
 *   bun codegen/trial.ts <folder>
 * What an import costs in that folder and here tells the difference.
 */
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { artefactsOf } from "./main.ts";
import { loadModel, type Model, type Op } from "./model/load.ts";
import type { TextSchema } from "./model/types.ts";

const root = join(import.meta.dir, "..");

/** An entry under another name; what computes it and its formulas stay. */
function twinOf(op: Op): Op {
  const twin = (path: string) => `${path}_twin`;
  return {
    ...op,
    name: twin(op.name),
    key: twin(op.key),
    fn: twin(op.fn),
    publicName: `${op.publicName}Twin`,
    aliases: op.aliases?.map((name) => `${name}Twin`),
    also: op.also?.map(twin),
    node: op.node === undefined || op.node === "NotImplemented" ? op.node : op.node.replace(/(?=Backward|$)/, "Twin"),
    kernels: op.kernels && { ...op.kernels, cpu: op.kernels.cpu.map(twin) },
    refuses: op.refuses?.map((one) => ({ ...one, kernel: one.kernel && twin(one.kernel) })),
  } as Op;
}

/** The model with each operator, each kernel of one and each text twice. */
export function doubled(model: Model): Model {
  const kernels = model.kernels.map((path) => `${path}_twin`);
  const fast = model.fast.map((one) => ({ ...one, path: `${one.path}_twin` }));
  const texts = model.texts.map((one): TextSchema => ({ ...one, name: `${one.name}Twin` }));
  return {
    ...model,
    ops: [...model.ops, ...model.ops.map(twinOf)],
    kernels: [...model.kernels, ...kernels],
    fast: [...model.fast, ...fast],
    texts: [...model.texts, ...texts],
  };
}

/** What the native library has to agree with, and types. */
const KEPT = /^abi|^options|\.(zig|md|json)$/;

function main(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "build", "lib"), { recursive: true });
  for (const name of ["src", "generated", "scripts", "test", "package.json", "tsconfig.json", "bunfig.toml"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  for (const name of ["node_modules", "zig", "codegen", join("build", "lib", "libzensor.so")]) {
    if (existsSync(join(root, name))) symlinkSync(join(root, name), join(folder, name));
  }
  for (const [name, text] of Object.entries(artefactsOf(doubled(loadModel())))) {
    if (!KEPT.test(name)) writeFileSync(join(folder, "generated", name), text);
  }
  const built = Bun.spawnSync([process.execPath, join(folder, "scripts", "bundle", "main.ts")], { stderr: "inherit" });
  if (built.exitCode !== 0) process.exit(built.exitCode);
}

if (import.meta.main) main(resolve(process.argv[2] ?? join(root, "build", "doubled")));
