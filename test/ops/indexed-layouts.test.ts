// Strides of what index tensors select: in the order of the indexed tensor's dimensions, then of the index tensors'.
// Cases made with torch.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { arange, type IndexPart, type Tensor, tensor } from "../../src/index.ts";

interface Permuted {
  shape: number[];
  perm: number[];
}
interface Case extends Permuted {
  parts: (":" | "none" | (Permuted & { data: number[] }))[];
  stride: number[];
}

const file = join(import.meta.dir, "../fixtures/indexed-layouts.jsonl");
const cases = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Case);

const permuted = (t: Tensor, { shape, perm }: Permuted): Tensor => t.reshape(shape).permute(perm);

test("results lie as torch lays them", () => {
  expect(cases.length).toBe(40);
  for (const c of cases) {
    const x = permuted(arange(c.shape.reduce((n, m) => n * m, 1)), c);
    const parts = c.parts.map((part): IndexPart => {
      if (part === ":") return part;
      return part === "none" ? null : permuted(tensor(part.data, { dtype: "int64" }), part);
    });
    expect([JSON.stringify(c), ...x.at(...parts).stride()]).toEqual([JSON.stringify(c), ...c.stride]);
  }
});

test("a transposed index gives its layout, behind a slice and a new dimension too", () => {
  const x = arange(120).reshape(2, 3, 4, 5);
  const index = tensor([
    [0n, 1n, 1n],
    [1n, 0n, 1n],
  ]).t();
  expect([...x.at(index).stride()]).toEqual([60, 180, 20, 5, 1]);
  expect([...x.at(":", index).stride()]).toEqual([120, 20, 60, 5, 1]);
  expect([...x.at(null, index).stride()]).toEqual([180, 60, 180, 20, 5, 1]);
  expect([...x.at(index, ":", index).stride()]).toEqual([15, 45, 5, 1]);
});
