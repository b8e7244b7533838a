/** Shapes, dtypes and errors of a computation, without the computation. */
import { type Operator, type Taker, taking } from "../dispatch/seam.ts";
import { inOrder, isDict } from "../tensor/checks.ts";
import { META } from "../tensor/device.ts";
import { FUNCTIONS } from "../tensor/signatures.ts";
import { Storage } from "../tensor/storage.ts";
import { makeStrided, Tensor } from "../tensor/tensor.ts";

/** Runs every operator on the meta device, with tensors of the same geometry in the place of those with bytes. */
class Inference implements Taker {
  readonly observes = false;
  /** One storage without bytes for each with bytes, so that views stay views of the same. */
  private readonly storages = new Map<Storage, Storage>();
  private readonly twins = new Map<Tensor, Tensor>();

  take(operator: Operator, args: readonly unknown[], next: (args: readonly unknown[]) => unknown): unknown {
    // Fresh results are made on the meta device; `to` goes where it is told.
    return next(args.map((arg, i) => (i === operator.madeOn ? META : this.twin(arg))));
  }

  twin(value: unknown): unknown {
    if (Array.isArray(value)) return value.some((x) => x instanceof Tensor) ? value.map((x) => this.twin(x)) : value;
    if (!(value instanceof Tensor) || value._storage.device === META) return value;
    let found = this.twins.get(value);
    if (found === undefined) {
      found = this.made(value);
      this.twins.set(value, found);
    }
    return found;
  }

  private made(t: Tensor): Tensor {
    let storage = this.storages.get(t._storage);
    if (storage === undefined) {
      storage = Storage.meta(t._storage.nbytes);
      this.storages.set(t._storage, storage);
    }
    const twin = makeStrided(storage, t._offset, t._shape, t._strides, t.dtype);
    twin._bits = t._bits;
    if (t.requiresGrad) twin._requiresGrad = true;
    return twin;
  }
}

/**
 * Runs a function on the meta device: every operator that it calls gives shape, dtype, strides and errors, and nothing
 * is computed. Tensors with bytes are stood for by tensors without; what is written in place changes neither. Code that
 * asks for a value (`item`, `tolist`, conditions) throws.
 * @param body a function that is not async
 * @returns what the function returned; its tensors are on the meta device
 * @example
 * ```ts
 * inferMeta(() => nn.functional.linear(zeros(64, 1000), zeros(10, 1000))).shape // torch.Size([64, 10])
 * ```
 * @throws TypeError for an async function; whatever the operators throw
 * @torch torch._subclasses.fake_tensor.FakeTensorMode
 */
export function inferMeta<R>(body: () => R): R {
  if (isDict(body) || arguments.length > 1) [body] = inOrder<[() => R]>("inferMeta", FUNCTIONS.inferMeta, arguments);
  const inference = new Inference();
  const result = taking(inference, "inferMeta", body);
  return inference.twin(result) as R;
}
