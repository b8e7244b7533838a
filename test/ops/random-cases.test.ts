// Random calls and torch's answers to them: strange shapes and layouts, mixed dtypes, wrong arguments, gradients.
// known.json lists the calls whose answer differs, with the reason; the list may only shrink.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Adapter } from "../conformance/adapter.ts";
import { type RandomCase, runRandom, showCase } from "./random-run.ts";

const dir = join(import.meta.dir, "../fixtures/random");
const read = (file: string): RandomCase[] =>
  readFileSync(join(dir, file), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as RandomCase);
const named = (set: string): RandomCase[] => read(`calls-${set}.jsonl`).map((c) => ({ ...c, id: `${set}-${c.id}` }));
/** Names of the second set begin with `more-`; in the third every layout, version and flag counts; so in the last. */
const cases = [...read("calls.jsonl"), ...named("more"), ...named("strict"), ...named("aimed")];
const known = JSON.parse(readFileSync(join(dir, "known.json"), "utf8")) as Record<string, string>;
const adapter = await Adapter.load();
const groups = new Map<string, RandomCase[]>();
for (const c of cases) groups.set(c.op, [...(groups.get(c.op) ?? []), c]);

for (const [op, list] of groups) {
  test(`random calls of ${op}`, () => {
    const wrong: string[] = [];
    for (const c of list) {
      const what = runRandom(adapter, c);
      const listed = known[String(c.id)] !== undefined;
      if (what !== null && !listed) wrong.push(`${showCase(c)}: ${what}`);
      if (what === null && listed) wrong.push(`${c.id} passes: remove it from known.json`);
    }
    expect(wrong).toEqual([]);
  });
}

test("the list of known differences is short", () => {
  expect(cases.length).toBeGreaterThan(9000);
  expect(Object.keys(known).length).toBeLessThan(cases.length / 100);
});

test("a falsified answer is seen", () => {
  const usable = (x: RandomCase): boolean => {
    const r = x.out?.[0];
    return x.form === "f" && r?.dt === "f32" && r.a === -1 && (r.x?.length ?? 0) > 2 && x.grads === undefined;
  };
  const c = cases.find((x) => usable(x) && known[String(x.id)] === undefined);
  if (c === undefined) throw new Error("no usable case");
  const change = (edit: (r: NonNullable<RandomCase["out"]>[0]) => void): string | null => {
    const copy = structuredClone(c);
    edit((copy.out as NonNullable<RandomCase["out"]>)[0] as never);
    return runRandom(adapter, copy);
  };
  expect(runRandom(adapter, c)).toBeNull();
  expect(change((r) => void ((r.x as number[])[1] = 123))).toContain("expected 123");
  expect(change((r) => void (r.dt = "u8"))).toContain("dtype");
  expect(change((r) => void r.sh?.push(1))).toContain("shape");
  expect(change((r) => void (r.a = 0))).toContain("shares storage");
  const strict = cases.find((x) => x.strict && usable({ ...x, out: x.out?.slice(0, 1) } as RandomCase));
  const wrong = (edit: (copy: RandomCase) => void): string | null => {
    const copy = structuredClone(strict) as RandomCase;
    edit(copy);
    return runRandom(adapter, copy);
  };
  expect(wrong(() => {})).toBeNull();
  expect(wrong((x) => void ((x.tv as number[])[0] = 3))).toContain("versions 0");
  expect(wrong((x) => void (((x.out as NonNullable<RandomCase["out"]>)[0] as { ver: number }).ver = 9))).toContain(
    "version",
  );
  expect(wrong((x) => void (((x.out as NonNullable<RandomCase["out"]>)[0] as { fl: string }).fl = "c"))).toContain(
    "flags",
  );
  expect(runRandom(adapter, { ...c, err: ["RuntimeError", "x"] })).toContain("no error");
});
