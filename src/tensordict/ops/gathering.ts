// Picking elements along a batch dimension.
import { NotImplementedError, RuntimeError, ValueError } from "../../tensor/errors.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type Td, wrapBatchDim } from "../core/state.ts";
import { applyShape, type InplaceOptions } from "./shape.ts";
import { updateInPlace } from "./writes.ts";

/** How `gather` works. */
export interface GatherOptions extends InplaceOptions {
  /** Receives the result. */
  out?: Td | null;
  /** Not there for collections. */
  sparseGrad?: boolean;
}

/** Picks along one batch dimension; the index has the rank of the batch. @torch TensorDict.gather */
export function gatherTd(td: Td, dim: number, index: Tensor, options: GatherOptions = {}): Td {
  if (options.inplace === true && options.out) {
    throw new ValueError("`out` and `inplace=True` are mutually exclusive in gather.");
  }
  if (options.sparseGrad === true) {
    throw new NotImplementedError("sparse_grad=True not implemented for torch.gather(tensordict, ...)");
  }
  const rank = td._batchSize.length;
  if (options.inplace === true && index.ndim !== rank) {
    throw new NotImplementedError(
      "gather(inplace=True) requires index.ndim == self.batch_dims so the result keeps the same number of batch dims" +
        `; got index.ndim=${index.ndim} and batch_dims=${rank}. Use inplace=False instead.`,
    );
  }
  const made = gathered(td, dim, index);
  if (options.out === undefined || options.out === null) return made;
  updateInPlace(options.out, made);
  return options.out;
}

function gathered(td: Td, dim: number, index: Tensor): Td {
  if (index.ndim === 0 || index._shape[0] === 0) throw new RuntimeError("Cannot use torch.gather with an empty index");
  const rank = td._batchSize.length;
  const at = wrapBatchDim(dim, rank);
  if (at === null) throw new RuntimeError(`Cannot gather tensordict with shape ${td._batchSize} along dim ${dim}.`);
  if (index.ndim !== rank) {
    throw new RuntimeError(`the index has ${index.ndim} dimensions, the batch ${rank}: they must be the same`);
  }
  const wide = (shape: readonly number[]) => [...index._shape, ...shape.slice(rank)];
  const pick = (t: Tensor, from: Tensor): Tensor => {
    let full = from;
    for (let i = rank; i < t._shape.length; i++) full = full.unsqueeze(-1);
    return t.gather(at, full.expand(wide(t._shape)));
  };
  return applyShape(td, {
    tensor: (t) => pick(t, index),
    onCpu: (t) => pick(t, index.cpu()),
    size: wide,
    names: (names) => names,
  });
}
