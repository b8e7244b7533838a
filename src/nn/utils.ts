/** Functions over parameters and their gradients. @torch torch.nn.utils */

import { cat, clampMax, stack } from "../../generated/functional.ts";
import { _foreach_mul_Scalar_ } from "../../generated/ops.ts";
import { linalg } from "../api/linalg.ts";
import { noGrad } from "../autograd/api.ts";
import { empty } from "../dispatch/allocate.ts";
import { fill } from "../dispatch/copy.ts";
import { shortNumber } from "../dispatch/fits.ts";
import { isListed } from "../dispatch/foreach.ts";
import { inOrder } from "../tensor/checks.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { getDefaultDtype } from "../tensor/dtype.ts";
import { RuntimeError, TypeError, warn } from "../tensor/errors.ts";
import { gradOf, tidy } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { notIterable, typeName } from "../tensor/type-name.ts";
import { FUNCTIONS } from "./signatures.ts";

export * as rnn from "./packing.ts";

/** A tensor, or several. */
export type Tensors = Tensor | Iterable<Tensor>;

/** Options of `clipGradNorm_`. */
export interface ClipOptions {
  /** The order of the norm. Default 2. */
  normType?: number;
  /** Refuses a norm that is no number or infinite. Default false. */
  errorIfNonfinite?: boolean;
  /** As in PyTorch: true is refused on the CPU. */
  foreach?: boolean | null;
}

const isIterator = (x: object): boolean => "next" in x;

/** The tensors of something iterable. */
function tensorsOf(parameters: unknown): Tensor[] {
  if (typeof parameters !== "object" || parameters === null || !(Symbol.iterator in parameters)) {
    throw notIterable(parameters);
  }
  const list = [...(parameters as Iterable<Tensor>)];
  for (const [i, t] of list.entries()) {
    if (!(t instanceof Tensor)) throw new TypeError(`expected Tensor as element ${i}, but got ${typeName(t)}`);
  }
  return list;
}

function listOf(parameters: unknown): Tensor[] {
  if (parameters instanceof Tensor) return [parameters];
  const list = tensorsOf(parameters);
  if (list.length === 0 && isIterator(parameters as object)) {
    warn("`parameters` is an empty generator, no gradient clipping will occur.");
  }
  return list;
}

const gradsOf = (list: readonly Tensor[]): Tensor[] => list.flatMap((p) => gradOf(p) ?? []);

/** Lists of one device and dtype, in the order in which those come. */
function grouped(list: readonly Tensor[]): Tensor[][] {
  const groups = new Map<string, Tensor[]>();
  for (const t of list) {
    const key = `${t.device} ${t.dtype}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [t]);
    else group.push(t);
  }
  return [...groups.values()];
}

function refuseForeach(foreach: unknown, device: Device): void {
  if (!foreach || device.type === "cuda") return;
  throw new RuntimeError(`foreach=True was passed, but can't use the foreach API on ${device.type} tensors`);
}

/**
 * The norm of all elements of some tensors together.
 * @example
 * ```ts
 * nn.utils.getTotalNorm([tensor([3, 0]), tensor([4])]) // tensor(5.)
 * ```
 * @torch torch.nn.utils.get_total_norm
 */
export function getTotalNorm(
  tensors: Tensors,
  normType?: number | ClipOptions,
  errorIfNonfinite?: boolean,
  foreach?: boolean | null,
): Tensor;
export function getTotalNorm(...args: unknown[]): Tensor {
  type Given = [unknown, number?, boolean?, (boolean | null)?];
  const [tensors, order = 2, strict = false, foreach] = inOrder<Given>("getTotalNorm", FUNCTIONS.getTotalNorm, args);
  return noGrad(() => totalNorm(listOf(tensors), Number(order), strict, foreach));
}

function totalNorm(list: readonly Tensor[], order: number, strict: boolean, foreach: unknown): Tensor {
  const [first] = list;
  if (first === undefined) return fill(empty([], getDefaultDtype(), CPU), 0);
  refuseForeach(foreach, first.device);
  const total = tidy(() => {
    const norms = grouped(list).flatMap((group) => group.map((g) => linalg.vectorNorm(g, order)));
    return linalg.vectorNorm(stack(norms.map((norm) => norm.to(first.device))), order);
  });
  if (strict && !Number.isFinite(total.item() as number)) {
    throw new RuntimeError(
      `The total norm of order ${Number.isInteger(order) ? `${order}.0` : shortNumber(order)} for gradients from ` +
        "`parameters` is non-finite, so it cannot be clipped. To disable this error and scale the gradients by the " +
        "non-finite norm anyway, set `error_if_nonfinite=False`",
    );
  }
  return total;
}

/**
 * Scales the gradients of parameters, in place, so that their norm together is at most `maxNorm`.
 * @returns the norm as it was
 * @throws RuntimeError for a norm that is not finite, with `errorIfNonfinite`
 * @example
 * ```ts
 * const p = new nn.Parameter(zeros(2));
 * p.mul(tensor([3, 4])).sum().backward();
 * [nn.utils.clipGradNorm_([p], 1).item(), p.grad] // [5, tensor([0.6000, 0.8000])]
 * ```
 * @torch torch.nn.utils.clip_grad_norm_
 */
export function clipGradNorm_(
  parameters: Tensors,
  maxNorm: number,
  normType?: number | ClipOptions,
  errorIfNonfinite?: boolean,
  foreach?: boolean | null,
): Tensor;
export function clipGradNorm_(...args: unknown[]): Tensor {
  type Given = [unknown, number, number?, boolean?, (boolean | null)?];
  const name = "clipGradNorm_";
  const [parameters, most, order = 2, strict = false, foreach] = inOrder<Given>(name, FUNCTIONS[name], args);
  return noGrad(() => {
    const grads = gradsOf(listOf(parameters));
    const total = totalNorm(grads, Number(order), strict, foreach);
    if (grads.length > 0) scale(grads, Number(most), total);
    return total;
  });
}

/**
 * Scales the gradients of parameters, in place, as `clipGradNorm_` does when their norm is this one.
 * @example
 * ```ts
 * const p = new nn.Parameter(zeros(2));
 * p.mul(tensor([3, 4])).sum().backward();
 * nn.utils.clipGradsWithNorm_([p], 1, tensor(10));
 * p.grad // tensor([0.3000, 0.4000])
 * ```
 * @torch torch.nn.utils.clip_grads_with_norm_
 */
export function clipGradsWithNorm_(
  parameters: Tensors,
  maxNorm: number,
  totalNorm: Tensor,
  foreach?: boolean | null,
): void;
export function clipGradsWithNorm_(...args: unknown[]): void {
  type Given = [unknown, number, Tensor, (boolean | null)?];
  const name = "clipGradsWithNorm_";
  const [parameters, most, total, foreach] = inOrder<Given>(name, FUNCTIONS[name], args);
  noGrad(() => {
    const grads = gradsOf(listOf(parameters));
    const [first] = grads;
    if (first === undefined) return;
    refuseForeach(foreach, first.device);
    scale(grads, Number(most), total);
  });
}

function scale(grads: readonly Tensor[], most: number, total: Tensor): void {
  const factor = clampMax(total.add(1e-6).reciprocal().mul(most), 1);
  for (const group of grouped(grads)) {
    const [first] = group as [Tensor, ...Tensor[]];
    // Where the factor is a number anyway, one call does all.
    if (first.device === CPU && isListed(first.dtype)) _foreach_mul_Scalar_(group, factor.item() as number);
    else for (const g of group) g.mul_(factor.to(first.device));
  }
}

/**
 * Brings every element of the gradients of parameters, in place, to between -`clipValue` and `clipValue`.
 * @example
 * ```ts
 * const p = new nn.Parameter(zeros(2));
 * p.mul(tensor([3, -4])).sum().backward();
 * nn.utils.clipGradValue_([p], 1);
 * p.grad // tensor([ 1., -1.])
 * ```
 * @torch torch.nn.utils.clip_grad_value_
 */
export function clipGradValue_(
  parameters: Tensors,
  clipValue: number | { clipValue: number; foreach?: boolean | null },
  foreach?: boolean | null,
): void;
export function clipGradValue_(...args: unknown[]): void {
  type Given = [unknown, number, (boolean | null)?];
  const [parameters, value, foreach] = inOrder<Given>("clipGradValue_", FUNCTIONS.clipGradValue_, args);
  const most = Number(value);
  noGrad(() => {
    for (const g of gradsOf(listOf(parameters))) {
      refuseForeach(foreach, g.device);
      g.clamp_(-most, most);
    }
  });
}

function checkDevices(list: readonly Tensor[]): void {
  const placeOf = (t: Tensor): string => (t.isCuda ? String(t.device) : "cpu");
  if (list.every((t) => placeOf(t) === placeOf(list[0] as Tensor))) return;
  throw new TypeError("Found two parameters on different devices, this is currently not supported.");
}

/**
 * All parameters one after the other in one vector.
 * @example
 * ```ts
 * nn.utils.parametersToVector([tensor([[1, 2]]), tensor([3])]) // tensor([1., 2., 3.])
 * ```
 * @torch torch.nn.utils.parameters_to_vector
 */
export function parametersToVector(parameters: Iterable<Tensor>): Tensor {
  const [given] = inOrder<[unknown]>("parametersToVector", FUNCTIONS.parametersToVector, arguments);
  const list = tensorsOf(given);
  checkDevices(list);
  return cat(list.map((p) => p.view(-1)));
}

/**
 * Makes parameters views of one vector, one after the other.
 * @throws RuntimeError when the vector is too short
 * @example
 * ```ts
 * const [a, b] = [new nn.Parameter(zeros(2)), new nn.Parameter(zeros(1))];
 * nn.utils.vectorToParameters(tensor([1, 2, 3]), [a, b]);
 * b // Parameter containing:
 * // tensor([3.], requires_grad=True)
 * ```
 * @torch torch.nn.utils.vector_to_parameters
 */
export function vectorToParameters(vec: Tensor, parameters: Iterable<Tensor>): void {
  const given = inOrder<[unknown, unknown]>("vectorToParameters", FUNCTIONS.vectorToParameters, arguments);
  const vector = given[0];
  if (!(vector instanceof Tensor)) {
    throw new TypeError(`expected torch.Tensor, but got: ${typeName(vector)}`);
  }
  const list = tensorsOf(given[1]);
  checkDevices(list);
  let at = 0;
  for (const p of list) {
    const end = Math.min(at + p.numel(), vector.numel());
    p.data = vector.narrow(0, at, Math.max(end - at, 0)).viewAs(p).data;
    at = end;
  }
}
