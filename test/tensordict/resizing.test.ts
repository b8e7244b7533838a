// Updates by sources of another batch size, and what is new, locked, compared or empty beside them.
import { expect, test } from "bun:test";
import { arange, isTensorclass, lazyStack, ones, Tensor, TensorDict, tensorclass, zeros } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: calls that the compiler refuses, too
type Any = any;
const own = (entries: Any, batch: number[] = []): Any => new TensorDict(entries, batch);

test("update takes over a batch size", () => {
  const inner = own({ b: ones(3, 2) }, [3, 2]);
  const td = own({ a: ones(3), n: inner }, [3]);
  td.update(own({ a: zeros(4), n: own({ b: zeros(4, 5) }, [4, 5]) }, [4]), { updateBatchSize: true });
  expect([[...td.batchSize], [...td.get("n").batchSize], [...td.get(["n", "b"]).shape]]).toEqual([[4], [4, 5], [4, 5]]);
  expect(td.get("n")).toBe(inner);
});

test("an update that is refused leaves everything as it was", () => {
  const td = own({ a: ones(3), b: ones(3) }, [3]);
  const before = td.get("a");
  const source = own({ a: zeros(4) }, [4]);
  expect(() => td.update(source, { updateBatchSize: true })).toThrow("keys in dest but not in source: {{'b'}}.");
  expect(() => td.update(source)).toThrow("Pass update_batch_size=True to replace the batch size.");
  const both = own({ a: zeros(4), b: zeros(4) }, [4]);
  expect(() => td.update(both, { updateBatchSize: true, inplace: true })).toThrow("which cannot be achieved");
  expect(() => td.update(both, { updateBatchSize: true, keysToUpdate: ["a"] })).toThrow("currently not supported");
  expect([[...td.batchSize], td.keys(), td.get("a") === before]).toEqual([[3], ["a", "b"], true]);
});

test("lazy stacks get fewer and more members", () => {
  const stack: Any = lazyStack([0, 1, 2].map((n) => own({ a: ones(2).mul(n) })));
  stack.update(own({ a: zeros(2, 2) }, [2]), { updateBatchSize: true });
  expect([...stack.batchSize]).toEqual([2]);
  stack.update(lazyStack([0, 1, 2].map(() => own({ a: ones(2) }))), { updateBatchSize: true });
  expect([[...stack.batchSize], stack.get("a").sum().item()]).toEqual([[3], 6]);
});

test("new collections keep lazy stacks without their tensors", () => {
  const stack = lazyStack([own({ a: ones(1), t: "x" }), own({ a: ones(1), t: "x" })]);
  const made = own({ d: ones(2, 3), s: stack }, [2]).newZeros([4], { emptyLazy: true });
  expect([made.get("d").shape.join(), made.get("s").tensordicts.length, made.get("s").keys()]).toEqual([
    "4,3",
    4,
    ["t"],
  ]);
  expect(made.get("s").tensordicts[0].at("t")).toBe("x");
  const plain = lazyStack([own({ a: ones(1) }), own({ a: ones(1) })]);
  expect(own({ s: plain }, [2]).newZeros([4]).get("s").get("a").shape.join()).toBe("4,1");
});

test("a tree that holds a collection twice unlocks as a whole, and not below a parent that stays locked", () => {
  const shared = own({ a: ones(1) });
  const root = own({ x: own({ s: shared }), y: own({ s: shared }) }).lock_();
  root.unlock_();
  expect([root.isLocked, shared.isLocked]).toEqual([false, false]);
  const other = own({ s: shared }).lock_();
  root.lock_();
  expect(() => root.unlock_()).toThrow("Cannot unlock a tensordict that is part of a locked graph.");
  expect([root.isLocked, root.get("x").isLocked, other.isLocked]).toEqual([true, true, true]);
});

test("a stack of locked members is locked already", () => {
  const member = own({ a: ones(1) }).lock_();
  const stack = lazyStack([member, member]).lock_();
  expect([stack.isLocked, member.unlock_() && stack.isLocked]).toEqual([true, false]);
});

class ComparedFields extends tensorclass({ x: Tensor, label: String, y: Tensor }) {}

test("empty fields do not count when an object of a class is compared", () => {
  const given = new ComparedFields({ x: arange(2) }, { batchSize: [2] }) as Any;
  for (const other of [{ x: arange(2), label: null, y: null }, own({ x: arange(2), label: null }, [2])]) {
    const same = given.eq(other);
    expect([isTensorclass(same), same.get("x").tolist()]).toEqual([true, [true, true]]);
  }
  expect(isTensorclass(own({ x: arange(2) }, [2]).ne(given))).toBe(true);
  expect(() => given.eq(own({ x: arange(2), z: arange(2) }, [2]))).toThrow("keys in tensordicts mismatch");
  expect(
    own({ a: ones(1) })
      .eq(own({ a: "text" }))
      .get("a")
      .keys(),
  ).toEqual([]);
});

test("what is empty has neither tensors nor values", () => {
  const facts = [own({}), own({ a: own({}) }), own({ a: "x" }), own({ a: { b: "x" } }), own({ a: ones(0) })];
  expect(facts.map((td) => td.isEmpty())).toEqual([true, true, false, false, false]);
});
