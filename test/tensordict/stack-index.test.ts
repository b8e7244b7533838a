// Every index of a lazy stack reads and writes what it would read and write of the dense one.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { arange, lazyStack, slice, type Tensor, TensorDict, tensor, zeros } from "../../src/index.ts";
import type { Any } from "../conformance/adapter.ts";
import { thrown } from "../thrown.ts";

/** A batch of four dimensions, in stacks along one or two of them. */
const BATCH = [2, 3, 2, 2];
const dense = (): Any =>
  new TensorDict(
    { a: arange(24).view(BATCH), n: new TensorDict({ b: arange(48).view([...BATCH, 2]) }, BATCH) },
    { batchSize: BATCH, names: ["x", "y", "z", "w"] },
  );

/** The same entries, each member with memory of its own. */
function stacked(dims: readonly number[], td: Any = dense()): Any {
  const [dim, ...rest] = dims;
  if (dim === undefined) return td.clone();
  const members = td.unbind(dim).map((part: Any) => stacked(rest, part));
  const stack = lazyStack(members, dim) as Any;
  stack.names = td.names;
  return stack;
}

const part = (size: number): fc.Arbitrary<Any> =>
  fc.oneof(
    fc.integer({ min: -size, max: size - 1 }),
    fc.constant(":"),
    // Not of nothing: then other parts are not looked at in a dense one.
    fc.tuple(fc.nat(size - 1), fc.nat(2), fc.constantFrom(1, 2)).map(([a, n, step]) => slice(a, a + n + 1, step)),
    fc.array(fc.integer({ min: -size, max: size - 1 }), { maxLength: 3 }),
    fc
      .array(fc.integer({ min: -size, max: size - 1 }), { minLength: 2, maxLength: 2 })
      .map(([a, b]) => tensor([[a, b]] as number[][]).long()),
    fc.array(fc.boolean(), { minLength: size, maxLength: size }),
    fc.constantFrom(null, true, "..."),
  );

/** An index: parts for some dimensions, a mask of two of them at times, and none twice. */
const indices: fc.Arbitrary<Any[]> = fc
  .tuple(
    part(2),
    part(3),
    part(2),
    part(2),
    fc.nat(4),
    fc.nat(8),
    fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
  )
  .map(([x, y, z, w, count, form, bits]) => {
    const mask = tensor(bits).view(2, 3);
    const all = form > 5 ? [null, x, y, z, w] : [x, y, z, w];
    const parts =
      form === 0 ? [mask, z].slice(0, Math.max(1, count)) : all.slice(0, Math.max(1, count + (form > 5 ? 1 : 0)));
    return parts.filter((one, i) => one !== "..." || parts.indexOf(one) === i);
  });

/** What an index of it gives, or the error. */
function outcome(run: () => Any): Any {
  try {
    return run();
  } catch (error) {
    return (error as Error).constructor.name;
  }
}

const values = (td: Any): Any => {
  if (typeof td === "string") return td;
  const whole = td.toTensordict();
  return [whole.batchSize.join(), whole.get("a").tolist(), whole.get(["n", "b"]).tolist()];
};

const STACKS = [[0], [1], [3], [0, 0], [2, 0], [2, 1]];
const RUNS = { numRuns: 400, seed: 7 };

test("what an index reads", () => {
  for (const dims of STACKS) {
    const agrees = fc.property(indices, (index) => {
      const [want, got] = [dense(), stacked(dims)].map((td) => outcome(() => td.at(index)));
      expect(values(got)).toEqual(values(want));
    });
    fc.assert(agrees, RUNS);
  }
});

test("what an index writes: collections, tensors of a key, and numbers", () => {
  for (const dims of STACKS) {
    const agrees = fc.property(indices, fc.nat(2), (index, kind) => {
      const [want, got] = [dense(), stacked(dims)].map((td) =>
        outcome(() => {
          const piece = dense().at(index);
          // Where an index names an element twice, all of its values are the same one.
          if (kind === 0) td.setAt(index, piece.mul(0).add(7));
          else if (kind === 1) td.setAt_(["n", "b"], zeros(2).add(5).long(), index);
          else td.setAt(index, 3);
          return td;
        }),
      );
      expect(values(got)).toEqual(values(want));
    });
    fc.assert(agrees, RUNS);
  }
});

test("distinct elements go where they belong", () => {
  const lists: Any[] = [
    [[1, 0]],
    [":", [2, 0]],
    [
      [0, 1],
      [2, 0],
    ],
    [[1, 0], ":", [0, 1]],
    [tensor([[1], [0]]).long(), [2, 0]],
  ];
  for (const dims of STACKS) {
    for (const index of lists) {
      const [want, got] = [dense(), stacked(dims)];
      for (const td of [want, got]) td.setAt(index, dense().add(100).at(index));
      expect(values(got)).toEqual(values(want));
      for (const td of [want, got]) td.setAt_("a", (dense().get("a") as Tensor).add(500).at(index), index);
      expect(values(got)).toEqual(values(want));
    }
  }
});

test("a stack is written from itself", () => {
  for (const dims of STACKS) {
    const [want, got] = [dense(), stacked(dims)];
    want.setAt([slice(0, 2)], dense().flip(0));
    got.setAt([slice(0, 2)], got.at([[1, 0]]));
    expect(values(got)).toEqual(values(want));
  }
});

test("an index that reaches no member leaves the keys and dtypes of the first one", () => {
  const members = [new TensorDict({ a: zeros(2).bool(), only: zeros(2) }, [2]), new TensorDict({ a: zeros(2) }, [2])];
  const nothing = (lazyStack(members, 0) as Any).at([[false, false]]);
  expect([...nothing.keys()]).toEqual(["a"]);
  expect(nothing.get("a").dtype.name).toBe("bool");
  expect([...nothing.batchSize]).toEqual([0, 2]);
});

test("an index that does not fit is refused", () => {
  const stack = stacked([1]);
  expect(thrown(() => stack.at(":", 3))).toContain("IndexError: index 3 is out of bounds");
  expect(thrown(() => stack.at(":", [[3]]))).toContain("IndexError");
  expect(thrown(() => stack.at(":", tensor([0.5])))).toContain("must be long, int, byte or bool");
  expect(thrown(() => stack.at(":", [[true, false]]))).toContain("IndexError");
  expect(thrown(() => stack.at(0, 0, 0, 0, 0))).toContain("IndexError");
});
