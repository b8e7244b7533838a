// What the compiler knows about TensorDicts. The checks are the types: `tsc` fails when one of them is wrong.
import "../../src/install.ts";
import { expect, test } from "bun:test";
import { isin } from "../../src/index.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { type NonTensorData, TensorDict } from "../../src/tensordict/index.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void {}

test("keys, nested paths and results", () => {
  const td = new TensorDict({ a: zeros([2]), b: { c: zeros([2]), s: "x" }, n: 1 });
  const a = td.get("a");
  same<typeof a, Tensor>();
  const c = td.get(["b", "c"]);
  same<typeof c, Tensor>();
  const n = td.at("n");
  same<typeof n, Tensor>();
  const s = td.get(["b", "s"]);
  same<typeof s, NonTensorData<"x">>();
  const value = td.at(["b", "s"]);
  same<typeof value, "x">();
  const inner = td.get("b").get("c");
  same<typeof inner, Tensor>();
  // @ts-expect-error no such key
  td.get("zz");
  // @ts-expect-error no such nested key
  td.get(["b", "zz"]);
  // @ts-expect-error tensors have no keys
  td.get(["a", "zz"]);
  // @ts-expect-error a wrong key in what at() gave
  expect(() => td.at("b").at("zz")).toThrow();
  const more = td.set("fresh", zeros([1]));
  const fresh = more.get("fresh");
  same<typeof fresh, Tensor>();
  const still = more.get("a");
  same<typeof still, Tensor>();
});

test("a declared schema", () => {
  const load = (): TensorDict<{ a: Tensor; b: TensorDict<{ c: Tensor }> }> =>
    new TensorDict({ a: zeros([1]), b: new TensorDict({ c: zeros([1]) }) });
  const td = load();
  const c = td.get(["b", "c"]);
  same<typeof c, Tensor>();
  // @ts-expect-error no such key
  td.get(["b", "d"]);
  const part = td.at("b");
  const deep = part.get("c");
  same<typeof deep, Tensor>();
  expect(c.ndim).toBe(1);
});

test("an unknown schema takes every key", () => {
  const td: TensorDict = new TensorDict({ a: zeros([1]) });
  expect(td.get(["x", "y"])).toBeNull();
  expect(td.get("a").ndim).toBe(1);
});

test("functions of tensors that know collections by a key", () => {
  const td = new TensorDict({ a: zeros([2]) }, [2]);
  const mask = isin(td, td, "a");
  same<typeof mask, Tensor>();
  const named = isin(td, td, { key: ["a"], dim: 0 });
  same<typeof named, Tensor>();
  expect([mask.tolist(), named.tolist()]).toEqual([
    [true, true],
    [true, true],
  ]);
});
