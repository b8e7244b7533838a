// Runs the committed cases of TensorDict, one test for each method. `--update` of run.ts writes the list of those that
// are known to fail.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { readKnown } from "../report.ts";
import { type TdCase, TdCaseSet } from "./case.ts";
import { TdRunner } from "./runner.ts";

const set = new TdCaseSet(join(import.meta.dir, "../../fixtures/cases-tensordict"));
const known = readKnown(join(import.meta.dir, "known-failures.jsonl"));
const runner = await TdRunner.load();
const groups = new Map<string, TdCase[]>();
for (const c of set.cases) groups.set(`${c.k} ${c.m}`, [...(groups.get(`${c.k} ${c.m}`) ?? []), c]);

for (const [name, cases] of groups) {
  test(name, () => {
    const failures: string[] = [];
    for (const c of cases) {
      const { status, reasons } = runner.run(set, c);
      if (status === "failed" && !known.has(c.id)) failures.push(`${c.id}: ${reasons.join("; ")}`);
      if (status === "passed" && known.has(c.id)) failures.push(`${c.id} passes: remove it from the list`);
    }
    expect(failures).toEqual([]);
  });
}

test("what is listed is a case", () => {
  const ids = new Set(set.cases.map(({ id }) => id));
  expect([...known.keys()].filter((id) => !ids.has(id))).toEqual([]);
});

test("a case with another result fails", () => {
  // A description of the result that is not the call's must be seen, whichever part of it is wrong.
  const spoil: Record<string, (d: Record<string, unknown>) => void> = {
    "batch size": (d) => {
      d.bs = [...(d.bs as number[]), 1];
    },
    device: (d) => {
      d.dev = d.dev === undefined ? "cpu" : undefined;
    },
    lock: (d) => {
      d.lk = d.lk === 1 ? undefined : 1;
    },
    names: (d) => {
      d.n = d.n === undefined ? (d.bs as number[]).map((_, i) => `n${i}`) : undefined;
    },
    "order of keys": (d) => (d.e as unknown[]).reverse(),
    "an entry": (d) => (d.e as unknown[]).pop(),
    class: (d) => {
      d.c = "NonTensorData";
    },
  };
  const dense = set.cases.filter((c) => c.out?.$td?.c === "TensorDict" && runner.run(set, c).status === "passed");
  const fits = (c: TdCase, what: string) =>
    what === "names" ? c.out.$td.bs.length > 0 : what === "an entry" ? c.out.$td.e.length > 0 : true;
  const seen: Record<string, boolean> = {};
  for (const [what, change] of Object.entries(spoil)) {
    const several = what === "order of keys" ? dense.filter((c) => c.out.$td.e.length > 1) : dense;
    seen[what] = several
      .filter((c) => fits(c, what))
      .every((c) => {
        const spoilt = structuredClone(c);
        change(spoilt.out.$td);
        return runner.run(set, spoilt).status === "failed";
      });
  }
  expect(seen).toEqual(Object.fromEntries(Object.keys(spoil).map((what) => [what, true])));
  expect(dense.length).toBeGreaterThan(40);
});
