/** Fills tensors with random numbers: the checks and the native calls; no shapes are decided here. */

import { RandomAttr, STATUS } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { batchOf } from "../tensor/batched.ts";
import { Complex, type Scalar, scalarKind, scalarValue } from "../tensor/complex.ts";
import type { Device } from "../tensor/device.ts";
import { bfloat16, type DType, float16, float32, float64, toReal } from "../tensor/dtype.ts";
import { warn } from "../tensor/errors.ts";
import { isContiguousGeometry, type Tensor } from "../tensor/tensor.ts";
import { isDense } from "./allocate.ts";
import { backendOf, hasWork } from "./backend.ts";
import { clone, transfer } from "./copy.ts";
import { faultNumber } from "./faults.ts";
import { shortNumber } from "./fits.ts";
import { defaultGeneratorOf, type Generator } from "./generator.ts";
import type { Kernel } from "./kernel.ts";
import { integerLimits } from "./limits.ts";
import { requireNoInternalOverlap, requireNoPartialOverlap } from "./overlap.ts";
import { refuse } from "./refusals.ts";
import { alias, expand } from "./views.ts";

/** C++'s name of a dtype's type, as some messages give it. */
const C_NAMES: Record<string, string> = {
  int16: "short int",
  int64: "long int",
  uint16: "short unsigned int",
  uint32: "unsigned int",
  uint64: "long unsigned int",
};
const typeName = (d: DType): string => C_NAMES[d.name] ?? d.cppName;

/** Real types with a fraction that the distributions are made for. */
export function isReal(d: DType): boolean {
  return d === float32 || d === float64 || d === float16 || d === bfloat16;
}

/** True when there is something to write; refuses outputs that repeat elements. */
function writable(t: Tensor, op: string): boolean {
  requireNoInternalOverlap(t, op);
  return hasWork(t);
}

/** Starts the call: operand 0 is the output, the parts of complex elements as reals. */
function begin(operands: number, t: Tensor, generator: Generator | null): void {
  const used = generatorFor(generator, t._storage.device);
  frame.begin(operands, t.dtype.compute);
  if (t.dtype.category === 3) {
    const shape = [...t._shape, 2];
    const strides = [...t._strides.map((s) => 2 * s), 1];
    frame.operand(0, t._address(), toReal(t.dtype).id, shape, strides, 0);
  } else frame.operand(0, t._address(), t.dtype.id, t._shape, t._strides, 0);
  useGenerator(used, t._storage.device);
}

/** The generator of a call, asked for before the frame is filled: one that is made is seeded through the frame. */
export function generatorFor(generator: Generator | null, device: Device): Generator {
  return generator ?? defaultGeneratorOf(device);
}

/** Names the generator of a call whose operands are written elsewhere. */
export function useGenerator(used: Generator, device: Device): void {
  const wanted = backendOf(device).draws === true ? device.type : "cpu";
  if (used.device.type !== wanted) throw texts.generatorOfOtherDevice(undefined, device.type, used.device.type);
  frame.attr(RandomAttr.generator, used._address);
}

function run(kernel: Kernel, op: string, t: Tensor, generator: Generator | null, a = 0, b = 0, c = 0): Tensor {
  begin(1, t, generator);
  frame.attr(RandomAttr.first, a);
  frame.attr(RandomAttr.second, b);
  frame.attr(RandomAttr.third, c);
  kernel.run(t._storage.device, op, t.dtype.scalarType);
  return asDrawn(t);
}

/** Kernels write what they draw; a tensor that is read through flags gets what reads as that. */
function asDrawn(t: Tensor): Tensor {
  if (t._bits === 0) return t;
  const drawn = alias(t);
  drawn._bits = 0;
  transfer(t, drawn);
  return t;
}

/** The largest finite number of a floating dtype. */
function largest(d: DType): number {
  if (d === float64) return Number.MAX_VALUE;
  if (d === float16) return 65504;
  return d === bfloat16 ? 3.3895313892515355e38 : 3.4028234663852886e38;
}

export function uniform(t: Tensor, from: number, to: number, generator: Generator | null): Tensor {
  const op = "uniform_";
  const d = toReal(t.dtype);
  refuse(REFUSALS.check_uniform_bounds, d, op);
  const top = largest(d);
  for (const [name, x] of [
    ["from", from],
    ["to", to],
  ] as const) {
    if (!(x >= -top && x <= top)) throw texts.boundOutOfDtype(op, name, typeName(d));
  }
  if (!(from <= to)) throw texts.uniformRange(op, shortNumber(from), shortNumber(to));
  if (to - from > top) throw texts.uniformDistance(op, d.scalarType, shortNumber(to), shortNumber(from));
  return writable(t, op) ? run(K.random_uniform, op, t, generator, from, to) : t;
}

/** Refuses a negative standard deviation. */
export function checkDeviation(std: number, op: string): void {
  if (!(std >= 0)) throw texts.normalStdNegative(op, shortNumber(std));
}

export function normal(t: Tensor, mean: number, std: number, generator: Generator | null, op = "normal_"): Tensor {
  checkDeviation(std, op);
  const complex = t.dtype.category === 3;
  const d = toReal(t.dtype);
  if (hasWork(t)) refuse(REFUSALS.normal_kernel_cpu, d, op);
  if (!writable(t, op)) return t;
  const blocks = isContiguousGeometry(t._shape, t._strides) ? 1 : 0;
  return run(K.random_normal, op, t, generator, mean, complex ? std / Math.SQRT2 : std, blocks);
}

export function logNormal(t: Tensor, mean: number, std: number, generator: Generator | null): Tensor {
  const op = "log_normal_";
  if (!(std > 0)) throw texts.logNormalStd(op, shortNumber(std));
  if (!writable(t, op)) return t;
  refuse(REFUSALS.log_normal_cpu, t.dtype, op);
  return run(K.random_log_normal, op, t, generator, mean, std);
}

export function exponential(t: Tensor, rate: number, generator: Generator | null): Tensor {
  const op = "exponential_";
  if (!(rate > 0)) throw texts.exponentialRate(op, shortNumber(rate));
  if (!writable(t, op)) return t;
  if (t.dtype.category !== 2) throw texts.exponentialDtype(op, t.dtype.scalarType);
  refuse(REFUSALS.exponential_cpu, t.dtype, op);
  return run(K.random_exponential, op, t, generator, rate);
}

export function cauchy(t: Tensor, median: number, sigma: number, generator: Generator | null): Tensor {
  const op = "cauchy_";
  if (!(sigma > 0)) throw texts.cauchySigma(op, shortNumber(sigma));
  if (t.dtype.category !== 2) throw texts.cauchyDtype(op, typeName(t.dtype));
  refuse(REFUSALS.cauchy_cpu, t.dtype, op);
  return writable(t, op) ? run(K.random_cauchy, op, t, generator, median, sigma) : t;
}

export function geometric(t: Tensor, p: number, generator: Generator | null): Tensor {
  const op = "geometric_";
  if (!(p > 0 && p < 1)) throw texts.geometricProbability(op, shortNumber(p));
  if (!writable(t, op)) return t;
  refuse(REFUSALS.geometric_cpu, t.dtype, op);
  return run(K.random_geometric, op, t, generator, p);
}

let forDropout = 0;

/**
 * Neighbours that a thread of PyTorch's dropout on CUDA has: up to 16 bytes of its input, where they lie at such an
 * address and none are left over; 0 on other devices, where dropout draws as everything else does.
 */
export function dropoutRun(input: Tensor): number {
  if (!isReal(input.dtype) || backendOf(input._storage.device).draws !== true) return 0;
  let all = input;
  for (let batch = batchOf(all); batch !== null; batch = batchOf(all)) all = batch.value;
  if (!isDense(all._shape, all._strides)) return 1;
  const size = all.dtype.itemsize;
  const address = all._address();
  let run = 16 / size;
  while (run > 1 && (address % (run * size) !== 0 || all._numel % run !== 0)) run /= 2;
  return run;
}

/** What is drawn meanwhile is for dropout, by threads with so many neighbours. */
export function drawnForDropout(run: number, draw: () => Tensor): Tensor {
  forDropout = run;
  try {
    return draw();
  } finally {
    forDropout = 0;
  }
}

export function bernoulli(t: Tensor, p: number, generator: Generator | null): Tensor {
  const op = "bernoulli_";
  if (!(p >= 0 && p <= 1)) throw texts.bernoulliProbability(op, shortNumber(p));
  if (!writable(t, op)) return t;
  refuse(REFUSALS.bernoulli_scalar_cpu_, t.dtype, op);
  return run(K.random_bernoulli, op, t, generator, p, 0, forDropout);
}

/** `p` has a shape that expands to the output's. */
export function bernoulliEach(t: Tensor, p: Tensor, generator: Generator | null): Tensor {
  const op = "bernoulli_";
  requireNoInternalOverlap(t, op);
  requireNoPartialOverlap(t, p, op);
  if (!hasWork(t)) return t;
  refuse(REFUSALS.bernoulli_tensor_cpu_self_, t.dtype, op);
  refuse(REFUSALS.bernoulli_tensor_cpu_p_, p.dtype, op);
  const each = expand(p._bits === 0 ? p : clone(p), t._shape);
  begin(2, t, generator);
  frame.operand(1, each._address(), each.dtype.id, each._shape, each._strides, 0);
  frame.attr(RandomAttr.first, faultNumber("bernoulli_"));
  const status = K.random_bernoulli_each.launch(t._storage.device);
  if (status === STATUS.invalid_distribution) throw texts.bernoulliProbabilities(op);
  if (status !== STATUS.ok) throw texts.nativeCallFailed(op, status);
  return asDrawn(t);
}

/** An integer argument. */
export function integerOf(x: Scalar, name: string, op: string): bigint {
  const v = scalarValue(x);
  if (v instanceof Complex || scalarKind(x) !== "int") throw texts.wrongArgument(op, op, name, "int", scalarKind(x));
  return BigInt(v);
}

/** Bits of the significand, the hidden one included. */
function digitsOf(d: DType): number {
  if (d === float64) return 53;
  if (d === float32) return 24;
  return d === float16 ? 11 : 8;
}

const magnitude = (x: bigint): bigint => (x < 0n ? -x : x);

/** The integer of so many significant bits that is nearest, halves to even. */
function rounded(x: bigint, digits: number): bigint {
  const a = magnitude(x);
  const drop = BigInt(Math.max(0, a.toString(2).length - digits));
  if (drop === 0n) return x;
  const unit = 1n << drop;
  let kept = a >> drop;
  const rest = a - kept * unit;
  const half = unit >> 1n;
  if (rest > half || (rest === half && (kept & 1n) === 1n)) kept++;
  return x < 0n ? -(kept * unit) : kept * unit;
}

/** The distance of neighbouring numbers of the type at `x`. */
function spacing(x: bigint, digits: number): bigint {
  const bits = magnitude(x).toString(2).length;
  return bits > digits ? 1n << BigInt(bits - digits) : 1n;
}

/** Bounds moved inwards to numbers of a floating type. */
function insideOf(from: bigint, to: bigint, d: DType): readonly [bigint, bigint] {
  const digits = digitsOf(d);
  const low = rounded(from + 1n, digits);
  const high = rounded(to - 1n, digits);
  return [low < from ? low + spacing(from + 1n, digits) : from, high >= to ? high - spacing(to - 1n, digits) : to];
}

function checkRandomBounds(from: bigint, last: bigint, d: DType, op: string): void {
  if (d.category === 3) throw texts.boundsDtype(op);
  const [low, high] = limitsOf(d);
  for (const [name, x] of [
    ["from", from],
    ["to - 1", last],
  ] as const) {
    if (x < low || x > high) throw texts.boundOutOfDtype(op, name, typeName(d));
    const limit = d.category === 2 ? 1n << BigInt(digitsOf(d)) : null;
    if (limit !== null && (x < -limit || x > limit)) {
      warn(
        `${name} is out of bounds [-(2^${digitsOf(d)}), 2^${digitsOf(d)}]. Due to precision limitations ` +
          `${typeName(d)} can support discrete uniform distribution only within this range. This warning will become ` +
          "an error in version 1.7 release, please fix the code in advance",
      );
    }
  }
}

function limitsOf(d: DType): readonly [bigint, bigint] {
  if (d.category === 2) {
    const top = BigInt(largest(d));
    return [-top, top];
  }
  return integerLimits(d);
}

/** Integers in [from, to). */
export function randomRange(t: Tensor, from: bigint, to: bigint, generator: Generator | null): Tensor {
  const op = "random_";
  requireNoInternalOverlap(t, op);
  if (from >= to) throw texts.randomRange(op, from, to);
  let low = from;
  let high = to;
  if (t.dtype.category === 2) {
    refuse(REFUSALS.random_update_from_to, t.dtype, op);
    [low, high] = insideOf(from, to, t.dtype);
    if (low >= high) throw texts.randomRangeCast(op, low, high);
  }
  checkRandomBounds(low, high - 1n, t.dtype, op);
  return fillRange(t, low, high - low, generator, op);
}

function fillRange(t: Tensor, from: bigint, range: bigint, generator: Generator | null, op: string): Tensor {
  if (!writable(t, op)) return t;
  begin(3, t, generator);
  frame.operand(1, frame.scratchInt(0, BigInt.asIntN(64, from)), 5, [], [], 0);
  frame.operand(2, frame.scratchInt(1, BigInt.asIntN(64, range)), 5, [], [], 0);
  K.random_from_to.run(t._storage.device, op, t.dtype.scalarType);
  return asDrawn(t);
}

const LEAST = -(2n ** 63n);

/** Integers from `from` to the largest of the dtype. */
export function randomFrom(t: Tensor, from: bigint, generator: Generator | null): Tensor {
  const op = "random_";
  const d = t.dtype;
  if (from === LEAST) {
    const refusal = REFUSALS.random_full_64_bits_range_kernel_cpu;
    refuse(refusal, d, op);
    if (!isReal(d) && !(d.itemsize === 8 && d.isSigned)) throw texts.randomKernelDtype(op, refusal.kernel);
    return writable(t, op) ? run(K.random_full_64, op, t, generator) : t;
  }
  if (d.category === 3) throw texts.randomFromDtype(op);
  refuse(REFUSALS.random_from_to_range_calc, d, op);
  const last = d.category === 2 ? 1n << BigInt(digitsOf(d)) : BigInt.asIntN(64, limitsOf(d)[1]);
  const low = d.category === 2 ? insideOf(from, from + 2n, d)[0] : from;
  if (d.category === 2 && low >= last && low <= limitsOf(d)[1]) throw texts.randomRangeInclusive(op, low, last);
  if (low < limitsOf(d)[0] || low > limitsOf(d)[1]) throw texts.fromOutOfDtype(op, typeName(d));
  return fillRange(t, low, BigInt.asUintN(64, last - low + 1n), generator, op);
}

/** From 0 to the largest number of the dtype, or to 2^digits. */
export function randomAny(t: Tensor, generator: Generator | null): Tensor {
  const op = "random_";
  refuse(REFUSALS.random_kernel_cpu, t.dtype, op);
  return writable(t, op) ? run(K.random_default_range, op, t, generator) : t;
}

/** A permutation into a dense tensor. */
export function permutation(t: Tensor, generator: Generator | null): Tensor {
  return hasWork(t) ? run(K.random_randperm, "randperm", t, generator) : t;
}
