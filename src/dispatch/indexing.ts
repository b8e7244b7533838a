/** Operators that read or write chosen elements: what the schema names. */

export { embedding } from "./embedding.ts";
export { index, indexPut } from "./indexing-advanced.ts";
export { indexAdd, indexCopy, indexFill, indexFillTensor, indexSelect, put, take } from "./indexing-dim.ts";
export { maskedFill, maskedFillTensor, maskedScatter, maskedSelect, nonzero } from "./indexing-mask.ts";
export { indexReduce, scatterReduce } from "./indexing-reduce.ts";
export {
  gather,
  scatter,
  scatterAdd,
  scatterReduceSrc,
  scatterReduceValue,
  scatterValue,
} from "./indexing-scatter.ts";
