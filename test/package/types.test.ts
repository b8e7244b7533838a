// The declarations of the package, as one file: programs compiled against them in five configurations.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeTypes } from "../../scripts/pack/types.ts";
import { tsc, tscInJavaScript } from "../../scripts/toolchain.mjs";
import { CALLS, removeFiles } from "../api/unknown-words.ts";
import { undeclaredValues } from "./declared-values.ts";
import { declaredWords } from "./declared-words.ts";
import { openTypes, REASONS } from "./open-types.ts";
import { COMPILER, CONFIGS, PROGRAMS } from "./typed/configs.ts";

const project = mkdtempSync(join(tmpdir(), "zensor-types-"));
const installed = join(project, "node_modules", "zensor");
const declarations = join(installed, "zensor.d.ts");

/** What users have: the present compiler, and the last one written in JavaScript. */
const COMPILERS = { "TypeScript 7": tsc, "TypeScript 6": tscInJavaScript };

/** The configuration in which both compilers are asked: the strictest one. */
const OF_BOTH = "with unchecked indices and exact options";

/** What the compiler says of these files, nothing when they are right, and the processor's seconds that it took. */
function compile(files: readonly string[], extra: object, compiler = tsc): { said: string; seconds: number } {
  const compilerOptions = { ...COMPILER, ...extra };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  const child = Bun.spawnSync([process.execPath, compiler, "-p", "tsconfig.json"], { cwd: project });
  return { said: `${child.stdout}${child.stderr}`, seconds: Number(child.resourceUsage.cpuTime.total) / 1e6 };
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
    const files = extra.exactOptionalPropertyTypes === true ? [...PROGRAMS, "exact.mts"] : PROGRAMS;
    // The older compiler takes half a minute of a slow machine for what differs in the settings only.
    const compilers = name === OF_BOTH ? Object.entries(COMPILERS) : [["TypeScript 7", tsc] as const];
    for (const [version, compiler] of compilers)
      test(`${name}, ${version}`, () => expect(compile(files, extra, compiler).said).toBe(""), 60_000);
  }

  test("and in a moment: 200 lines", () => {
    const lines = readFileSync(join(project, "training.mts"), "utf8").split("\n").length - 1;
    expect(lines).toBeGreaterThanOrEqual(200);
    for (const [version, compiler] of Object.entries(COMPILERS))
      for (const skipLibCheck of version === "TypeScript 7" ? [true, false] : [true]) {
        const { said, seconds } = compile(["training.mts"], { skipLibCheck }, compiler);
        expect(said).toBe("");
        const what = skipLibCheck ? `${lines} lines` : "with the declarations checked";
        console.log(`${what}, ${version}: compiled in ${seconds.toFixed(2)} s of one processor`);
      }
  }, 60_000);

  test("and wrong ones do not", () => {
    writeFileSync(join(project, "wrong.mts"), 'import { ones } from "zensor";\nexport const x: string = ones(2);\n');
    expect(compile(["wrong.mts"], {}).said).toContain("is not assignable to type 'string'");
    // Without exact options undefined is what is not given: each line that expects an error is one.
    const lines = readFileSync(join(project, "exact.mts"), "utf8").match(/@ts-expect-error/g) ?? [];
    const said = compile(["exact.mts"], {}).said.match(/Unused '@ts-expect-error'/g) ?? [];
    expect(said.length).toBe(lines.length);
  }, 60_000);
});

test("no declaration says any or unknown without a reason", () => {
  const text = readFileSync(declarations, "utf8");
  const reasons = REASONS.flatMap(([, names]) => names);
  expect(openTypes(text)).toEqual([...new Set(reasons)].sort());
  expect(openTypes("export interface A { b(c?: readonly any[]): void; _d: unknown }")).toEqual(["A.b"]);
});

test("arguments that are words are called with one that is none", () => {
  // In test/api/unknown-words.test.ts.
  const called = new Set(Object.keys(CALLS).map((name) => name.replace(/^.*#/, "").split(" ")[0]));
  const words = declaredWords(declarations);
  expect(words.length).toBeGreaterThan(100);
  expect(words.filter((name) => !called.has(name))).toEqual([]);
  removeFiles();
}, 60_000);

test("no member is lost on the way into one file", () => {
  const text = readFileSync(declarations, "utf8");
  expect(text.match(/^declare module.*|.*(?:from '|import\(["'])\..*/gm)).toBe(null);
});

test("every name of every namespace is declared as a value", () => {
  const { missing, namespaces } = undeclaredValues(declarations);
  expect(missing).toEqual([]);
  for (const name of ["nn", "nn.functional", "nn.utils.rnn", "optim.lrScheduler", "tensordict.nn"])
    expect(namespaces).toContain(name);
  // A class that is exported as a type alone is found.
  const text = readFileSync(declarations, "utf8");
  const broken = join(project, "broken.d.ts");
  writeFileSync(
    broken,
    text.replace(/\bGRUCell, (?=.*\bLinear\b)/, "").replace(/export type \{ (?=.*LSTMState)/, "$&GRUCell, "),
  );
  expect(undeclaredValues(broken).missing).toEqual(["nn.GRUCell"]);
}, 60_000);
