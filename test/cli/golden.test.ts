// Recorded command lines: what each prints, to where, and ends with. The recordings name the commands themselves:
// `ZENSOR_GOLDEN=write bun test test/cli/golden.test.ts` runs them all and records them again, and the difference is read.
import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { output } from "../../src/cli/output.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import { makeFiles } from "./golden-files.ts";
import { zensor } from "./run.ts";

const GOLDEN = join(import.meta.dir, "golden");
const PROMPT = "$ zensor";
const files = readdirSync(GOLDEN).filter((name) => name.endsWith(".txt"));
const home = process.cwd();
const folders: string[] = [];
beforeAll(() => {
  spyOn(output, "width").mockImplementation(() => 100);
});
afterAll(() => {
  process.chdir(home);
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}, 60_000);

/** Words of a command line, quoted as a shell has them; $'\xe9' is a byte. */
function words(line: string): string[] {
  const found: string[] = [];
  for (const [text] of line.matchAll(/(?:\$'[^']*'|'[^']*'|"[^"]*"|[^\s'"])+/g)) {
    const bytes = (part: string) =>
      part.replace(/\\x([0-9a-f]{2})/g, (_, digits) => String.fromCharCode(0xdc00 + Number.parseInt(digits, 16)));
    found.push(
      text.replace(/\$'([^']*)'|'([^']*)'|"([^"]*)"/g, (_, a, b, c) => (a === undefined ? (b ?? c ?? "") : bytes(a))),
    );
  }
  return found;
}

/** What does not depend on the machine. */
function normal(text: string, folder: string): string {
  return text
    .replaceAll(folder, "<folder>")
    .replaceAll(manifest.version, "<version>")
    .replaceAll("\u001b", "\\e")
    .replace(/[\udc80-\udcff]/g, (unit) => `\\x${(unit.charCodeAt(0) - 0xdc00).toString(16)}`);
}

async function recorded(lines: readonly string[]): Promise<string> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "zensor-golden-")));
  folders.push(folder);
  makeFiles(folder);
  process.chdir(folder);
  const told: string[] = [];
  for (const line of lines) {
    if (!line.startsWith(PROMPT)) {
      told.push(line);
      continue;
    }
    const { code, out, err } = await zensor(...words(line.slice(PROMPT.length)));
    const errors = err === "" ? [] : err.split("\n").map((text) => `! ${text}`.trimEnd());
    const rows = [...(out === "" ? [] : out.split("\n")), ...errors, ...(code === 0 ? [] : [`= ${code}`])];
    told.push(line, ...rows.map((row) => normal(row.trimEnd(), folder)));
  }
  process.chdir(home);
  return `${told.join("\n")}\n`;
}

/** The comments and the commands of a recording. */
function commandsIn(text: string): string[] {
  return text.split("\n").filter((line) => line.startsWith(PROMPT) || line.startsWith("# "));
}

/** What some machines lack. */
function isPossible(name: string): boolean {
  if (name === "hdf5.txt") return hdf5Engine() !== null;
  return name !== "bytes.txt" || process.platform === "linux";
}

for (const name of files) {
  test.skipIf(!isPossible(name))(
    basename(name, ".txt"),
    async () => {
      const text = readFileSync(join(GOLDEN, name), "utf8");
      const now = await recorded(commandsIn(text));
      if (process.env.ZENSOR_GOLDEN === "write") writeFileSync(join(GOLDEN, name), now);
      else expect(now).toBe(text);
    },
    60_000,
  );
}

test("recordings are of every command", async () => {
  const all = files.flatMap((name) => commandsIn(readFileSync(join(GOLDEN, name), "utf8")));
  const used = new Set(all.map((line) => words(line)[2] as string));
  const { out } = await zensor("completion", "bash");
  const commands = /COMP_CWORD" -eq 1 \]; then words="([^"]*)"/.exec(out)?.[1]?.split(" ") ?? [];
  expect(commands.length).toBeGreaterThan(10);
  expect(commands.filter((command) => !used.has(command))).toEqual([]);
});
