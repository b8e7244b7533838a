/** Random operators: shapes, dtypes and checks around the native fills. */

import { Distribution, STATUS } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { detail } from "../ffi/frame.ts";
import type { Scalar } from "../tensor/complex.ts";
import type { Device } from "../tensor/device.ts";
import { type DType, float16, float32, float64, getDefaultDtype, int64 } from "../tensor/dtype.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { readNumbers } from "../tensor/values.ts";
import { broadcastShapes, empty } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { denseAs, denseOf, onCpu, transfer } from "./copy.ts";
import { emptyLike, outDtype, target } from "./factories.ts";
import { checkFits } from "./fits.ts";
import type { Generator } from "./generator.ts";
import type { MemoryFormat } from "./memory-format.ts";
import { prepareOut } from "./out.ts";
import { requireNoInternalOverlap } from "./overlap.ts";
import { binary, RULES } from "./pointwise.ts";
import * as fills from "./random-fill.ts";
import { refuse } from "./refusals.ts";

type Out = Tensor | undefined;
type Source = Generator | null;

export function uniform(self: Tensor, from: number, to: number, generator: Source): Tensor {
  return fills.uniform(self, from, to, generator);
}

export function normalInto(self: Tensor, mean: number, std: number, generator: Source): Tensor {
  return fills.normal(self, mean, std, generator);
}

export function logNormal(self: Tensor, mean: number, std: number, generator: Source): Tensor {
  return fills.logNormal(self, mean, std, generator);
}

export function exponential(self: Tensor, lambd: number, generator: Source): Tensor {
  return fills.exponential(self, lambd, generator);
}

export function cauchy(self: Tensor, median: number, sigma: number, generator: Source): Tensor {
  return fills.cauchy(self, median, sigma, generator);
}

export function geometric(self: Tensor, p: number, generator: Source): Tensor {
  return fills.geometric(self, p, generator);
}

export function random(self: Tensor, generator: Source): Tensor {
  return fills.randomAny(self, generator);
}

export function randomTo(self: Tensor, to: Scalar, generator: Source): Tensor {
  return fills.randomRange(self, 0n, fills.integerOf(to, "to", "random_"), generator);
}

export function randomFrom(self: Tensor, from: Scalar, to: Scalar | null, generator: Source): Tensor {
  const low = fills.integerOf(from, "from", "random_");
  if (to === null) return fills.randomFrom(self, low, generator);
  return fills.randomRange(self, low, fills.integerOf(to, "to", "random_"), generator);
}

export function bernoulliInto(self: Tensor, p: number, generator: Source): Tensor {
  return fills.bernoulli(self, p, generator);
}

export function bernoulliEach(self: Tensor, p: Tensor, generator: Source): Tensor {
  return fills.bernoulliEach(self, p, generator);
}

export function bernoulli(self: Tensor, generator: Source, out?: Out): Tensor {
  requireKept(self._storage);
  if (out !== undefined) prepareOut(out, self._shape);
  return fills.bernoulliEach(out ?? sameShape(self), self, generator);
}

export function bernoulliP(self: Tensor, p: number, generator: Source): Tensor {
  requireKept(self._storage);
  return fills.bernoulli(sameShape(self), p, generator);
}

/** A row-major tensor of the same shape, dtype and device. */
function sameShape(self: Tensor): Tensor {
  return empty(self._shape, self.dtype, self._storage.device);
}

type Fill = (t: Tensor, generator: Source) => Tensor;
const fillUniform: Fill = (t, generator) => fills.uniform(t, 0, 1, generator);
const fillNormal: Fill = (t, generator) => fills.normal(t, 0, 1, generator);

/** Floating-point numbers of a given size. */
function drawn(op: string, fill: Fill) {
  return (
    size: readonly number[],
    generator: Source,
    dtype: DType | null,
    device: Device | null,
    _rg: boolean,
    out?: Out,
  ): Tensor => fill(target(op, size, outDtype(dtype, out, getDefaultDtype(), op), device, out), generator);
}

export const rand = drawn("rand", fillUniform);
export const randn = drawn("randn", fillNormal);

export function randint(
  high: Scalar,
  size: readonly number[],
  generator: Source,
  dtype: DType | null,
  device: Device | null,
  rg: boolean,
  out?: Out,
): Tensor {
  return randintFrom(0, high, size, generator, dtype, device, rg, out);
}

export function randintFrom(
  low: Scalar,
  high: Scalar,
  size: readonly number[],
  generator: Source,
  dtype: DType | null,
  device: Device | null,
  _rg: boolean,
  out?: Out,
): Tensor {
  const from = fills.integerOf(low, "low", "randint");
  const to = fills.integerOf(high, "high", "randint");
  const d = outDtype(dtype, out, int64, "randint");
  return fills.randomRange(target("randint", size, d, device, out), from, to, generator);
}

/** Floating-point numbers in the form of another tensor. */
function drawnLike(fill: Fill) {
  return (
    self: Tensor,
    generator: Source,
    dtype: DType | null,
    device: Device | null,
    rg: boolean,
    format: MemoryFormat | null,
  ): Tensor => fill(emptyLike(self, dtype, device, rg, format), generator);
}

export const randLike = drawnLike(fillUniform);
export const randnLike = drawnLike(fillNormal);

export function randintLike(
  self: Tensor,
  high: Scalar,
  generator: Source,
  dtype: DType | null,
  device: Device | null,
  rg: boolean,
  format: MemoryFormat | null,
): Tensor {
  return randintLikeFrom(self, 0, high, generator, dtype, device, rg, format);
}

export function randintLikeFrom(
  self: Tensor,
  low: Scalar,
  high: Scalar,
  generator: Source,
  dtype: DType | null,
  device: Device | null,
  rg: boolean,
  format: MemoryFormat | null,
): Tensor {
  const from = fills.integerOf(low, "low", "randint_like");
  const to = fills.integerOf(high, "high", "randint_like");
  return fills.randomRange(emptyLike(self, dtype, device, rg, format), from, to, generator);
}

export function randperm(
  n: number,
  generator: Source,
  dtype: DType | null,
  device: Device | null,
  _rg: boolean,
  out?: Out,
): Tensor {
  const op = "randperm";
  const d = outDtype(dtype, out, int64, op);
  if (n < 0) throw texts.negativeDimension(op, n, [n]);
  refuse(REFUSALS.randperm, d, op);
  checkPermutationFits(n, d);
  const t = target(op, [n], d, device, out);
  if (t._contiguous || !t._storage.device.computes) return fills.permutation(t, generator);
  transfer(t, fills.permutation(empty([n], d, t._storage.device), generator));
  return t;
}

/** How many whole numbers from 0 on a dtype tells apart, and torch's words for it; bfloat16 is not looked at. */
const MOST_PLACES = new Map<DType, [most: number, text: string]>([
  [float16, [2 ** 11 + 1, "2049"]],
  [float32, [2 ** 24 + 1, "2^24+1"]],
  [float64, [2 ** 53 + 1, "2^53+1"]],
]);

function checkPermutationFits(n: number, d: DType): void {
  // The largest place is one less than their number.
  if (d.category !== 2) checkFits(Math.max(n - 1, 0), d);
  const [most, text] = MOST_PLACES.get(d) ?? [n, ""];
  if (n > most) throw texts.randpermTooLarge("randperm", text, d.scalarType);
}

const MUL = { name: "mul", kernel: K.binary_mul, rule: RULES.arith };
const ADD = { name: "add", kernel: K.binary_add, rule: RULES.arith };

/** A tensor of the broadcast shape that holds standard normal numbers. */
function standard(shape: readonly number[], like: Tensor, std: number, generator: Source, out: Out): Tensor {
  if (out !== undefined) prepareOut(out, shape);
  return fills.normal(out ?? empty(shape, like.dtype, like._storage.device), 0, std, generator, "normal");
}

export function normalTensorFloat(mean: Tensor, std: number, generator: Source, out?: Out): Tensor {
  fills.checkDeviation(std, "normal");
  const t = standard(mean._shape, mean, std, generator, out);
  return binary(ADD, t, mean, t, true);
}

export function normalFloatTensor(mean: number, std: Tensor, generator: Source, out?: Out): Tensor {
  checkDeviations(std);
  const t = standard(std._shape, std, 1, generator, out);
  binary(MUL, t, std, t, true);
  return binary(ADD, t, mean, t, true);
}

export function normalTensorTensor(mean: Tensor, std: Tensor, generator: Source, out?: Out): Tensor {
  checkDeviations(std);
  const shape = broadcastShapes(mean._shape, std._shape, "normal");
  const t = standard(shape, mean, 1, generator, out);
  binary(MUL, t, std, t, true);
  return binary(ADD, t, mean, t, true);
}

/** Standard deviations must be real and not negative. */
function checkDeviations(std: Tensor): void {
  const op = "normal";
  if (std.dtype.category === 3) throw texts.normalStdComplex(op);
  if (!hasWork(std)) return;
  const dense = denseOf(onCpu(std));
  const values = readNumbers(dense._address(), std.dtype.id, std._numel, 1);
  for (let i = 0; i < std._numel; i++) {
    if (!((values[i] as number) >= 0)) throw texts.normalStdsNegative(op);
  }
}

export function normalFloats(
  mean: number,
  std: number,
  size: readonly number[],
  generator: Source,
  dtype: DType | null,
  device: Device | null,
  _rg: boolean,
  out?: Out,
): Tensor {
  const d = outDtype(dtype, out, getDefaultDtype(), "normal");
  return fills.normal(target("normal", size, d, device, out), mean, std, generator, "normal");
}

function checkMultinomial(self: Tensor, samples: number, replacement: boolean, out: Out): void {
  const op = "multinomial";
  const rank = self._shape.length;
  if (out !== undefined && out.dtype !== int64) throw texts.multinomialOut(op, out.dtype.scalarType);
  if (rank !== 1 && rank !== 2) throw texts.multinomialRank(op);
  if (!fills.isReal(self.dtype)) throw texts.multinomialDtype(op, self.dtype.scalarType);
  if (samples <= 0) throw texts.multinomialNoSamples(op);
  if (!replacement && samples > (self._shape[rank - 1] as number)) throw texts.multinomialTooManySamples(op);
}

export function multinomial(self: Tensor, samples: number, replacement: boolean, generator: Source, out?: Out): Tensor {
  checkMultinomial(self, samples, replacement, out);
  const rank = self._shape.length;
  const rows = rank === 1 ? 1 : (self._shape[0] as number);
  const n = self._shape[rank - 1] as number;
  const shape = rank === 1 ? [samples] : [rows, samples];
  const { device } = self._storage;
  if (out !== undefined) prepareOut(out, shape);
  const t = out ?? empty(shape, int64, device);
  requireNoInternalOverlap(t, "multinomial");
  if (!hasWork(t)) return t;
  const wide = self.dtype === float64 ? float64 : float32;
  const dense = t._contiguous ? t : empty(shape, int64, device);
  if (!replacement || samples === 1) withoutReplacement(self, wide, rows, n, samples, generator, dense);
  else withReplacement(self, wide, rows, n, samples, generator, dense);
  if (dense !== t) transfer(t, dense);
  return t;
}

/** Operands of the native samplers: results, numbers and work space as dense rows. */
function sampleFrame(kernelInput: Tensor, room: Tensor, rows: number, n: number, samples: number, to: Tensor): void {
  frame.begin(3, kernelInput.dtype.compute);
  frame.operand(0, to._address(), int64.id, [rows, samples], [samples, 1], 0);
  frame.operand(1, kernelInput._address(), kernelInput.dtype.id, [rows, n], [n, 1], 0);
  frame.operand(2, room._address(), room.dtype.id, [n], [1], 0);
}

const WRONG_WEIGHTS: Record<number, string> = {
  [Distribution.negative]: "encountering probability entry < 0",
  [Distribution.notFinite]: "encountering probability entry = infinity or NaN",
  [Distribution.empty]: "sum of probabilities <= 0",
};

function withReplacement(
  self: Tensor,
  wide: DType,
  rows: number,
  n: number,
  samples: number,
  generator: Source,
  to: Tensor,
): void {
  const weights = denseAs(self, wide);
  const sums = empty([n], wide, self._storage.device);
  const used = fills.generatorFor(generator, self._storage.device);
  sampleFrame(weights, sums, rows, n, samples, to);
  fills.useGenerator(used, self._storage.device);
  const status = K.random_multinomial.launch(self._storage.device);
  drop(sums);
  dropCopy(weights, self);
  if (status === STATUS.invalid_distribution) throw texts.multinomialInvalid("multinomial", WRONG_WEIGHTS[detail(0)]);
  if (status !== STATUS.ok) throw texts.multinomialFailed(undefined, status);
}

/** The largest of p / q for exponential q: each position is drawn at most once. */
function withoutReplacement(
  self: Tensor,
  wide: DType,
  rows: number,
  n: number,
  samples: number,
  generator: Source,
  to: Tensor,
): void {
  checkWeights(self, rows, n);
  const q = fills.exponential(emptyLike(self, null, null), 1, generator);
  binary(DIV, self, q, q);
  const scores = denseAs(q, wide);
  const room = empty([n], int64, self._storage.device);
  sampleFrame(scores, room, rows, n, samples, to);
  K.random_largest.run(self._storage.device, "multinomial");
  dropCopy(scores, q);
  for (const t of [q, room]) drop(t);
}

const DIV = { name: "div", kernel: K.binary_div, rule: RULES.float };

function checkWeights(self: Tensor, rows: number, n: number): void {
  const op = "multinomial";
  const here = onCpu(self);
  const dense = denseOf(here);
  const values = readNumbers(dense._address(), self.dtype.id, rows * n, 1);
  for (let i = 0; i < rows * n; i++) {
    if (!((values[i] as number) >= 0 && (values[i] as number) < Infinity)) throw texts.multinomialProbabilities(op);
  }
  for (let r = 0; r < rows; r++) {
    let positive = false;
    for (let i = r * n; i < (r + 1) * n && !positive; i++) positive = (values[i] as number) > 0;
    if (!positive) throw texts.multinomialSum(op);
  }
  dropCopy(dense, here);
  dropCopy(here, self);
}
