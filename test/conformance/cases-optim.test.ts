// The golden cases of optimisers and of schedules of learning rates.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Adapter } from "./adapter.ts";
import { loadCaseSet } from "./case-set.ts";
import { runModuleCase } from "./modules/runner.ts";
import type { ModuleCase } from "./modules/values.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-optim"));
const adapter = await Adapter.load();
const groups = Map.groupBy(set.cases as unknown as ModuleCase[], (c) => `${c.fam} ${c.op}`);

describe("golden cases", () => {
  for (const [name, cases] of groups) {
    test(name, () => {
      const failed = cases.map((c) => runModuleCase(adapter, set.blob, c)).filter((o) => o.status !== "passed");
      expect(failed.map((o) => `${o.id}: ${o.reasons.join("; ")}`)).toEqual([]);
    });
  }
  test("are all there", () => {
    expect(set.cases.length).toBe(233);
    expect(groups.size).toBe(20);
  });

  test("a case that is changed fails", () => {
    const [first] = set.cases.filter((c) => c.id === "optim/AdamW/db1") as unknown as ModuleCase[];
    const changed = { ...(first as ModuleCase), repr: "AdamW ()" };
    expect(runModuleCase(adapter, set.blob, changed).status).toBe("failed");
    const others = { ...(first as ModuleCase), kw: { lr: { $f: 0.02 } } };
    expect(runModuleCase(adapter, set.blob, others).status).toBe("failed");
  });
});
