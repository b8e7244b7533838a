// Linear layers inside of vmap: each example with weights of its own, in one product.
import { expect, test } from "bun:test";
import { allclose, func, nn, ones, profiler, randn, stack, type Tensor } from "../../src/index.ts";
import { thrown } from "../thrown.ts";

const { linear } = nn.functional;
const SIZE = 3;

/** Sizes of one example with those of all at `dim`, or without them. */
const given = (dim: number | null, ...sizes: number[]): Tensor =>
  randn(dim === null ? sizes : sizes.toSpliced(dim, 0, SIZE)).requiresGrad_();

const example = (t: Tensor | null, dim: number | null, i: number): Tensor | null =>
  t === null || dim === null ? t : t.select(dim, i);

test("linear with and without examples of each argument, along any dimension", () => {
  for (const input of [[4, 5], [2, 4, 5], [5]]) {
    for (const x of [null, 0, input.length]) {
      for (const w of [null, 0, 1, 2]) {
        for (const b of ["none", null, 0, 1] as const) {
          if (x === null && w === null && (b === null || b === "none")) continue;
          const tensors = [given(x, ...input), given(w, 6, 5), b === "none" ? null : given(b, 6)] as const;
          const dims = [x, w, b === "none" ? null : b] as const;
          const found = func.vmap(linear as never, dims)(...(tensors as unknown as Tensor[])) as unknown as Tensor;
          const each = Array.from({ length: SIZE }, (_, i) => {
            const [one, weight, bias] = tensors.map((t, k) => example(t, dims[k] as number | null, i));
            return linear(one as Tensor, weight as Tensor, bias as Tensor | null);
          });
          const wanted = stack(each);
          expect(found.shape).toEqual(wanted.shape);
          expect(allclose(found, wanted, { rtol: 1e-5, atol: 1e-5 })).toBe(true);
          const leaves = tensors.filter((t) => t !== null);
          const weights = randn(wanted.shape);
          wanted.mul(weights).sum().backward();
          const grads = leaves.map((t) => (t.grad as Tensor).clone());
          for (const t of leaves) t.grad = null;
          found.mul(weights).sum().backward();
          leaves.forEach((t, i) => {
            expect(allclose(t.grad as Tensor, grads[i] as Tensor, { rtol: 1e-4, atol: 1e-4 })).toBe(true);
          });
        }
      }
    }
  }
});

test("linear inside of two vmaps", () => {
  const [x, w, b] = [randn(4, 5), randn(2, 3, 6, 5), randn(3, 6)];
  const found = func.vmap((weights: Tensor) => func.vmap((weight, bias) => linear(x, weight, bias))(weights, b))(w);
  const wanted = x.matmul(w.transpose(2, 3)).add(b.unsqueeze(1));
  expect(allclose(found, wanted, { rtol: 1e-5, atol: 1e-5 })).toBe(true);
});

test("weights of each example's own take one product", () => {
  const run = func.vmap((w: Tensor, b: Tensor) => linear(ones(4, 5), w, b));
  const { events } = profiler.profile(() => run(randn(3, 6, 5), randn(3, 6)));
  expect(events.filter(({ name }) => /mm|mul/.test(name)).map(({ name }) => name)).toEqual(["aten::baddbmm"]);
});

test("sizes and dtypes that do not fit are refused as for one example", () => {
  const run = func.vmap((w: Tensor, b: Tensor) => linear(ones(4, 5), w, b));
  for (const [w, b] of [
    [randn(3, 6, 4), randn(3, 6)],
    [randn(3, 6, 5).double(), randn(3, 6)],
  ] as const) {
    const one = thrown(() => linear(ones(4, 5), w.select(0, 0), b.select(0, 0)));
    expect(one).not.toBe("no error");
    expect(thrown(() => run(w, b))).toBe(one);
  }
});
