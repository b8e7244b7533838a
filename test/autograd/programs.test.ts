// Random autograd programs and what torch made of them (scripts/oracle/make_random_programs.py): those on which an
// earlier version differed, and some hundred small ones.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Adapter } from "../conformance/adapter.ts";
import { type Program, runProgram, showProgram } from "./program-run.ts";

const file = join(import.meta.dir, "../fixtures/random/programs.jsonl");
const programs = readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as Program);
const adapter = await Adapter.load();

test(`${programs.length} programs give torch's values, gradients, graph and errors`, () => {
  const wrong: string[] = [];
  for (const p of programs) {
    const what = runProgram(adapter, p);
    if (what !== null) wrong.push(`${showProgram(p)}\n  ${what}`);
  }
  expect(wrong).toEqual([]);
  expect(programs.length).toBeGreaterThan(600);
}, 240_000);

test("a falsified answer is seen", () => {
  const p = programs.find((x) => x.look && x.E.g.some((g) => g !== null) && x.P.some((s) => s.e)) as Program;
  const change = (edit: (copy: Program) => void): string | null => {
    const copy = structuredClone(p);
    edit(copy);
    return runProgram(adapter, copy);
  };
  expect(change(() => {})).toBeNull();
  expect(change((c) => void ((c.E.g.find((g) => g !== null) as number[])[0] = 123))).toContain("expected [123");
  expect(change((c) => void ((c.E.x[0] as number[])[0] = 123))).toContain("variable 0");
  expect(change((c) => void c.E.h.push([0, [1]]))).toContain("hooks");
  expect(
    change((c) => {
      for (const s of c.P) if (s.e) s.e[1] = "another text";
    }),
  ).toContain("another text");
  expect(change((c) => c.P.forEach((s) => void delete s.e))).toContain("raised");
  for (let i = 0; i < 7; i++) {
    expect(
      change((c) => {
        for (const s of c.P) for (const f of Object.values(s.w ?? {})) if (f !== null) f[i] = "?";
      }),
    ).toContain('expected "?"');
  }
});
