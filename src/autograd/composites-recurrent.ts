/** A recurrent layer of a module: its input's part of the gates in one product, then all steps. */
import { RecurrentMode } from "../../generated/abi.ts";
import * as O from "../../generated/ops.ts";
import { batchOf } from "../tensor/batched.ts";
import { float32, float64 } from "../tensor/dtype.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { linear } from "./composites-nn.ts";
import { type LayerResult, layerByOperators } from "./formulas-recurrent.ts";

type Optional = Tensor | null;

/** The parameters of a layer in one direction. */
export interface LayerWeights {
  readonly ofInput: Tensor;
  readonly ofHidden: Tensor;
  readonly biasOfInput: Optional;
  readonly biasOfHidden: Optional;
  /** What brings LSTM's hidden state to fewer features. */
  readonly projection: Optional;
}

function served(...tensors: readonly Optional[]): boolean {
  for (const t of tensors) {
    if (t === null) continue;
    if (t.device.type === "cuda" || batchOf(t) !== null) return false;
    if (t.dtype !== float32 && t.dtype !== float64) return false;
  }
  return true;
}

/** The bias of the input's part, and what GRU adds to the hidden part of the new state. */
function biases({ biasOfInput: a, biasOfHidden: b }: LayerWeights, mode: number): [Optional, Optional] {
  if (a === null || b === null) return [a, b];
  if (mode !== RecurrentMode.gru) return [O.add(a, b, 1), null];
  const hidden = (b._shape[0] as number) / 3;
  const [both, own] = O.split_with_sizes(b, [2 * hidden, hidden], 0) as [Tensor, Tensor];
  return [O.add(a, O.cat([both, b.newZeros([hidden])], 0), 1), own];
}

/** `input` is steps x batch x features. */
export function recurrentLayer(
  input: Tensor,
  h0: Tensor,
  c0: Optional,
  w: LayerWeights,
  mode: number,
  reverse: boolean,
): LayerResult {
  const [bias, added] = biases(w, mode);
  const gates = linear(input, w.ofInput, bias);
  if (w.projection !== null || !served(gates, h0, c0, w.ofHidden) || gates._numel === 0) {
    return layerByOperators(gates, h0, c0, w.ofHidden, added, mode, reverse, w.projection);
  }
  const r = O._recurrent_layer(gates, h0, c0, w.ofHidden, added, mode, reverse);
  return [r[0], r[1], c0 === null ? null : r[2]];
}
