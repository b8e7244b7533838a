// A set of golden cases for modules and programs: one test for each operator.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { Adapter } from "../adapter.ts";
import { loadCaseSet } from "../case-set.ts";
import type { Outcome } from "../runner.ts";
import { runModuleCase } from "./runner.ts";
import type { ModuleCase } from "./values.ts";

/** The cases of a folder of test/fixtures, and what runs one of them. */
export interface ModuleCases {
  readonly cases: readonly ModuleCase[];
  readonly run: (c: ModuleCase) => Outcome;
}

/** Tests all cases of a set, and that there are so many. */
export async function testModuleCases(folder: string, count: number): Promise<ModuleCases> {
  const set = loadCaseSet(join(import.meta.dir, "../../fixtures", folder));
  const adapter = await Adapter.load();
  const cases = set.cases as unknown as ModuleCase[];
  const run = (c: ModuleCase): Outcome => runModuleCase(adapter, set.blob, c);
  for (const [name, group] of Map.groupBy(cases, (c) => c.op)) {
    test(name, () => {
      const failed = group.map(run).filter((o) => o.status !== "passed");
      expect(failed.map((o) => `${o.id}: ${o.reasons.join("; ")}`)).toEqual([]);
    });
  }
  test("are all there", () => expect(cases.length).toBe(count));
  return { cases, run };
}
