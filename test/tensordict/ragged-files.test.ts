// Lazy stacks whose members have other batch sizes go to files and come back, on their own and as an entry.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { arange, lazyStack, load, MemoryMappedTensor, save, TensorDict } from "../../src/index.ts";
import type { Any } from "../conformance/adapter.ts";
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
let count = 0;
const fresh = () => join(room.path, String(count++));

const ragged = (from = 0): Any =>
  lazyStack(
    [2, 1].map((n) => new TensorDict({ a: arange(n).add(from) }, [n])),
    0,
  );
const SCENES: Record<string, (stack: Any) => Any> = {
  "a stack": (stack) => stack,
  "an entry": (stack) => new TensorDict({ stack }, [2]),
};
const stackIn = (td: Any): Any => (td.members === undefined ? td.get("stack") : td);

const WAYS: Record<string, (td: Any, path: string) => Any> = {
  memmap: (td, path) => {
    td.memmap(path);
    return TensorDict.loadMemmap(path);
  },
  "memmap, atomic": (td, path) => {
    td.memmap(path, { atomic: true });
    return TensorDict.loadMemmap(path);
  },
  memmapAsync: async (td, path) => {
    await td.memmapAsync(path);
    return TensorDict.loadMemmapAsync(path);
  },
  memmap_: (td, path) => td.clone().memmap_(path),
  pt: (td, path) => {
    save(td, `${path}.pt`);
    return load(`${path}.pt`);
  },
  consolidate: (td) => td.consolidate(),
  shareMemory_: (td) => td.clone().shareMemory_(),
};

for (const [scene, around] of Object.entries(SCENES))
  for (const [way, go] of Object.entries(WAYS))
    test(`${scene}: ${way}`, async () => {
      const stack = stackIn(await go(around(ragged()), fresh()));
      expect([...stack.batchSize]).toEqual([2, -1]);
      expect(stack.members.map((member: Any) => member.get("a").tolist())).toEqual([[0, 1], [0]]);
    });

test("loaded into another stack the members are mapped", () => {
  const path = fresh();
  ragged().memmap(path);
  const into = ragged(5);
  into.loadMemmap_(path);
  for (const [i, values] of [[0, 1], [0]].entries()) {
    expect(into.members[i].get("a")).toBeInstanceOf(MemoryMappedTensor);
    expect(into.members[i].get("a").tolist()).toEqual(values);
  }
});
