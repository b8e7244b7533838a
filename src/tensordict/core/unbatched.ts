// Tensors that belong to a batch as a whole: an entry without the batch dimensions.
import { inOrder } from "../../tensor/checks.ts";
import { NotImplementedError } from "../../tensor/errors.ts";
import { take } from "../../tensor/scope-state.ts";
import { type Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { CONSTRUCTORS } from "./signatures.ts";
import { toSize } from "./state.ts";
import { tensor } from "./tensor-ops.ts";
import type { SizeLike } from "./types.ts";

/**
 * A tensor of any shape as an entry of a TensorDict: it belongs to the batch as a whole and has none of its dimensions,
 * as a table or the weights of a model. Indexing and changes of shape of the TensorDict leave it as it is; arithmetic,
 * copies and conversions of the TensorDict act on it as on every tensor and give one of this class. It shares the
 * memory of `data`. A function of tensors that it is passed to by itself gives a plain tensor.
 * @param data a tensor, or what `tensor` makes one of
 * @example
 * ```ts
 * const td = new TensorDict({ table: new UnbatchedTensor(ones(3, 4)), b: zeros(2, 3) }, [2]);
 * td.at(0).get("table").shape // torch.Size([3, 4])
 * ```
 * @torch tensordict.UnbatchedTensor
 */
export class UnbatchedTensor extends Tensor {
  static {
    Object.defineProperty(UnbatchedTensor.prototype, "_unbatched", { value: true });
  }
  /**
   * Batch size of the TensorDict that holds it, which is no part of its shape.
   * @example
   * ```ts
   * const td = new TensorDict({ table: new UnbatchedTensor(ones(3, 4)) }, [2]);
   * td.get("table").batchSize // torch.Size([2])
   * ```
   * @torch UnbatchedTensor.batch_size
   */
  readonly batchSize: Size;

  constructor(data: Tensor | number | readonly unknown[], options: { batchSize?: SizeLike | null } = {}) {
    inOrder("UnbatchedTensor", CONSTRUCTORS.UnbatchedTensor, [data, options]);
    const t = tensor(data);
    super(t._storage, t._offset, t._shape, t._strides, t.dtype, t._numel, t._contiguous, t._version);
    this._bits = t._bits;
    // Gradients go where those of `data` would go; a leaf keeps its own.
    this._gradFn = t._gradFn;
    this._outputNr = t._outputNr;
    this._base = t._base;
    this._viewVersion = t._viewVersion;
    this._creation = t._creation;
    this._requiresGrad = t._requiresGrad;
    this.batchSize = toSize(options.batchSize ?? (isUnbatched(data) ? data.batchSize : []));
    take(this);
  }
}

/** Whether a tensor belongs to a batch as a whole. */
export function isUnbatched(value: unknown): value is UnbatchedTensor {
  const t = value as { _isTensor?: boolean; _unbatched: boolean } | null | undefined;
  return t?._isTensor === true && t._unbatched;
}

/** The same tensor as an entry of another batch. */
export function ofBatch(t: UnbatchedTensor, batchSize: Size): UnbatchedTensor {
  return sameSizes(t.batchSize, batchSize) ? t : new UnbatchedTensor(t, { batchSize });
}

/** An entry made for a batch: what is unbatched is told of it. */
export function entryOf<E>(entry: E, batchSize: Size): E | UnbatchedTensor {
  return isUnbatched(entry) ? ofBatch(entry, batchSize) : entry;
}

/** What was computed from an entry is unbatched where the entry was. */
export function likeEntry(entry: Tensor, result: Tensor): Tensor {
  if (!isUnbatched(entry) || isUnbatched(result)) return result;
  return new UnbatchedTensor(result, { batchSize: entry.batchSize });
}

/** The error for an entry that a file or shared memory cannot hold. */
export function refuseUnbatched(key: string, done: string): NotImplementedError {
  return new NotImplementedError(
    `UnbatchedTensor entries cannot be ${done} yet, but '${key}' is one. ` +
      `Exclude it first, e.g. with td.exclude('${key}').`,
  );
}
