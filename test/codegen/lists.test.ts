// Operators over lists of tensors: forms, gradients of two lists, and what autograd refuses.
import { describe, expect, test } from "bun:test";
import { _foreach_add_List, _foreach_mul_Scalar_, _foreach_zero_, _fused_sgd_ } from "../../generated/ops.ts";
import { autograd, noGrad, ones, type Tensor, tensor, zeros } from "../../src/index.ts";

const leaf = (...values: number[]): Tensor => tensor(values, { requiresGrad: true });

describe("a list of sums", () => {
  test("has a gradient for each member of both lists", () => {
    const [a, b, c, d] = [leaf(1, 2), leaf(3), leaf(5, 6), leaf(7)];
    const [x, y] = _foreach_add_List([a, b], [c, d], 3) as [Tensor, Tensor];
    expect([x.tolist(), y.tolist()]).toEqual([[16, 20], [24]]);
    expect([x.gradFn?.name, y.gradFn === x.gradFn]).toEqual(["ForeachAddBackward0", true]);
    x.mul(tensor([1, 10]))
      .sum()
      .add(y.mul(100).sum())
      .backward();
    expect([a, b, c, d].map((t) => t.grad?.tolist())).toEqual([[1, 10], [100], [3, 30], [300]]);
  });

  test("of which some want none, or have none", () => {
    const [a, d] = [leaf(1, 2), leaf(7)];
    const [x, y] = _foreach_add_List([a, ones(1)], [ones(2), d], 2) as [Tensor, Tensor];
    x.sum().backward({ retainGraph: true });
    expect([a.grad?.tolist(), d.grad?.tolist() ?? [0]]).toEqual([[1, 1], [0]]);
    y.sum().backward();
    expect(d.grad?.tolist()).toEqual([2]);
  });

  test("can be differentiated twice, and broadcasts", () => {
    const [a, b] = [leaf(2), leaf(1, 2, 3)];
    const [x] = _foreach_add_List([a], [b], 1) as [Tensor];
    const [first] = autograd.grad(x.pow(3).sum(), [a], { createGraph: true });
    const [second] = autograd.grad((first as Tensor).sum(), [a]);
    expect((second as Tensor).item()).toBe(6 * (3 + 4 + 5));
  });

  test("goes into a list of targets", () => {
    const out = [zeros(2), zeros(1)];
    const versions = out.map((t) => t._version.value);
    noGrad(() => _foreach_add_List([leaf(1, 2), leaf(3)], [ones(2), ones(1)], 1, out));
    expect(out.map((t) => t.tolist())).toEqual([[2, 3], [4]]);
    expect(out.map((t, i) => t._version.value - (versions[i] as number))).toEqual([1, 1]);
    expect(() => _foreach_add_List([ones(1)], [], 1)).toThrow("must have the same number of tensors, got 1 and 0");
  });
});

describe("what writes lists", () => {
  test("counts each write", () => {
    const list = [ones(2), ones(3, { dtype: "float64" }), ones(2, { dtype: "int64" })];
    const versions = list.map((t) => t._version.value);
    expect(_foreach_mul_Scalar_(list, 3)).toBeUndefined();
    expect(list.map((t) => t.tolist() as unknown)).toEqual([[3, 3], [3, 3, 3], [3n, 3n].map(Number)]);
    _foreach_zero_(list);
    expect(list.map((t, i) => t._version.value - (versions[i] as number))).toEqual([2, 2, 2]);
    const buffers = [ones(2)];
    const [p, g] = [[zeros(2)], [ones(2)]];
    _fused_sgd_(p, g, buffers, 0, 0.5, 1, 0, false, false, false);
    expect([p, g, buffers].map(([t]) => t?._version.value)).toEqual([1, 0, 1]);
    expect(p[0]?.tolist()).toEqual([-1.5, -1.5]);
  });

  test("is refused where gradients would be wrong", () => {
    expect(() => _foreach_mul_Scalar_([ones(1), leaf(1)], 2)).toThrow("a leaf Variable that requires grad");
    expect(() => _foreach_mul_Scalar_([leaf(1).mul(2)], 2)).toThrow("derivative for aten::_foreach_mul_ is not");
    expect(() => _fused_sgd_([ones(1)], [leaf(1)], [], 0, 0, 1, 0, false, false, false)).toThrow("derivative for");
  });

  test("looks at dtypes, shapes and places", () => {
    const sgd = (p: Tensor, g: Tensor) => () => _fused_sgd_([p], [g], [], 0, 0, 1, 0, false, false, false);
    expect(sgd(ones(2), ones(3))).toThrow("must have one shape");
    expect(sgd(ones(2), ones(2, { dtype: "float64" }))).toThrow("must have one dtype");
    expect(sgd(ones(2, { dtype: "int64" }), ones(2, { dtype: "int64" }))).toThrow("not implemented");
    expect(sgd(ones(1).expand(4), ones(4))).toThrow("single memory location");
    const whole = ones(5);
    expect(sgd(whole.narrow(0, 0, 4), whole.narrow(0, 1, 4))).toThrow("memory");
    const meta = ones(3, { device: "meta" });
    expect(sgd(meta, meta)).not.toThrow();
  });
});
