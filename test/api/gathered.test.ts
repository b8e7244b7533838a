// Lists of tensors that functions take as several arguments too.
import { expect, test } from "bun:test";
import { blockDiag, einsum, func, meshgrid, ones, randn, type Tensor, tensor } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: wrong arguments
type Any = any;
const equal = (a: Tensor, b: Tensor) => expect(a.equal(b)).toBe(true);

test("one by one, in a list, and by name", () => {
  const [a, b, c] = [randn(2, 3), randn(3, 4), randn(4)];
  equal(einsum("ij,jk", a, b), einsum("ij,jk", [a, b]));
  equal(einsum("ij,jk,k->i", a, b, c), einsum("ij,jk,k->i", { operands: [a, b, c] }));
  equal(einsum("ij->ji", a), a.t());
  equal(blockDiag(a, b, c), blockDiag([a, b, c]));
  equal(blockDiag(a), a);
  const [x, y] = [tensor([1, 2]), tensor([3, 4, 5])];
  for (const options of [{}, { indexing: "xy" as const }]) {
    const [one, list] = [meshgrid(x, y, options), meshgrid([x, y], options)];
    const named = meshgrid({ tensors: [x, y], ...options });
    for (const i of [0, 1]) {
      equal(one[i] as Tensor, list[i] as Tensor);
      equal(one[i] as Tensor, named[i] as Tensor);
    }
  }
});

test("with gradients, and example by example", () => {
  const [a, b] = [randn(2, 3, { requiresGrad: true }), randn(3)];
  einsum("ij,j->i", a, b).sum().backward();
  equal(a.grad as Tensor, b.expand(2, 3));
  equal(func.vmap((x: Tensor, y: Tensor) => einsum("i,i", x, y))(ones(3, 2), ones(3, 2)), tensor([2, 2, 2]));
});

test("what is no tensor", () => {
  for (const wrong of [3, "x", null, [1]]) {
    expect(() => (einsum as Any)("ij", ones(2, 2), wrong)).toThrow("invalid combination of arguments");
    expect(() => (meshgrid as Any)(ones(2), wrong)).toThrow("invalid combination of arguments");
    expect(() => (blockDiag as Any)(ones(2), wrong)).toThrow("invalid combination of arguments");
  }
  expect(() => (meshgrid as Any)()).toThrow("meshgrid expects a non-empty TensorList");
  expect(() => (meshgrid as Any)(ones(2), { indexing: "ab" })).toThrow("torch.meshgrid: indexing must be one of");
  expect(() => (einsum as Any)("ij", { operand: [ones(2, 2)] })).toThrow("unexpected keyword argument 'operand'");
});
