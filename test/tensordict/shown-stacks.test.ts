// Objects of tensorclasses around collections: they show them, and what is called on them happens there.
import { expect, test } from "bun:test";
import { isTensorclass, lazyStack, ones, Tensor, TensorDict, tensorclass, zeros } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: calls that the compiler refuses, too
type Any = any;
class ShownPair extends tensorclass({ a: Tensor, b: Tensor }) {}
const member = (n: number): Any => new TensorDict({ a: ones(2).mul(n), b: ones(3) }, []);
const ragged = () => lazyStack([new TensorDict({ a: ones(2) }, []), new TensorDict({ a: ones(3) }, [])]) as Any;

test("an object shares entries, batch size and lock with what it was made around", () => {
  const td: Any = new TensorDict({ a: ones(2), b: ones(2) }, [2]);
  const pair: Any = ShownPair.fromTensordict(td);
  pair.a = zeros(2);
  expect(td.get("a").tolist()).toEqual([0, 0]);
  td.lock_();
  expect(pair.isLocked).toBe(true);
  pair.unlock_();
  expect(td.isLocked).toBe(false);
  pair.batchSize = [];
  expect([...td.batchSize]).toEqual([]);
  expect(() => ShownPair.fromTensordict(new TensorDict({ z: ones(1) }, []))).toThrow("has no field 'z'");
});

test("a lazy stack stays one", () => {
  const stack: Any = lazyStack([member(1), member(2)]);
  const pair: Any = ShownPair.fromTensordict(stack);
  pair.update({ a: zeros(2, 2) });
  expect(stack.tensordicts[1].get("a").tolist()).toEqual([0, 0]);
  pair.b = ones(2, 3).mul(5);
  expect(stack.tensordicts[0].get("b").tolist()).toEqual([5, 5, 5]);
  const first = pair.at(0);
  expect([isTensorclass(first), first.constructor, first.b.tolist()]).toEqual([true, ShownPair, [5, 5, 5]]);
  first.a = ones(2);
  expect(stack.tensordicts[0].get("a").tolist()).toEqual([1, 1]);
  expect(pair.add(1).constructor).toBe(ShownPair);
  expect(pair.unbind(0).map((one: Any) => one.constructor === ShownPair)).toEqual([true, true]);
  expect(pair.toTensordict().constructor.name).toBe("TensorDict");
  expect([pair.at("a").shape.join(), String(pair).slice(0, 10)]).toEqual(["2,2", "ShownPair("]);
});

test("members that differ in shape stay apart, and locks reach them", () => {
  const stack = ragged();
  const pair: Any = ShownPair.fromTensordict(stack);
  expect([pair.keys(), [...pair.batchSize], pair.at(1).a.tolist()]).toEqual([["a"], [2], [1, 1, 1]]);
  expect(() => pair.a).toThrow("Failed to stack tensors within a tensordict under the key 'a'");
  expect(String(pair)).toContain("a=Tensor(shape=torch.Size([2, -1])");
  pair.lock_();
  expect([pair.isLocked, stack.tensordicts[0].isLocked]).toEqual([true, true]);
  pair.unlock_();
  expect([pair.isLocked, stack.tensordicts[0].isLocked]).toEqual([false, false]);
  const two: Any = lazyStack([pair, ShownPair.fromTensordict(ragged()) as Any]);
  expect([two.constructor, [...two.batchSize]]).toEqual([ShownPair, [2, 2]]);
  const outer: Any = new TensorDict({ p: pair }, []).lock_();
  expect(() => pair.unlock_()).toThrow("part of a locked graph");
  outer.unlock_();
  expect(stack.isLocked).toBe(false);
});

test("what is made of it is its own", () => {
  const pair: Any = ShownPair.fromTensordict(lazyStack([member(1), member(2)]));
  const copy = pair.clone();
  copy.a = zeros(2, 2);
  expect(pair.a.sum().item()).toBe(6);
});
