// The golden cases of packed sequences: modules that take them, and the functions that make them.
import { expect, test } from "bun:test";
import { testModuleCases } from "./modules/golden.ts";
import type { ModuleCase } from "./modules/values.ts";

const { cases, run } = await testModuleCases("cases-packed", 120);

test("a case that is changed fails", () => {
  const first = cases[0] as ModuleCase;
  const [data, ...others] = first.out.$tu[0].$ps;
  const shorter = { $ps: [{ $t: { ...data.$t, sh: [1, 4] } }, ...others] };
  const turned = { $ps: [data, others[0], others[0], null] };
  for (const out of [shorter, turned]) {
    expect(run({ ...first, out: { $tu: [out, first.out.$tu[1]] } }).status).toBe("failed");
  }
  const call = cases.find((c) => c.op === "pad_sequence" && c.err === undefined) as ModuleCase;
  expect(run({ ...call, vars: [{ $t: { ...call.vars[0].$t, dt: "f64" } }] }).status).toBe("failed");
});
