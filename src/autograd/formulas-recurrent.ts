/** Recurrent layers with recorded operators, step by step, and the gradients of those that are one kernel. */
import { RecurrentMode } from "../../generated/abi.ts";
import * as O from "../../generated/ops.ts";
import { gradMode } from "../dispatch/mode.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { recomputed } from "./formulas-recomputed.ts";
import type { Gradients } from "./node.ts";

type Optional = Tensor | null;

/** What a layer gives: its outputs, the last hidden state, the last cell. */
export type LayerResult = readonly [output: Tensor, hn: Tensor, cn: Optional];

/** One step: the new hidden state and cell. */
function step(
  input: Tensor,
  h: Tensor,
  c: Optional,
  weight: Tensor,
  added: Optional,
  mode: number,
  projection: Optional,
): [Tensor, Optional] {
  const product = h.matmul(weight.t());
  if (mode === RecurrentMode.tanh) return [input.add(product).tanh(), null];
  if (mode === RecurrentMode.relu) return [input.add(product).relu(), null];
  if (mode === RecurrentMode.lstm) {
    const [i, f, g, o] = input.add(product).chunk(4, -1) as [Tensor, Tensor, Tensor, Tensor];
    const cell = f
      .sigmoid()
      .mul(c as Tensor)
      .add(i.sigmoid().mul(g.tanh()));
    const shown = o.sigmoid().mul(cell.tanh());
    return [projection === null ? shown : shown.matmul(projection.t()), cell];
  }
  const [ir, iz, inew] = input.chunk(3, -1) as [Tensor, Tensor, Tensor];
  const [hr, hz, hnew] = product.chunk(3, -1) as [Tensor, Tensor, Tensor];
  const [reset, keep] = [ir.add(hr).sigmoid(), iz.add(hz).sigmoid()];
  const fresh = inew.add(reset.mul(added === null ? hnew : hnew.add(added))).tanh();
  return [fresh.add(keep.mul(h.sub(fresh))), null];
}

/** All steps of a layer. */
export function layerByOperators(
  input: Tensor,
  h0: Tensor,
  c0: Optional,
  weight: Tensor,
  added: Optional,
  mode: number,
  reverse: boolean,
  projection: Optional,
): LayerResult {
  let [h, c] = [h0, c0];
  const outputs: Tensor[] = [];
  const count = input._shape[0] as number;
  for (let i = 0; i < count; i++) {
    [h, c] = step(input.select(0, reverse ? count - 1 - i : i), h, c, weight, added, mode, projection);
    outputs.push(h);
  }
  return [O.stack(reverse ? outputs.reverse() : outputs, 0), h, c];
}

/** The gradient of the weight: hidden states before the steps against what they contributed to. */
function ofWeight(ofHidden: Tensor, output: Tensor, h0: Tensor, reverse: boolean): Tensor {
  const [count, batch, width] = ofHidden._shape as [number, number, number];
  const hidden = h0._shape[1] as number;
  const first = O.mm(O.t(ofHidden.select(0, reverse ? count - 1 : 0)), h0);
  if (count === 1) return first;
  const rows = (count - 1) * batch;
  const later = ofHidden.narrow(0, reverse ? 0 : 1, count - 1).reshape([rows, width]);
  const before = output.narrow(0, reverse ? 1 : 0, count - 1).reshape([rows, hidden]);
  return O.addmm(first, O.t(later), before, 1, 1);
}

export function recurrentBackward(
  grads: Gradients,
  input: Tensor,
  h0: Tensor,
  c0: Optional,
  weight: Tensor,
  added: Optional,
  output: Tensor,
  gates: Tensor,
  cells: Tensor,
  mode: number,
  reverse: boolean,
  needs: readonly boolean[],
): Gradients {
  const [ofOutput = null, ofLast = null, ofCell = null] = grads;
  if (ofOutput === null && ofLast === null && ofCell === null) return needs.map(() => null);
  if (gradMode.enabled) {
    const body = (x: Optional, h: Optional, c: Optional, w: Optional, b: Optional): readonly Optional[] =>
      layerByOperators(x as Tensor, h as Tensor, c, w as Tensor, b, mode, reverse, null);
    return recomputed([input, h0, c0, weight, added], needs, body, [ofOutput, ofLast, ofCell]);
  }
  const given = [gates, cells, output, h0, c0, weight] as const;
  const r = O._recurrent_layer_backward(ofOutput, ofLast, ofCell, ...given, mode, reverse);
  const ofHidden = mode === RecurrentMode.gru ? r[1] : r[0];
  const hidden = weight._shape[1] as number;
  return [
    needs[0] ? r[0] : null,
    needs[1] ? r[2] : null,
    needs[2] ? r[3] : null,
    needs[3] ? ofWeight(ofHidden, output, h0, reverse) : null,
    needs[4] ? ofHidden.narrow(2, 2 * hidden, hidden).sum([0, 1]) : null,
  ];
}
