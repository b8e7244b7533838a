// `td.grad = other` and `td.data = other`.
import { expect, test } from "bun:test";
import { lazyStack, ones, type Tensor, TensorDict, TensorDictParams, tensor, zeros } from "../../src/index.ts";

const own = () => {
  const leaf = (t: Tensor) => t.requiresGrad_();
  return new TensorDict({ a: leaf(ones(3)), n: new TensorDict({ b: leaf(zeros(3)) }, [3]), s: "text" }, [3]);
};
const other = (a = 2, b = 4, n = 3) =>
  new TensorDict({ a: ones(n).mul(a), n: new TensorDict({ b: ones(n).mul(b) }, [n]), s: "text" }, [n]);
const grads = (td: { get(key: string[]): Tensor }) =>
  [["a"], ["n", "b"]].map((key) => td.get(key).grad?.tolist() ?? null);

test("gradients are taken where there are none, and copied where there are", () => {
  const td = own().lock_();
  const first = other();
  td.grad = first;
  expect(grads(td)).toEqual([
    [2, 2, 2],
    [4, 4, 4],
  ]);
  expect(td.get("a").grad).toBe(first.get("a"));
  td.grad = other(5, 6);
  expect(grads(td)).toEqual([
    [5, 5, 5],
    [6, 6, 6],
  ]);
  expect(td.get("a").grad).toBe(first.get("a"));
  expect(first.get("a").tolist()).toEqual([5, 5, 5]);
});

test("gradients of a stack go to its members, those of parameters to these", () => {
  const stack = lazyStack([own(), own()], 1);
  stack.grad = lazyStack([other(1, 2), other(3, 4)], 1);
  expect(stack.tensordicts.map((member) => grads(member))).toEqual([
    [
      [1, 1, 1],
      [2, 2, 2],
    ],
    [
      [3, 3, 3],
      [4, 4, 4],
    ],
  ]);
  const params = new TensorDictParams(new TensorDict({ w: ones(2) }, []));
  params.grad = new TensorDict({ w: tensor([1, 2]) }, []);
  expect(params.get("w").grad?.tolist()).toEqual([1, 2]);
});

test("either all gradients are assigned or none", () => {
  const lacking = new TensorDict({ a: ones(3) }, [3]);
  const td = own();
  expect(() => (td.grad = lacking)).toThrow("key \"n\" not found in TensorDict with keys ['a']");
  expect(() => (td.grad = other(1, 1, 4))).toThrow(
    "attempting to assign a gradient of size '[4]' to a tensor of size '[3]'",
  );
  const half = new TensorDict({ a: ones(3), n: new TensorDict({ b: ones(3, 2) }, [3]) }, [3]);
  expect(() => (td.grad = half)).toThrow("attempting to assign a gradient of size '[3, 2]'");
  expect(grads(td)).toEqual([null, null]);
  td.get("a").grad = ones(3);
  expect(() => (td.grad = half)).toThrow("attempting to assign a gradient of size '[3, 2]'");
  expect(grads(td)).toEqual([[1, 1, 1], null]);
  const wide = own();
  wide.get(["n", "b"]).grad = zeros(3);
  expect(() => (wide.grad = half)).toThrow();
  expect(grads(wide)).toEqual([null, [0, 0, 0]]);
  for (const value of [null, 3, ones(3)]) expect(() => (td.grad = value as never)).toThrow("grad must be a TensorDict");
});

test("data is shared, keys that are not assigned stay, and a locked collection takes it", () => {
  const td = own().lock_();
  const given = other();
  td.data = given as never;
  expect([td.get("a").tolist(), td.get(["n", "b"]).tolist(), td.at("s")]).toEqual([[2, 2, 2], [4, 4, 4], "text"]);
  expect([td.get("a").requiresGrad, td.get("a").dataPtr() === given.get("a").dataPtr()]).toEqual([true, true]);
  td.data = new TensorDict({ a: zeros(3) }, [3]) as never;
  expect([td.get("a").tolist(), td.get(["n", "b"]).tolist()]).toEqual([
    [0, 0, 0],
    [4, 4, 4],
  ]);
  const stack = lazyStack([own(), own()]);
  stack.data = lazyStack([other(1), other(3)]) as never;
  expect(stack.tensordicts.map((member) => member.get("a").tolist())).toEqual([
    [1, 1, 1],
    [3, 3, 3],
  ]);
});

test("data of another batch size or of unknown keys is refused, and nothing is changed", () => {
  const td = own();
  const assign = (value: unknown) => () => {
    td.data = value as never;
  };
  expect(assign(other(1, 1, 4))).toThrow(
    "Cannot assign .data from a source with batch size torch.Size([4]) " +
      "to a destination with batch size torch.Size([3]).",
  );
  const inner = new TensorDict({ a: zeros(3), n: new TensorDict({ b: zeros(3) }, []) }, [3]);
  inner.get("n").batchSize = [];
  expect(assign(new TensorDict({ a: zeros(3), zz: ones(3), n: new TensorDict({ c: ones(3) }, [3]) }, [3]))).toThrow(
    "Cannot assign .data: the keys ['zz', ('n', 'c')] of the source are not in the destination.",
  );
  expect(assign(inner)).toThrow("to a destination with batch size torch.Size([3]) at key 'n'.");
  expect(assign(null)).toThrow("data must be a TensorDict");
  expect(td.get("a").tolist()).toEqual([1, 1, 1]);
});
