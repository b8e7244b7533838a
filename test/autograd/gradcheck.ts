// Compares gradients with numeric differences, of first and of second order.
import { autograd, complex128, float64, type Tensor, tensor, viewAsComplex, viewAsReal } from "../../src/index.ts";

/** A tensor of float64 or complex128 elements; complex ones take two values each. */
export interface Input {
  shape: readonly number[];
  values: Float64Array;
  complex: boolean;
}

/** Maps leaves to results; only those of floating point or complex dtype count. */
export type Forward = (leaves: Tensor[]) => readonly Tensor[];

const STEP = 1e-5;
const RELATIVE = 1e-6;
const ABSOLUTE = 1e-7;
const NO_RESULT = "no result of a floating point or complex dtype";

/** Numbers between -1 and 1 that look random, the same each time. */
export function scrambled(seed: number): () => number {
  let state = (seed * 0x9e3779b1 + 0x165667b1) | 0;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x85ebca6b) + 0x3c6ef372;
    const mixed = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
    return (mixed ^ (mixed >>> 16)) / 2 ** 31;
  };
}

export function count(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}

/** A leaf that requires grad. */
export function leafOf({ shape, values, complex }: Input): Tensor {
  const flat = tensor(Array.from(values), { dtype: float64 });
  const t = complex ? viewAsComplex(flat.view([...shape, 2])) : flat.view([...shape]);
  return t.detach().requiresGrad_();
}

function componentsOf(t: Tensor): Float64Array {
  const plain = t
    .detach()
    .resolveConj()
    .resolveNeg()
    .to(t.dtype.isComplex ? complex128 : float64);
  const real = plain.dtype.isComplex ? viewAsReal(plain) : plain;
  return real.contiguous().view([-1]).typedArray() as Float64Array;
}

/** Random tensors like others: what a result or a gradient is weighted with. */
export function weightsLike(outs: readonly { shape: readonly number[]; complex: boolean }[], seed: number): Input[] {
  const next = scrambled(seed);
  return outs.map(({ shape, complex }) => ({
    shape,
    complex,
    values: Float64Array.from({ length: count(shape) * (complex ? 2 : 1) }, () => next()),
  }));
}

function differentiable(outs: readonly Tensor[]): Tensor[] {
  return outs.filter((t) => t.dtype.isFloatingPoint || t.dtype.isComplex);
}

export function described(t: Tensor): { shape: readonly number[]; complex: boolean } {
  return { shape: [...t.shape], complex: t.dtype.isComplex };
}

/** The sum of all components times their weights: a real function of the inputs. */
function weighted(outs: readonly Tensor[], weights: readonly Input[]): number {
  let sum = 0;
  for (const [k, t] of outs.entries()) {
    const values = componentsOf(t);
    for (let i = 0; i < values.length; i++) sum += values[i] * weights[k].values[i];
  }
  return sum;
}

/** Gradients of the outputs that have any, as components; zeros where an input is not used. */
function analytic(outs: Tensor[], leaves: Tensor[], weights: readonly Input[]): Float64Array[] {
  const used = [...outs.keys()].filter((k) => outs[k].requiresGrad);
  const none = leaves.map((x) => new Float64Array(x.numel() * (x.dtype.isComplex ? 2 : 1)));
  if (used.length === 0) return none;
  const gradOutputs = used.map((k) => leafOf(weights[k]).detach().to(outs[k].dtype));
  const outputs = used.map((k) => outs[k]);
  const grads = autograd.grad(outputs, leaves, { gradOutputs, allowUnused: true });
  return grads.map((g, i) => {
    if (g === null) return none[i];
    if (String([...g.shape]) !== String([...leaves[i].shape])) throw new Error(`gradient ${i} has shape [${g.shape}]`);
    if (g.dtype !== leaves[i].dtype) throw new Error(`gradient ${i} is ${g.dtype.name}`);
    return componentsOf(g);
  });
}

/** Directions in which the components of an input are moved together: each by itself, or some random ones. */
function directions(n: number, along: "each" | "some", seed: number): Float64Array[] {
  if (along === "each") return Array.from({ length: n }, (_, j) => new Float64Array(n).fill(1, j, j + 1));
  const next = scrambled(seed);
  return Array.from({ length: Math.min(n, 2) }, () => Float64Array.from({ length: n }, () => next()));
}

/** What is wrong with the gradients of f at some inputs; null when they are the numeric ones. */
export function checkGradients(f: Forward, inputs: readonly Input[], along: "each" | "some" = "each"): string | null {
  const leaves = inputs.map(leafOf);
  const outs = differentiable(f(leaves));
  if (outs.length === 0) return NO_RESULT;
  const weights = weightsLike(outs.map(described), 1);
  const grads = analytic(outs, leaves, weights);
  const at = (k: number, values: Float64Array) => {
    const moved = inputs.map((input, i) => leafOf(i === k ? { ...input, values } : input));
    return weighted(differentiable(f(moved)), weights);
  };
  for (const [k, { values }] of inputs.entries()) {
    for (const [j, d] of directions(values.length, along, k + 11).entries()) {
      const move = (step: number) =>
        at(
          k,
          values.map((v, i) => v + step * d[i]),
        );
      const numeric = (move(STEP) - move(-STEP)) / (2 * STEP);
      const got = d.reduce((sum, x, i) => sum + x * grads[k][i], 0);
      if (Math.abs(got - numeric) <= ABSOLUTE + RELATIVE * Math.abs(numeric)) continue;
      const where = along === "each" ? `component ${j}` : "a random direction";
      return `gradient of input ${k} along ${where} is ${got}, the numeric one ${numeric}`;
    }
  }
  return null;
}

/** Whether all gradients of f are zeros. */
export function hasZeroGradients(f: Forward, inputs: readonly Input[]): boolean {
  const leaves = inputs.map(leafOf);
  const outs = differentiable(f(leaves));
  return analytic(outs, leaves, weightsLike(outs.map(described), 1)).every((g) => g.every((x) => x === 0));
}

/** The function that gives the gradients of f, of its inputs and of what its results are weighted with. */
export function gradientsOf(f: Forward, n: number): Forward {
  return (leaves) => {
    const outs = differentiable(f(leaves.slice(0, n))).filter((t) => t.requiresGrad);
    if (outs.length === 0) return [];
    const gradOutputs = leaves.slice(n, n + outs.length).map((w, k) => w.to(outs[k].dtype));
    const options = { gradOutputs, createGraph: true, allowUnused: true };
    return autograd.grad(outs, leaves.slice(0, n), options).filter((g) => g !== null);
  };
}

/** As checkGradients, for the gradients of the gradients. */
export function checkSecondOrder(f: Forward, inputs: readonly Input[]): string | null {
  const outs = differentiable(f(inputs.map(leafOf))).filter((t) => t.requiresGrad);
  const given = weightsLike(outs.map(described), 7);
  const wrong = checkGradients(gradientsOf(f, inputs.length), [...inputs, ...given], "some");
  return wrong === NO_RESULT ? null : wrong;
}

/** Results of f, whether they are finite. */
export function hasFiniteResults(f: Forward, inputs: readonly Input[]): boolean {
  const outs = differentiable(f(inputs.map(leafOf)));
  return outs.every((t) => componentsOf(t).every(Number.isFinite));
}

/** Whether f gives a result of its first leaf's shape and dtype, as an in-place form needs it. */
export function fitsFirst(f: Forward, inputs: readonly Input[], alsoDtype: boolean): boolean {
  const leaves = inputs.map(leafOf);
  const [out] = f(leaves);
  return (!alsoDtype || out.dtype === leaves[0].dtype) && String([...out.shape]) === String([...leaves[0].shape]);
}
