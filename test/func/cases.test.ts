// Every operator inside of vmap, over its golden cases: many examples at once give what one after the other gives.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { inPlaceCall, plainCall } from "../conformance/call.ts";
import { loadCaseSet } from "../conformance/case-set.ts";
import { type Case, familyOf, hasTag } from "../conformance/case-types.ts";
import { Run } from "../conformance/decode.ts";
import { Runner } from "../conformance/runner.ts";
import { IN_PART, REFUSED } from "./refused.ts";
import { compareWithSlices, flatten, MIXES, type Outcome, rebuilt, spread } from "./slices.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-small"));
const runner = await Runner.load();

const FAMILIES = new Set(["opinfo", "promo", "index"]);
const groups = new Map<string, Case[]>();
for (const c of set.cases.filter((c) => FAMILIES.has(familyOf(c)))) {
  groups.set(c.op, [...(groups.get(c.op) ?? []), c]);
  if (c.ip) groups.set(`${c.op}_`, [...(groups.get(`${c.op}_`) ?? []), c]);
}

// biome-ignore lint/suspicious/noExplicitAny: arguments of any operator
type Any = any;

/** The call of a case, with other tensors in the place of its own. */
function outcomeOf(c: Case, inplace: boolean, mix: readonly (number | null)[]): Outcome | null {
  const run = new Run(runner.adapter, set, c, true);
  const [args, kwargs] = [run.args(), run.kwargs()];
  const leaves: unknown[] = [];
  const structure = flatten(kwargs === undefined ? [args] : [args, kwargs], leaves);
  const many = spread(leaves, mix);
  // What is written to has to be each example's own.
  if (many === null || ((inplace || c.op === "__setitem__") && many.inDims[0] === null)) return null;
  const call = (...others: unknown[]): unknown => {
    const [given, options] = rebuilt(structure, others) as Any;
    const writes = c.op === "__setitem__" ? given[0].clone() : null;
    if (writes !== null) given[0] = writes;
    run.kwargs = () => options;
    if (!inplace) {
      run.args = () => given;
      const result = writes === null ? plainCall(run)() : setItem(c, given);
      return writes ?? result;
    }
    let at = 0;
    run.value = () => given[++at];
    return inPlaceCall(run, given[0].clone())();
  };
  return compareWithSlices(call, many);
}

const setItem = (c: Case, [self, index, value]: Any): unknown =>
  runner.adapter.setItem(self, index, hasTag(c.args[1], "$tu"), value);

describe("inside of vmap, over the golden cases", () => {
  for (const [op, cases] of groups) {
    test(op, () => {
      const inplace = !set.cases.some((c) => c.op === op);
      const wrong: string[] = [];
      let [passed, refused] = [0, 0];
      for (const c of cases) {
        for (const mix of MIXES) {
          const outcome = outcomeOf(c, inplace, mix);
          if (outcome === "passed") passed++;
          else if (outcome !== null && typeof outcome === "object") {
            if ("refused" in outcome) refused++;
            const excused = "refused" in outcome && (op in REFUSED || op in IN_PART);
            if (!excused) wrong.push(`${c.id} ${JSON.stringify(mix)}: ${JSON.stringify(outcome)}`);
          }
        }
      }
      expect(wrong).toEqual([]);
      if (op in REFUSED) expect(passed).toBe(0);
      else if (op in IN_PART) expect(Math.min(passed, refused)).toBeGreaterThan(0);
      else if (hasTensors(cases)) expect(passed).toBeGreaterThan(0);
    });
  }

  test("what is refused has cases", () => {
    expect([...Object.keys(REFUSED), ...Object.keys(IN_PART)].filter((op) => !groups.has(op))).toEqual([]);
  });
});

/** Factories take none. */
function hasTensors(cases: readonly Case[]): boolean {
  return cases.some(
    (c) => spread([new Run(runner.adapter, set, c, true).args()].flat(2), MIXES[0] as number[]) !== null,
  );
}
