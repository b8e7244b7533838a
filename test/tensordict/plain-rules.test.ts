// Rules that random sequences found broken: each was wrong once.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import {
  arange,
  cat,
  int,
  type LazyStackedTensorDict,
  lazyStack,
  loadMemmap,
  ones,
  slice,
  Tensor,
  TensorDict,
  tensor,
  tensorclass,
  zeros,
  zerosLike,
} from "../../src/index.ts";
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);

class RulesPoint extends tensorclass({ a: Tensor, n: null }, { pythonName: "rules.RulesPoint" }) {}

const pair = () => new TensorDict({ a: arange(2).float(), n: new TensorDict({ b: ones(2) }, [2]) }, [2]);
const list = (x: unknown) => (x as Tensor).tolist();

test("in-place arithmetic changes tensors without dimensions once", () => {
  for (const [name, expected] of [
    ["add_", 5],
    ["mul_", 6],
    ["sub_", 1],
    ["pow_", 9],
  ] as const) {
    const td = new TensorDict({ a: tensor(3), b: tensor(3) }, []);
    (td as unknown as Record<string, (x: unknown) => unknown>)[name]?.(int(2));
    expect([list(td.get("a")), list(td.get("b"))]).toEqual([expected, expected]);
  }
  const td = new TensorDict({ a: tensor(3), b: tensor(3) }, []);
  expect(() => td.update_({ a: tensor([4]), b: tensor([7]) })).toThrow("doesn't match the broadcast shape [1]");
  expect(list(td.get("a"))).toBe(3);
});

test("results of changes of order are locked like their source, filled ones are not", () => {
  const td = new TensorDict({ a: zeros(2, 2) }, [2, 2]).lock_();
  for (const made of [
    td.flip(0),
    td.roll(1, 0),
    td.rot90(),
    td.fliplr(),
    td.flipud(),
    td.narrow(0, 0, 1),
    td.tensorSplit(2)[0],
    td.repeatInterleave(2, 0),
    zerosLike(td as never) as unknown as TensorDict,
    lazyStack([td, td]).neg(),
  ]) {
    expect(made?.isLocked).toBe(true);
  }
  for (const made of [td.maskedFill(ones(2, 2).bool(), 1), td.softmax(0), td.at(0)]) {
    expect(made.isLocked).toBe(false);
  }
});

test("views of mapped collections are mapped and locked", () => {
  const td = pair().memmap(room.fresh());
  for (const made of [td.at(0), td.at(slice(0, 1)), td.at(null), td.unbind()[1], td.split(1)[0], td.view(2, 1)]) {
    expect([made?.isLocked, made?.isMemmap()]).toEqual([true, true]);
  }
  expect(td.at(slice(1, 2)).isLocked).toBe(false);
  expect(td.at(0).at("n").isLocked).toBe(true);
  expect(() => td.at(0).savedPath).toThrow("no saved path");
  expect(loadMemmap(td.savedPath).at(0).isLocked).toBe(false);
});

test("slices that say nothing give the collection itself, of a stack another stack of its members", () => {
  const td = pair();
  expect(td.at(":")).toBe(td);
  expect(td.at("...")).toBe(td);
  expect(td.at(slice(0, null))).not.toBe(td);
  const stack = lazyStack([td, td]);
  expect(stack.at(":")).not.toBe(stack);
  expect((stack.at(":") as unknown as LazyStackedTensorDict).members[0]).toBe(td);
});

test("lists, masks and new dimensions of a lazy stack choose members", () => {
  const members = [pair(), pair(), pair()];
  const stack = lazyStack(members);
  const picked = stack.at([[2, 0]]) as unknown as LazyStackedTensorDict;
  expect(picked.members).toEqual([members[2], members[0]] as never);
  expect(picked.members[0]).toBe(members[2] as never);
  const masked = stack.at(tensor([false, true, true])) as unknown as LazyStackedTensorDict;
  expect(masked.members.length).toBe(2);
  const wide = stack.at(null) as unknown as LazyStackedTensorDict;
  expect([wide.stackDim, [...wide.batchSize]]).toEqual([1, [1, 3, 2]]);
  const inner = stack.at(":", [1]) as unknown as LazyStackedTensorDict;
  expect([inner.stackDim, [...inner.batchSize]]).toEqual([0, [3, 1]]);
});

test("parts of a batch of nothing are collections of their own", () => {
  const td = new TensorDict({ a: zeros(0) }, [0]);
  const [part] = td.split(1);
  expect(part).not.toBe(td);
  part?.set("b", zeros(0));
  expect([...td.keys()]).toEqual(["a"]);
  expect(td.chunk(2).length).toBe(2);
});

test("a key may be renamed to itself, is split off once, and only written at where it is", () => {
  const td = pair();
  td.renameKey_("a", "a", { safe: true });
  expect(() => td.splitKeys(["a"], ["a", "n"])).toThrow('key "a" not found');
  const [first, second, rest] = td.splitKeys(["a", "a"], ["a", "n"], { strict: false });
  expect([first, second, rest].map((x) => [...(x as TensorDict).keys()])).toEqual([["a"], ["n"], []]);
  expect(() => pair().select("n").updateAt_({ a: 1 }, 0)).toThrow('key "a" not found in TensorDict');
  const clear = pair();
  expect(() => clear.updateAt_({ n: { z: 1 }, a: 5 }, 0)).toThrow('key "z" not found');
  expect(list(clear.get("a"))).toEqual([0, 1]);
});

test("what is changed in place is changed in its turn", () => {
  const td = new TensorDict({ a: ones(2) }, [2]);
  lazyStack([td, td]).apply_((x) => x.mul(2));
  expect(list(td.get("a"))).toEqual([4, 4]);
  const x = ones(2);
  const shared = new TensorDict({ a: x, b: x }, [2]).apply_((t) => t.mul(3));
  expect(list(shared.get("a"))).toEqual([9, 9]);
});

test("arithmetic leaves levels without tensors out, other functions keep them", () => {
  const td = new TensorDict({ a: ones(2), e: new TensorDict({}, [2]) }, [2]);
  expect([...td.add(1).keys()]).toEqual(["a"]);
  expect([...td.mul(td).keys()]).toEqual(["a"]);
  expect([...td.add(ones(2)).keys()]).toEqual(["a", "e"]);
  expect([...td.neg().keys()]).toEqual(["a", "e"]);
});

test("a stack with a locked member loses no entry", () => {
  const [open, locked] = [pair(), pair().lock_()];
  const stack = lazyStack([open, locked]);
  for (const act of [() => stack.clear(), () => stack.del_("a"), () => stack.pop("a")]) {
    expect(act).toThrow("Cannot modify locked");
    expect([[...open.keys()], [...locked.keys()]]).toEqual([
      ["a", "n"],
      ["a", "n"],
    ]);
  }
});

test("one number goes into a part of members of other shapes", () => {
  const stack = lazyStack([new TensorDict({ a: ones(2) }, [2]), new TensorDict({ a: ones(2, 2) }, [2])]);
  stack.setAt(0, 5);
  expect(list(stack.at(0).get("a"))).toEqual([5, 5]);
  stack.setAt([1, 0], 7);
  expect(list(stack.at(1).get("a"))).toEqual([
    [7, 7],
    [1, 1],
  ]);
});

test("keys chosen in place of a stack of stacks leave its tensors where they are", () => {
  const [one, two] = [pair(), pair()];
  const stack = lazyStack([lazyStack([one, two]), lazyStack([two, one])]);
  const held = one.get("a");
  stack.select("a", { inplace: true });
  expect(one.get("a")).toBe(held);
  expect([...two.keys()]).toEqual(["a"]);
});

test("a new level of a tensorclass is a TensorDict, and a locked collection is updated by itself only in vain", () => {
  const point = new RulesPoint({ a: ones(2), n: null } as never, { batchSize: [2] });
  (point as unknown as TensorDict).createNested("n");
  expect((point as unknown as TensorDict).get("n")).toBeInstanceOf(TensorDict);
  const td = pair().lock_();
  expect(() => td.update(td)).toThrow("Cannot modify locked");
  expect(td.unflattenKeys(".", { inplace: true })).toBe(td);
  expect([...cat([pair(), pair()]).batchSize]).toEqual([4]);
});
