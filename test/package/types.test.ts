// The declarations of the package, as one file: programs compiled against them in five configurations.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeTypes } from "../../scripts/pack/types.ts";
import { root } from "../../scripts/toolchain.mjs";
import { COMPILER, CONFIGS, PROGRAMS } from "./typed/configs.ts";

const project = mkdtempSync(join(tmpdir(), "zensor-types-"));
const installed = join(project, "node_modules", "zensor");
const declarations = join(installed, "zensor.d.ts");

/** What the compiler says of these files; nothing when they are right. */
function compile(files: readonly string[], extra: object): string {
  const compilerOptions = { ...COMPILER, ...extra };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  const tsc = join(root, "node_modules", "typescript", "lib", "tsc.js");
  const { stdout, stderr } = Bun.spawnSync([process.execPath, tsc, "-p", "tsconfig.json"], { cwd: project });
  return `${stdout}${stderr}`;
}

beforeAll(async () => {
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, "package.json"), JSON.stringify({ name: "zensor", types: "./zensor.d.ts" }));
  await writeTypes(declarations);
  for (const name of [...PROGRAMS, "exact.mts"]) cpSync(join(import.meta.dir, "typed", name), join(project, name));
}, 120_000);

afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("programs compile", () => {
  for (const [name, extra] of Object.entries(CONFIGS)) {
    const exact = extra.exactOptionalPropertyTypes === true;
    test(name, () => expect(compile(exact ? [...PROGRAMS, "exact.mts"] : PROGRAMS, extra)).toBe(""), 60_000);
  }

  test("and wrong ones do not", () => {
    writeFileSync(join(project, "wrong.mts"), 'import { ones } from "zensor";\nexport const x: string = ones(2);\n');
    expect(compile(["wrong.mts"], {})).toContain("is not assignable to type 'string'");
    // Without exact options undefined is what is not given: each line that expects an error is one.
    const lines = readFileSync(join(project, "exact.mts"), "utf8").match(/@ts-expect-error/g) ?? [];
    const said = compile(["exact.mts"], {}).match(/Unused '@ts-expect-error'/g) ?? [];
    expect(said.length).toBe(lines.length);
  }, 60_000);
});

test("no member is lost on the way into one file", () => {
  const text = readFileSync(declarations, "utf8");
  expect(text.match(/^declare module.*|.*(?:from '|import\(["'])\..*/gm)).toBe(null);
});
