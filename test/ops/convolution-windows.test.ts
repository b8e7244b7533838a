// Convolutions as products of matrices, which GPUs take, give on the CPU what its own kernels give.
import { afterEach, describe, expect, test } from "bun:test";
import * as windows from "../../src/dispatch/convolution-windows.ts";
import * as z from "../../src/index.ts";

const F = z.nn.functional;
const kept = { ...windows.WINDOWS };
afterEach(() => void Object.assign(windows.WINDOWS, kept));

let seed = 5;
function draw(most: number): number {
  seed = (seed * 48271) % 2147483647;
  return seed % most;
}

const drawn = (n: number, most: number): number[] => Array.from({ length: n }, () => draw(most));

function layout(t: z.Tensor): z.Tensor {
  const way = draw(3);
  if (way === 0 || t.dim() === 3) return way === 2 ? t.transpose(0, 1).contiguous().transpose(0, 1) : t;
  if (t.dim() === 4 && way === 1) return t.contiguous({ memoryFormat: z.channelsLast });
  return z.stack([t, t], -1).select(-1, 0);
}

/** A convolution of any numbers. */
function problem() {
  const dims = 1 + draw(3);
  const groups = 1 + draw(3);
  const [n, c, m] = [1 + draw(3), 1 + draw(3), 1 + draw(3)];
  const size = drawn(dims, 6).map((x) => x + 4);
  const k = drawn(dims, 3).map((x) => x + 1);
  const stride = drawn(dims, 3).map((x) => x + 1);
  const padding = drawn(dims, 3);
  const dilation = drawn(dims, 2).map((x) => x + 1);
  const fits = size.every((s, d) => s + 2 * (padding[d] as number) > (dilation[d] as number) * ((k[d] as number) - 1));
  return { groups, n, c, m, size, k, stride, padding, dilation, fits, dims };
}

const CONV = [F.conv1d, F.conv2d, F.conv3d] as unknown as ((...args: unknown[]) => z.Tensor)[];
const BACK = [F.convTranspose1d, F.convTranspose2d, F.convTranspose3d] as unknown as typeof CONV;

const near = (a: z.Tensor, b: z.Tensor): void => {
  expect(a.shape).toEqual(b.shape);
  if (!z.allclose(a, b, 1e-9, 1e-9)) expect(a.tolist()).toEqual(b.tolist());
};

describe("convolutions as products", () => {
  test("forward, back and for weights, whatever the numbers and layouts", () => {
    z.manualSeed(3);
    for (let i = 0; i < 300; i++) {
      const { groups, n, c, m, size, k, stride, padding, dilation, fits, dims } = problem();
      if (!fits) continue;
      // Parts of a few images, or of a few rows.
      windows.WINDOWS.bytes = 8 * 4 ** draw(9);
      const x = layout(z.randn([n, groups * c, ...size], { dtype: "float64" })).requiresGrad_();
      const w = z.randn([groups * m, c, ...k], { dtype: "float64", requiresGrad: true });
      const bias = draw(2) === 1 ? z.randn(groups * m, { dtype: "float64" }) : null;
      const options = { stride, padding, dilation, groups };
      const wanted = CONV[dims - 1]?.(x, w, bias, options) as z.Tensor;
      const y = layout(z.zeros(wanted.shape, { dtype: "float64" }));
      const taps = { start: padding.map((p) => -p), step: stride, inc: dilation };
      windows.forward(x.detach(), w.detach(), y, bias, groups, taps);
      near(y, wanted.detach());

      const grad = layout(z.randn(wanted.shape, { dtype: "float64" }));
      const [gx, gw] = z.autograd.grad([wanted], [x, w], { gradOutputs: [grad] }) as [z.Tensor, z.Tensor];
      const image = layout(z.zeros(x.shape, { dtype: "float64" }));
      windows.backward(grad, w.detach(), image, null, groups, stride, padding, dilation);
      near(image, gx);
      const filters = z.zeros(w.shape, { dtype: "float64" });
      windows.weightGradient(filters, grad, x.detach(), groups, taps);
      near(filters, gw);

      const from = layout(z.randn([n, groups * m, ...size], { dtype: "float64" }));
      const start = bias === null ? null : z.randn(groups * c, { dtype: "float64" });
      const made = BACK[dims - 1]?.(from, w.detach(), start, { stride, dilation, groups }) as z.Tensor;
      const large = layout(z.zeros(made.shape, { dtype: "float64" }));
      const none = stride.map(() => 0);
      windows.backward(from, w.detach(), large, start, groups, stride, none, dilation);
      near(large, made);
    }
  });

  test("sums of many parts of short floats are rounded once", () => {
    const x = z.ones([64, 1, 4]).bfloat16();
    const grad = z.ones([64, 1, 4]).bfloat16();
    windows.WINDOWS.bytes = 16;
    const w = z.zeros([1, 1, 1]).bfloat16();
    windows.weightGradient(w, grad, z.cat([x, x.mul(1 / 256)]).slice(0, 32, 96), 1, {
      start: [0],
      step: [1],
      inc: [1],
    });
    expect(w.item()).toBe(
      z
        .tensor(32 * 4 + (32 * 4) / 256)
        .bfloat16()
        .item(),
    );
  });
});
