// Shapes of lazy stacks, of stacks of them, and inside dictionaries: structure and values as Python's library has them.
import "../../src/install.ts";
import { describe, expect, test } from "bun:test";
import { arange, zeros } from "../../generated/functional.ts";
import { tensor } from "../../src/api/tensor-data.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { lazyStack, TensorDict, tensorclass } from "../../src/tensordict/index.ts";

class StackedPair extends tensorclass({ a: Tensor, s: String }) {}

/** What is below a stack: kind, stack dimension, batch size, and the first member. */
function structure(td: Td | readonly Td[]): string {
  if (Array.isArray(td)) return (td as readonly Td[]).map(structure).join(" ");
  const one = td as Td & { stackDim: number; members: readonly Td[] };
  const size = `[${[...one.batchSize]}]`;
  if (one._kind !== "lazy") return `${one._className}${size}`;
  return `L${one.stackDim}${size}(${one.members.length} ${structure(one.members[0] as Td)})`;
}

const fields = (i: number) => ({
  a: arange(12)
    .to("float32")
    .reshape(4, 3)
    .add(100 * i),
  s: `x${i}`,
});
const dense = (i: number): Td => new TensorDict(fields(i), [4]) as unknown as Td;
const point = (i: number): Td => new StackedPair(fields(i), { batchSize: [4] }) as unknown as Td;

function flat(dim: number, make = dense): Td {
  return lazyStack([make(0), make(1)], dim);
}

function nested(inner: number, outer: number, make = dense): Td {
  return lazyStack([flat(inner, make), flat(inner, make), flat(inner, make)], outer);
}

type Change = (td: Td) => Td;
const reversed = (td: Td) => [...td.batchSize].reverse();
const CHANGES: Record<string, Change> = {
  "view(-1)": (td) => td.view(-1),
  "view of one more": (td) => td.view([1, ...td.batchSize]),
  "reshape of the reversed": (td) => td.reshape(reversed(td)),
  "flatten()": (td) => td.flatten(),
  "flatten(0, 1)": (td) => td.flatten(0, 1),
  "flatten(-2, -1)": (td) => td.flatten(-2, -1),
  "unflatten(0)": (td) => td.unflatten(0, [1, td.batchSize[0] as number]),
  "transpose(0, -1)": (td) => td.transpose(0, -1),
  "permute of the reversed": (td) => td.permute([...td.batchSize.keys()].reverse()),
  "unsqueeze(0)": (td) => td.unsqueeze(0),
  "unsqueeze(1)": (td) => td.unsqueeze(1),
  "unsqueeze(-1)": (td) => td.unsqueeze(-1),
  "unsqueeze(1).squeeze()": (td) => td.unsqueeze(1).squeeze(),
  expand: (td) => td.expand([2, ...td.batchSize]),
  repeat: (td) => td.repeat([...td.batchSize.keys()].map((i) => i + 1)),
  "unbind(0)": (td) => td.unbind(0)[1] as Td,
  "unbind(1)": (td) => td.unbind(1)[1] as Td,
  "unbind(-1)": (td) => td.unbind(-1)[1] as Td,
  "split(1, 1)": (td) => td.split(1, 1)[1] as Td,
  "split of nothing": (td) => td.split([0, td.batchSize[1] as number], 1)[0] as Td,
  "chunk(2)": (td) => td.chunk(2, 0)[1] as Td,
  'at("...", 0)': (td) => td.at("...", 0) as Td,
  "at(mask)": (td) => td.at(tensor(Array.from({ length: td.batchSize[0] as number }, (_, i) => i % 2 === 0))) as Td,
  gather: (td) => td.gather(0, zeros([1, ...td.batchSize.slice(1)], { dtype: "int64" })),
  contiguous: (td) => td.contiguous(),
};

/** As tensordict 0.15.3 gives them, for three stacks of [2, 4] at 0 along 1, and for three of [4, 2] at 1 along 0. */
const PYTHON: Record<string, [string, string]> = {
  "view(-1)": ["L0[24](24 TensorDict[])", "L0[24](24 TensorDict[])"],
  "view of one more": [
    "L0[1,2,3,4](1 L1[2,3,4](3 L0[2,4](2 TensorDict[4])))",
    "L0[1,3,4,2](1 L0[3,4,2](3 L1[4,2](2 TensorDict[4])))",
  ],
  "reshape of the reversed": ["TensorDict[4,3,2]", "TensorDict[2,4,3]"],
  "flatten(0, 1)": ["L0[6,4](6 TensorDict[4])", "L0[12,2](12 L0[2](2 TensorDict[]))"],
  "flatten(-2, -1)": ["L1[2,12](12 L0[2](2 TensorDict[]))", "L1[3,8](8 L0[3](3 TensorDict[]))"],
  "transpose(0, -1)": ["L1[4,3,2](3 L1[4,2](2 TensorDict[4]))", "L2[2,4,3](3 L0[2,4](2 TensorDict[4]))"],
  "unsqueeze(0)": ["L2[1,2,3,4](3 L1[1,2,4](2 TensorDict[1,4]))", "L1[1,3,4,2](3 L2[1,4,2](2 TensorDict[1,4]))"],
  "unsqueeze(1)": ["L2[2,1,3,4](3 L0[2,1,4](2 TensorDict[1,4]))", "L0[3,1,4,2](3 L2[1,4,2](2 TensorDict[1,4]))"],
  "unsqueeze(1).squeeze()": ["L1[2,3,4](3 L0[2,4](2 TensorDict[4]))", "L0[3,4,2](3 L1[4,2](2 TensorDict[4]))"],
  "unbind(0)": ["L0[3,4](3 TensorDict[4])", "L1[4,2](2 TensorDict[4])"],
  "unbind(1)": ["L0[2,4](2 TensorDict[4])", "L0[3,2](3 L0[2](2 TensorDict[]))"],
  "unbind(-1)": ["L1[2,3](3 L0[2](2 TensorDict[]))", "L0[3,4](3 TensorDict[4])"],
  "split(1, 1)": ["L1[2,1,4](1 L0[2,4](2 TensorDict[4]))", "L0[3,1,2](3 L1[1,2](2 TensorDict[1]))"],
  "chunk(2)": ["L1[1,3,4](3 L0[1,4](1 TensorDict[4]))", "L0[1,4,2](1 L1[4,2](2 TensorDict[4]))"],
  expand: ["TensorDict[2,2,3,4]", "TensorDict[2,3,4,2]"],
  contiguous: ["TensorDict[2,3,4]", "TensorDict[3,4,2]"],
};

function sameValues(a: Td, b: Td): void {
  expect([...a.batchSize]).toEqual([...b.batchSize]);
  // A stack without members has no keys.
  if (a.batchSize.includes(0) && a.get("a") === null) return;
  expect((a.get("a") as Tensor).equal(b.get("a") as Tensor)).toBe(true);
  expect([...(a.get("a") as Tensor).shape]).toEqual([...(b.get("a") as Tensor).shape]);
  expect((a.get("s") as { tolist(): unknown }).tolist()).toEqual((b.get("s") as { tolist(): unknown }).tolist());
}

const densified = (td: Td) => td.densify();

const STACKS: Record<string, () => Td> = {
  "along 0": () => flat(0),
  "along 1": () => flat(1),
  "of stacks, 0 in 0": () => nested(0, 0),
  "of stacks, 0 in 1": () => nested(0, 1),
  "of stacks, 1 in 0": () => nested(1, 0),
  "of stacks, 1 in 2": () => nested(1, 2),
  "of stacks of objects": () => nested(0, 1, point),
};

describe("shapes of lazy stacks", () => {
  for (const [kind, make] of Object.entries(STACKS)) {
    test(`${kind}: the values of the dense one`, () => {
      const td = make();
      for (const change of Object.values(CHANGES)) sameValues(change(td), change(densified(td)));
    });
  }

  for (const [name, [first, second]] of Object.entries(PYTHON)) {
    test(`${name}: the structure of Python's`, () => {
      const change = CHANGES[name] as Change;
      expect(structure(change(nested(0, 1)))).toBe(first);
      expect(structure(change(nested(1, 0)))).toBe(second);
    });
  }

  test("a view that would cut members up is refused, a reshape is dense", () => {
    expect(() => flat(0).view(4, 2)).toThrow(
      "Cannot call `view` on a lazy stacked tensordict. Call `reshape` instead.",
    );
    expect(() => nested(0, 1).view(4, 3, 2)).toThrow("Call `reshape` instead");
  });

  test("members keep their memory", () => {
    const td = nested(1, 0);
    (td.flatten().unbind(0)[5] as Td).fill_("a", -1);
    expect(td.get("a").eq(-1).sum().item()).toBe(3);
  });

  test("members of different shapes", () => {
    const ragged = (n: number) => new TensorDict({ a: zeros(4, n) }, [4]) as unknown as Td;
    const inner = () => lazyStack([ragged(2), ragged(3)], 0);
    const td = lazyStack([inner(), inner()], 0);
    expect(structure(td.flatten(0, 1))).toBe("L0[4,4](4 TensorDict[4])");
    expect(structure(td.transpose(1, 2))).toBe("L0[2,4,2](2 L1[4,2](2 TensorDict[4]))");
    expect(structure(td.unsqueeze(0).squeeze(0))).toBe(structure(td));
    expect(() => td.reshape(4, 2, 2)).toThrow("Failed to stack tensors within a tensordict under the key 'a'");
  });

  test("batches without elements", () => {
    const none = lazyStack([new TensorDict({ a: zeros(0, 3) }, [0]) as unknown as Td], 0);
    for (const td of [none, lazyStack([none, none], 0)]) {
      expect([...(td.flatten().get("a") as Tensor).shape]).toEqual([0, 3]);
      expect([...td.view(-1, 5).batchSize]).toEqual([0, 5]);
    }
  });

  test("inside a dictionary, whose batch is a part of the stack's", () => {
    const make = (entry: Td) =>
      new TensorDict({ n: entry }, [entry.batchSize[0] as number, entry.batchSize[1] as number]) as unknown as Td;
    for (const change of [
      "flatten()",
      "transpose(0, -1)",
      "unsqueeze(1)",
      "unbind(1)",
      "split(1, 1)",
      "expand",
      "repeat",
    ]) {
      const of = CHANGES[change] as Change;
      const [lazy, plain] = [of(make(nested(0, 1))), of(make(densified(nested(0, 1))))];
      expect([...lazy.batchSize]).toEqual([...plain.batchSize]);
      sameValues(lazy.get("n") as Td, plain.get("n") as Td);
    }
  });

  test("arithmetic with a tensor of the batch", () => {
    const by = arange(24).reshape(2, 3, 4);
    const td = nested(0, 1);
    const got = td.mul(by) as Td;
    expect(got.get("a").equal(densified(td).get("a").mul(by.unsqueeze(-1)))).toBe(true);
    expect(td.sum(0).get("a").equal(densified(td).get("a").sum(0))).toBe(true);
  });
});
