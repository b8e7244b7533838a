// Runs the committed golden cases on the meta device; expectations are torch's own, and falsified ones must fail.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { loadCaseSet } from "./case-set.ts";
import type { Case, Encoded, TensorDesc } from "./case-types.ts";
import { contiguousStrides, numelOf, tensorDescs } from "./case-types.ts";
import { readKnown } from "./report.ts";
import { hasMetaForm, type MetaLine, readMetaLines, runOnMeta } from "./run-meta.ts";
import { Runner } from "./runner.ts";

const folder = join(import.meta.dir, "../fixtures/cases-small");
const set = loadCaseSet(folder);
const lines = readMetaLines(join(folder, "meta.jsonl"));
const known = readKnown(join(import.meta.dir, "known-meta-failures.jsonl"));
const runner = await Runner.load();
const cases = set.cases.filter(hasMetaForm);
const outcomes = new Map(cases.map((c) => [c.id, runOnMeta(runner, set, c, lines.get(c.id))]));

describe("golden cases on meta", () => {
  test("give what torch's meta device gives", () => {
    const failures = [...outcomes.values()].filter((o) => o.status === "failed" && !known.has(o.id));
    expect(failures.map((o) => `${o.id}: ${o.reasons.join("; ")}`)).toEqual([]);
    const fixed = [...known.keys()].filter((id) => outcomes.get(id)?.status !== "failed");
    expect(fixed.map((id) => `${id} passes: remove it from the list`)).toEqual([]);
  });

  test("every case has its line, nearly every one runs", () => {
    expect([...lines.keys()]).toEqual(cases.map((c) => c.id));
    const ran = [...outcomes.values()].filter((o) => o.status !== "skipped").length;
    expect(ran).toBeGreaterThan(cases.length * 0.9);
  });

  test("a case without a line fails", () => {
    expect(runOnMeta(runner, set, cases[0] as Case, undefined).status).toBe("failed");
  });
});

interface Spoiled {
  c: Case;
  line: MetaLine;
}

/** Changes the first tensor of the expected result, both the cpu's and meta's. */
const inResult = (change: (d: TensorDesc) => boolean) => (c: Case, line: MetaLine) => {
  const wanted: [Encoded | undefined, Encoded | undefined] = [c.out, line.out];
  const changed = wanted.map((v) => {
    const d = tensorDescs(v)[0];
    return d !== undefined && change(d);
  });
  return changed.some(Boolean) && c.err === undefined && line.err === undefined;
};

const TAMPERINGS: Record<string, { reason: RegExp; apply: (c: Case, line: MetaLine) => boolean }> = {
  shape: { reason: /shape/, apply: inResult((d) => d.sh.push(1) > 0) },
  dtype: { reason: /dtype/, apply: inResult((d) => (d.dt = d.dt === "f32" ? "f64" : "f32") !== undefined) },
  strides: {
    reason: /strides/,
    apply: inResult((d) => {
      const st = d.st ?? contiguousStrides(d.sh);
      const dim = d.sh.findIndex((n) => n > 1);
      if (dim < 0 || numelOf(d.sh) === 0) return false;
      d.st = st.map((n, i) => (i === dim ? n + 1 : n));
      return true;
    }),
  },
  offset: {
    reason: /storage offset/,
    apply: inResult((d) => numelOf(d.sh) > 0 && (d.off = (d.off ?? 0) + 1) > 0),
  },
  "requires grad": {
    reason: /requires_grad/,
    apply: inResult((d) => {
      if (d.rg) delete d.rg;
      else d.rg = 1;
      return true;
    }),
  },
  "shared storage": {
    reason: /not a view of/,
    apply: (c, line) => {
      const input = c.args.flatMap((v) => tensorDescs(v)).find((d) => d.s >= 0 && numelOf(d.sh) > 0);
      if (input === undefined) return false;
      return inResult((d) => d.s > input.s && numelOf(d.sh) > 0 && (d.s = input.s) >= 0)(c, line);
    },
  },
  "error missing": {
    reason: /raised/,
    apply: (c, line) => {
      if (line.err !== undefined) return false;
      line.err = null;
      return c.err !== undefined && delete c.err;
    },
  },
  "error invented": {
    reason: /no error/,
    apply: (c, line) => {
      if (line.err !== undefined) return false;
      line.err = ["RuntimeError", "something is wrong"];
      return c.err === undefined;
    },
  },
  "in-place error invented": {
    reason: /in-place: no error/,
    apply: (c, line) => {
      line.iperr = ["RuntimeError", "something is wrong"];
      return c.ip !== undefined;
    },
  },
  "in-place shape": {
    reason: /in-place: shape/,
    apply: (c, line) => {
      const d = line.ip ?? tensorDescs(c.args[0])[0];
      if (c.ip === undefined || d === undefined) return false;
      line.ip = { ...d, sh: [...d.sh, 1], st: [...(d.st ?? contiguousStrides(d.sh)), 1] };
      return true;
    },
  },
};

describe("tampering with expectations on meta", () => {
  const passing = cases.filter((c) => outcomes.get(c.id)?.status === "passed");
  for (const [kind, { reason, apply }] of Object.entries(TAMPERINGS)) {
    test(`${kind} is seen`, () => {
      let seen = 0;
      for (const original of passing) {
        const { c, line } = structuredClone({ c: original, line: lines.get(original.id) }) as Spoiled;
        // torch's own refusals for want of a kernel accept any answer that fits.
        if (line.err?.[0] === "NotImplementedError" || !apply(c, line)) continue;
        const o = runOnMeta(runner, set, c, line);
        expect(`${c.id} ${o.status}: ${o.reasons.join("; ")}`).toMatch(reason);
        expect(o.status).toBe("failed");
        seen++;
      }
      expect(seen).toBeGreaterThan(0);
    });
  }
});
