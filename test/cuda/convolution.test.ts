// Convolutions on a device, emulated: of whole numbers, whose sums are exact in any order, so that all bits are
// compared; by kernels that add one by one, and as products of matrices.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { WINDOWS } from "../../src/dispatch/convolution-windows.ts";
import * as z from "../../src/index.ts";
import { available, both, expectNoRaces } from "./both.ts";
import { type Launches, watchLaunches } from "./launched.ts";

const F = z.nn.functional;
type Call = (x: z.Tensor, w: z.Tensor, b: z.Tensor) => z.Tensor;

const whole = (from: number, ...shape: number[]): z.Tensor => {
  const n = shape.reduce((a, b) => a * b, 1);
  return z
    .arange(from, from + n)
    .mul(37)
    .remainder(5)
    .sub(2)
    .view(shape)
    .float();
};

const last = (x: z.Tensor): z.Tensor => (x.dim() === 4 ? x.contiguous({ memoryFormat: z.channelsLast }) : x);

/** The result and the gradients of images, filters and bias. */
function withGradients(call: Call): (...t: z.Tensor[]) => z.Tensor[] {
  return (...given) => {
    const [x, w, b] = given.map((t) => t.detach().requiresGrad_()) as [z.Tensor, z.Tensor, z.Tensor];
    const y = call(x, w, b);
    const weights = whole(3, ...y.shape)
      .to(y.dtype)
      .to(y.device);
    return [y.detach(), ...(z.autograd.grad([y], [x, w, b], { gradOutputs: [weights] }) as z.Tensor[])];
  };
}

const CALLS: Readonly<Record<string, readonly [x: number[], w: number[], b: number, call: Call]>> = {
  signals: [[2, 4, 9], [6, 4, 3], 6, (x, w, b) => F.conv1d(x, w, b, { stride: 2, padding: 1 })],
  images: [[2, 3, 7, 6], [4, 3, 3, 2], 4, (x, w, b) => F.conv2d(x, w, b, { padding: 1 })],
  "without a batch": [[3, 7, 6], [4, 3, 3, 2], 4, (x, w, b) => F.conv2d(x, w, b)],
  "one tap": [[2, 3, 4, 5], [4, 3, 1, 1], 4, (x, w, b) => F.conv2d(x, w, b)],
  volumes: [[1, 2, 4, 5, 4], [3, 2, 2, 3, 1], 3, (x, w, b) => F.conv3d(x, w, b, { stride: [1, 2, 1], padding: 1 })],
  "dilated groups": [
    [2, 4, 8, 7],
    [6, 2, 3, 2],
    6,
    (x, w, b) => F.conv2d(x, w, b, { dilation: [2, 3], stride: 2, padding: 2, groups: 2 }),
  ],
  depthwise: [[2, 5, 7, 6], [5, 1, 3, 3], 5, (x, w, b) => F.conv2d(x, w, b, { padding: 1, groups: 5 })],
  same: [[2, 3, 6, 5], [2, 3, 3, 2], 2, (x, w, b) => F.conv2d(x, w, b, { padding: "same" })],
  "transposed signals": [[2, 4, 5], [4, 3, 3], 3, (x, w, b) => F.convTranspose1d(x, w, b, { stride: 3, padding: 1 })],
  "transposed images": [
    [2, 4, 5, 4],
    [4, 3, 3, 2],
    6,
    (x, w, b) => F.convTranspose2d(x, w, b, { stride: 2, padding: 1, outputPadding: 1, groups: 2 }),
  ],
  "transposed and dilated": [
    [1, 2, 4, 3],
    [2, 3, 2, 3],
    3,
    (x, w, b) => F.convTranspose2d(x, w, b, { dilation: [3, 2], stride: [2, 1] }),
  ],
  "transposed volumes": [
    [1, 2, 2, 3, 2],
    [2, 2, 2, 1, 3],
    2,
    (x, w, b) => F.convTranspose3d(x, w, b, { stride: [1, 2, 2] }),
  ],
  "gaps between taps": [[1, 2, 6, 6], [3, 2, 1, 1], 3, (x, w, b) => F.conv2d(x, w, b, { stride: 3, padding: 1 })],
};

describe.if(available)("convolutions on a device", () => {
  const kept = { ...WINDOWS };
  let watched: Launches;
  beforeAll(() => {
    watched = watchLaunches();
  });
  afterEach(() => void Object.assign(WINDOWS, kept));
  afterAll(() => watched.restore());

  const operands = ([x, w, b]: readonly [number[], number[], number, Call]) => [
    whole(0, ...x),
    whole(1, ...w),
    whole(2, b),
  ];

  for (const [name, call] of Object.entries(CALLS)) {
    for (const products of [false, true]) {
      test(`${name}, ${products ? "as products" : "one by one"}`, () => {
        if (products) Object.assign(WINDOWS, { work: 0, narrowest: 1, phases: 99 });
        for (const place of [(t: z.Tensor) => t, last, (t: z.Tensor) => z.stack([t, t], -1).select(-1, 1)]) {
          both(withGradients(call[3]), operands(call), place);
        }
        for (const dtype of ["float64", "bfloat16", "float16"] as const) {
          both(
            withGradients(call[3]),
            operands(call).map((t) => t.to(dtype)),
          );
        }
      });
    }
  }

  test("parts of a few images and rows", () => {
    Object.assign(WINDOWS, { work: 0, narrowest: 1, phases: 99, bytes: 600 });
    for (const name of ["images", "dilated groups", "volumes", "transposed images"]) {
      const call = CALLS[name] as (typeof CALLS)[string];
      both(withGradients((call as NonNullable<typeof call>)[3]), operands(call as NonNullable<typeof call>), last);
      both(withGradients((call as NonNullable<typeof call>)[3]), operands(call as NonNullable<typeof call>));
    }
  });

  test("integers wrap around", () => {
    for (const dtype of ["uint8", "int8", "int16", "int32", "int64"] as const) {
      const [x, w, b] = [whole(0, 2, 3, 5, 4), whole(1, 2, 3, 2, 2), whole(2, 2)].map((t) => t.mul(60).to(dtype));
      both((...t) => F.conv2d(...(t as [z.Tensor, z.Tensor, z.Tensor])), [x, w, b] as z.Tensor[]);
    }
    const [x, w] = [whole(0, 2, 3, 5, 4).long(), whole(1, 3, 2, 2, 2).long()];
    both((a, c) => F.convTranspose2d(a as z.Tensor, c as z.Tensor, null, { stride: 2 }), [x, w]);
  });

  test("numbers beyond all memory, where one position leaves them without effect", () => {
    const far = 2 ** 52;
    for (const products of [false, true]) {
      if (products) Object.assign(WINDOWS, { work: 0, narrowest: 1, phases: Number.POSITIVE_INFINITY });
      const [x, w, one, b] = [whole(0, 2, 3, 4), whole(1, 2, 3, 3), whole(1, 2, 3, 1), whole(2, 2)];
      both(
        withGradients((a, c, s) => F.conv1d(a, c, s, { stride: far })),
        [x, w, b],
      );
      both(
        withGradients((a, c, s) => F.conv1d(a, c, s, { dilation: far })),
        [x, one, b],
      );
      both(
        withGradients((a, c, s) => F.conv1d(a, c, s, { dilation: 3, padding: 1 })),
        [x, whole(1, 2, 3, 2), b],
      );
      const [point, start] = [whole(0, 2, 2, 1), whole(2, 3)];
      both(
        withGradients((a, c, s) => F.convTranspose1d(a, c, s, { stride: far })),
        [point, w, start],
      );
    }
  });

  test("of no images, and gradients of gradients", () => {
    both((x, w) => F.conv2d(x as z.Tensor, w as z.Tensor), [z.zeros(0, 3, 5, 5), whole(0, 2, 3, 2, 2)]);
    both(
      (...given) => {
        const [x, w] = given.map((t) => t.detach().requiresGrad_()) as [z.Tensor, z.Tensor];
        const [g] = z.autograd.grad([F.conv2d(x, w, null, { padding: 1 }).pow(2).sum()], [x], { createGraph: true });
        return z.autograd.grad([(g as z.Tensor).sum()], [x, w]) as z.Tensor[];
      },
      [whole(0, 1, 2, 4, 4), whole(1, 2, 2, 3, 3)],
    );
  });

  test("what is on the way is given back", () => {
    Object.assign(WINDOWS, { work: 0, narrowest: 1, phases: 99, bytes: 4000 });
    const [x, w, b] = operands(CALLS["dilated groups"] as never).map((t) => t.to("cuda")) as [
      z.Tensor,
      z.Tensor,
      z.Tensor,
    ];
    const call = (CALLS["dilated groups"] as NonNullable<(typeof CALLS)[string]>)[3];
    const first = withGradients(call)(x, w, b);
    const before = z.cuda.memoryAllocated();
    const again = withGradients(call)(last(x), w, b);
    const own = [...first, ...again].length;
    expect(own).toBe(8);
    expect(z.cuda.memoryAllocated() - before).toBeLessThan(16 * 1024);
  });

  test("a layer that is worth it is a product", () => {
    watched.launched.clear();
    both(
      withGradients((x, w, b) => F.conv2d(x, w, b, { padding: 1 })),
      [whole(0, 1, 32, 16, 16), whole(1, 64, 32, 3, 3), whole(2, 64)],
    );
    expect(watched.launched.has("matmul.gemm")).toBe(true);
    expect([...watched.launched].filter((path) => path.startsWith("convolution"))).toEqual([]);
    expect([...watched.lacking]).toEqual([]);
  });
});

if (available) expectNoRaces();
