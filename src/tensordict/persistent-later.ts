// HDF5 files that are written while the program goes on, a megabyte at a time.
import { resolve } from "node:path";
import { discardPathLater, inTurn, replaceFileLater, temporaryBeside } from "../io/durable.ts";
import type { BackgroundOptions } from "../io/file-jobs.ts";
import type { Hdf5Layout } from "../io/hdf5-engine.ts";
import { sweepLeftoversLater } from "../io/leftovers.ts";
import { Slices } from "../io/slices.ts";
import { Tensor } from "../tensor/tensor.ts";
import { PersistentTensorDict } from "./persistent.ts";
import { entriesOf, isNested, isNonTensor, type Td } from "./state.ts";

/** How many tensors a tree has. */
function countOf(source: Td): number {
  let count = 0;
  for (const [, entry] of entriesOf(source)) {
    if (entry instanceof Tensor) count++;
    else if (!isNonTensor(entry) && !isNested(entry)) count += countOf(entry as Td);
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
  const slices = new Slices(signal);
  const temporary = temporaryBeside(filename);
  const total = countOf(source);
  let done = 0;
  try {
    using made = new PersistentTensorDict({ ...layout, filename: temporary, mode: "x" });
    for (const _ of made._fillSteps(source, () => onProgress?.(++done, total))) {
      if (slices.over) await slices.pause();
    }
    // What was written without a pause can be given up still.
    await slices.pause();
    made.close();
    return await inTurn(resolve(filename), async () => {
      await replaceFileLater(temporary, filename);
      await sweepLeftoversLater(filename);
      const opened = new PersistentTensorDict({ ...layout, batchSize: [...source._batchSize], filename, mode: "r+" });
      opened._adopt(source);
      return opened;
    });
  } catch (error) {
    await discardPathLater(temporary);
    throw error;
  }
}
