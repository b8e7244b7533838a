// Random programs about the operators of models that a real PyTorch answered (bun run oracle --models --agreeing), and
// those that once differed: convolutions, pooling, norms, attention, losses, tables, contractions.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { loadCaseSet } from "./case-set.ts";
import { testPrograms } from "./programs.ts";
import { Runner } from "./runner.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-models"));
const runner = await Runner.load();
const groups = testPrograms(set, runner, (name) => `programs of models that end with ${name}`);

test("there are enough of them, with gradients and with errors", () => {
  expect(set.cases.length).toBeGreaterThan(850);
  expect(groups.size).toBeGreaterThan(150);
  expect(set.cases.filter((c) => c.grads !== undefined).length).toBeGreaterThan(250);
  expect(set.cases.filter((c) => c.err !== undefined).length).toBeGreaterThan(150);
});
