// Convolutions of small whole numbers, drawn: floats give what integers give, which another kernel computes, and
// gradients are what makes products with them equal.
import { expect, test } from "bun:test";
import {
  autograd,
  channelsLast,
  float32,
  float64,
  int64,
  manualSeed,
  nn,
  randint,
  setNumThreads,
  type Tensor,
} from "../../src/index.ts";

const SECONDS = Number(process.env.ZENSOR_ATTACK_SECONDS ?? 3);

// biome-ignore lint/suspicious/noExplicitAny: functions by a name that is put together
const F = nn.functional as any;

let seed = 1;
/** A whole number from `low` to `high`. */
function whole(low: number, high: number): number {
  seed = (seed * 1103515245 + 12345) % 2 ** 31;
  return low + Math.floor((seed / 2 ** 31) * (high - low + 1));
}

interface Drawn {
  readonly transposed: boolean;
  readonly input: readonly number[];
  readonly weight: readonly number[];
  readonly channels: number;
  readonly options: Record<string, unknown>;
}

function draw(): Drawn {
  const dims = whole(1, 3);
  const transposed = whole(0, 2) === 0;
  const groups = whole(1, 4);
  const depthwise = whole(0, 4) === 0;
  const c = depthwise ? 1 : whole(1, 5) * whole(1, 4);
  const o = depthwise ? whole(1, 2) : whole(1, 6) * whole(1, 6);
  const kernel = Array.from({ length: dims }, () => whole(1, 4));
  const stride = kernel.map(() => whole(1, 3));
  const dilation = kernel.map(() => whole(1, 3));
  const padding = kernel.map(() => whole(0, 3));
  const size = kernel.map((k, d) => {
    const least = Math.max(1, (dilation[d] as number) * (k - 1) + 1 - 2 * (padding[d] as number));
    return least + whole(0, dims === 1 ? 90 : dims === 2 ? 14 : 4);
  });
  const outputPadding = kernel.map((_, d) => whole(0, Math.max(stride[d] as number, dilation[d] as number) - 1));
  return {
    transposed,
    input: [whole(1, 4), c * groups, ...size],
    weight: transposed ? [c * groups, o, ...kernel] : [o * groups, c, ...kernel],
    channels: o * groups,
    options: { stride, padding, dilation, groups, ...(transposed ? { outputPadding } : {}) },
  };
}

/** The same elements in another layout. */
function laid(t: Tensor): Tensor {
  switch (whole(0, 3)) {
    case 0:
      return t.transpose(0, -1).contiguous().transpose(0, -1);
    case 1:
      return t.ndim === 4 ? t.contiguous({ memoryFormat: channelsLast }) : t;
    case 2: {
      const wide = t.repeatInterleave(2, -1);
      return wide.at("...", "::2") as Tensor;
    }
    default:
      return t;
  }
}

const numbers = (shape: readonly number[]): Tensor => randint(-3, 4, [...shape], { dtype: int64 });

function problemOf(d: Drawn): string | null {
  const name = `conv${d.transposed ? "Transpose" : ""}${d.input.length - 2}d`;
  const run = (x: Tensor, w: Tensor, b: Tensor | null): Tensor => F[name](x, w, b, d.options);
  const [xi, wi, bi] = [numbers(d.input), numbers(d.weight), whole(0, 1) === 0 ? numbers([d.channels]) : null];
  let exact: Tensor;
  try {
    exact = run(xi, wi, bi);
  } catch (error) {
    return /too small|greater than actual/.test(String(error)) ? null : String(error);
  }
  for (const dtype of [float32, float64]) {
    const x = laid(xi.to(dtype)).detach().requiresGrad_();
    const w = laid(wi.to(dtype)).detach().requiresGrad_();
    const y = run(x, w, bi?.to(dtype) ?? null);
    if (!y.to(int64).equal(exact)) return `${name} of ${dtype.name}`;
    const g = numbers(y.shape).to(dtype);
    const [gx, gw] = autograd.grad([y], [x, w], { gradOutputs: [g] }) as [Tensor, Tensor];
    const [dx, dw] = [numbers(d.input).to(dtype), numbers(d.weight).to(dtype)];
    const times = (a: Tensor, b: Tensor): number => Number(a.to(float64).mul(b.to(float64)).sum().item());
    if (times(gx, dx) !== times(g, run(dx, w.detach(), null))) return `${name}'s input gradient of ${dtype.name}`;
    if (times(gw, dw) !== times(g, run(x.detach(), dw, null))) return `${name}'s weight gradient of ${dtype.name}`;
  }
  return null;
}

test("floats give what integers give, and gradients fit", () => {
  const end = Date.now() + 1000 * SECONDS;
  manualSeed(5);
  for (let n = 0; n < 100 || Date.now() < end; n++) {
    const drawn = draw();
    const problem = problemOf(drawn);
    if (problem !== null) expect([problem, drawn]).toEqual([]);
  }
}, 120_000);

test("large images in bands, one thread and two", () => {
  const [x, w] = [numbers([2, 24, 70, 90]), numbers([40, 12, 3, 3])];
  const options = { groups: 2, padding: 1 };
  const exact: Tensor = F.conv2d(x, w, null, options);
  for (const threads of [1, 2]) {
    setNumThreads(threads);
    expect(F.conv2d(x.float(), w.float(), null, options).to(int64).equal(exact)).toBe(true);
    expect(F.conv2d(x.double(), w.double(), null, options).to(int64).equal(exact)).toBe(true);
  }
});
