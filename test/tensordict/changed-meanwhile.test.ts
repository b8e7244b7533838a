// Collections whose keys change while a function is called on their entries, or while they are consolidated.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromConsolidated, lazyStack, ones, type Tensor, TensorDict, TensorDictParams } from "../../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "zensor-changed-"));
afterAll(() => rmSync(folder, { recursive: true }));

// biome-ignore lint/suspicious/noExplicitAny: keys come and go
type Any = any;
const tree = (): Any => new TensorDict({ a: ones(2), b: ones(2), in: { c: ones(2), text: "x" } }, [2]);

test("functions that set keys are called for those that were there", () => {
  const ways: Record<string, (td: Any, fn: (x: Tensor) => Tensor | null) => unknown> = {
    apply: (td, fn) => td.apply(fn),
    apply_: (td, fn) => td.apply_(fn),
    namedApply: (td, fn) => td.namedApply((_: unknown, x: Tensor) => fn(x)),
    "left out": (td, fn) => td.apply((x: Tensor) => fn(x) && null),
    "in place": (td, fn) => td.apply(fn, { inplace: true }),
    "into itself": (td, fn) => td.apply(fn, { out: td }),
    "a lazy stack": (td, fn) => lazyStack([td, td.clone()]).apply(fn),
    parameters: (td, fn) => new TensorDictParams(td, { noConvert: true }).apply(fn),
  };
  for (const [name, way] of Object.entries(ways)) {
    for (const into of [(td: Any) => td, (td: Any) => td.get("in")]) {
      const td = tree();
      let calls = 0;
      way(td, (x) => {
        if (++calls > 100) throw new Error(`${name} does not end`);
        into(td).set(`k${calls}`, ones(2));
        return x;
      });
      expect(calls).toBeLessThan(10);
    }
  }
});

test("what is set while consolidateAsync runs is no part of the result, and stays in place", async () => {
  for (const options of [
    {},
    { filename: join(folder, "a.td") },
    { inplace: true },
    { inplace: true, filename: join(folder, "b.td") },
  ]) {
    const td = tree();
    const working = td.consolidateAsync(options);
    td.set("new", ones(2));
    td.set("a", ones(2).mul(5));
    td.get("in").set("d", ones(2));
    td.set("in2", new TensorDict({ e: ones(2) }, [2]));
    const made = await working;
    if (options.inplace === true) {
      expect(made).toBe(td);
      expect([...td.keys(true, true)].length).toBe(6);
      expect([td.isConsolidated(), td.isLocked, td.get("a").tolist()]).toEqual([false, false, [5, 5]]);
    } else {
      expect(made.isConsolidated()).toBe(true);
      expect(made.clone().clearDevice_()).toEqual(tree());
    }
    if (options.filename !== undefined)
      expect(fromConsolidated(options.filename).clone().clearDevice_()).toEqual(tree());
  }
});

test("a key that is taken away meanwhile", async () => {
  const td = tree();
  const working = td.consolidateAsync({});
  td.del_("b");
  td.del_("in");
  expect(await working).toEqual(tree());
  expect([...td.keys()]).toEqual(["a"]);
});
