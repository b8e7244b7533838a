// HDF5 files that are written while the program goes on, a megabyte at a time.

import { sweepLeftoversLater } from "../../io/base/leftovers.ts";
import { absolutePath } from "../../io/base/paths.ts";
import { Slices } from "../../io/base/slices.ts";
import { discardPathLater, inTurn, replaceFileLater, temporaryBeside } from "../../io/disk/durable.ts";
import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import type { Hdf5Layout } from "../../io/hdf5/hdf5-engine.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { requireFit } from "../core/batch.ts";
import { entriesOf, isNested, isNonTensor, type Td } from "../core/state.ts";
import { PersistentTensorDict } from "./persistent.ts";

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
  requireFit(source);
  const full = absolutePath(filename);
  const temporary = temporaryBeside(full);
  const total = countOf(source);
  let done = 0;
  let opened: PersistentTensorDict | null = null;
  try {
    using made = new PersistentTensorDict({ ...layout, filename: temporary, mode: "x" });
    for (const _ of made._fillSteps(source, () => onProgress?.(++done, total))) {
      if (slices.over) await slices.pause();
    }
    // What was written without a pause can be given up still.
    await slices.pause();
    made.close();
    const batchSize = [...source._batchSize];
    // Before it has the name: another one may take that right after.
    opened = new PersistentTensorDict({ ...layout, batchSize, filename, written: temporary, mode: "r+" });
    await inTurn(full, async () => {
      await replaceFileLater(temporary, filename);
      await sweepLeftoversLater(filename);
    });
    opened._adopt(source);
    return opened;
  } catch (error) {
    opened?.close();
    await discardPathLater(temporary);
    throw error;
  }
}
