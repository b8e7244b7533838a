// Parts of stacks of texts: basic indices and changes of shape share their values with the source, as memory is shared;
// what lists and masks choose are copies. Programs with Python's results; scripts/oracle/make_nontensor_rows.py.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { arange, NonTensorData, NonTensorStack, ones, slice, TensorDict, tensor } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: steps of programs are read from a file
type Td = any;
type Part = number | { kind: "slice" | "list" | "tensor" | "mask"; value: number[] | boolean[] };
type Step = [name: string, ...args: never[]];
interface Program {
  shape: number[];
  steps: Step[];
  write: [name: string, at: number[]];
  texts: unknown[];
}

const programs: Program[] = await Bun.file(join(import.meta.dir, "../fixtures/nontensor-rows.json")).json();

function part(given: Part): unknown {
  if (typeof given === "number") return given;
  if (given.kind === "slice") return slice(...(given.value as [number, number]));
  return given.kind === "list" ? given.value : tensor(given.value, given.kind === "tensor" ? { dtype: "int64" } : {});
}

const takes: Record<string, (td: Td, ...args: never[]) => Td> = {
  at: (td, parts: Part[]) => td.at(parts.map(part)),
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

describe("lists that collections give", () => {
  const of = (n: number) => Array.from({ length: n }, (_, i) => `t${i}`);
  const lists: Record<string, () => unknown> = {
    "td.at(key)": () => new TensorDict<Td>({ n: new NonTensorStack(of(3)) }, [3]).at("n"),
    "stack.tolist()": () => new NonTensorStack(of(3)).tolist(),
    "the same with members": () => {
      const stack = new NonTensorStack(of(3));
      expect(stack.members.length).toBe(3);
      return stack.tolist();
    },
    "an inner list": () => new TensorDict<Td>({ n: new NonTensorStack(of(4)) }, [4]).reshape(2, 2).get("n").tolist()[1],
    "of one value": () => new NonTensorData("a", { batchSize: [2] }).tolist(),
    "of a lazy stack": () =>
      TensorDict.lazyStack([new TensorDict<Td>({ n: "a" }, []), new TensorDict<Td>({ n: "b" }, [])])
        .get("n")
        .tolist(),
  };
  for (const [name, make] of Object.entries(lists)) {
    test(`${name}: a write is refused`, () => {
      const list = make() as unknown[];
      const before = JSON.stringify(list);
      expect(() => {
        list[0] = "written";
      }).toThrow(TypeError);
      expect(() => list.push("more")).toThrow(TypeError);
      expect(JSON.stringify(list)).toBe(before);
    });
  }
  test("values that are lists stay what they are", () => {
    const value = ["a", "b"];
    const data = new NonTensorData(value);
    (data.tolist() as unknown as string[]).push("c");
    expect(data.data).toEqual(["a", "b", "c"]);
    const stack = new NonTensorStack([value, ["x"]]);
    expect(Object.isFrozen(value)).toBe(false);
    expect((stack.tolist() as unknown[])[0]).toBe(value);
    expect(Object.isFrozen(value)).toBe(false);
  });
});

test("repeated rows are rows of their own", () => {
  const row = new TensorDict<Td>({ n: "new" }, []);
  const source = new TensorDict<Td>({ n: new NonTensorStack(["a", "b", "c"]) }, [3]);
  const part = source.at(tensor([1n, 1n, 0n]));
  part.setAt(0, row);
  expect([textsOf(part), textsOf(source)]).toEqual([
    ["new", "b", "a"],
    ["a", "b", "c"],
  ]);
  const stacked = TensorDict.stack([source, source]) as Td;
  stacked.setAt([0, 1], row);
  expect((textsOf(stacked) as unknown[])[0]).toEqual(["a", "new", "c"]);
});

test("a collection that changes its dtype in place keeps its values, a new one has its own", () => {
  const td = new TensorDict<Record<string, unknown>>(
    { x: ones(2), n: new NonTensorData("a", { batchSize: [2] }) },
    [2],
  );
  const before = td.get("n" as never);
  expect(td.to("float64", { inplace: true }).get("n" as never)).toBe(before);
  expect(td.to("float32").get("n" as never)).not.toBe(before);
});
