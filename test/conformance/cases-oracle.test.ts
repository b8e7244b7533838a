// Random programs that a real PyTorch answered (bun run oracle --agreeing), and those that once differed.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { loadCaseSet } from "./case-set.ts";
import type { Case } from "./case-types.ts";
import { testPrograms } from "./programs.ts";
import { Runner } from "./runner.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-oracle"));
const runner = await Runner.load();
testPrograms(set, runner, (name) => `programs that end with ${name}`);

test("there are enough of them, with gradients and with errors", () => {
  expect(set.cases.length).toBeGreaterThan(1400);
  expect(set.cases.filter((c) => c.grads !== undefined).length).toBeGreaterThan(150);
  expect(set.cases.filter((c) => c.err !== undefined).length).toBeGreaterThan(100);
});

test("a falsified program is seen", () => {
  const c = set.cases.find((x) => x.grads !== undefined && x.vars?.length === 2) as Case;
  const wrong = (change: (copy: Case) => void): string => {
    const copy = structuredClone(c);
    change(copy);
    return runner.run(set, copy).reasons.join("; ");
  };
  expect(wrong(() => undefined)).toBe("");
  expect(wrong((x) => void (x.grads = {}))).toContain(".grad is set");
  expect(wrong((x) => void ((x.vars as { ver: number }[])[1].ver = 7))).toContain("_version");
  expect(wrong((x) => void (x.err = { step: 0, type: "RuntimeError", msg: "x" }))).toContain("no error");
});
