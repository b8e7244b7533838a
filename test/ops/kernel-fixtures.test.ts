// Compares every compute op with torch's answers over dtypes, layouts, sizes and forms (see scripts/oracle).
// One test per op and form; ZENSOR_ISA and ZENSOR_NUM_THREADS choose what is tested, ZENSOR_FIXTURE_STEP=3 takes every
// third row of each.
import { describe, expect, test } from "bun:test";
import { Adapter } from "../conformance/adapter.ts";
import { digest } from "./kernel-digest.ts";
import { readKernelFixtures } from "./kernel-fixtures.ts";
import { storageOf } from "./kernel-inputs.ts";
import { rowName, runRow } from "./kernel-run.ts";
import { sampledPositions } from "./kernel-samples.ts";
import type { Row } from "./kernel-types.ts";

const { ops, rows, inputs } = readKernelFixtures();
const FORMS = { f: "forward", i: "in-place", o: "out", g: "gradient" };

const step = Number(process.env.ZENSOR_FIXTURE_STEP ?? 1);

const groups = new Map<string, Row[]>();
for (const row of rows) {
  const key = `${row.o} ${FORMS[row.f]}`;
  groups.set(key, [...(groups.get(key) ?? []), row]);
}

describe("the formula", () => {
  // Digests of formula storages, as the maker of the fixtures computed them.
  test("gives the recorded inputs", () => {
    expect(Object.keys(inputs).length).toBeGreaterThan(50);
    for (const [key, want] of Object.entries(inputs)) {
      const [dt, dom, k, n] = key.split(" ");
      const code = dt as Row["d"];
      expect(`${key} ${digest(code, storageOf(code, dom, Number(k), Number(n)))}`).toBe(`${key} ${want}`);
    }
  });

  test("samples both ends", () => {
    expect(sampledPositions(3)).toEqual([0, 1, 2]);
    const at = sampledPositions(1000);
    expect([at[0], at[1], at.length]).toEqual([0, 1, 16]);
    expect(at.slice(-6)).toEqual([994, 995, 996, 997, 998, 999]);
  });
});

const adapter = await Adapter.load();
console.log(`kernel fixtures: ${rows.length} rows, instruction set ${adapter.isa()}`);

describe("kernels", () => {
  for (const [name, list] of groups) {
    test(name, () => {
      const wrong: string[] = [];
      for (const row of list.filter((_, i) => i % step === 0)) {
        const what = runRow(adapter, ops[row.o], row);
        if (what !== null) wrong.push(`${rowName(row)}: ${what}`);
      }
      expect(wrong).toEqual([]);
    });
  }
});

describe("a falsified row", () => {
  const spoiled = (o: string, change: (r: Row) => void, pick: (r: Row) => boolean): string | null => {
    const row = rows.find((r) => r.o === o && pick(r) && runRow(adapter, ops[o], r) === null);
    if (row === undefined) throw new Error(`no passing row of ${o}`);
    const copy = structuredClone(row);
    change(copy);
    return runRow(adapter, ops[o], copy);
  };
  const filled = (r: Row) => r.n > 1;

  test("fails by digest", () => {
    const flip = (r: Row) => {
      (r.h as string[])[0] = "0".repeat(16);
    };
    expect(spoiled("add", flip, (r) => filled(r) && r.h !== undefined && r.f === "f")).toContain("digest");
    expect(spoiled("add", flip, (r) => filled(r) && r.h !== undefined && r.f === "i")).toContain("digest");
  });

  test("fails by sample, by sum, by dtype, by shape, by missing error", () => {
    const sampled = (r: Row) => filled(r) && r.v !== undefined && r.f === "f" && r.d === "f32";
    const nudge = (r: Row) => {
      const v = (r.v as number[][])[0];
      v[v.length - 1] *= 1.001;
    };
    expect(spoiled("log", nudge, sampled)).toContain("expected");
    const long = (r: Row) => sampled(r) && r.w !== undefined;
    const push = (r: Row) => {
      const w = (r.w as number[][])[0];
      w[w.length - 1] += 1;
    };
    expect(spoiled("log", push, long)).toContain("weighted sum");
    expect(spoiled("log", (r) => void (r.q = [1]), sampled)).toContain("NaN");
    expect(spoiled("log", (r) => void (r.rd = ["f64"]), sampled)).toContain("dtype");
    expect(spoiled("log", (r) => void (r.rs as number[][])[0].push(1), sampled)).toContain("shape");
    expect(spoiled("log", (r) => void (r.e = ["RuntimeError", "x"]), sampled)).toContain("no error");
  });
});
