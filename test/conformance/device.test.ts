// The golden cases on a device that is made up: values as on the CPU, and nothing computed or allocated elsewhere.
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import ops from "../../generated/ops.json";
import * as O from "../../generated/ops.ts";
import { type Operator, type Taker, taking } from "../../src/dispatch/seam.ts";
import * as lib from "../../src/index.ts";
import { Complex } from "../../src/tensor/complex.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import { loadCaseSet } from "./case-set.ts";
import { type Case, familyOf } from "./case-types.ts";
import { LIST_CALLS } from "./list-calls.ts";
import { installMadeUpDevice } from "./made-up-device.ts";
import { placed } from "./run-meta.ts";
import { Runner } from "./runner.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-small"));
const runner = await Runner.load();
const made = installMadeUpDevice();
runner.adapter.deviceStorage = (bytes) => made.storage(bytes);
afterAll(() => made.remove());

/** What is printed names the device, and what is drawn is drawn in the "opinfo" cases too. */
const FAMILIES = new Set(["opinfo", "error", "promo", "index", "prog"]);
const groups = new Map<string, Case[]>();
for (const c of set.cases.filter((c) => FAMILIES.has(familyOf(c)))) {
  const key = c.fam ?? c.op;
  groups.set(key, [...(groups.get(key) ?? []), c]);
}

/** Kernels that run on the CPU in any case: the state of a generator is the host's, and lists are read there. */
const ON_HOST: Readonly<Record<string, readonly string[]>> = {
  "random.seed": [...groups.keys()],
  "unary.convert": ["__getitem__", "index"],
};

const plainName = (name: string): string => name.replace(/(?<=[a-z0-9])_$/, "");

/** Operators that took or gave a tensor on the device. */
const done = new Set<string>();
const listener: Taker = {
  observes: true,
  take(operator: Operator, args, next) {
    const result = next();
    const tensors = [result, ...args].flat().filter((x) => x instanceof Tensor);
    if (tensors.some((t) => t.device === made.device)) done.add(plainName(operator.name));
    return result;
  },
};

const F = lib.nn.functional;
/** Operators without golden cases of those families. */
const CALLS: Record<string, (x: Tensor) => unknown> = {
  image_sample: (x) => O.image_sample(x.view(1, 2, 3), [5], 0, [1], [], 1),
  _adaptive_avg_pool3d: (x) => F.adaptiveAvgPool3d(x.view(1, 1, 1, 2, 3), [1, 1, 2]),
  _upsample_nearest_exact1d: (x) => F.interpolate(x.view(1, 2, 3), { size: 5, mode: "nearest-exact" }),
  _upsample_nearest_exact2d: (x) => F.interpolate(x.view(1, 1, 2, 3), { size: 5, mode: "nearest-exact" }),
  _upsample_nearest_exact3d: (x) => F.interpolate(x.view(1, 1, 1, 2, 3), { size: 5, mode: "nearest-exact" }),
  upsample_linear1d: (x) => F.interpolate(x.view(1, 2, 3), { size: 5, mode: "linear" }),
  upsample_nearest2d: (x) => F.interpolate(x.view(1, 1, 2, 3), { size: 5 }),
  upsample_nearest3d: (x) => F.interpolate(x.view(1, 1, 1, 2, 3), { size: 5 }),
  upsample_bicubic2d: (x) => F.interpolate(x.view(1, 1, 2, 3), { size: 5, mode: "bicubic" }),
  upsample_trilinear3d: (x) => F.interpolate(x.view(1, 1, 1, 2, 3), { size: 5, mode: "trilinear" }),
  reflection_pad2d: (x) => F.pad(x.view(1, 2, 3), [1, 1, 1, 0], "reflect"),
  reflection_pad3d: (x) => F.pad(x.view(1, 1, 2, 3), [1, 1, 1, 0, 0, 0], "reflect"),
  replication_pad1d: (x) => F.pad(x, [1, 2], "replicate"),
  replication_pad2d: (x) => F.pad(x.view(1, 2, 3), [1, 1, 1, 0], "replicate"),
  replication_pad3d: (x) => F.pad(x.view(1, 1, 2, 3), [1, 1, 1, 0, 0, 0], "replicate"),
  rms_norm: (x) => {
    const a = x.clone().requiresGrad_();
    const y = F.rmsNorm(a, [3]);
    y.sum().backward();
    return [y, a.grad];
  },
  slice_scatter: (x) => x.sliceScatter(x.slice(0, 1), 0, 1, 2),
  nll_loss2d: (x) => {
    const a = x.clone().view(1, 2, 1, 3).requiresGrad_();
    const loss = F.nllLoss(a, x.view(1, 2, 1, 3).select(1, 0).gt(2).long());
    loss.backward();
    return [loss, a.grad];
  },
  upsample: (x) => lib.nn.functional.upsample(x.view(1, 2, 3), 5),
  _conj: (x) => x.cfloat().conj().mul(2),
  _neg_view: (x) => x.cfloat().mul(new Complex(1, 2)).conj().imag.add(1),
  cdouble: (x) => x.cdouble(),
  cpu: (x) => x.cpu(),
  cube: (x) => O.cube(x),
  is_contiguous: (x) => x.t().isContiguous(),
  is_set_to: (x) => x.isSetTo(x.view(6)),
  numpy_T: (x) => O.numpy_T(x),
  rand: (x) => lib.rand([5], { device: x.device }),
  random: (x) => x.clone().random_(7),
  randperm: (x) => lib.randperm(9, { device: x.device }),
  reciprocal: (x) => O.reciprocal(x),
  rsqrt: (x) => O.rsqrt(x),
  set: (x) => x.clone().set_(x.t()),
  tril_indices: (x) => lib.trilIndices(3, 4, { device: x.device }),
  type: (x) => x.type("int64"),
  type_as: (x) => x.typeAs(x.long()),
};

const square = (x: Tensor): Tensor => lib.cat([x, x.slice(0, 1)]);
/** The same with gaps, where it is not looked for overlaps. */
const between = (x: Tensor) => lib.stack([x, x], 2).select(2, 0);
/** Room for six elements that do not lie side by side. */
const hole = (x: Tensor): Tensor => lib.empty([6, 2], { device: x.device, dtype: x.dtype }).select(1, 0);
/** Calls that make something on the way to their result, or whose gradients no case asks for. */
const LAYOUTS: Record<string, (x: Tensor) => unknown> = {
  "gelu by a hyperbolic tangent, elu in place": (x) => {
    const [a, b] = [x.clone().requiresGrad_(), x.clone().requiresGrad_()];
    lib.F.gelu(a, { approximate: "tanh" }).sum().backward();
    lib.F.elu_(b.mul(1)).sum().backward();
    return [a.grad, b.grad];
  },
  "mm into an operand": (x) => lib.mm(square(x), square(x).t(), { out: square(x) }),
  "mm into a conjugate": (x) => {
    const a = square(x).cfloat();
    return lib.mm(a, a, { out: a.clone().conj() });
  },
  "addmm into an operand": (x) => {
    const a = square(x);
    return a.addmm_(a, a);
  },
  "mm of halves": (x) => x.half().mm(x.half().t()),
  "addmm of halves": (x) => lib.addmm(square(x).half(), square(x).half(), square(x).half()),
  addbmm: (x) => lib.addbmm(square(x), square(x).unsqueeze(0), square(x).unsqueeze(0), { beta: 2 }),
  "broadcast in another order": (x) => square(x).t().add(x.select(0, 0)),
  "broadcast of three": (x) => lib.where(square(x).t().gt(3), square(x).t(), x.select(0, 1)),
  "rounded before it is converted": (x) =>
    lib.add(x.bfloat16(), x.bfloat16(), { out: lib.empty(2, 3, { device: x.device }) }),
  "randperm with gaps": (x) => lib.randperm(6, { out: hole(x.long()) }),
  "arange with gaps": (x) => lib.arange(6, { out: hole(x) }),
  "linspace with gaps": (x) => lib.linspace(0, 1, 6, { out: hole(x) }),
  "multinomial with gaps": (x) => lib.multinomial(x.view(6), 6, true, { out: hole(x.long()) }),
  "multinomial without": (x) => x.view(6).multinomial(3),
  "variance of complex numbers": (x) => x.cfloat().mul(new Complex(1, 2)).var(),
  "sum over what it reads": (x) => {
    const a = square(x);
    return lib.sum(a, [0], { out: a.select(0, 0) });
  },
  "max with gaps": (x) => x.view(6).view([6, 1]).max(1),
  "cumsum over what it reads": (x) => {
    const a = between(square(x));
    return lib.cumsum(a.t(), 0, { out: a });
  },
  "elements that are written twice": (x) => x.clone().view(6).asStrided([4, 3], [1, 1]).add_(1),
  "softmax with gaps": (x) => lib.softmax(x.view(6), 0, { out: hole(x) }),
  "sort over what it reads": (x) => {
    const a = between(square(x));
    return lib.sort(a.t(), { out: [a, lib.empty(3, 3, { dtype: "int64", device: x.device })] });
  },
  "cat in another order": (x) => {
    const a = lib.zeros(2, 3, 2, 2, { device: x.device }).contiguous({ memoryFormat: lib.channelsLast });
    return lib.stack([a, a], 1).add(lib.cat([a, a], 1).sum());
  },
  "a number of the host's": (x) => x.add(lib.tensor(2.5)).mul(lib.tensor(3)),
  "a number of the host's where a mask is": (x) => x.maskedFill(x.gt(2), lib.tensor(9)),
};

const shown = (x: unknown): unknown =>
  Array.isArray(x) ? x.map(shown) : x instanceof Tensor ? [x.dtype.name, [...x.shape], x.stride(), x.tolist()] : x;

function wrongWith(c: Case, group: string): string[] {
  made.take();
  const outcome = taking(listener, "test", () => runner.run(set, placed(c), { softStrides: false, device: "cuda" }));
  const seen = made.take();
  const elsewhere = seen.elsewhere.filter((path) => !ON_HOST[path]?.includes(group));
  const wrong = outcome.status === "failed" ? [...outcome.reasons] : [];
  if (elsewhere.length > 0) wrong.push(`on the CPU: ${[...new Set(elsewhere)]}`);
  if (seen.strangers.length > 0) wrong.push(`operands of the CPU's: ${[...new Set(seen.strangers)]}`);
  return wrong.map((reason) => `${c.id}: ${reason}`);
}

/** What is about real GPUs and their driver; test/cuda has it. */
const OF_GPUS = new Set(["cuda", "is_pinned", "pin_memory"]);
/** One kernel on the CPU; on devices other operators do the same. */
const OF_CPUS = new Set(
  ["_recurrent_layer", "_scaled_dot_product_flash_attention_for_cpu"].flatMap((name) => [name, `${name}_backward`]),
);

describe("golden cases on a made-up device", () => {
  for (const [group, cases] of groups) {
    test(group, () => expect(cases.flatMap((c) => wrongWith(c, group))).toEqual([]));
  }

  for (const [name, call] of Object.entries({ ...CALLS, ...LIST_CALLS, ...LAYOUTS })) {
    test(name, () => {
      const x = lib.tensor([
        [1.5, 2, 3],
        [4, 5, 6.25],
      ]);
      lib.manualSeed(7);
      const wanted = shown(call(x));
      made.take();
      const there = x.to(made.device);
      lib.manualSeed(7);
      const got = taking(listener, "test", () => call(there));
      const { strangers, elsewhere } = made.take();
      expect(shown(got)).toEqual(wanted);
      expect([strangers, elsewhere.filter((path) => path !== "random.seed")]).toEqual([[], []]);
    });
  }

  test("are of every operator", () => {
    const names = ops.map(({ key }) => plainName(key.replace(/^(nn\.functional|linalg)\.|\..*$/g, "")));
    expect([...new Set(names)].filter((name) => !done.has(name) && !OF_GPUS.has(name) && !OF_CPUS.has(name))).toEqual(
      [],
    );
  });
});
