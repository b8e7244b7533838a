// HDF5 files that are written while the program goes on, a megabyte at a time.

import { runStepsLater } from "../../io/base/steps.ts";
import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import type { Hdf5Layout } from "../../io/hdf5/hdf5-engine.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { entriesOf, isNested, isNonTensor, type Td } from "../core/state.ts";
import { PersistentTensorDict } from "./persistent.ts";

/** How many tensors a tree has. */
function countOf(source: Td): number {
  let count = 0;
  for (const [, entry] of entriesOf(source)) {
    if (entry instanceof Tensor) count++;
    else if (!isNonTensor(entry) && !isNested(entry)) count += countOf(entry);
  }
  return count;
}

/** See `TensorDict.toH5Async`. */
export async function toH5Async(
  source: Td,
  filename: string,
  options: Hdf5Layout & BackgroundOptions = {},
): Promise<PersistentTensorDict> {
  const { signal, onProgress, ...layout } = options;
  const total = onProgress === undefined ? 0 : countOf(source);
  let done = 0;
  const onTensor = () => onProgress?.(++done, total);
  return await runStepsLater(PersistentTensorDict._writing(source, filename, layout, onTensor), signal);
}
