/** What becomes of the losses of the elements. */
import * as texts from "../../generated/texts.ts";
import { warn } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";

export const REDUCTIONS: ReadonlyMap<string, number> = new Map([
  ["none", 0],
  ["mean", 1],
  ["sum", 2],
]);

/** torch's old arguments, which it still takes with a warning. */
export function reductionOf(sizeAverage: boolean | null, reduce: boolean | null, reduction: string): string {
  if (sizeAverage === null && reduce === null) return reduction;
  const wanted = reduce === false ? "none" : sizeAverage === false ? "sum" : "mean";
  warn(`size_average and reduce args will be deprecated, please use reduction='${wanted}' instead.`);
  return wanted;
}

export function reductionCode(op: string, reduction: string): number {
  const code = REDUCTIONS.get(reduction);
  if (code === undefined) throw texts.unknownReduction(op, reduction);
  return code;
}

export function reducedAs(losses: Tensor, code: number): Tensor {
  return code === 1 ? losses.mean() : code === 2 ? losses.sum() : losses;
}
