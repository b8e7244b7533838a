// Falsified golden cases must fail, each for the reason that was planted.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { loadCaseSet } from "./case-set.ts";
import { readKnown, summarize } from "./report.ts";
import { type Outcome, Runner } from "./runner.ts";
import { EFFECT_TAMPERINGS, FAMILY_TAMPERINGS, RESULT_TAMPERINGS } from "./tamper.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-small"));
const runner = await Runner.load();
const passing = set.cases.filter((c) => runner.run(set, c).status === "passed");
const MAX_EACH = 60;

describe("tampering", () => {
  test("most committed cases pass as they are", () => {
    expect(passing.length).toBeGreaterThan(set.cases.length / 2);
  });

  for (const t of [...RESULT_TAMPERINGS, ...EFFECT_TAMPERINGS, ...FAMILY_TAMPERINGS]) {
    test(`${t.kind} is seen`, () => {
      let seen = 0;
      for (const c of passing) {
        if (seen >= MAX_EACH) break;
        const spoiled = t.apply(set, c);
        if (spoiled === null) continue;
        const o = runner.run(spoiled.set, spoiled.c);
        expect(`${c.id} ${o.status}: ${o.reasons.join("; ")}`).toMatch(t.reason);
        expect(o.status).toBe("failed");
        seen++;
      }
      expect(seen).toBeGreaterThan(0);
    });
  }

  test("an op that does not exist fails", () => {
    const c = structuredClone(set.cases.find((x) => x.op === "neg" && !x.err));
    if (!c) throw new Error("no neg case");
    c.op = "negate_everything";
    const o = runner.run(set, c);
    expect(o.status).toBe("failed");
    expect(o.reasons.join()).toContain("no such");
  });

  test("an unknown family fails", () => {
    const c = { ...(set.cases[0] as object), fam: "mystery" } as never;
    expect(runner.run(set, c).status).toBe("failed");
  });
});

describe("known failures", () => {
  const outcome = (id: string, status: Outcome["status"]): Outcome => ({
    id,
    op: "neg",
    status,
    reasons: status === "failed" ? ["x"] : [],
    soft: [],
  });

  test("the list only shrinks: listed and passing is reported, unlisted and failing counts", () => {
    const known = new Map([
      ["a", "why"],
      ["b", "why"],
    ]);
    const s = summarize([outcome("a", "failed"), outcome("b", "passed"), outcome("c", "failed")], known);
    expect([s.passed, s.failed, s.knownFailed, s.stale]).toEqual([1, 1, 1, ["b"]]);
  });

  test("the committed list is well formed", () => {
    expect(readKnown(join(import.meta.dir, "known-failures.jsonl"))).toBeInstanceOf(Map);
  });
});
