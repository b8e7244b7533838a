// What an editor shows of the package: names that it offers, signatures, comments, and what is said of wrong calls.
// After a change that is meant: `ZENSOR_GOLDEN=write bun test test/editor`, and read the difference as somebody would
// who writes such a program.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publicMembers } from "./members.ts";
import { POSITIONS } from "./positions.ts";
import { Editor } from "./service.ts";

const stored = join(import.meta.dir, "..", "fixtures", "editor");
const writing = process.env.ZENSOR_GOLDEN === "write";
if (writing && process.env.CI) throw new Error("golden files are written by hand, never in CI");

const editor = new Editor();
const all = Object.values(POSITIONS).flat();

beforeAll(async () => {
  await editor.install();
  editor.open(all);
}, 120_000);

afterAll(() => editor.remove());

test("there are 200 positions and more, 40 and more of them wrong calls", () => {
  expect(all.length).toBeGreaterThanOrEqual(200);
  expect(POSITIONS.messages?.length).toBeGreaterThanOrEqual(40);
  expect(new Set(all.map(({ kind, code }) => kind + code)).size).toBe(all.length);
});

for (const [name, positions] of Object.entries(POSITIONS)) {
  test(`${name} are those of the golden file`, () => {
    const shown = positions.map((position) => `> ${position.code}\n${editor.ask(all.indexOf(position), position)}\n`);
    const text = shown.join("\n");
    const file = join(stored, `${name}.txt`);
    if (writing) {
      mkdirSync(stored, { recursive: true });
      writeFileSync(file, text);
    }
    expect(text).toBe(readFileSync(file, "utf8"));
  }, 60_000);
}

test("every public name has a comment, and none is internal", () => {
  const members = publicMembers(editor.program, editor.declarations);
  expect(members.length).toBeGreaterThan(1500);
  expect(members.filter(({ name }) => /(^|[.#])_/.test(name)).map(({ name }) => name)).toEqual([]);
  expect(members.filter(({ doc }) => doc === "").map(({ name }) => name)).toEqual([]);
}, 60_000);
