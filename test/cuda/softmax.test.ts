// Softmax on a CUDA device, emulated by the stand-in driver, beside that of the CPU: lines of all lengths, along any
// dimension, in each dtype, and their gradients.
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { expectNoRaces } from "./both.ts";
import { available, driverLibrary } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

const EPSILON = new Map<z.DType, number>([
  [z.float64, 1e-12],
  [z.float32, 1e-5],
  [z.float16, 2e-3],
  [z.bfloat16, 1.6e-2],
]);

function numbers(shape: readonly number[], dtype: z.DType, step = 7919): z.Tensor {
  const count = shape.reduce((a, b) => a * b, 1);
  const list = Array.from({ length: count }, (_, n) => ((n * step) % 10007) / 800 - 6);
  return z.tensor(list, { dtype: z.float64 }).view(shape).to(dtype);
}

const MODES = { softmax: z.softmax, logSoftmax: z.logSoftmax };

/** How results and gradients on the device differ from those on the CPU. */
function differences(given: z.Tensor, dim: number): string[] {
  const found: string[] = [];
  const tolerance = EPSILON.get(given.dtype) as number;
  const same = (what: string, a: z.Tensor, b: z.Tensor) => {
    const [x, y] = [a.to(z.float64), b.cpu().to(z.float64)];
    // Where terms cancel each other, what is left is as exact as the greatest of them.
    const atol = (tolerance / 10) * Math.max(1, z.nanToNum(x, 0, 0, 0).abs().max().item<number>());
    const close = a.dtype === b.dtype && z.allclose(x, y, { rtol: tolerance, atol, equalNan: true });
    if (!close)
      found.push(`${what} of ${given.dtype} [${given.shape}] along ${dim}: ${y} instead of ${x}`.slice(0, 300));
  };
  for (const [name, f] of Object.entries(MODES)) {
    const x = given.detach().clone().requiresGrad_();
    const at = given.detach().to("cuda").requiresGrad_();
    const [r, made] = [f(x, dim), f(at, dim)];
    same(name, r.detach(), made.detach());
    const grad = numbers(given.shape, given.dtype, 6007);
    r.backward(grad);
    made.backward(grad.to("cuda"));
    same(`gradient of ${name}`, x.grad as z.Tensor, at.grad as z.Tensor);
  }
  return found;
}

const LENGTHS = [1, 2, 3, 4, 8, 31, 32, 33, 64, 127, 128, 255, 256, 257, 1000, 1023, 1024, 1025, 2048];
/** What threads hold in registers ends at 512 times 32, 16 or 8 elements; longer lines are read in such parts. */
const LONG = [4096, 4100, 8188, 8192, 8196, 16384, 16388, 16385, 20001, 32768, 50008];

describe.if(available)("lines", () => {
  test.each([...EPSILON.keys()].map((d) => [String(d), d] as const))(
    "without gaps, %s",
    (_name, dtype) => {
      for (const n of LENGTHS) expect(differences(numbers([5, n], dtype), -1)).toEqual([]);
      for (const n of LONG) expect(differences(numbers([2, n], dtype), 1)).toEqual([]);
    },
    120_000,
  );

  test("with others between their elements", () => {
    for (const dtype of EPSILON.keys()) {
      for (const shape of [
        [7, 3],
        [33, 2],
        [300, 5],
        [40, 64],
        [17, 200],
        [2000, 3],
        [3, 600],
      ]) {
        expect(differences(numbers(shape, dtype), 0)).toEqual([]);
      }
      expect(differences(numbers([3, 50, 7], dtype), 1)).toEqual([]);
      expect(differences(numbers([2, 3, 4, 5], dtype), 2)).toEqual([]);
    }
  }, 120_000);

  test("of layouts that have to be copied first, and of no elements", () => {
    const x = numbers([20, 30], z.float32);
    for (const of of [
      (t: z.Tensor) => t.t(),
      (t: z.Tensor) => t.slice(1, 1, null, 2),
      (t: z.Tensor) => t.slice(1, 1),
    ]) {
      expect(z.allclose(z.softmax(of(x), 1), z.softmax(of(x.to("cuda")), 1).cpu())).toBe(true);
    }
    expect([...z.softmax(z.zeros(0, 3, { device: "cuda" }), 1).shape]).toEqual([0, 3]);
    expect(z.softmax(z.tensor(3, { device: "cuda" }), 0).item()).toBe(1);
  });

  test("many of them", () => {
    expect(differences(numbers([3000, 9], z.float32), 1)).toEqual([]);
    expect(differences(numbers([5, 3000], z.float32), 0)).toEqual([]);
  }, 60_000);
});

describe.if(available)("values", () => {
  test("that are not finite", () => {
    const rows = [
      [1, -Infinity, 2, 3, 0, 1, 2, -Infinity],
      new Array<number>(8).fill(-Infinity),
      [1, Infinity, 2, 3, 0, 1, 2, 4],
      [1, NaN, 2, 3, 0, 1, 2, 4],
      [1e4, 1e4, -1e4, 3, 0, 1, 2, 4],
      [3e38, 3e38, -3e38, 3, 0, 1, 2, 4],
    ];
    for (const dtype of EPSILON.keys()) {
      const x = z.tensor(rows, { dtype });
      for (const t of [x, z.cat([x, x, x.slice(1, 0, 3)], 1), x.repeat(1, 2055)]) {
        expect(differences(t, 1)).toEqual([]);
        expect(differences(t.t().contiguous(), 0)).toEqual([]);
      }
    }
  });

  test("of 16 bits are those of the CPU, or the next ones in few places", () => {
    for (const dtype of [z.float16, z.bfloat16]) {
      for (const f of Object.values(MODES)) {
        const x = numbers([30, 1000], dtype);
        const [there, here] = [f(x.to("cuda"), 1).cpu(), f(x, 1)].map((t) => t.view("int16").to("int32"));
        const apart = z.sub(there as z.Tensor, here as z.Tensor).abs();
        expect(apart.max().item<number>()).toBeLessThanOrEqual(1);
        expect(apart.sum().item<number>()).toBeLessThan(60);
      }
    }
  });

  test("sum up to one, whatever order they come in", () => {
    const x = numbers([4, 20001], z.float32).mul(10).to("cuda");
    expect(z.allclose(z.softmax(x, 1).sum(1).cpu(), z.ones(4), { rtol: 1e-5 })).toBe(true);
    const rising = z.arange(30000, { dtype: z.float32 }).mul(0.01);
    for (const t of [rising, rising.flip(0)]) {
      expect(z.allclose(z.softmax(t, 0), z.softmax(t.to("cuda"), 0).cpu(), { rtol: 1e-4 })).toBe(true);
    }
  });
});

if (available) expectNoRaces();
