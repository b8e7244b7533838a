/** Recurrent layers in one direction: all steps in one call, and so their gradients. */

import { RecurrentAttr, RecurrentMode } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as frame from "../ffi/frame.ts";
import { contiguousStrides } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { dropCopy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { denseOf } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { type Named, named } from "./named.ts";

type Optional = Tensor | null;

function launch(
  kernel: Kernel,
  results: readonly Tensor[],
  given: readonly Optional[],
  mode: number,
  reverse: boolean,
) {
  const [first] = results as [Tensor];
  const sources = given.map((t) => (t === null ? null : denseOf(t)));
  const operands = [...results, ...sources];
  frame.begin(operands.length, first.dtype.compute);
  for (const [i, t] of operands.entries()) {
    if (t === null || t._numel === 0) frame.operand(i, 0, first.dtype.id, [0], [1], 0);
    else frame.operand(i, t._address(), t.dtype.id, t._shape, contiguousStrides(t._shape), 0);
  }
  frame.attr(RecurrentAttr.mode, mode);
  frame.attr(RecurrentAttr.reverse, reverse ? 1 : 0);
  kernel.run(first._storage.device, "recurrent_layer", first.dtype.scalarType);
  for (const [i, t] of sources.entries()) if (t !== null) dropCopy(t, given[i]);
}

const LAYER = ["output", "hn", "cn", "gates", "cells"] as const;

/** `input` is steps x batch x gates of all hidden features. */
export function layer(
  input: Tensor,
  h0: Tensor,
  c0: Optional,
  weight: Tensor,
  added: Optional,
  mode: number,
  reverse: boolean,
): Named<typeof LAYER> {
  for (const t of [input, h0, weight]) requireKept(t._storage);
  const { dtype } = input;
  const { device } = input._storage;
  const [steps, batch] = input._shape as [number, number];
  const hidden = weight._shape[1] as number;
  const kept = mode === RecurrentMode.gru ? 4 : (weight._shape[0] as number) / hidden;
  const results = [
    empty([steps, batch, hidden], dtype, device),
    empty([batch, hidden], dtype, device),
    empty(c0 === null ? [0] : [batch, hidden], dtype, device),
    empty([steps, batch, kept * hidden], dtype, device),
    empty(c0 === null ? [0] : [steps, batch, hidden], dtype, device),
  ];
  if (hasWork(results[0] as Tensor)) {
    launch(K.recurrent_forward, results, [input, h0, c0, weight, added], mode, reverse);
  }
  return named("_recurrent_layer", LAYER, results);
}

const DERIVATIVES = ["grad_input", "grad_hidden", "grad_h0", "grad_c0"] as const;

export function layerBackward(
  gradOutput: Optional,
  gradHn: Optional,
  gradCn: Optional,
  gates: Tensor,
  cells: Tensor,
  output: Tensor,
  h0: Tensor,
  c0: Optional,
  weight: Tensor,
  mode: number,
  reverse: boolean,
): Named<typeof DERIVATIVES> {
  requireKept(gates._storage);
  const { dtype } = output;
  const { device } = output._storage;
  const [steps, batch] = output._shape as [number, number];
  const all = [steps, batch, weight._shape[0] as number];
  const results = [
    empty(all, dtype, device),
    empty(mode === RecurrentMode.gru ? all : [0], dtype, device),
    empty(h0._shape, dtype, device),
    empty(c0 === null ? [0] : c0._shape, dtype, device),
  ];
  if (hasWork(results[0] as Tensor)) {
    const given = [gradOutput, gradHn, gradCn, gates, cells, output, h0, c0, weight];
    launch(K.recurrent_backward, results, given, mode, reverse);
  }
  return named("_recurrent_layer_backward", DERIVATIVES, results);
}
