// The programs of the README and of the guide, and all examples of the API, are TypeScript that compiles.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tsc } from "../../scripts/toolchain.mjs";
import * as zensor from "../../src/index.ts";
import { allExamples, root } from "./all-examples.ts";
import { fencesOf } from "./fences.ts";

const place = join(root, "build", "doc-types", String(process.pid));
mkdirSync(place, { recursive: true });
afterAll(() => rmSync(place, { recursive: true, force: true }));

const documents = ["README.md", ...readdirSync(join(root, "docs", "guide")).map((name) => join("docs", "guide", name))];

/** What the compiler says of programs, each with the document and line that it is from. */
function complaints(programs: Readonly<Record<string, string>>): string[] {
  for (const [name, code] of Object.entries(programs))
    writeFileSync(join(place, `${name}.ts`), `${code}\nexport {};\n`);
  // As in the tsconfig.json that `bun init` writes.
  const strict = { noUncheckedIndexedAccess: true, noImplicitOverride: true, noFallthroughCasesInSwitch: true };
  const compilerOptions = { ...strict, incremental: false, tsBuildInfoFile: null, noUnusedLocals: false };
  const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["./*.ts"] };
  writeFileSync(join(place, "tsconfig.json"), JSON.stringify(config));
  const { stdout } = Bun.spawnSync([process.execPath, tsc, "--noEmit", "--pretty", "false", "-p", place], {
    cwd: place,
  });
  return stdout
    .toString()
    .split("\n")
    .filter((line) => /error TS/.test(line) && !isLoose(line));
}

/** Sources are checked as this repository is, and so are examples, which show one call and no `!` behind an index. */
function isLoose(line: string): boolean {
  const isOurs = /^(\.\.\/|(src|generated|docs-members)-)/.test(line);
  return isOurs && /possibly 'undefined'|\| undefined'/.test(line);
}

const NAMES = new Set(Object.keys(zensor));

/** An example as a program: what it uses and does not declare comes from the package. */
function programOf(code: string): string {
  const declared = new Set([...code.matchAll(/\b(?:const|let|class|function) (\w+)/g)].map(([, name]) => name));
  const words = new Set(code.match(/(?<![\w$.])[A-Za-z_$][\w$]*/g) ?? []);
  const used = [...words].filter((name) => NAMES.has(name) && !declared.has(name));
  const imports = used.length > 0 ? `import { ${used.join(", ")} } from "zensor";\n` : "";
  return `import type { S3Client } from "bun";\n${imports}declare const client: S3Client;\n${code}`;
}

test("they compile, and a wrong call would not", () => {
  const programs: Record<string, string> = {};
  for (const document of documents) {
    const name = document.replace(/\W/g, "-");
    for (const { line, code, name: file } of fencesOf(readFileSync(join(root, document), "utf8")))
      programs[file?.replace(/\.ts$/, "") ?? `${name}-${line}`] = code;
  }
  expect(Object.keys(programs).length).toBeGreaterThan(30);
  for (const { file, line, code } of allExamples()) programs[`${file.replace(/\W/g, "-")}-${line}`] = programOf(code);
  expect(Object.keys(programs).length).toBeGreaterThan(1000);
  programs.wrong = 'import { ones } from "zensor";\nones(2).summ();';
  const found = complaints(programs);
  expect(found.filter((line) => !line.startsWith("wrong.ts"))).toEqual([]);
  expect(found.length).toBe(1);
}, 240_000);
