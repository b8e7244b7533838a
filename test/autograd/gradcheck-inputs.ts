// Inputs for gradient checks of every operator with formulas, made from the roles of its arguments in the schema.
import type { Arg, Op } from "../../codegen/model/load.ts";
import { camel } from "../../codegen/model/load.ts";
import { Complex, float64, manualSeed, Tensor, tensor } from "../../src/index.ts";
import { count, type Forward, type Input, scrambled } from "./gradcheck.ts";
import { imageRecipes } from "./gradcheck-images.ts";

/** A tensor of a shape: differentiable where the operator has a formula for the argument. */
export class Shape {
  constructor(
    readonly sizes: readonly number[],
    readonly real = false,
  ) {}
}

/** Values of arguments by name. */
export type Assignment = Record<string, unknown>;

/** Where a function is defined; what is tried until the results are finite. */
export type Domain = "any" | "positive" | "unit" | "above" | "fraction";
export const DOMAINS: readonly Domain[] = ["any", "positive", "unit", "above", "fraction"];

const of = (...sizes: number[]): Shape => new Shape(sizes);
const index = (...values: number[]): Tensor => tensor(values).long();
const grid = (rows: number[][]): Tensor => tensor(rows).long();
const MASK = () =>
  tensor([
    [1, 0, 1, 1],
    [0, 1, 0, 0],
    [1, 1, 0, 1],
  ]).bool();

/** All that a kernel of gradients can give. */
const WANTED = { inputWanted: true, weightWanted: true, biasWanted: true };

const NONE = { weight: null, ignoreIndex: -100 };

/** Of losses: classes and probabilities. */
const LOSS_RECIPES: Record<string, readonly Assignment[]> = {
  nll_loss_forward: [
    { ...NONE, target: index(1, 0, 3), reduction: 1 },
    { ...NONE, target: index(1, 0, 3), reduction: 2, ignoreIndex: 0 },
    { ...NONE, target: index(1, 0, 3), reduction: 0 },
  ],
  nll_loss2d_forward: [0, 1, 2].map((reduction) => ({
    ...NONE,
    self: of(2, 3, 1, 2),
    target: index(1, 0, 2, 2).reshape([2, 1, 2]),
    reduction,
  })),
  nll_loss_backward: [0, 1, 2].map((reduction) => ({
    ...NONE,
    gradOutput: reduction === 0 ? of(3) : of(),
    shape: [3, 4],
    target: index(1, 0, 3),
    reduction,
    totalWeight: tensor(3).double(),
  })),
  nll_loss2d_backward: [0, 1, 2].map((reduction) => ({
    ...NONE,
    gradOutput: reduction === 0 ? of(2, 1, 2) : of(),
    shape: [2, 3, 1, 2],
    target: index(1, 0, 2, 2).reshape([2, 1, 2]),
    reduction,
    totalWeight: tensor(4).double(),
  })),
  _binary_cross_entropy: [0, 1, 2].map((reduction) => ({ target: of(3, 4), weight: null, reduction })),
  _binary_cross_entropy_with_logits: [
    { target: of(3, 4), weight: null, posWeight: null, reduction: 1 },
    { target: of(3, 4), weight: tensor([0.5, 1, 2, 3]).double().expand([3, 4]), posWeight: null, reduction: 2 },
    { target: of(3, 4), weight: null, posWeight: tensor([0.5, 1, 2, 3]).double(), reduction: 0 },
  ],
  _soft_margin_loss: [0, 1, 2].map((reduction) => ({
    target: tensor([1, -1, 1, 1]).double().expand([3, 4]),
    reduction,
  })),
};

/** Where the functions of an operator are smooth, if it is not everywhere that they are defined. */
export const SMOOTH: Readonly<Record<string, readonly Domain[]>> = {
  _binary_cross_entropy: ["fraction"],
  binary_cross_entropy_backward: ["fraction"],
};

/** Arguments that roles do not tell; the first of several is varied further. */
const RECIPES: Record<string, readonly Assignment[]> = {
  ...LOSS_RECIPES,
  diag_embed: [
    { dim1: 0, dim2: 2 },
    { dim1: -2, dim2: -1, offset: 1 },
  ],
  _embedding: [{ weight: of(4, 3), indices: index(1, 3, 1), paddingIdx: -1, scaleGradByFreq: false }],
  "scatter_reduce.two": ["sum", "prod", "mean", "amax", "amin"].flatMap((reduce) =>
    [true, false].map((includeSelf) => ({
      dim: 0,
      index: grid([
        [0, 2, 0, 1],
        [2, 2, 1, 0],
      ]),
      src: of(2, 4),
      reduce,
      includeSelf,
    })),
  ),
  index_reduce: ["prod", "mean", "amax", "amin"].flatMap((reduce) =>
    [true, false].map((includeSelf) => ({ dim: 0, index: index(2, 0, 2), source: of(3, 4), reduce, includeSelf })),
  ),
  native_layer_norm: [
    { normalizedShape: [4], weight: of(4), bias: of(4), eps: 0.1 },
    { normalizedShape: [3, 4], weight: null, bias: null, eps: 0.1 },
  ],
  _scaled_dot_product_flash_attention_for_cpu: [
    { query: of(1, 4, 3, 2), key: of(1, 2, 5, 2), value: of(1, 2, 5, 2), attnMask: null, isCausal: false, scale: 0.5 },
    { query: of(2, 1, 4, 3), key: of(2, 1, 4, 3), value: of(2, 1, 4, 2), attnMask: null, isCausal: true, scale: 0.5 },
  ],
  _scaled_dot_product_flash_attention_for_cpu_backward: [
    {
      gradOut: of(1, 2, 3, 2),
      query: of(1, 2, 3, 2),
      key: of(1, 2, 5, 2),
      value: of(1, 2, 5, 2),
      attnMask: null,
      out: of(1, 2, 3, 2),
      logsumexp: of(1, 2, 3),
      isCausal: false,
      scale: 0.5,
    },
  ],
  _recurrent_layer: [
    { input: of(3, 2, 8), h0: of(2, 2), c0: of(2, 2), weight: of(8, 2), added: null, mode: 2, reverse: false },
    { input: of(3, 2, 8), h0: of(2, 2), c0: of(2, 2), weight: of(8, 2), added: null, mode: 2, reverse: true },
    { input: of(3, 2, 6), h0: of(2, 2), c0: null, weight: of(6, 2), added: of(2), mode: 3, reverse: false },
    { input: of(3, 2, 6), h0: of(2, 2), c0: null, weight: of(6, 2), added: null, mode: 3, reverse: true },
    { input: of(3, 2, 2), h0: of(2, 2), c0: null, weight: of(2, 2), added: null, mode: 0, reverse: true },
    { input: of(3, 2, 2), h0: of(2, 2), c0: null, weight: of(2, 2), added: null, mode: 1, reverse: false },
  ],
  native_layer_norm_backward: [
    { normalizedShape: [4], mean: of(3, 1), rstd: of(3, 1), weight: of(4), bias: null, eps: 0.1, ...WANTED },
  ],
  _fused_rms_norm_backward: [{ normalizedShape: [4], rstd: of(3, 1), weight: of(4), eps: 0.1, ...WANTED }],
  native_group_norm_backward: [
    {
      gradOut: of(2, 4, 3),
      input: of(2, 4, 3),
      mean: of(2, 2),
      rstd: of(2, 2),
      weight: of(4),
      bias: null,
      groups: 2,
      eps: 0.1,
      ...WANTED,
    },
  ],
  native_batch_norm_backward: [
    { weight: of(4), bias: null, mean: of(4), invstd: of(4), training: true, eps: 0.1, ...WANTED },
  ],
  _fused_rms_norm: [{ normalizedShape: [4], weight: of(4), eps: 0.1 }],
  native_group_norm: [{ input: of(2, 4, 3), weight: of(4), bias: of(4), groups: 2, eps: 0.1 }],
  native_batch_norm: [
    { weight: of(4), bias: of(4), runningMean: null, runningVar: null, training: true, momentum: 0.1, eps: 0.1 },
    {
      input: of(2, 3, 5),
      weight: of(3),
      bias: null,
      runningMean: null,
      runningVar: null,
      training: true,
      momentum: 0.1,
      eps: 0.1,
    },
  ],
  ...imageRecipes(of),
  index: [{ indices: [index(2, 0, 2)] }, { indices: [null, index(1, 3)] }, { indices: [index(0, 2), index(1, 1)] }],
  index_put: [
    { indices: [index(2, 0)], values: of(2, 4) },
    { indices: [index(2, 2), index(1, 1)], values: of(2), accumulate: true },
    { indices: [null, index(1, 3)], values: of() },
  ],
  _polygamma: [{ n: 1 }, { n: 3 }],
  index_select: [
    { dim: 1, index: index(3, 0, 0) },
    { dim: 0, index: index(1) },
  ],
  index_add: [{ dim: 0, index: index(2, 0, 2), source: of(3, 4) }],
  index_copy: [{ dim: 0, index: index(2, 0), source: of(2, 4) }],
  "index_fill.int_Tensor": [{ dim: 1, index: index(0, 3), value: of() }],
  index_fill: [{ dim: 1, index: index(0, 3) }],
  gather: [
    {
      dim: 1,
      index: grid([
        [0, 3, 3],
        [1, 0, 2],
      ]),
    },
    {
      dim: 0,
      index: grid([
        [0, 2],
        [2, 1],
      ]),
    },
  ],
  scatter: [
    {
      dim: 1,
      index: grid([
        [0, 3],
        [1, 2],
      ]),
      src: of(2, 2),
    },
  ],
  "scatter.value": [
    {
      dim: 1,
      index: grid([
        [0, 3],
        [1, 2],
      ]),
    },
  ],
  "scatter.reduce": [
    {
      dim: 1,
      index: grid([
        [0, 3],
        [1, 2],
      ]),
      src: of(2, 2),
      reduce: "add",
    },
  ],
  "scatter.value_reduce": [
    {
      dim: 1,
      index: grid([
        [0, 3],
        [1, 2],
      ]),
      reduce: "multiply",
    },
  ],
  scatter_add: [
    {
      dim: 1,
      index: grid([
        [0, 3, 3],
        [1, 2, 1],
      ]),
      src: of(2, 3),
    },
  ],
  "masked_fill.Tensor": [{ value: of() }],
  masked_scatter: [{ source: of(2, 5) }],
  take: [
    {
      index: grid([
        [11, 0],
        [5, 5],
      ]),
    },
  ],
  put: [
    { index: index(11, 0, 5), source: of(3) },
    { index: index(4, 0, 4), source: of(3), accumulate: true },
  ],
  repeat: [{ repeats: [2, 1, 3] }, { repeats: [1, 2] }],
  flip: [{ dims: [0, 1] }, { dims: [-1] }],
  roll: [
    { shifts: [2], dims: [1] },
    { shifts: [1, -2], dims: [1, 0] },
    { shifts: [5], dims: null },
  ],
  rot90: [
    { k: 1, dims: [0, 1] },
    { k: 2, dims: [0, 1] },
    { k: 3, dims: [1, 0] },
    { k: 0, dims: [0, 1] },
  ],
  logsumexp: [{ dim: 1 }, { dim: [0, 1], keepdim: true }],
  mm: [{ mat2: of(4, 2) }],
  bmm: [{ self: of(2, 3, 4), mat2: of(2, 4, 2) }],
  addmm: [
    { self: of(3, 2), mat1: of(3, 4), mat2: of(4, 2) },
    { self: of(2), mat1: of(3, 4), mat2: of(4, 2) },
  ],
  baddbmm: [
    { self: of(2, 3, 2), batch1: of(2, 3, 4), batch2: of(2, 4, 2) },
    { self: of(3, 1), batch1: of(2, 3, 4), batch2: of(2, 4, 2) },
  ],
  addbmm: [{ self: of(3, 2), batch1: of(2, 3, 4), batch2: of(2, 4, 2) }],
  mv: [{ vec: of(4) }],
  addmv: [{ self: of(3), mat: of(3, 4), vec: of(4) }],
  dot: [{ self: of(5), tensor: of(5) }],
  vdot: [{ self: of(5), other: of(5) }],
  addr: [{ self: of(3, 4), vec1: of(3), vec2: of(4) }],
  _smooth_l1_loss: [
    { reduction: 0, beta: 0.7 },
    { reduction: 1, beta: 2 },
    { reduction: 2, beta: 0.3 },
  ],
  _huber_loss: [
    { reduction: 0, delta: 0.7 },
    { reduction: 1, delta: 2 },
    { reduction: 2, delta: 0.3 },
  ],
  clamp_min: [{ min: 0.2 }],
  clamp_max: [{ max: 0.2 }],
  "round.decimals": [{ decimals: 1 }],
  _mse_loss: [{ reduction: 0 }, { reduction: 1 }, { reduction: 2 }],
  "normal.inplace": [{ mean: 0, std: 1 }],
  "bernoulli.Tensor": [{ p: of(3, 4) }],
  geometric: [{ p: 0.4 }],
  "random.to": [{ to: 9 }],
  "random.from": [{ from: 2, to: 9 }],
  kthvalue: [
    { k: 2, dim: 1 },
    { k: 3, dim: 0, keepdim: true },
    { self: of(), k: 1, dim: 0 },
  ],
  topk: [{ k: 2 }, { k: 3, dim: 0, largest: false }],
  copy: [{ src: of(3, 4) }, { src: of(4) }],
  "fill.Tensor": [{ value: of() }],
  view_as_complex: [{ self: new Shape([3, 2], true) }],
  _reshape_alias: [{ size: [4, 3] }],
  view: [{ size: [2, 6] }, { size: [-1] }],
  _unsafe_view: [{ size: [4, 3] }],
  as_strided: [
    { size: [2, 3], stride: [5, 2] },
    { size: [3, 3], stride: [1, 1], storageOffset: 2 },
  ],
  expand: [{ size: [2, 3, 4] }, { self: of(3, 1), size: [3, 4] }],
  transpose: [{ dim0: 0, dim1: 1 }],
  permute: [{ self: of(2, 3, 2), dims: [2, 0, 1] }],
  squeeze: [{ self: of(3, 1, 2) }],
  "squeeze.dim": [{ self: of(3, 1, 2), dim: 1 }],
  "squeeze.dims": [{ self: of(3, 1, 2, 1), dim: [1, 3] }],
  select: [
    { dim: 1, index: 2 },
    { dim: 0, index: -1 },
  ],
  slice: [{ dim: 1, start: 1, end: 4, step: 2 }],
  diagonal: [{ offset: 0, dim1: 0, dim2: 1 }, { offset: 1 }, { self: of(2, 3, 3), offset: -1, dim1: 2, dim2: 1 }],
  split: [{ splitSize: 3, dim: 1 }],
  "split.sizes": [{ splitSize: [1, 3], dim: 1 }],
  split_with_sizes: [{ splitSizes: [1, 3], dim: 1 }],
  glu: [
    { self: of(4, 3), dim: 0 },
    { self: of(2, 6), dim: -1 },
  ],
  unfold: [
    { dimension: 1, size: 2, step: 1 },
    { dimension: 0, size: 2, step: 1 },
  ],
  clamp: [
    { min: -0.5, max: 0.8 },
    { min: null, max: 0.8 },
    { min: -0.5, max: null },
  ],
  "clamp.Tensor": [{}, { min: null }, { max: null }],
  div: [{}, { roundingMode: "floor" }, { roundingMode: "trunc" }],
  "pow.Scalar": [{ self: 1.7 }],
  pow: [{ exponent: 2 }, { exponent: 2.5 }, { exponent: 0 }, { exponent: -1 }],
};

/** Arguments (in camelCase) that an operator has formulas for. */
export function targetsOf(op: Op): Set<string> {
  const keys = typeof op.grad === "object" ? Object.keys(op.grad) : [];
  return new Set(keys.flatMap((key) => key.split(",").map((name) => camel(name.trim()))));
}

function byRole(arg: Arg): readonly unknown[] {
  const fallback = arg.fallback === undefined ? [] : [JSON.parse(arg.fallback)];
  switch (arg.role) {
    case "Tensor":
      return /mask|condition/.test(arg.name) ? [MASK()] : [of(3, 4)];
    case "Tensor?":
      return [of(3, 4), null];
    case "Tensor|Scalar":
      return arg.name === "self" ? [of(3, 4)] : [of(3, 4), 1.3];
    case "TensorList":
      return [[of(3, 4), of(3, 4)]];
    case "Scalar":
      return [1.3, ...fallback];
    case "Dim":
      return [1, 0, -2];
    case "Dim?":
      return [null, 0, -1];
    case "Dims":
      return [[1], [0, 1]];
    case "Dims?":
      return [null, [0], [0, -1]];
    case "Bool":
      return fallback[0] === true ? [true, false] : [false, true];
    case "Bool?":
      return [null, true, false];
    case "Float":
      return fallback.length > 0 ? fallback : [0.6];
    case "DType":
      return [float64];
    default:
      return fallback;
  }
}

/** Shapes that broadcast, for operators of several tensors. */
function broadcasts(op: Op, base: Assignment): Assignment[] {
  const tensors = op.args.filter((a) => base[a.name] instanceof Shape).map((a) => a.name);
  if (op.kind !== "pointwise") return [];
  const all = (shape: Shape): Assignment => Object.fromEntries(tensors.map((name) => [name, shape]));
  const scalars = { ...base, ...all(of()) };
  if (tensors.length < 2) return [scalars];
  const each = tensors.flatMap((name) => [of(4), of(3, 1), of()].map((shape) => ({ ...base, [name]: shape })));
  return [scalars, ...each.filter((a) => a.self instanceof Shape)];
}

/** What an operator is called with: by role, by recipe, each argument varied in turn. Null: roles do not tell. */
export function assignments(op: Op, complex: boolean): Assignment[] | string {
  const recipes = RECIPES[op.key] ?? [{}];
  const base: Assignment = { ...recipes[0] };
  for (const arg of op.args) {
    if (arg.name in base) continue;
    const [first] = byRole(arg);
    if (first === undefined) return `the role ${arg.role} of ${arg.name} does not tell a value: add a recipe`;
    base[arg.name] = first;
  }
  const made = [base, ...recipes.slice(1).map((r) => ({ ...base, ...r }))];
  for (const arg of op.args) {
    if (arg.name in recipes[0]) continue;
    for (const value of byRole(arg).slice(1)) made.push({ ...base, [arg.name]: value });
    if (complex && arg.role === "Scalar") made.push({ ...base, [arg.name]: new Complex(0.6, -0.8) });
    if (complex && op.kind === "pointwise" && base[arg.name] instanceof Shape) {
      made.push({ ...base, [arg.name]: new Shape((base[arg.name] as Shape).sizes, true) });
    }
  }
  return [...made, ...broadcasts(op, base), ...otherRanks(op, base)];
}

/** Vectors and tensors without dimensions, for operators along a dimension of one tensor. */
function otherRanks(op: Op, base: Assignment): Assignment[] {
  const along = op.args.find((arg) => /^Dims?\??$/.test(arg.role));
  if (op.kind !== "op" || along === undefined || op.key in RECIPES || !(base.self instanceof Shape)) return [];
  const dim = along.role.startsWith("Dims") ? [0] : 0;
  // One number has no deviation.
  const shapes = /^(std|var)/.test(op.key) ? [of(5)] : [of(5), of()];
  return shapes.map((self) => ({ ...base, self, [along.name]: dim }));
}

function draw(domain: Domain, next: () => number): number {
  const u = next();
  const [sign, size] = [u < 0 ? -1 : 1, Math.abs(u)];
  if (domain === "any") return sign * (0.3 + 1.4 * size);
  if (domain === "unit") return sign * (0.1 + 0.75 * size);
  if (domain === "fraction") return 0.1 + 0.75 * size;
  return domain === "positive" ? 0.3 + 1.4 * size : 1.2 + 1.4 * size;
}

/** A differentiable input of a shape. */
export function inputOf(shape: Shape, complex: boolean, domain: Domain, seed: number): Input {
  const next = scrambled(seed);
  const isComplex = complex && !shape.real;
  const length = count(shape.sizes) * (isComplex ? 2 : 1);
  return { shape: shape.sizes, complex: isComplex, values: Float64Array.from({ length }, () => draw(domain, next)) };
}

export type Fn = (...args: unknown[]) => Tensor | readonly Tensor[];

export interface Call {
  f: Forward;
  inputs: Input[];
}

/** Turns an assignment into a function of its differentiable tensors. */
export function callOf(op: Op, fn: Fn, a: Assignment, complex: boolean, domain: Domain, inPlace: boolean): Call {
  const targets = targetsOf(op);
  const inputs: Input[] = [];
  const build = (value: unknown, wanted: boolean): ((leaves: Tensor[]) => unknown) => {
    if (Array.isArray(value) && value.some((v) => v instanceof Shape)) {
      const parts = value.map((v) => build(v, wanted));
      return (leaves) => parts.map((part) => part(leaves));
    }
    if (!(value instanceof Shape)) return () => value;
    const k = inputs.push(inputOf(value, complex, domain, inputs.length + 1)) - 1;
    return wanted ? (leaves) => leaves[k] : (leaves) => (leaves[k] as Tensor).detach();
  };
  const parts = op.args.map((arg) => build(a[arg.name], targets.has(arg.name)));
  const f: Forward = (leaves) => {
    manualSeed(0);
    const args = parts.map((part) => part(leaves));
    if (inPlace) args[0] = (args[0] as Tensor).clone();
    const out = fn(...args);
    if (out instanceof Tensor) return [out];
    // Statistics beside a result have no gradients.
    return [...out].filter((_, i) => op.nonDifferentiable?.includes(i) !== true);
  };
  return { f, inputs };
}
