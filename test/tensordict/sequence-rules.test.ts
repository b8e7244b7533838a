// Rules that random sequences beside Python's tensordict brought up, one by one.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  arange,
  cat,
  lazyStack,
  maybeDenseStack,
  ones,
  stack,
  Tensor,
  TensorDict,
  tensor,
  tensorclass,
  zeros,
} from "../../src/index.ts";
import type { Any } from "../conformance/adapter.ts";
import { thrown } from "../thrown.ts";

const folder = mkdtempSync(join(tmpdir(), "zensor-rules-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const td = (entries: Any, batch: number[]): Any => new TensorDict(entries, batch);
const vector = (n = 2): Any => td({ a: arange(n).float() }, [n]);
const shapes = (x: Any): Any => Object.fromEntries(x.keys().map((key: string) => [key, [...x.get(key).shape]]));
const kinds = (x: Any): string =>
  x._kind === "lazy" && x.members.length > 0 ? `${x.stackDim}[${kinds(x.members[0])}]` : x._kind;
const OVERLAP = "some elements of the input tensor and the written-to tensor refer to a single memory location";

class Sequenced extends tensorclass({ a: Tensor, n: null }, { pythonName: "rules.Sequenced" }) {}

test("what overlaps in part is refused before anything is written", () => {
  const shared = arange(3).float();
  const into = td({ a: zeros(2), b: shared.narrow(0, 1, 2) }, [2]);
  const from = td({ a: ones(2), b: shared.narrow(0, 0, 2) }, [2]);
  expect(thrown(() => into.update_(from))).toContain(OVERLAP);
  expect(thrown(() => into.add_(from))).toContain(OVERLAP);
  expect(thrown(() => into.setAt([":"], from))).toContain(OVERLAP);
  expect(into.get("a").tolist()).toEqual([0, 0]);
  expect(shared.tolist()).toEqual([0, 1, 2]);
  const whole = vector();
  expect(thrown(() => whole.update_(whole.split(1)[0]))).toContain(OVERLAP);
  expect(thrown(() => whole.unsqueeze(0).update_(whole))).toContain(OVERLAP);
});

test("what is written where it lies stays as it is, whatever repeats", () => {
  const repeated = td({ a: arange(2).view(1, 2).expand(3, 2) }, [3, 2]);
  repeated.update_(repeated);
  repeated.setAt(["1:"], repeated.at(":2"));
  repeated.updateAt_(repeated.at(null), [null]);
  expect(repeated.get("a").tolist()).toEqual([
    [0, 1],
    [0, 1],
    [0, 1],
  ]);
  expect(thrown(() => repeated.update_(td({ a: zeros(3, 2).long() }, [3, 2])))).toContain("more than one element");
});

test("another shape is locked level by level", () => {
  const locked = td({ a: zeros(2, 1), n: td({ a: zeros(2, 1) }, [2, 1]) }, [2, 1]).lock_();
  const part = locked.exclude("a");
  const locks = (x: Any) => [x.isLocked, x.get("n").isLocked];
  const same: ((x: Any) => Any)[] = [
    (x) => x.unsqueeze(0),
    (x) => x.squeeze(1),
    (x) => x.view(1, 2),
    (x) => x.reshape(-1),
    (x) => x.expand(2, 3),
    (x) => x.permute(1, 0),
    (x) => x.split(1)[0],
    (x) => x.narrow(0, 0, 1),
    (x) => x.flatten(),
    (x) => x.unflatten(0, [2, 1]),
    (x) => x.repeat(1, 2),
    (x) => x.tile(2),
    (x) => x.flip(0),
    (x) => x.roll(1, 0),
    (x) => x.repeatInterleave(2, { dim: 0 }),
  ];
  for (const change of same) {
    expect(locks(change(part))).toEqual([false, true]);
    expect(locks(change(locked))).toEqual([true, true]);
  }
  for (const change of [(x: Any) => x.at(0), (x: Any) => x.clone(), (x: Any) => x.add(1)]) {
    expect(locks(change(part))).toEqual([false, false]);
  }
  const point = new Sequenced({ a: zeros(2), n: td({ a: zeros(2) }, [2]) } as Any, { batchSize: [2] }).lock_() as Any;
  expect(locks(point.exclude("a").unsqueeze(0))).toEqual([false, true]);
});

test("unflatten keeps lazy stacks where Python does, without elements too", () => {
  const lazy = (batch: number[], dim: number): Any => {
    const member = td({ a: zeros(batch) }, batch);
    return lazyStack([member, member.clone()], dim);
  };
  const rows: [number[], number, number, number[], string][] = [
    [[0], 0, 0, [1, -1], "0[0[tensordict]]"],
    [[0], 0, 0, [2, 1], "1[0[tensordict]]"],
    [[0], 1, 0, [2, 0], "0[1[tensordict]]"],
    [[0], 0, 1, [2, 0], "tensordict"],
    [[0, 4], 0, 1, [0, 1], "2[0[tensordict]]"],
    [[0, 4], 0, 1, [2, 0], "tensordict"],
    [[4, 0], 0, 2, [0, 1], "tensordict"],
    [[4, 3], 0, 1, [4, 1], "2[0[tensordict]]"],
    [[4, 3], 0, 1, [1, 1, 4], "tensordict"],
    [[4], 0, 1, [2, 2, 1], "2[1[0[tensordict]]]"],
    [[1, 4], 0, 0, [2, 1], "tensordict"],
  ];
  for (const [batch, dim, at, sizes, wanted] of rows) {
    const source = lazy(batch, dim);
    const made = source.unflatten(at, sizes);
    expect(`${[batch, dim, at]} ${sizes}: ${kinds(made)}`).toBe(`${[batch, dim, at]} ${sizes}: ${wanted}`);
    const n = source.batchSize[at];
    const given = sizes.map((size) => (size === -1 ? n / sizes.reduce((a, b) => (b === -1 ? a : a * b), 1) : size));
    expect([...made.batchSize]).toEqual([...source.batchSize].toSpliced(at, 1, ...given));
  }
  for (const source of [vector(4), lazy([3], 0)]) {
    const n = source.batchSize[0];
    expect(thrown(() => source.unflatten(0, [3, 2]))).toBe(
      "RuntimeError: unflatten: Provided sizes [3, 2] don't multiply up to the size of dim 0 " +
        `(${n}) in the input tensor`,
    );
  }
});

test("tile takes fewer and more numbers than there are dimensions", () => {
  const source = td({ a: arange(6).view(2, 3, 1) }, [2, 3]);
  for (const [dims, wanted] of [
    [[2], [2, 6]],
    [
      [2, 1, 1],
      [2, 2, 3],
    ],
    [[], [2, 3]],
    [
      [2, 3, 1, 1],
      [2, 3, 2, 3],
    ],
  ] as const) {
    expect([...source.tile(dims).batchSize]).toEqual([...wanted]);
    expect([...source.tile(dims).get("a").shape]).toEqual([...wanted, 1]);
  }
});

test("the tensors of an operand without a batch broadcast as they are", () => {
  const [plain, batched] = [
    { x: zeros(2), y: ones(2, 3) },
    { x: zeros(2), y: ones(2, 3) },
  ];
  const [a, b] = [td(plain, []), td(batched, [2])];
  expect(shapes(b.add(a))).toEqual({ x: [2], y: [2, 3] });
  expect(shapes(b.eq(a))).toEqual({ x: [2], y: [2, 3] });
  expect(shapes(b.clone().add_(a))).toEqual({ x: [2], y: [2, 3] });
  expect(shapes(a.add(b))).toEqual({ x: [2, 2], y: [2, 2, 3] });
  expect(thrown(() => lazyStack([a, a]).add(a))).toContain("Incompatible dim 0 for tensordict with shape");
  for (const [one, other] of [
    [td({}, []), td({}, [2])],
    [td({}, [2]), td({}, [1, 2])],
  ]) {
    expect([...one.add(other).batchSize]).toEqual([...other.batchSize]);
  }
});

test("levels without tensors in lazy stacks: arithmetic leaves them out", () => {
  const member = (full: boolean): Any => td({ n: td({}, [2]), ...(full ? { a: zeros(2) } : {}) }, [2]);
  const mixed = lazyStack([member(true), member(false)]) as Any;
  const keys = (x: Any) => x.members.map((one: Any) => [...one.keys()].sort());
  expect(keys(mixed.add(1))).toEqual([["a"], []]);
  expect(keys(mixed.maximum(mixed))).toEqual([["a"], []]);
  expect(keys(mixed.neg())).toEqual([["a", "n"], ["n"]]);
  expect(keys(mixed.apply((x: Any) => x.add(1), { filterEmpty: true }))).toEqual([["a"], []]);
  expect(mixed.apply(() => null, { filterEmpty: true })).toBe(null);
  expect(keys((lazyStack([member(false), member(false)]) as Any).add(1))).toEqual([["n"], ["n"]]);
});

test("contiguous leaves no lazy stack at any level", () => {
  const lazy = lazyStack([vector(), vector()]);
  const made = td({ l: lazy, b: zeros(2, 2) }, [2, 2]).contiguous();
  expect(kinds(made.get("l"))).toBe("tensordict");
  expect(made.get("l").get("a").tolist()).toEqual(stack([vector().get("a"), vector().get("a")]).tolist());
});

test("a number is written into members whose entries are not alike; a list of members, as each would be", () => {
  const members = [td({ n: zeros(2) }, [2]), td({ n: td({ a: zeros(2) }, [2]) }, [2])];
  const lazy = lazyStack(members) as Any;
  lazy.setAt([0], 5);
  lazy.setAt([":", 1], 7);
  expect(members[0].get("n").tolist()).toEqual([5, 7]);
  expect(members[1].get(["n", "a"]).tolist()).toEqual([0, 7]);
  const whole = lazyStack([td({ a: arange(2) }, [2]), td({ a: arange(2) }, [2])]) as Any;
  whole.setAt_("a", tensor(3), [tensor([1n])]);
  expect(whole.get("a").tolist()).toEqual([
    [0, 1],
    [3, 3],
  ]);
});

test("a stack of which one part is made has the same members", () => {
  const lazy = lazyStack([vector(3), vector(3)]) as Any;
  const made = lazy.unflatten(0, [2, -1]);
  expect(made.members[0].members[0]).toBe(lazy.members[0]);
  lazy.set("b", zeros(2, 3));
  expect([...made.members[0].members[0].keys()]).toEqual(["a", "b"]);
});

test("maskedFill keeps the strides of tensors that are dense", () => {
  const mask = arange(6).remainder(2).eq(0).view(3, 2);
  const turned = td({ a: ones(2, 3, 2).permute(1, 0, 2) }, [3, 2]).maskedFill(mask, 5);
  expect([...turned.get("a").stride()]).toEqual([2, 6, 1]);
  expect(turned.get("a").select(2, 0).tolist()).toEqual([
    [5, 1],
    [5, 1],
    [5, 1],
  ]);
  const repeated = td({ a: ones(3, 2, 1).expand(3, 2, 3) }, [3, 2]).maskedFill(mask, 5);
  expect([...repeated.get("a").stride()]).toEqual([6, 3, 1]);
});

test("a comparison does not give tensors that the batch does not fit", () => {
  const [one, other] = [td({ a: zeros(2, 1, 2, 2) }, [2, 1, 2, 2]), td({ a: zeros(2, 2) }, [2])];
  expect(thrown(() => one.eq(other))).toContain(
    "got self.batch_size=torch.Size([2, 1, 2, 2]) and value.shape=torch.Size([2, 2, 2, 2, 2])",
  );
});

test("flattened and unflattened, an object stays one of its class, or is refused", () => {
  const nested = new Sequenced({ a: zeros(2), n: td({ x: zeros(2) }, [2]) } as Any, { batchSize: [2] }) as Any;
  const plain = new Sequenced({ a: zeros(2) } as Any, { batchSize: [2] }) as Any;
  expect(plain.flattenKeys(".")).toBeInstanceOf(Sequenced);
  expect(nested.unflattenKeys(".")).toBeInstanceOf(Sequenced);
  const text =
    "ValueError: Keys from the tensordict ({'a', 'n.x'}) must correspond to the class attributes ({'a', 'n'}). " +
    "Got the set of keys {{'n.x'}} which do not belong to the class.";
  expect(thrown(() => nested.flattenKeys("."))).toBe(text);
  expect([...nested.keys()]).toEqual(["a", "n"]);
});

test("of a key and a longer one that begins with it, the longer selects", () => {
  const names = (x: Any) => x.keys({ includeNested: true });
  const tree = td({ a: zeros(2), n: td({ a: zeros(2), m: td({ b: zeros(2) }, [2]) }, [2]) }, [2]);
  const part = ["n", ["n", "m"], ["n", "m", "b"]];
  const sorted = (x: Any) => names(x).map(String).sort();
  expect(sorted(tree.select("n", ["n", "m"]))).toEqual(part.map(String));
  expect(sorted(tree.select(["n", "m"], "n"))).toEqual(part.map(String));
  expect(names(tree.select(["n", "none"], { strict: false }))).toEqual(["n"]);
  expect(names(tree.select(["a", "none"], { strict: false }))).toEqual([]);
  expect(names(tree.select(["a", "none"], "a", { strict: false }))).toEqual(["a"]);
  expect(sorted(tree.select("n", ["n", "m"], { inplace: true }))).toEqual(part.map(String));
  expect(sorted(tree)).toEqual(part.map(String));
});

test("keys of a locked collection are flattened in place where there is nothing to do", () => {
  const empty = td({}, [2]).lock_();
  const stacked = lazyStack([vector(), vector()], 0).lock_() as Any;
  expect(empty.flattenKeys(".", { inplace: true })).toBe(empty);
  expect(empty.unflattenKeys(".", { inplace: true })).toBe(empty);
  expect(stacked.unflattenKeys(".", { inplace: true })).toBe(stacked);
  expect(thrown(() => stacked.flattenKeys(".", { inplace: true }))).toContain("Cannot modify locked TensorDict");
});

test("a tensor beside a collection under one key is compared with each of its entries", () => {
  const nested = td({ a: td({ b: arange(2).float(), c: td({}, [2]) }, [2]) }, [2]);
  const flat = td({ a: ones(2) }, [2]);
  expect(nested.eq(flat).get(["a", "b"]).tolist()).toEqual([false, true]);
  expect(flat.eq(nested).get(["a", "b"]).tolist()).toEqual([false, true]);
  expect(nested.lt(flat).get(["a", "b"]).tolist()).toEqual([true, false]);
  expect(flat.gt(nested).get(["a", "b"]).tolist()).toEqual([true, false]);
  const lazy = lazyStack([td({ a: tensor(1) }, []), td({ a: tensor(2) }, [])], 0) as Any;
  expect(
    lazy
      .eq(td({ a: tensor(2) }, []))
      .get("a")
      .tolist(),
  ).toEqual([false, true]);
});

test("a part of a locked stack is a locked stack, and a member what it is", () => {
  const member = vector().lock_();
  const lazy = lazyStack([member, member], 1) as Any;
  expect([lazy.at(0).isLocked, lazy.at([[1, 0]]).isLocked, lazy.at(null).isLocked]).toEqual([true, true, true]);
  expect(lazy.at(":", 0)).toBe(member);
  expect(lazy.at(0, 0).isLocked).toBe(false);
});

test("stacks of objects of a class are joined member by member", () => {
  const point = (n: number): Any => new Sequenced({ a: zeros(n), n: td({}, [n]) } as Any, { batchSize: [n] });
  const stack = lazyStack([point(2), point(2)], 0) as Any;
  const shown = (x: Any) => [x instanceof Sequenced, kinds(x._shown())];
  expect(shown(maybeDenseStack([stack, stack]))).toEqual([true, "1[tensordict]"]);
  expect(shown(cat([stack, stack] as Any))).toEqual([true, "0[tensordict]"]);
  expect(shown(cat([point(2).expand(2, 2), stack] as Any))).toEqual([true, "0[tensordict]"]);
  expect(thrown(() => stack.set("b", zeros(2, 2)))).toContain("has no field 'b'");
  for (const add of [
    () => stack.update({ b: zeros(2, 2) }),
    () => stack.setAt(0, td({ b: zeros(2) }, [2])),
    () => stack.renameKey_("a", "b"),
    () => stack.createNested("b"),
    () => stack.setdefault("b", zeros(2, 2)),
    () => stack.replace({ b: zeros(2, 2) }),
    () => stack.setNonTensor("b", 1),
    () => stack.stackTensors("a", { outKey: "b" }),
  ])
    expect(thrown(add)).toContain("has no field 'b'");
  expect(thrown(() => (stack.batchSize = []))).toContain("Modifying the batch size of a lazy representation");
});

test("an entry that some members of a stack have is removed from those", () => {
  const free = vector();
  const locked = td({ b: zeros(2) }, [2]).lock_();
  const lazy = lazyStack([free, locked], 0) as Any;
  expect(thrown(() => lazy.del_("c"))).toContain("KeyError");
  expect(thrown(() => lazy.del_("b"))).toContain("Cannot modify locked");
  lazy.del_("a");
  expect([...free.keys()]).toEqual([]);
  const deep = lazyStack([td({ n: vector() }, [2]), td({ n: td({ b: zeros(2) }, [2]) }, [2])], 0) as Any;
  deep.exclude(["n", "b"], { inplace: true });
  expect(deep.members.map((member: Any) => [...member.get("n").keys()])).toEqual([["a"], []]);
  const ragged = lazyStack([vector(2), td({ a: zeros(2, 3) }, [2])], 0) as Any;
  expect([...ragged.exclude("a", { inplace: true }).members[1].keys()]).toEqual([]);
  const point = new Sequenced({ a: zeros(2), n: td({}, [2]) } as Any, { batchSize: [2] }) as Any;
  point.del_("a").del_("a");
  expect(thrown(() => point.del_("z"))).toContain("KeyError");
});

test("a condition of one element takes a member as it is", () => {
  const numbers = lazyStack([td({ a: tensor(0).long() }, []), td({ a: tensor(50).long() }, [])], 0) as Any;
  const floats = lazyStack([td({ a: tensor(1) }, []), td({ a: tensor(2), b: tensor(3) }, [])], 0) as Any;
  const chosen = floats.where(tensor([true, false]), numbers, { pad: -1 });
  expect(chosen.members.map((member: Any) => member.get("a").dtype.name)).toEqual(["float32", "int64"]);
  expect(chosen.members[1].get("b").item()).toBe(-1);
  const nested = td({ a: td({ b: ones(2) }, [2]) }, [2]);
  const flat = vector();
  expect(
    flat
      .where(tensor([true, false]), nested)
      .get(["a", "b"])
      .tolist(),
  ).toEqual([0, 1]);
  expect(
    nested
      .where(tensor([true, false]), flat)
      .get(["a", "b"])
      .tolist(),
  ).toEqual([1, 1]);
});

test("what the members of a stack have in common is what a dense one has", () => {
  const lazy = lazyStack([td({ a: ones(2), b: ones(2) }, [2]), td({ a: ones(2), n: vector() }, [2])], 0) as Any;
  for (const dense of [lazy.sum(0), lazy.contiguous(), lazy.all(0), lazy.flip(0), lazy.repeat(2, 1), lazy.reshape(-1)])
    expect([...dense.keys()]).toEqual(["a"]);
  const soft = lazy.softmax(0);
  expect(soft.members.map((member: Any) => [...member.keys()])).toEqual([
    ["a", "b"],
    ["a", "n"],
  ]);
  expect(soft.get("a").tolist()).toEqual([
    [0.5, 0.5],
    [0.5, 0.5],
  ]);
});

test("updates in place are about leaves, and a stack is written part by part", () => {
  const flat = td({ a: ones(2) }, [2]);
  flat.update_(td({ a: td({}, [2]) }, [2]));
  flat.update_({ a: {}, z: { y: {} } });
  expect(flat.get("a").tolist()).toEqual([1, 1]);
  const column = td({ a: zeros(2, 1) }, [2]);
  column.update_(lazyStack([td({ a: tensor(1) }, []), td({ a: tensor(2) }, [])], 0));
  expect(column.get("a").tolist()).toEqual([[1], [2]]);
  const square = td({ a: arange(4).view(2, 2) }, [2]);
  square.updateAt_(square.at("...", 0), ["...", 0]);
  expect(square.get("a").tolist()).toEqual([
    [0, 1],
    [1, 3],
  ]);
});

test("arithmetic pairs leaves: levels without any go with nothing", () => {
  const bare = td({ a: td({}, [2]) }, [2]);
  const deep = td({ a: td({ b: ones(2) }, [2]) }, [2]);
  expect(thrown(() => deep.add(vector()))).toContain("The first TD has keys {('a', 'b')}");
  expect(thrown(() => vector().mul_(deep))).toContain("The second TD has keys {('a', 'b')}");
  expect(thrown(() => vector().add(bare))).toContain("The first TD has keys {'a'}");
  expect(thrown(() => (lazyStack([deep, deep], 0) as Any).add(lazyStack([vector(), vector()], 0)))).toContain(
    "('0', 'a', 'b')",
  );
  const both = td({ a: ones(2), n: td({}, [2]), s: "text" }, [2]);
  expect(
    both
      .add(td({ a: ones(2) }, [2]))
      .get("a")
      .tolist(),
  ).toEqual([2, 2]);
  expect(
    td({ a: ones(2) }, [2])
      .add(both)
      .get("a")
      .tolist(),
  ).toEqual([2, 2]);
});

test("a level that only some members of a stack have keeps its entries", () => {
  const [with_, without] = [td({ n: vector() }, [2]), td({}, [2])];
  (lazyStack([with_, without], 0) as Any).set(["n", "b"], arange(4).view(2, 2));
  expect(with_.get(["n", "a"]).tolist()).toEqual([0, 1]);
  expect([with_.get(["n", "b"]).tolist(), without.get(["n", "b"]).tolist()]).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

test("keys move into levels of their own names, and out of levels that others have", () => {
  const moved = vector().renameKey_("a", ["a", "b", "c"]);
  expect(moved.get(["a", "b", "c"]).tolist()).toEqual([0, 1]);
  const nested = td({ n: vector() }, [2]).renameKey_("n", ["n", "a"], { safe: true });
  expect(nested.get(["n", "a", "a"]).tolist()).toEqual([0, 1]);
  const inner = vector();
  const outer = td({ n: inner, b: zeros(2) }, [2]).flattenKeys(".", { inplace: true });
  expect([...outer.keys()]).toEqual(["b", "n.a"]);
  expect([...inner.keys()]).toEqual([]);
  const deep = td({ m: vector() }, [2]);
  td({ n: deep }, [2]).flattenKeys(".", { inplace: true });
  expect([[...deep.keys()], [...deep.get("m").keys()]]).toEqual([["m"], []]);
  const members = [td({ n: vector(), b: zeros(2) }, [2]), td({ n: vector(), b: zeros(2) }, [2])];
  const stacked = lazyStack(members, 0) as Any;
  const level = stacked.get("n");
  stacked.flattenKeys(".", { inplace: true });
  expect(members.map((member) => [...member.keys()])).toEqual([
    ["b", "n.a"],
    ["b", "n.a"],
  ]);
  expect([...level.keys()]).toEqual([]);
});

test("a level that excluded keys lead into is another one, also where there are none of them", () => {
  const locked = td({ n: vector(), m: vector() }, [2]).lock_();
  const left = locked.exclude(["n", "c"]);
  expect([left.isLocked, left.get("n").isLocked, left.get("m").isLocked]).toEqual([false, false, true]);
  left.set(["n", "b"], zeros(2));
  expect([...locked.get("n").keys()]).toEqual(["a"]);
});

test("a stack is where its first member is, and joined ones where all of them are", () => {
  const mapped = () => vector().memmap(mkdtempSync(join(folder, "device-")));
  const devices = (join: (list: Any[], dim: number) => Any) =>
    [join([mapped(), vector()], 0), join([vector(), mapped()], 0), join([mapped(), mapped()], 0)].map((made) =>
      String(made.device),
    );
  expect([devices(stack as never), devices(maybeDenseStack as never), devices(cat as never)]).toEqual([
    ["cpu", "null", "cpu"],
    ["cpu", "null", "cpu"],
    ["null", "null", "cpu"],
  ]);
});

test("collections without the dimension are not joined along it", () => {
  for (const [first, second] of [
    [td({}, [1]), td({}, [])],
    [td({ a: ones(1, 2) }, [1]), td({ a: ones(1, 2) }, [])],
  ])
    expect(thrown(() => cat([first, second], 0))).toContain("IndexError: tuple index out of range");
});

test("parts of mapped collections are locked; what is made of pieces of stacks is as free as they are", () => {
  const mapped = () => vector().memmap(mkdtempSync(join(folder, "mapped-")));
  const locks = (stack: Any) => [stack.isLocked, ...(stack.members ?? []).map((member: Any) => member.isLocked)];
  const half = lazyStack([mapped().flattenKeys(), mapped()], 1) as Any;
  expect(locks(half.at(0))).toEqual([false, false, true]);
  expect(locks(half.reshape(4))).toEqual([false, false, false, false, false]);
  expect(half.unbind(0).map(locks)).toEqual([
    [false, false, false],
    [false, false, false],
  ]);
  const whole = lazyStack([mapped(), mapped()], 1) as Any;
  expect(whole.unbind(0).map(locks)).toEqual([
    [true, true, true],
    [true, true, true],
  ]);
  const locked = lazyStack([vector(), vector()], 0).lock_() as Any;
  expect([locked.expand(3, 2, 2).isLocked, td({ n: locked }, [2]).expand(3, 2).get("n").isLocked]).toEqual([
    false,
    false,
  ]);
  expect(td({ n: vector().lock_() }, [2]).expand(3, 2).get("n").isLocked).toBe(true);
  expect([locked.add(1).isLocked, locked.add(td({ a: ones(3, 2, 2) }, [3, 2, 2])).isLocked]).toEqual([true, false]);
});

test("levels without tensors are shared by an empty copy, but copied where there is nothing else", () => {
  const bare = td({ n: td({ e: td({}, [2]) }, [2]) }, [2]).lock_();
  expect(bare.empty(true).get(["n", "e"]).isLocked).toBe(false);
  const full_ = td({ a: ones(2), n: td({ e: td({}, [2]) }, [2]) }, [2]).lock_();
  expect(full_.empty(true).get("n")).toBe(full_.get("n"));
});
