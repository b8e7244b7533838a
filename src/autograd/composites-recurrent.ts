/** A recurrent layer of a module: its input's part of the gates in one product, then all steps. */

import { RecurrentMode } from "../../generated/abi.ts";
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { batchOf } from "../tensor/batched.ts";
import { float32, float64 } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { linear } from "./composites-nn.ts";
import { type LayerResult, layerByOperators } from "./formulas-recurrent.ts";

const OP = "_recurrent_layer";

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

/** Whether the kernel takes them: it reads all in one dtype. */
function served(...tensors: readonly [Tensor, ...Optional[]]): boolean {
  const [{ dtype }] = tensors;
  if (dtype !== float32 && dtype !== float64) return false;
  return tensors.every((t) => t === null || (t.dtype === dtype && t.device.type !== "cuda" && batchOf(t) === null));
}

/** How many gates a step has, by its kind. */
const gatesOf = (mode: number): number => (mode === RecurrentMode.lstm ? 4 : mode === RecurrentMode.gru ? 3 : 1);

function requireShape(name: string, t: Optional, expected: readonly number[]): void {
  if (t === null) throw texts.recurrentWeightMissing(OP, name);
  if (sameSizes(t._shape, expected)) return;
  throw texts.recurrentWeight(OP, name, expected.join(", "), t._shape.join(", "));
}

/** Refuses parameters that were replaced by ones that do not fit: kernels go by the sizes of the states. */
function requireWeights(input: Tensor, h0: Tensor, c0: Optional, w: LayerWeights, mode: number): void {
  const hidden = (c0 ?? h0)._shape[1] as number;
  const rows = gatesOf(mode) * hidden;
  requireShape("weight_ih", w.ofInput, [rows, input._shape[input.ndim - 1] as number]);
  requireShape("weight_hh", w.ofHidden, [rows, h0._shape[1] as number]);
  if (w.biasOfInput !== null) requireShape("bias_ih", w.biasOfInput, [rows]);
  if (w.biasOfHidden !== null) requireShape("bias_hh", w.biasOfHidden, [rows]);
  if (w.projection !== null) requireShape("weight_hr", w.projection, [h0._shape[1] as number, hidden]);
}

/** All steps, from what the input contributes to the gates: steps x batch x gates. */
function steps(
  gates: Tensor,
  h0: Tensor,
  c0: Optional,
  w: LayerWeights,
  added: Optional,
  mode: number,
  reverse: boolean,
): LayerResult {
  for (const t of [h0, c0]) {
    if (t === null || t.dtype === w.ofHidden.dtype) continue;
    throw texts.mat2Dtype("matmul", "mat1", t.dtype.scalarType, w.ofHidden.dtype.scalarType);
  }
  if (w.projection !== null || !served(gates, h0, c0, w.ofHidden, added) || gates._numel === 0) {
    return layerByOperators(gates, h0, c0, w.ofHidden, added, mode, reverse, w.projection);
  }
  const r = O._recurrent_layer(gates, h0, c0, w.ofHidden, added, mode, reverse);
  return [r[0], r[1], c0 === null ? null : r[2]];
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
  requireWeights(input, h0, c0, w, mode);
  const [bias, added] = biases(w, mode);
  return steps(linear(input, w.ofInput, bias), h0, c0, w, added, mode, reverse);
}

/** Steps that follow each other in which as many examples take part. */
export interface Stretch {
  readonly steps: number;
  readonly batch: number;
}

/**
 * `input` is rows x features: the examples of the first step, of the second, and so on, ever fewer. Examples that have
 * ended keep their states, so that all of a stretch is one call.
 */
export function packedLayer(
  input: Tensor,
  stretches: readonly Stretch[],
  h0: Tensor,
  c0: Optional,
  w: LayerWeights,
  mode: number,
  reverse: boolean,
): LayerResult {
  requireWeights(input, h0, c0, w, mode);
  const [bias, added] = biases(w, mode);
  const rows = stretches.map((one) => one.steps * one.batch);
  const gates = O.split_with_sizes(linear(input, w.ofInput, bias), rows, 0) as Tensor[];
  const order = [...stretches.keys()];
  if (reverse) order.reverse();
  const initial = c0 === null ? [h0] : [h0, c0];
  const outputs: Tensor[] = new Array(order.length);
  /** States of examples that have ended, the last ones first. */
  const ended: Tensor[][] = initial.map(() => []);
  let batch = (stretches[order[0] as number] as Stretch).batch;
  let states = initial.map((t) => t.narrow(0, 0, batch));
  for (const at of order) {
    const next = stretches[at] as Stretch;
    const from = batch;
    batch = next.batch;
    if (batch > from)
      states = states.map((t, i) => O.cat([t, (initial[i] as Tensor).narrow(0, from, batch - from)], 0));
    else if (batch < from) {
      for (const [i, t] of states.entries()) ended[i]?.unshift(t.narrow(0, batch, from - batch));
      states = states.map((t) => t.narrow(0, 0, batch));
    }
    const part = (gates[at] as Tensor).view([next.steps, batch, w.ofInput._shape[0] as number]);
    const [output, h, c] = steps(part, states[0] as Tensor, states[1] ?? null, w, added, mode, reverse);
    outputs[at] = output.flatten(0, 1);
    states = c === null ? [h] : [h, c];
  }
  const [hn, cn] = states.map((t, i) => {
    const others = ended[i] as Tensor[];
    return others.length === 0 ? t : O.cat([t, ...others], 0);
  });
  return [outputs.length === 1 ? (outputs[0] as Tensor) : O.cat(outputs, 0), hn as Tensor, cn ?? null];
}
