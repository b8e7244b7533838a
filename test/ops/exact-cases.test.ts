// Calls whose results are torch's bit for bit, in torch's layout (scripts/oracle/make_exact_cases.py).
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { instructionSet } from "../../src/ffi/frame.ts";
import { Adapter } from "../conformance/adapter.ts";
import { type RandomCase, runRandom, showCase } from "./random-run.ts";

const file = join(import.meta.dir, "../fixtures/exact/calls.jsonl");
const cases = readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as RandomCase);
const adapter = await Adapter.load();
const fused = instructionSet() !== "baseline";
const sections = new Map<string, RandomCase[]>();
for (const c of cases) {
  const list = sections.get(c.section as string) ?? [];
  sections.set(c.section as string, list);
  if (fused || !c.fma) list.push(c);
}

for (const [section, list] of sections) {
  test(`exact calls: ${section}`, () => {
    const wrong: string[] = [];
    for (const c of list) {
      const what = runRandom(adapter, c);
      if (what !== null) wrong.push(`${showCase(c)}: ${what}`);
    }
    expect(wrong).toEqual([]);
    expect(list.length).toBeGreaterThan(20);
  });
}

test("one bit more or less is seen", () => {
  const c = cases.find((x) => x.op === "pow" && x.form === "m" && x.out?.[0]?.dt === "f64" && !x.grads);
  const copy = structuredClone(c) as RandomCase;
  const x = copy.out?.[0]?.x as number[];
  const at = x.findIndex((v) => typeof v === "number" && v !== 0);
  x[at] = (x[at] as number) * (1 + 2 ** -52);
  expect(runRandom(adapter, c as RandomCase)).toBeNull();
  expect(runRandom(adapter, copy)).toContain("expected");
});
