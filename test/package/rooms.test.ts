// A program pays for what it uses: the source files that a program of one kind evaluates with the built file.
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { planCells, SMALLEST } from "../../scripts/bundle/cells.ts";
import { type Parts, readParts, readProfile, writeNoting } from "../../scripts/bundle/parts.ts";
import { libraryFile, root } from "../../scripts/toolchain.mjs";

const folder = join(root, "build", "bundle");
const core = join(folder, "rooms.js");
let parts: Parts;

beforeAll(() => {
  parts = readParts(folder);
  writeNoting({ flat: parts.flat, plan: planCells(parts.flat, readProfile()) }, core);
}, 60_000);

/** The files that a program evaluates, with those that are evaluated in any case. */
function evaluated(program: string): string[] {
  const text = `
    const get = require(${JSON.stringify(core)});
    const z = new Proxy({}, { get: (_, name) => get(name) });
    ${program}
    console.log(JSON.stringify([...globalThis.evaluated ?? []]));`;
  // In a process of tests importing the library teaches the matchers.
  const { NODE_ENV: _, ...rest } = process.env;
  const env = { ...rest, ZENSOR_LIBRARY: libraryFile() };
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", text], { env });
  if (exitCode !== 0) throw new Error(stderr.toString());
  const atImport = Object.entries(readProfile().evaluated).flatMap(([file, by]) => (by === SMALLEST ? [file] : []));
  const files = [...(JSON.parse(stdout.toString()) as string[]), ...atImport];
  // This one only looks whether tests are run.
  return [...new Set(files)].filter((file) => file !== "src/testing/runner.ts").sort();
}

const within = (files: readonly string[], ...rooms: string[]) =>
  files.filter((file) => rooms.some((room) => file.startsWith(`src/${room}/`)));

const UPPER = ["nn", "cuda", "distributions", "func", "profiler", "testing"];

test("importing evaluates no room above tensors", () => {
  expect(within(evaluated(""), ...UPPER, "tensordict", "io")).toEqual([]);
});

test("adding tensors evaluates no room above them, and nothing of gradients' formulas", () => {
  const files = evaluated("z.tensor([1, 2]).add(z.ones([2])).sum().item();");
  expect(within(files, ...UPPER, "tensordict", "io")).toEqual([]);
  expect(files.filter((file) => /autograd\/(formulas|composites)/.test(file))).toEqual([]);
});

test("a TensorDict evaluates no modules, no CUDA and no format", () => {
  const files = evaluated(`
    const td = new z.TensorDict({ a: z.ones([4, 3]), n: { b: z.zeros([4]) } }, [4]);
    td.set("c", td.get("a").add(1));
    td.at(0).get(["n", "b"]);
    z.stack([td, td]).reshape([8]).keys();`);
  expect(within(files, ...UPPER)).toEqual([]);
  const formats = within(files, "io").filter((file) => !/^src\/io\/(base|disk)\//.test(file));
  expect(formats).toEqual([]);
});

test("saving one format evaluates no other", () => {
  const path = join(folder, "rooms.safetensors");
  const files = evaluated(`z.save({ w: z.ones([2]) }, ${JSON.stringify(path)}); z.load(${JSON.stringify(path)});`);
  expect(within(files, "io/hdf5", "io/gguf", "io/parquet", "io/arrow", "io/numpy", "io/snapshot", ...UPPER)).toEqual(
    [],
  );
});
