// Tangents without a formula of their own: a vector-Jacobian product is linear in the vector, and its own is the
// Jacobian-vector product. What the formulas give is compared with it, and with numeric differences.
import { autograd, complex128, float64, ones, type Tensor, viewAsReal } from "../../src/index.ts";
import type { Forward } from "../autograd/gradcheck.ts";

export function differentiable(outs: readonly Tensor[]): Tensor[] {
  return outs.filter((t) => t.dtype.isFloatingPoint || t.dtype.isComplex);
}

/** The tangents of the results of f, with a graph that leads to the leaves and to the tangents. */
export function transposed(f: Forward, leaves: Tensor[], tangents: Tensor[]): Tensor[] {
  const outs = differentiable(f(leaves));
  const used = outs.filter((t) => t.requiresGrad);
  if (used.length === 0) return outs.map((t) => t.detach().mul(0));
  const dummies = used.map((t) => ones([...t.shape], { dtype: t.dtype }).requiresGrad_());
  const pulled = autograd.grad(used, leaves, { gradOutputs: dummies, createGraph: true, allowUnused: true });
  const places = pulled.flatMap((g, i) => (g?.requiresGrad ? [i] : []));
  const found =
    places.length === 0
      ? dummies.map(() => null)
      : autograd.grad(
          places.map((i) => pulled[i] as Tensor),
          dummies,
          { gradOutputs: places.map((i) => tangents[i] as Tensor), createGraph: true, allowUnused: true },
        );
  return outs.map((t) => found[used.indexOf(t)] ?? t.detach().mul(0));
}

/** All numbers of a tensor; complex ones count as two. */
export function numbersOf(t: Tensor): Float64Array {
  const plain = t
    .detach()
    .resolveConj()
    .resolveNeg()
    .to(t.dtype.isComplex ? complex128 : float64);
  const real = plain.dtype.isComplex ? viewAsReal(plain) : plain;
  return real.contiguous().view([-1]).typedArray() as Float64Array;
}

/** How two lists of tensors differ; null where they agree. */
export function difference(got: readonly Tensor[], wanted: readonly Tensor[], relative = 1e-9): string | null {
  if (got.length !== wanted.length) return `${got.length} results, not ${wanted.length}`;
  for (const [k, t] of got.entries()) {
    const w = wanted[k] as Tensor;
    if (String([...t.shape]) !== String([...w.shape])) return `result ${k} has shape [${t.shape}], not [${w.shape}]`;
    if (t.dtype !== w.dtype) return `result ${k} is ${t.dtype.name}, not ${w.dtype.name}`;
    const [a, b] = [numbersOf(t), numbersOf(w)];
    const scale = b.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 1);
    const off = a.findIndex((x, i) => !Object.is(x, b[i]) && !(Math.abs(x - (b[i] as number)) <= relative * scale));
    if (off >= 0) return `result ${k}: component ${off} is ${a[off]}, not ${b[off]}`;
  }
  return null;
}
