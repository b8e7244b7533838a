// The golden cases of functions of nn.functional that modules share: multi-head attention, drawn slopes.
import { expect, test } from "bun:test";
import { testModuleCases } from "./modules/golden.ts";
import type { ModuleCase } from "./modules/values.ts";

const { cases, run } = await testModuleCases("cases-functions", 74);

test("a case that is changed fails", () => {
  const first = cases[0] as ModuleCase;
  expect(run({ ...first, g: [...first.g].reverse() }).status).toBe("failed");
  const drawn = cases.find((c) => c.op === "nn.functional.rrelu" && c.kw?.training === true) as ModuleCase;
  expect(run({ ...drawn, seed: 1234 }).status).toBe("failed");
  const refused = cases.find((c) => c.err !== undefined) as ModuleCase;
  expect(run({ ...refused, err: undefined }).status).toBe("failed");
});
