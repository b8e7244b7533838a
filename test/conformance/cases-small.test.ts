// Runs the committed golden cases against the library, one test per op or family.
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { loadCaseSet } from "./case-set.ts";
import type { Case } from "./case-types.ts";
import { familyOf } from "./case-types.ts";
import { readKnown } from "./report.ts";
import { Runner } from "./runner.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-small"));
const known = readKnown(join(import.meta.dir, "known-failures.jsonl"));
const runner = await Runner.load();
const groups = new Map<string, Case[]>();
for (const c of set.cases) {
  const key = c.fam ?? c.op;
  groups.set(key, [...(groups.get(key) ?? []), c]);
}
let ran = 0;

describe("golden cases", () => {
  for (const [name, cases] of groups) {
    test(name, () => {
      const failures: string[] = [];
      for (const c of cases) {
        const o = runner.run(set, c);
        ran++;
        if (o.status === "failed" && !known.has(c.id)) failures.push(`${c.id}: ${o.reasons.join("; ")}`);
        if (o.status === "passed" && known.has(c.id)) failures.push(`${c.id} passes: remove it from the list`);
      }
      expect(failures).toEqual([]);
    });
  }
  afterAll(() => {
    expect(new Set(set.cases.map(familyOf)).size).toBe(7);
    expect(ran).toBe(set.cases.length);
  });
});
