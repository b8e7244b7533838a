// `import "zensor"`: the built file exports what the sources export, and is used only while no source is newer.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildBundle } from "../../scripts/toolchain.mjs";

const root = join(import.meta.dir, "..", "..");
const place = mkdtempSync(join(tmpdir(), "zensor-entry-"));
beforeAll(() => {
  buildBundle();
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

function printed(file: string): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, file], { cwd: place });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString().trim();
}

/** A program that tells what a module exports: names, kinds, names of classes, and one computed text. */
function inventory(name: string, module: string): string {
  const file = join(place, `${name}.ts`);
  writeFileSync(
    file,
    `import * as all from ${JSON.stringify(module)};
    const names = all as Record<string, any>;
    const isClass = (v: any) => typeof v === "function" && /^class\\b/.test(Function.prototype.toString.call(v));
    const kind = (v: any) => (isClass(v) ? "class " + v.name : typeof v);
    // What stands in for a class or a namespace is one once it was asked something.
    const list = (x: any) => Object.keys(x).map((k) => (x[k]?.name, [k, kind(x[k])]));
    const rows = [list(names), list(names.nn), list(names.errors), list(names.nn.functional)].map((r) => r.sort());
    console.log(JSON.stringify([rows, String(names.tensor([1, 2]).add(1)), String(new names.nn.Linear(2, 1))]));`,
  );
  return printed(file);
}

test("the built file exports what the sources export", () => {
  const built = inventory("built", join(root, "build", "lib", "zensor.mjs"));
  const sources = inventory("sources", join(root, "src", "index.ts"));
  expect(JSON.parse(built)).toEqual(JSON.parse(sources));
  expect(JSON.parse(built)[1]).toBe("tensor([2., 3.])");
});

test("a source that is newer than the built file is what is loaded", () => {
  const copy = join(place, "package");
  for (const folder of ["src/deep", "generated", "build/lib"]) mkdirSync(join(copy, folder), { recursive: true });
  for (const file of ["entry.cjs", "bundle.cjs", "needs-bun.cjs"])
    cpSync(join(root, "src", file), join(copy, "src", file));
  const write = (file: string, text: string, seconds: number): void => {
    writeFileSync(join(copy, file), text);
    utimesSync(join(copy, file), seconds, seconds);
  };
  for (const file of ["src/entry.cjs", "src/bundle.cjs", "src/needs-bun.cjs"]) utimesSync(join(copy, file), 1000, 1000);
  write("src/index.ts", 'export const from = "sources";', 1000);
  write("src/deep/part.ts", "", 1000);
  write("generated/part.ts", "", 1000);
  write("build/lib/zensor.compiled.js", "module.exports = () => {};", 2000);
  write("build/lib/zensor.mjs", 'export const from = "built";', 2000);
  const program = join(place, "from.ts");
  writeFileSync(program, `import { from } from ${JSON.stringify(join(copy, "src", "entry.cjs"))}; console.log(from);`);
  expect(printed(program)).toBe("built");
  for (const file of ["src/deep/part.ts", "generated/part.ts", "src/index.ts"]) {
    utimesSync(join(copy, file), 3000, 3000);
    expect(printed(program), file).toBe("sources");
    utimesSync(join(copy, file), 1000, 1000);
  }
  rmSync(join(copy, "build"), { recursive: true });
  expect(printed(program)).toBe("sources");
});
