/** Recurrent layers in one direction, and their gradients. */
import type { OpSchema } from "../model/types.ts";

const internal = { kind: "op", variants: [], internal: true, batch: "each" } as const;
const how = { mode: "Int", reverse: "Bool" } as const;

export const ops = [
  {
    ...internal,
    name: "_recurrent_layer",
    args: { input: "Tensor", h0: "Tensor", c0: "Tensor?", weight: "Tensor", added: "Tensor?", ...how },
    kernels: { cpu: ["recurrent.forward"] },
    impl: "recurrent.layer",
    results: ["output", "hn", "cn", "gates", "cells"],
    nonDifferentiable: [3, 4],
    node: "RecurrentLayerBackward0",
    grad: {
      "input, h0, c0, weight, added":
        "recurrentBackward(grads, input, h0, c0, weight, added, result0, result3, result4, mode, reverse, needs)",
    },
    jvp: {
      "input, h0, c0, weight, added":
        "recurrentTangent(through, tangents, [input, h0, c0, weight, added], mode, reverse)",
    },
    doc: "All steps of a recurrent layer, from what its input contributes to the gates.",
  },
  {
    ...internal,
    name: "_recurrent_layer_backward",
    args: {
      grad_output: "Tensor?",
      grad_hn: "Tensor?",
      grad_cn: "Tensor?",
      gates: "Tensor",
      cells: "Tensor",
      output: "Tensor",
      h0: "Tensor",
      c0: "Tensor?",
      weight: "Tensor",
      ...how,
    },
    kernels: { cpu: ["recurrent.backward"] },
    impl: "recurrent.layerBackward",
    results: ["grad_input", "grad_hidden", "grad_h0", "grad_c0"],
    grad: "none",
    doc: "The gradients of a recurrent layer, but of its weight.",
  },
] as const satisfies readonly OpSchema[];
