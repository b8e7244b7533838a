// Transforms of operators on images: batches are what examples give one by one, derivatives of first and second order
// in them too, and derivatives forward are what differences show.
import { describe, expect, test } from "bun:test";
import { float64, func, manualSeed, nn, randn, stack, type Tensor } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: functions of one to three tensors
type Any = any;
const F: Any = nn.functional;
const { vmap, grad, jvp }: Any = func;
type Fn = (...args: Tensor[]) => Tensor;

manualSeed(1);
const numbers = (...shape: number[]): Tensor => randn(shape, { dtype: float64 });

const example = (args: readonly Tensor[], dims: readonly (0 | null)[], i: number): Tensor[] =>
  args.map((t, k) => (dims[k] === null ? t : t.select(0, i)));

/** What is wrong with the transforms of a function. */
function problems(f: Fn, args: readonly Tensor[], dims: readonly (0 | null)[]): string[] {
  const found: string[] = [];
  const size = (args[dims.indexOf(0)] as Tensor).size(0);
  const same = (name: string, g: Fn) => {
    const one = stack(Array.from({ length: size }, (_, i) => g(...example(args, dims, i))));
    if (!vmap(g, { inDims: [...dims] })(...args).allclose(one)) found.push(name);
  };
  same("values", f);
  args.forEach((_, k) => {
    const first: Fn = grad(
      (...xs: Tensor[]) =>
        f(...xs)
          .square()
          .sum(),
      { argnums: k },
    );
    same(`gradient ${k}`, first);
    same(
      `second gradient ${k}`,
      grad(
        (...xs: Tensor[]) =>
          first(...xs)
            .square()
            .sum(),
        { argnums: k },
      ),
    );
  });
  const at = example(args, dims, 0);
  const tangents = at.map((t) => numbers(...t.shape));
  const step = (size: number): Tensor => f(...at.map((t, k) => t.add((tangents[k] as Tensor).mul(size))));
  const [, change] = jvp(f, at, tangents);
  const difference = step(1e-6).sub(step(-1e-6)).div(2e-6);
  if (!change.allclose(difference, { rtol: 1e-5, atol: 1e-6 })) found.push("forward");
  return found;
}

const batch = () => numbers(3, 2, 4, 6, 5);
const images = () => numbers(3, 4, 6, 5);

describe("convolutions", () => {
  const weight = () => numbers(3, 6, 2, 3, 3);
  const back = () => numbers(3, 4, 3, 3, 3);
  const bias = () => numbers(3, 6);
  const options = { groups: 2, padding: 1, stride: 2 };
  for (const dims of [
    [0, 0, 0],
    [0, null, null],
    [null, 0, 0],
    [null, null, 0],
    [0, 0, null],
  ] as (0 | null)[][]) {
    const one = (make: () => Tensor, k: number): Tensor => (dims[k] === null ? make().select(0, 0) : make());
    const name = dims.map((d) => d ?? "-").join("");
    test(`plain ${name}`, () => {
      const f: Fn = (x, w, b) => F.conv2d(x, w, b, options);
      expect(problems(f, [one(batch, 0), one(weight, 1), one(bias, 2)], dims)).toEqual([]);
      expect(problems(f, [one(images, 0), one(weight, 1), one(bias, 2)], dims)).toEqual([]);
    });
    test(`transposed ${name}`, () => {
      const f: Fn = (x, w, b) => F.convTranspose2d(x, w, b, options);
      expect(problems(f, [one(batch, 0), one(back, 1), one(bias, 2)], dims)).toEqual([]);
    });
  }
});

describe("windows and sizes", () => {
  const calls: Record<string, (x: Tensor) => Tensor> = {
    maxPool2d: (x) => F.maxPool2d(x, 2, { padding: 1 }),
    avgPool2d: (x) => F.avgPool2d(x, 3, { padding: 1, stride: 2 }),
    adaptiveAvgPool2d: (x) => F.adaptiveAvgPool2d(x, [3, 2]),
    adaptiveMaxPool2d: (x) => F.adaptiveMaxPool2d(x, [3, 2]),
    constant: (x) => F.pad(x, [1, -2, 2, 1]),
    reflect: (x) => F.pad(x, [1, 2, 2, 1], "reflect"),
    replicate: (x) => F.pad(x, [1, 2, 2, 1], "replicate"),
    circular: (x) => F.pad(x, [1, 2, 2, 1], "circular"),
  };
  const resized = ["nearest", "nearest-exact", "bilinear", "bicubic", "area"];
  for (const [name, f] of Object.entries(calls)) {
    test(name, () => {
      expect(problems(f, [batch()], [0])).toEqual([]);
      expect(problems(f, [images()], [0])).toEqual([]);
    });
  }
  for (const mode of resized) {
    test(mode, () => {
      expect(problems((x) => F.interpolate(x, { size: [7, 8], mode }), [batch()], [0])).toEqual([]);
    });
  }
  test("signals", () => {
    for (const x of [numbers(3, 2, 7), numbers(3, 2, 2, 7)]) {
      expect(problems((t) => F.maxPool1d(t, 2), [x], [0])).toEqual([]);
      expect(problems((t) => F.avgPool1d(t, 2), [x], [0])).toEqual([]);
      expect(problems((t, w) => F.conv1d(t, w, { padding: "same" }), [x, numbers(3, 3, 2, 3)], [0, 0])).toEqual([]);
    }
  });
});
