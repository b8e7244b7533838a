// Parts of stacks of texts: basic indices and changes of shape share their values with the source, as memory is shared;
// what lists and masks choose are copies. Programs with Python's results; scripts/oracle/make_nontensor_rows.py.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { arange, NonTensorData, NonTensorStack, slice, TensorDict, tensor } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: steps of programs are read from a file
type Td = any;
type Part = null | number | { kind: "slice" | "list" | "tensor" | "mask"; value: number[] | boolean[] };
type Step = [name: string, ...args: never[]];
interface Program {
  shape: number[];
  steps: Step[];
  write: [name: string, at: number[]];
  texts: unknown[];
}

const programs: Program[] = await Bun.file(join(import.meta.dir, "../fixtures/nontensor-rows.json")).json();

function part(given: Part): unknown {
  if (given === null || typeof given === "number") return given;
  if (given.kind === "slice") return slice(...(given.value as [number, number]));
  return given.kind === "list" ? given.value : tensor(given.value, given.kind === "tensor" ? { dtype: "int64" } : {});
}

const takes: Record<string, (td: Td, ...args: never[]) => Td> = {
  at: (td, parts: Part[]) => td.at(...parts.map(part)),
  masked_select: (td, mask: boolean[]) => td.maskedSelect(tensor(mask)),
  split: (td, size, dim) => td.split(size, dim)[0],
  unbind: (td, dim) => td.unbind(dim).at(-1),
  flip: (td, dim) => td.flip([dim]),
  roll: (td, by, dim) => td.roll(by, dim),
  repeat_interleave: (td, times, dim) => td.repeatInterleave(times, { dim }),
  permute: (td, dims: number[]) => td.permute(...dims),
  reshape: (td, shape: number[]) => td.reshape(...shape),
  flatten: (td) => td.reshape(-1),
  gather: (td, index: number[]) => td.gather(0, tensor(index, { dtype: "int64" })),
  stack: (td) => TensorDict.stack([td, td]),
  shallow: (td) => td.clone({ recurse: false }),
  clone: (td) => td.clone(),
  unsqueeze: (td, dim) => td.unsqueeze(dim),
};

const textsOf = (td: Td): unknown => td.get("n").tolist();

function write(td: Td, [name, at]: Program["write"]): void {
  const row = new TensorDict<Td>({ n: "new", x: tensor(9, { dtype: "int64" }) }, []);
  if (name === "set") td.set_("n", new NonTensorData("new", { batchSize: [...td.batchSize] }));
  else if (name === "setAt") td.setAt(at, row);
  else if (name === "updateAt") td.updateAt_(row, at);
  else td.setAt_("n", "new", at);
}

describe("programs beside Python's", () => {
  test.each(programs.map((program, i) => [i, program] as const))("%d", (_, { shape, steps, write: last, texts }) => {
    const count = shape.reduce((a, b) => a * b, 1);
    const flat = new TensorDict<Td>({ n: new NonTensorStack(Array.from({ length: count }, (_, i) => `t${i}`)) }, [
      count,
    ]);
    const source = flat.reshape(...shape);
    source.set("x", arange(count).view(shape));
    const parts: Td[] = [source];
    for (const [name, ...args] of steps) parts.push(takes[name]?.(parts.at(-1), ...args));
    write(parts.at(-1), last);
    expect(parts.map(textsOf)).toEqual(texts as never);
  });
});
