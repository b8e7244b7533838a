/** Rows of a table, for positions of any shape. */
import * as texts from "../../generated/texts.ts";
import { int32, int64, legacyName } from "../tensor/dtype.ts";
import { untie } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import * as copy from "./copy.ts";
import { axis, read } from "./indexing-kernel.ts";
import { asView } from "./views.ts";

/** The rows that `indices` name, one after the other. */
export function embedding(weight: Tensor, indices: Tensor, _padding: number, _scale: boolean): Tensor {
  const op = "embedding";
  if (weight._shape.length !== 2) throw texts.embeddingWeight(op);
  if (indices.dtype !== int64 && indices.dtype !== int32) throw texts.embeddingIndices(op, legacyName(indices.dtype));
  const [rows, width] = weight._shape as [number, number];
  const source = weight._bits === 0 ? weight : copy.clone(weight);
  const out = empty([...indices._shape, width], weight.dtype, weight._storage.device);
  const n = indices._numel;
  const list = copy.denseOf(indices);
  const to = untie(asView(out, [n, width], [width, 1], 0));
  const [stride, step] = source._strides as [number, number];
  const axes = [axis(list, 0, rows, stride)];
  read(
    to,
    source,
    { shape: [n, width], strides: [0, step], positions: [1, 0], axes, wrap: false, fault: "embedding" },
    op,
  );
  return out;
}
