// Runs what ```console fences of the guide show: the commands behind `$`, in a folder in which the programs of their
// page ran before, and compares what they print.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");
const guide = join(root, "docs", "guide");
const programs = join(root, "build", "doc-commands", String(process.pid));
const tools = mkdtempSync(join(tmpdir(), "zensor-commands-"));
mkdirSync(programs, { recursive: true });
writeFileSync(join(tools, "zensor"), `#!/bin/sh\nexec "${process.execPath}" "${root}/src/cli/main.ts" "$@"\n`, {
  mode: 0o755,
});
afterAll(() => {
  rmSync(programs, { recursive: true, force: true });
  rmSync(tools, { recursive: true, force: true });
});

interface Shown {
  kind: "ts" | "console";
  line: number;
  text: string;
}

/** The fences of a page that are run, in their order. */
function shownIn(markdown: string): Shown[] {
  return [...markdown.matchAll(/^```(ts|console)\n([\s\S]*?)^```$/gm)].map((match) => ({
    kind: match[1] as Shown["kind"],
    line: markdown.slice(0, match.index).split("\n").length,
    text: match[2] as string,
  }));
}

/** Commands, each with what it prints. */
function commandsOf(text: string): { command: string; prints: string }[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = "", ...prints] = part.trimEnd().split("\n");
      return { command, prints: prints.join("\n") };
    });
}

const pages = readdirSync(guide)
  .filter((name) => name.endsWith(".md"))
  .map((name) => ({ name, shown: shownIn(readFileSync(join(guide, name), "utf8")) }))
  .filter(({ shown }) => shown.some(({ kind }) => kind === "console"));

for (const { name, shown } of pages) {
  const place = mkdtempSync(join(tmpdir(), "zensor-commands-place-"));
  afterAll(() => rmSync(place, { recursive: true, force: true }));
  const run = (words: string[]) => {
    const env = { ...process.env, NO_COLOR: "1", PATH: `${tools}:${process.env.PATH}` };
    const { stdout } = Bun.spawnSync(["sh", "-c", 'exec 2>&1; "$@"', "sh", ...words], { cwd: place, env });
    return stdout.toString().trimEnd();
  };
  describe(name, () => {
    for (const { kind, line, text } of shown) {
      if (kind === "ts") {
        test(`line ${line}`, () => {
          const file = join(programs, `${name}-${line}.ts`);
          writeFileSync(file, text);
          expect(run([process.execPath, file])).not.toContain("error");
        });
        continue;
      }
      for (const { command, prints } of commandsOf(text)) {
        test(`line ${line}: ${command}`, () => expect(run(["sh", "-c", command])).toBe(prints));
      }
    }
  });
}

test("the page of the command line shows commands", () => {
  const shown = pages.find(({ name }) => name === "command-line.md")?.shown ?? [];
  expect(shown.flatMap(({ kind, text }) => (kind === "console" ? commandsOf(text) : [])).length).toBeGreaterThan(10);
});
