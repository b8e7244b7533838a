// The golden cases of packed sequences: modules that take them, and the functions that make them.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Adapter } from "./adapter.ts";
import { loadCaseSet } from "./case-set.ts";
import { runModuleCase } from "./modules/runner.ts";
import type { ModuleCase } from "./modules/values.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-packed"));
const adapter = await Adapter.load();
const cases = set.cases as unknown as ModuleCase[];

describe("golden cases", () => {
  for (const [name, group] of Map.groupBy(cases, (c) => c.op)) {
    test(name, () => {
      const failed = group.map((c) => runModuleCase(adapter, set.blob, c)).filter((o) => o.status !== "passed");
      expect(failed.map((o) => `${o.id}: ${o.reasons.join("; ")}`)).toEqual([]);
    });
  }
  test("are all there", () => expect(cases.length).toBe(120));

  test("a case that is changed fails", () => {
    const first = cases[0] as ModuleCase;
    const [data, ...others] = first.out.$tu[0].$ps;
    const shorter = { $ps: [{ $t: { ...data.$t, sh: [1, 4] } }, ...others] };
    const turned = { $ps: [data, others[0], others[0], null] };
    for (const out of [shorter, turned]) {
      const changed = { ...first, out: { $tu: [out, first.out.$tu[1]] } };
      expect(runModuleCase(adapter, set.blob, changed).status).toBe("failed");
    }
    const call = cases.find((c) => c.op === "pad_sequence" && c.err === undefined) as ModuleCase;
    expect(
      runModuleCase(adapter, set.blob, { ...call, vars: [{ $t: { ...call.vars[0].$t, dt: "f64" } }] }).status,
    ).toBe("failed");
  });
});
