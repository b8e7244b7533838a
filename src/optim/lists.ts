/** Which parameters one native call takes: the others go through operators, one after the other. */
import { isListed } from "../dispatch/foreach.ts";
import { hasInternalOverlap, mayOverlap } from "../dispatch/overlap.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { float32, float64 } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { bytesNeeded, Tensor } from "../tensor/tensor.ts";

type List = readonly Tensor[];

const repeats = (t: Tensor): boolean => !t._contiguous && (hasInternalOverlap(t) || mayOverlap(t));

/** Whether the tensors of one parameter are what kernels over lists take, all on one device. */
function fits(p: Tensor, others: readonly List[], i: number, device: Device): boolean {
  if (!isListed(p.dtype) || p._storage.device !== device || p._bits !== 0 || repeats(p)) return false;
  for (const list of others) {
    const t = list[i];
    if (!(t instanceof Tensor)) return false;
    if (t.dtype !== p.dtype || t._storage.device !== device || t._bits !== 0 || repeats(t)) return false;
    if (t._shape !== p._shape && !sameSizes(t._shape, p._shape)) return false;
  }
  return true;
}

/** Numbers of steps lie where the parameters do, or on the host: all of a list in one place. */
function fitAsSteps(steps: List, device: Device): boolean {
  for (const t of steps) if (!(t instanceof Tensor)) return false;
  const there = steps[0]?._storage.device;
  if (there !== undefined && there !== device && there !== CPU) return false;
  for (const t of steps) {
    if (t._shape.length !== 0 || t._storage.device !== there) return false;
    if (t.dtype !== float32 && t.dtype !== float64) return false;
  }
  return true;
}

const endOf = (t: Tensor): number => bytesNeeded(t._shape, t._strides, t._offset, t.dtype.itemsize);

/** Whether no byte is written for two members: those of one storage lie apart. */
function areApart(written: readonly List[]): boolean {
  const seen = new Map<object, Tensor[]>();
  let shared = false;
  for (const list of written) {
    for (const t of list) {
      const before = seen.get(t._storage);
      if (before === undefined) seen.set(t._storage, [t]);
      else {
        before.push(t);
        shared = true;
      }
    }
  }
  if (!shared) return true;
  for (const list of seen.values()) {
    list.sort((a, b) => a._offset * a.dtype.itemsize - b._offset * b.dtype.itemsize);
    for (let i = 1; i < list.length; i++) {
      const t = list[i] as Tensor;
      if (t._offset * t.dtype.itemsize < endOf(list[i - 1] as Tensor)) return false;
    }
  }
  return true;
}

/**
 * Whether one native call does a step of these parameters as the operators would: floats on one device, states and
 * gradients like them, nothing written twice, and plain numbers for options. What is no tensor among states is not.
 */
export function inOneCall(
  params: List,
  grads: List,
  states: readonly List[],
  steps: List,
  numbers: readonly unknown[],
): boolean {
  for (const x of numbers) if (typeof x !== "number") return false;
  const others = [grads, ...states];
  const device = params[0]?._storage.device;
  if (device === undefined || !device.computes) return false;
  for (let i = 0; i < params.length; i++) if (!fits(params[i] as Tensor, others, i, device)) return false;
  return fitAsSteps(steps, device) && areApart([params, ...states, steps]);
}

/** A number, or the number that a tensor of one element holds. */
export function numberOf(x: number | Tensor): number {
  return x instanceof Tensor ? (x.item() as number) : x;
}
