// What is written through an index, as random sequences beside Python's tensordict brought it up.
import { expect, test } from "bun:test";
import { arange, full, lazyStack, ones, TensorDict, tensor, zeros } from "../../src/index.ts";
import type { Any } from "../conformance/adapter.ts";
import { thrown } from "../thrown.ts";

const td = (entries: Any, batch: number[]): Any => new TensorDict(entries, batch);
const vector = (n = 2): Any => td({ a: arange(n).float() }, [n]);

test("a number written into a stack's part goes to the entries that all members have", () => {
  const member = (...keys: string[]) => td(Object.fromEntries(keys.map((key) => [key, ones(1, 2)])), [1, 2]);
  const inner = (key: string) => td({ n: td({ x: ones(1, 2), [key]: ones(1, 2) }, [1, 2]) }, [1, 2]);
  const indices = [[0], [[1, 0]], [":"], [":", 0], [tensor([true, false])], ["..."], [null], [], [":", [0]], [0, 0]];
  for (const index of indices) {
    const mixed: Any = lazyStack([member("a", "n"), member("a", "b")], 0);
    mixed.setAt(index, 0);
    expect([index, mixed.members[0].get("a").sum().item() < 2]).toEqual([index, true]);
    expect(mixed.members[0].get("n").tolist()).toEqual([[1, 1]]);
    expect(mixed.members[1].get("b").tolist()).toEqual([[1, 1]]);
    const nested: Any = lazyStack([inner("y"), inner("z")], 0);
    nested.setAt(index, 0);
    expect([index, nested.members[0].get(["n", "x"]).sum().item() < 2]).toEqual([index, true]);
    expect(nested.members[0].get(["n", "y"]).tolist()).toEqual([[1, 1]]);
    expect(nested.members[1].get(["n", "z"]).tolist()).toEqual([[1, 1]]);
  }
});

test("a number is not written where elements share their memory", () => {
  const wide = td({ a: zeros(2, 1), n: td({ a: zeros(2, 1) }, [2, 1]) }, [2, 1]).expand(2, 3);
  for (const write of [() => wide.setAt([0], 1), () => wide.setAt([":"], true), () => wide.setAt_("a", 1, 0)])
    expect(thrown(write)).toContain("more than one element of the written-to tensor");
  expect(wide.get("a").sum().item()).toBe(0);
  wide.setAt([0, 1], 1);
  expect(wide.get("a").sum().item()).toBe(3);
});

test("a part of a stack is updated member by member, whose shapes may differ", () => {
  const [flat, deep] = [td({ a: zeros(1, 2) }, [1, 2]), td({ a: zeros(1, 2, 3) }, [1, 2])];
  const ragged = lazyStack([flat, deep], 1) as Any;
  const given = lazyStack([td({ a: ones(2) }, [2]), td({ a: full([2, 3], 2) }, [2])], 0);
  ragged.updateAt_(given, 0);
  expect([flat.get("a").sum().item(), deep.get("a").sum().item()]).toEqual([2, 12]);
  expect(
    thrown(() => ragged.updateAt_(lazyStack([vector(), td({ b: ones(2) }, [2])], 0).set("c", ones(2, 2)), 0)),
  ).toContain('key "c" not found');
});

test("a part is written from a batch that its own ends like, or that the tensors have", () => {
  const into = () => td({ a: zeros(2, 3, 2) }, [2, 3]);
  const sums = (value: Any) => {
    const one = into();
    one.setAt([":"], value);
    return one.get("a").sum(-1).tolist();
  };
  expect(sums(td({ a: arange(6).view(3, 2).float() }, [3]))).toEqual([
    [1, 5, 9],
    [1, 5, 9],
  ]);
  const same = [
    [2, 2, 2],
    [2, 2, 2],
  ];
  for (const bs of [[], [2], [2, 3, 2]]) expect(sums(td({ a: ones(2, 3, 2) }, bs))).toEqual(same);
  const text = "indexed destination TensorDict batch size is torch.Size([2, 3])";
  for (const bs of [[], [1, 3], [2]]) expect(thrown(() => sums(td({ a: ones(...bs) }, bs)))).toContain(text);
});

test("a level that is made for a part has the dimensions that the level of the part has beyond the batch", () => {
  const level = td({ a: ones(2) }, [2]);
  const stack = lazyStack([level, level], 0);
  for (const [made, inner] of [
    [level, [3, 2]],
    [stack, [3, 2, 2]],
  ] as [Any, number[]][]) {
    const into = td({}, [3]);
    into.setAt(1, td({ n: made, m: td({ w: made }, []) }, []));
    expect([...into.get("n").batchSize]).toEqual(inner);
    expect([into.get("m"), into.get(["m", "w"])].map((one) => [...one.batchSize])).toEqual([[3], inner]);
    expect(into.get(["m", "w", "a"]).sum([-1]).sum().item()).toBe(inner.length === 2 ? 2 : 4);
  }
});

test("a key that only some members of a stack have is written where the index reaches those alone", () => {
  const members = [td({ a: ones(2), b: ones(2) }, [2]), td({ a: ones(2) }, [2])];
  const stack = lazyStack(members, 0) as Any;
  stack.setAt_("b", 0, 0);
  expect(members[0].get("b").tolist()).toEqual([0, 0]);
  stack.setAt_("b", tensor([3, 4]), 0);
  stack.setAt_("b", 5, [0, 1]);
  expect(members[0].get("b").tolist()).toEqual([3, 5]);
  const missing = 'key "b" not found';
  for (const index of [1, ":", [1, 0]]) expect(thrown(() => stack.setAt_("b", 0, index))).toContain(missing);
  expect([members[0].get("b").tolist(), [...members[1].keys()]]).toEqual([[3, 5], ["a"]]);
});

test("a tensor without dimensions fills a part of its own memory", () => {
  for (const index of ["...", ":"]) {
    const first = vector().narrow(0, 0, 1);
    first.get("a").fill_(7);
    first.updateAt_(first.at(0), index);
    first.setAt_("a", first.get("a").at(0), index);
    expect(first.get("a").tolist()).toEqual([7]);
  }
  // Leading dimensions of one are none.
  const whole = vector();
  whole.updateAt_(whole.unsqueeze(1).at(1), 1);
  expect(whole.get("a").tolist()).toEqual([0, 1]);
});

test("a part of a stack takes no batch with dimensions beyond its own", () => {
  for (const batch of [
    [1, 1],
    [1, 2],
  ] as const) {
    const stack = lazyStack([td({ a: ones(2) }, []), td({ a: ones(2) }, [])], 0) as Any;
    const value = td({ a: zeros(...batch) }, [...batch]);
    expect(thrown(() => stack.setAt([":-1"], value))).toContain("which differs from the source batch size");
    expect(stack.get("a").sum().item()).toBe(4);
  }
});

test("an index that reaches no member of a stack is checked as well", () => {
  const stack = lazyStack([vector(3), vector(3)], 0) as Any;
  for (const none of [[], "0:0"]) {
    stack.setAt_("a", 5, [none, 2]);
    expect(thrown(() => stack.setAt_("a", 5, [none, 3]))).toContain("IndexError");
  }
  expect(stack.get("a").sum().item()).toBe(6);
});
