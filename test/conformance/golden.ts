// A set of golden cases against the library: one test for an operator or a family of programs.
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { CaseSet } from "./case-set.ts";
import type { Case } from "./case-types.ts";
import { readKnown } from "./report.ts";
import type { Runner } from "./runner.ts";

/** Tests all cases of a set; tells how many ran. */
export function testGolden(set: CaseSet, runner: Runner): { readonly ran: number } {
  const known = readKnown(join(import.meta.dir, "known-failures.jsonl"));
  const counted = { ran: 0 };
  for (const [name, cases] of Map.groupBy<string, Case>(set.cases, (c) => c.fam ?? c.op)) {
    test(name, () => {
      const failures: string[] = [];
      for (const c of cases) {
        const o = runner.run(set, c);
        counted.ran++;
        if (o.status === "failed" && !known.has(c.id)) failures.push(`${c.id}: ${o.reasons.join("; ")}`);
        if (o.status === "passed" && known.has(c.id)) failures.push(`${c.id} passes: remove it from the list`);
      }
      expect(failures).toEqual([]);
    });
  }
  return counted;
}
