// What networks are made of: convolutions, pooling, normalization, resizing and steps of optimisers, forward and, where
// it says so, with gradients. Beside the memory's rate and that of products there is nothing to compare them with here
// but PyTorch, if it is found.
import * as z from "../../src/index.ts";
import { isLate, measured, type Part, type Run } from "./parts.ts";
import type { Row } from "./results.ts";
import type { Body } from "./timing.ts";

const { nn, optim } = z;
const F = nn.functional;
type DType = "float32" | "bfloat16";

/** Bytes that have to be moved, or operations that have to be computed, and how it is called. */
interface Work {
  readonly row: Row;
  prepare(): { body: Body; made: readonly z.Tensor[] };
  readonly setup: string;
  readonly torch: string;
}

const count = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
const size = (dtype: DType): number => (dtype === "float32" ? 4 : 2);
const device = "cuda";

/** Images, channels in and out, side, taps of a side, stride and groups: of ResNet-50 and of MobileNet. */
const CONVOLUTIONS = {
  full: [
    [32, 3, 64, 224, 7, 2, 1],
    [32, 64, 64, 56, 1, 1, 1],
    [32, 64, 64, 56, 3, 1, 1],
    [32, 128, 128, 28, 3, 1, 1],
    [32, 256, 256, 14, 3, 1, 1],
    [32, 512, 512, 7, 3, 1, 1],
    [32, 256, 512, 56, 1, 2, 1],
    [32, 96, 96, 112, 3, 1, 96],
  ],
  small: [[1, 4, 8, 8, 3, 1, 1]],
} as const;

const last = (t: z.Tensor): z.Tensor => t.contiguous({ memoryFormat: z.channelsLast });

function convolution(shape: readonly number[], dtype: DType, isLast: boolean, gradients: boolean): Work {
  const [n, c, o, side, k, stride, groups] = shape as [number, number, number, number, number, number, number];
  const padding = k >> 1;
  const out = Math.floor((side + 2 * padding - k) / stride) + 1;
  const one = 2 * n * o * out * out * (c / groups) * k * k;
  const [x, w] = [
    [n, c, side, side],
    [o, c / groups, k, k],
  ];
  const name = `convolution ${n}×${c}×${side}² to ${o} by ${k}²/${stride}${groups > 1 ? `, ${groups} groups` : ""}`;
  const format = isLast ? ".to(memory_format=torch.channels_last)" : "";
  const call = `F.conv2d(x, w, stride=${stride}, padding=${padding}, groups=${groups})`;
  return {
    row: {
      name: `${name}${isLast ? ", channels last" : ""}${gradients ? ", with gradients" : ""}`,
      dtype,
      elements: count([n, o, out, out]),
      operations: gradients ? 3 * one : one,
    },
    prepare() {
      const make = (s: readonly number[]) => (isLast ? last : (t: z.Tensor) => t)(z.randn(s, { device, dtype }));
      const [a, b] = [make(x as number[]), make(w as number[])];
      const options = { stride, padding, groups };
      if (!gradients) return { body: () => F.conv2d(a, b, null, options), made: [a, b] };
      const leaves = [a.requiresGrad_(), b.requiresGrad_()];
      const grad = F.conv2d(a, b, null, options).detach();
      const body = () => {
        const y = F.conv2d(a, b, null, options);
        for (const g of z.autograd.grad([y], leaves, { gradOutputs: [grad] })) (g as z.Tensor).dispose();
        return y;
      };
      return { body, made: [a, b, grad] };
    },
    setup: `import torch.nn.functional as F
f = dict(device='cuda', dtype=torch.${dtype})
x, w = (torch.randn(s, **f)${format}${gradients ? ".requires_grad_()" : ""} for s in ([${x}], [${w}]))
g = ${call}.detach()`,
    torch: gradients ? `torch.autograd.grad(${call}, (x, w), g)` : call,
  };
}

/** An operator of one tensor: how many times its elements are moved, forward, or forward and back. */
function moving(
  name: string,
  shape: readonly number[],
  dtype: DType,
  traffic: number,
  call: (x: z.Tensor, row: z.Tensor) => z.Tensor,
  torch: string,
  gradients = false,
): Work {
  const columns = shape.at(name.startsWith("batch") ? 1 : -1) as number;
  return {
    row: {
      name: `${name}${gradients ? ", with gradient" : ""}`,
      dtype,
      elements: count(shape),
      bytes: traffic * count(shape) * size(dtype),
    },
    prepare() {
      const [x, row] = [z.randn(shape, { device, dtype }), z.ones(columns, { device, dtype })];
      if (!gradients) return { body: () => call(x, row), made: [x, row] };
      x.requiresGrad_();
      const grad = call(x, row).detach();
      const body = () => {
        const y = call(x, row);
        for (const g of z.autograd.grad([y], [x], { gradOutputs: [grad] })) (g as z.Tensor).dispose();
        return y;
      };
      return { body, made: [x, row, grad] };
    },
    setup: `import torch.nn.functional as F
f = dict(device='cuda', dtype=torch.${dtype})
x, row = torch.randn([${shape}], **f)${gradients ? ".requires_grad_()" : ""}, torch.ones(${columns}, **f)
g = (${torch}).detach()`,
    torch: gradients ? `torch.autograd.grad(${torch}, x, g)` : torch,
  };
}

function movingAll(small: boolean): Work[] {
  const rows = small ? [20, 48] : [16384, 4096];
  const images = small ? [2, 3, 8, 8] : [32, 64, 112, 112];
  const list: Work[] = [];
  for (const dtype of ["float32", "bfloat16"] as const) {
    const norm = (x: z.Tensor, w: z.Tensor) => F.layerNorm(x, [rows[1] as number], { weight: w, bias: w });
    const theirs = `F.layer_norm(x, [${rows[1]}], row, row)`;
    list.push(moving("layer norm", rows, dtype, 2, norm, theirs));
    list.push(moving("layer norm", rows, dtype, 5, norm, theirs, true));
    const rms = (x: z.Tensor, w: z.Tensor) => F.rmsNorm(x, [rows[1] as number], { weight: w });
    list.push(moving("rms norm", rows, dtype, 2, rms, `F.rms_norm(x, [${rows[1]}], row)`));
  }
  const batch = (x: z.Tensor, w: z.Tensor) => F.batchNorm(x, null, null, { weight: w, bias: w, training: true });
  const theirs = "F.batch_norm(x, None, None, row, row, True)";
  list.push(moving("batch norm", images, "float32", 3, batch, theirs));
  list.push(moving("batch norm", images, "float32", 8, batch, theirs, true));
  const pool = (x: z.Tensor) => F.maxPool2d(x, 3, { stride: 2, padding: 1 });
  // A quarter of the elements comes out, with places of eight bytes; back, those and gradients are read.
  list.push(moving("largest of 3²/2", images, "float32", 1.75, pool, "F.max_pool2d(x, 3, 2, 1)"));
  list.push(moving("largest of 3²/2", images, "float32", 3.5, pool, "F.max_pool2d(x, 3, 2, 1)", true));
  const mean = (x: z.Tensor) => F.avgPool2d(x, 2);
  list.push(moving("average of 2²", images, "float32", 1.25, mean, "F.avg_pool2d(x, 2)"));
  const twice = (x: z.Tensor) => F.interpolate(x, { scaleFactor: 2, mode: "bilinear" });
  const resize = "F.interpolate(x, scale_factor=2, mode='bilinear')";
  list.push(moving("twice the size, both ways", images, "float32", 5, twice, resize));
  list.push(moving("twice the size, both ways", images, "float32", 10, twice, resize, true));
  const padded = (x: z.Tensor) => F.pad(x, [1, 1, 1, 1], "reflect");
  list.push(moving("reflected edges", images, "float32", 2, padded, "F.pad(x, [1, 1, 1, 1], 'reflect')"));
  return list;
}

/** A step moves parameters, averages and squares both ways, and gradients one. */
function steps(tensors: number, elements: number): Work {
  const all = tensors * elements;
  return {
    row: { name: `a step of AdamW, ${tensors} tensors`, dtype: "float32", elements: all, bytes: 7 * 4 * all },
    prepare() {
      const list = Array.from({ length: tensors }, () => z.ones(elements, { device, requiresGrad: true }));
      for (const p of list) p.grad = z.ones(elements, { device });
      const optimiser = new optim.AdamW(list);
      optimiser.step();
      const body = () => {
        optimiser.step();
        return undefined;
      };
      return { body, made: list };
    },
    setup: `list = [torch.ones(${elements}, device='cuda', requires_grad=True) for _ in range(${tensors})]
for p in list: p.grad = torch.ones_like(p)
optimiser = torch.optim.AdamW(list, fused=True)`,
    torch: "optimiser.step()",
  };
}

async function row(run: Run, work: Work): Promise<void> {
  const theirs = isLate(run) ? null : await run.peers.torch(work.setup, work.torch);
  await measured(run, "networks", work.row, () => {
    const { body, made } = work.prepare();
    const dispose = (): void => {
      for (const t of made) {
        t.grad?.dispose();
        t.dispose();
      }
      if (!run.small) z.cuda.emptyCache();
    };
    return { body, theirs, dispose };
  });
}

export const networks: Part = async (run) => {
  const list: Work[] = [];
  for (const shape of run.small ? CONVOLUTIONS.small : CONVOLUTIONS.full) {
    list.push(convolution(shape, "float32", false, false), convolution(shape, "bfloat16", true, false));
    list.push(convolution(shape, "bfloat16", true, true));
  }
  list.push(...movingAll(run.small), steps(run.small ? 3 : 200, run.small ? 50 : 1000));
  if (!run.small) list.push(steps(1, 1e7), steps(40, 2.5e6));
  for (const work of list) await row(run, work);
  return undefined;
};
