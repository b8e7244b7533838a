// Compares every compute op with torch's answers over dtypes, layouts, sizes and forms (see scripts/oracle).
// One test per op and form; ZENSOR_ISA and ZENSOR_NUM_THREADS choose what is tested.
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Adapter } from "../conformance/adapter.ts";
import { digest } from "./kernel-digest.ts";
import { storageOf } from "./kernel-inputs.ts";
import { type OpSpec, type Row, rowName, runRow, sampledPositions } from "./kernel-run.ts";

const dir = join(import.meta.dir, "../fixtures/kernels");
const ops = JSON.parse(readFileSync(join(dir, "ops.json"), "utf8")) as Record<string, OpSpec>;
const rows = readdirSync(dir)
  .filter((name) => /^rows-.*\.jsonl$/.test(name))
  .sort()
  .flatMap((name) => readFileSync(join(dir, name), "utf8").split("\n"))
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as Row);
const FORMS = { f: "forward", i: "in-place", o: "out", g: "gradient" };

const groups = new Map<string, Row[]>();
for (const row of rows) {
  const key = `${row.o} ${FORMS[row.f]}`;
  groups.set(key, [...(groups.get(key) ?? []), row]);
}

describe("the formula", () => {
  // Digests of formula storages, as the maker of the fixtures computed them.
  const expected = JSON.parse(readFileSync(join(dir, "inputs.json"), "utf8")) as Record<string, string>;
  test("gives the recorded inputs", () => {
    expect(Object.keys(expected).length).toBeGreaterThan(50);
    for (const [key, want] of Object.entries(expected)) {
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
      for (const row of list) {
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
    expect(spoiled("log", (r) => void ((r.a as number[])[0] += 1), sampled)).toContain("magnitudes");
    expect(spoiled("log", (r) => void (r.rd = ["f64"]), sampled)).toContain("dtype");
    expect(spoiled("log", (r) => void (r.rs as number[][])[0].push(1), sampled)).toContain("shape");
    expect(spoiled("log", (r) => void (r.e = ["RuntimeError", "x"]), sampled)).toContain("no error");
  });
});
