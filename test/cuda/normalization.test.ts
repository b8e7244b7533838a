// Normalization on a device, emulated: what the CPU gives, with gradients, of rows and channels of many sizes.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { available, expectNoRaces } from "./both.ts";
import { type Launches, watchLaunches } from "./launched.ts";

const F = z.nn.functional;
type Call = (x: z.Tensor, w: z.Tensor, b: z.Tensor) => z.Tensor;

/** Numbers far from zero in different ways, the same on each device. */
function numbers(from: number, shape: readonly number[], dtype: string): z.Tensor {
  const n = shape.reduce((a, b) => a * b, 1);
  return z
    .arange(from, from + n, { dtype: "float64" })
    .mul(1.7)
    .sin()
    .mul(2)
    .add(3)
    .view(shape)
    .to(dtype as "float32");
}

function run(
  call: Call,
  x: readonly number[],
  w: readonly number[],
  dtype: string,
  device: "cpu" | "cuda",
  place: (t: z.Tensor) => z.Tensor,
) {
  const make = (from: number, shape: readonly number[]) => numbers(from, shape, dtype).to(device);
  const input = place(make(0, x)).detach().requiresGrad_();
  const [weight, bias] = [make(7, w).requiresGrad_(), make(9, w).requiresGrad_()];
  const y = call(input, weight, bias);
  const grad = numbers(5, y.shape, dtype).to(device);
  const all = z.autograd.grad([y], [input, weight, bias], { gradOutputs: [grad], allowUnused: true });
  return [y, ...all].map((t) => (t === null ? null : (t as z.Tensor).detach().cpu()));
}

function same(
  call: Call,
  x: readonly number[],
  w: readonly number[],
  dtype = "float32",
  place = (t: z.Tensor) => t,
): void {
  const wanted = run(call, x, w, dtype, "cpu", place);
  const made = run(call, x, w, dtype, "cuda", place);
  const size = { float64: 1e-11, float32: 3e-5, bfloat16: 3e-2, float16: 4e-3 }[dtype] as number;
  for (const [i, t] of wanted.entries()) {
    const other = made[i] as z.Tensor | null;
    if (t === null || other === null || other === undefined) {
      expect(other ?? null).toBe(t);
      continue;
    }
    expect([other.shape, other.dtype, other.stride()]).toEqual([t.shape, t.dtype, t.stride()]);
    const bound = size * (1 + (t.numel() === 0 ? 0 : (t.double().abs().max().item() as number)));
    if (!z.allclose(other.double(), t.double(), size, bound, { equalNan: true })) {
      expect([i, ...(other.double().view(-1).tolist() as number[])]).toEqual([
        i,
        ...(t.double().view(-1).tolist() as number[]),
      ]);
    }
  }
}

const last = (t: z.Tensor): z.Tensor => t.contiguous({ memoryFormat: z.channelsLast });
const gaps = (t: z.Tensor): z.Tensor => z.stack([t, t], -1).select(-1, 1);

describe.if(available)("normalization on a device", () => {
  let watched: Launches;
  beforeAll(() => {
    watched = watchLaunches();
  });
  afterAll(() => watched.restore());

  test("layers, by a warp and by a block", () => {
    for (const n of [2, 5, 32, 33, 300, 1024, 1025, 2500]) {
      same((x, w, b) => F.layerNorm(x, [n], { weight: w, bias: b }), [3, n], [n]);
      same((x, w) => F.rmsNorm(x, [n], { weight: w }), [3, n], [n]);
    }
    same((x, w, b) => F.layerNorm(x, [4, 6], { weight: w, bias: b }), [2, 3, 4, 6], [4, 6], "float32", gaps);
    same((x) => F.layerNorm(x, [6]), [500, 6], [6]);
    same((x, w, b) => F.layerNorm(x, [40], { weight: w, bias: b }), [700, 40], [40]);
    same((x, w, b) => F.layerNorm(x, [6], { weight: w, bias: b }), [0, 6], [6]);
  });

  test("of other floats", () => {
    for (const dtype of ["float64", "bfloat16", "float16"]) {
      same((x, w, b) => F.layerNorm(x, [40], { weight: w, bias: b }), [9, 40], [40], dtype);
      same((x, w) => F.rmsNorm(x, [1100], { weight: w }), [3, 1100], [1100], dtype);
      same((x, w, b) => F.groupNorm(x, 2, { weight: w, bias: b }), [2, 4, 5, 3], [4], dtype);
      same((x, w, b) => F.batchNorm(x, null, null, { weight: w, bias: b, training: true }), [3, 4, 7, 6], [4], dtype);
      same((x, w, b) => F.batchNorm(x, null, null, { weight: w, bias: b, training: true }), [9, 5], [5], dtype);
    }
  });

  test("groups", () => {
    for (const [groups, channels] of [
      [1, 6],
      [3, 6],
      [6, 6],
      [2, 70],
    ] as const) {
      for (const place of [(t: z.Tensor) => t, last, gaps]) {
        same(
          (x, w, b) => F.groupNorm(x, groups, { weight: w, bias: b }),
          [2, channels, 5, 4],
          [channels],
          "float32",
          place,
        );
      }
      // One value alone is as far from its mean as the CPU rounds.
      if (groups < channels)
        same((x, w, b) => F.groupNorm(x, groups, { weight: w, bias: b }), [5, channels], [channels]);
    }
    same((x, w, b) => F.groupNorm(x, 2, { weight: w, bias: b }), [2, 4, 90, 80], [4]);
  });

  test("batches", () => {
    const call: Call = (x, w, b) => F.batchNorm(x, null, null, { weight: w, bias: b, training: true });
    for (const shape of [
      [4, 3],
      [40, 70],
      [3, 5, 7],
      [2, 3, 40, 60],
      [3, 40, 6, 5],
      [300, 2],
    ]) {
      same(call, shape, [shape[1] as number]);
      same(call, shape, [shape[1] as number], "float32", gaps);
      if (shape.length === 4) same(call, shape, [shape[1] as number], "float32", last);
    }
  });

  test("running statistics, kept and used", () => {
    const states = (["cpu", "cuda"] as const).map((device) => {
      const [mean, variance] = [z.zeros(6, { device }), z.ones(6, { device })];
      const x = numbers(0, [4, 6, 5, 3], "float32").to(device).requiresGrad_();
      F.batchNorm(x, mean, variance, { training: true, momentum: 0.3 });
      const y = F.batchNorm(x, mean, variance, { weight: mean, bias: variance });
      y.pow(2).sum().backward();
      return [mean, variance, y.detach(), x.grad as z.Tensor].map((t) => t.cpu());
    });
    const [here, there] = states as [z.Tensor[], z.Tensor[]];
    for (const [i, t] of here.entries()) expect(z.allclose(there[i] as z.Tensor, t, 1e-5, 1e-4)).toBe(true);
  });

  test("numbers that are far from zero keep their variance", () => {
    const x = numbers(0, [2, 3000], "float32").add(30000);
    const y = F.layerNorm(x.to("cuda"), [3000]).cpu();
    const wanted = F.layerNorm(x.double(), [3000]);
    expect(z.allclose(y.double(), wanted, 1e-2, 1e-2)).toBe(true);
    const columns = F.batchNorm(x.t().contiguous().to("cuda"), null, null, { training: true }).cpu();
    expect(z.allclose(columns.t().double(), wanted, 1e-2, 1e-2)).toBe(true);
  });

  test("gradients of gradients", () => {
    const again = (device: "cpu" | "cuda", call: (x: z.Tensor) => z.Tensor): z.Tensor => {
      const x = numbers(0, [3, 4, 5], "float64").to(device).requiresGrad_();
      const [g] = z.autograd.grad([call(x).pow(3).sum()], [x], { createGraph: true });
      return (z.autograd.grad([(g as z.Tensor).pow(2).sum()], [x])[0] as z.Tensor).cpu();
    };
    for (const call of [
      (x: z.Tensor) => F.layerNorm(x, [5]),
      (x: z.Tensor) => F.rmsNorm(x, [5]),
      (x: z.Tensor) => F.batchNorm(x, null, null, { training: true }),
      (x: z.Tensor) => F.groupNorm(x, 2),
    ]) {
      expect(z.allclose(again("cuda", call), again("cpu", call), 1e-8, 1e-8)).toBe(true);
    }
  });

  test("each has a kernel of its own", () => {
    expect([...watched.lacking]).toEqual([]);
    for (const name of ["rows", "rows_backward", "channels", "channels_backward"]) {
      expect(watched.launched.has(`normalization.${name}`)).toBe(true);
    }
  });
});

if (available) expectNoRaces();
