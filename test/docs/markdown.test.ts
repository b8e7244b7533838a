// Runs every ```ts fence of the README, of docs/ and of docs/guide/, each as a program of its own, and compares what it
// prints; one that imports bun:test is run by `bun test`.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fencesOf, statedOutput } from "./fences.ts";

const root = join(import.meta.dir, "..", "..");
const pages = ["docs", join("docs", "guide")].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => join(folder, name)),
);
const documents = ["README.md", ...pages];

// Inside the repository, so that "zensor" is found; they run in a folder that they may write to.
const programs = join(root, "build", "doc-programs", String(process.pid));
const workplace = mkdtempSync(join(tmpdir(), "zensor-docs-"));
mkdirSync(programs, { recursive: true });
afterAll(() => {
  rmSync(programs, { recursive: true, force: true });
  rmSync(workplace, { recursive: true, force: true });
});

for (const document of documents) {
  const fences = fencesOf(readFileSync(join(root, document), "utf8"));
  describe(document, () => {
    for (const { line, code, prints } of fences) {
      test(`line ${line}`, async () => {
        const isTest = code.includes('from "bun:test"');
        const file = join(programs, `${document.replace(/\W/g, "-")}-${line}${isTest ? ".test" : ""}.ts`);
        writeFileSync(file, code);
        const options = { cwd: workplace, stdout: "pipe", stderr: "pipe" } as const;
        const child = Bun.spawn([process.execPath, ...(isTest ? ["test"] : []), file], options);
        const [printed, errors] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
        ]);
        expect(await child.exited, errors).toBe(0);
        if (isTest) expect(errors).toMatch(/ [1-9]\d* pass\n 0 fail\n/);
        else expect(printed.replace(/\n$/, "")).toBe(prints);
      });
    }
  });
}

test("the README has examples, and a wrong comment would be noticed", () => {
  const fences = fencesOf(readFileSync(join(root, "README.md"), "utf8"));
  expect(fences.filter(({ prints }) => prints !== "").length).toBeGreaterThan(3);
  expect(statedOutput("// no output\nprint(x); // a\n// b\n\n// c\nprint(y);\n// d")).toBe("a\nb\nd");
});
