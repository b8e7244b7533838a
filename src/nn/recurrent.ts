/** Recurrent networks: RNN, LSTM and GRU. */

import { RecurrentMode } from "../../generated/abi.ts";
import { ValueError } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkForward } from "./forward-checks.ts";
import type { PackedSequence } from "./packed-sequence.ts";
import { RecurrentBase, type RecurrentOptions, recurrentSettings } from "./recurrent-base.ts";

/** Options of `RNN`. */
export interface RNNOptions extends RecurrentOptions {
  /** What a step ends with. Default `"tanh"`. */
  nonlinearity?: "tanh" | "relu";
}

type Hidden = Tensor | null | { hx?: Tensor | null };

/** Calls of `RNN` and `GRU`. */
interface HiddenCalls {
  (input: Tensor, hx?: Hidden): [output: Tensor, hn: Tensor];
  (input: PackedSequence, hx?: Hidden): [output: PackedSequence, hn: Tensor];
}

/**
 * Layers of `h = tanh(x weight_ih^T + bias_ih + h weight_hh^T + bias_hh)`, step by step. Gives the outputs of the last
 * layer and the last hidden state of each.
 * @throws ValueError for sizes that are not above zero
 * @example
 * ```ts
 * const [output, hn] = new nn.RNN(2, 3)(ones(4, 1, 2));
 * [output.shape, hn.shape] // [torch.Size([4, 1, 3]), torch.Size([1, 1, 3])]
 * ```
 * @torch torch.nn.RNN
 */
export class RNN extends RecurrentBase {
  /** What a step ends with. */
  nonlinearity: "tanh" | "relu";

  constructor(
    inputSize: number,
    hiddenSize: number,
    ...rest: [
      numLayers?: number | RNNOptions,
      nonlinearity?: "tanh" | "relu" | RNNOptions,
      bias?: boolean | RNNOptions,
      batchFirst?: boolean | RNNOptions,
      dropout?: number | RNNOptions,
      bidirectional?: boolean | RNNOptions,
      options?: RNNOptions,
    ]
  ) {
    const o = recurrentSettings("RNN", [inputSize, hiddenSize, ...rest], { nonlinearity: "tanh" });
    if (o.nonlinearity !== "tanh" && o.nonlinearity !== "relu") {
      throw new ValueError(`Unknown nonlinearity '${o.nonlinearity}'. Select from 'tanh' or 'relu'.`);
    }
    super({ name: "RNN", mode: o.nonlinearity === "tanh" ? RecurrentMode.tanh : RecurrentMode.relu, gates: 1 }, o);
    this.nonlinearity = o.nonlinearity;
  }
  /** Outputs of all steps, and the last hidden states; `hx` are the first ones. */
  override forward(input: Tensor, hx?: Hidden): [output: Tensor, hn: Tensor];
  override forward(input: PackedSequence, hx?: Hidden): [output: PackedSequence, hn: Tensor];
  override forward(input: Tensor | PackedSequence, hx?: Hidden): [output: Tensor | PackedSequence, hn: Tensor] {
    const [output, [hn]] = this._call(input, hx === undefined || hx === null ? null : [hx as Tensor]);
    return [output, hn as Tensor];
  }
}
export interface RNN extends HiddenCalls {}
checkForward(RNN, "RNN");

/** Options of `LSTM`. */
export interface LSTMOptions extends RecurrentOptions {
  /** Features that the hidden state is brought to; 0 for those that it has. */
  projSize?: number;
}

/** The first states of `LSTM`. */
export type LSTMState = readonly [h0: Tensor, c0: Tensor];
type Memory = LSTMState | null | { hx?: LSTMState | null };

/** Calls of `LSTM`. */
interface MemoryCalls {
  (input: Tensor, hx?: Memory): [output: Tensor, last: [hn: Tensor, cn: Tensor]];
  (input: PackedSequence, hx?: Memory): [output: PackedSequence, last: [hn: Tensor, cn: Tensor]];
}

/**
 * Layers of long short-term memory. Gives the outputs of the last layer, and the last hidden states and cells of all.
 * @throws ValueError for sizes that are not above zero
 * @example
 * ```ts
 * const [output, [hn, cn]] = new nn.LSTM(2, 3, { numLayers: 2 })(ones(4, 1, 2));
 * [output.shape, hn.shape, cn.shape] // [torch.Size([4, 1, 3]), torch.Size([2, 1, 3]), torch.Size([2, 1, 3])]
 * ```
 * @torch torch.nn.LSTM
 */
export class LSTM extends RecurrentBase {
  constructor(
    inputSize: number,
    hiddenSize: number,
    ...rest: [
      numLayers?: number | LSTMOptions,
      bias?: boolean | LSTMOptions,
      batchFirst?: boolean | LSTMOptions,
      dropout?: number | LSTMOptions,
      bidirectional?: boolean | LSTMOptions,
      projSize?: number | LSTMOptions,
      options?: LSTMOptions,
    ]
  ) {
    const o = recurrentSettings("LSTM", [inputSize, hiddenSize, ...rest], { projSize: 0 });
    super({ name: "LSTM", mode: RecurrentMode.lstm, gates: 4 }, o);
  }
  /** Outputs of all steps, and the last hidden states and cells; `hx` are the first ones. */
  override forward(input: Tensor, hx?: Memory): [output: Tensor, last: [hn: Tensor, cn: Tensor]];
  override forward(input: PackedSequence, hx?: Memory): [output: PackedSequence, last: [hn: Tensor, cn: Tensor]];
  override forward(
    input: Tensor | PackedSequence,
    hx?: Memory,
  ): [output: Tensor | PackedSequence, last: [hn: Tensor, cn: Tensor]] {
    const [output, last] = this._call(input, (hx ?? null) as LSTMState | null);
    return [output, last as [Tensor, Tensor]];
  }
}
export interface LSTM extends MemoryCalls {}
checkForward(LSTM, "LSTM");

/**
 * Layers of gated recurrent units. Gives the outputs of the last layer and the last hidden state of each.
 * @throws ValueError for sizes that are not above zero
 * @example
 * ```ts
 * const [output, hn] = new nn.GRU(2, 3, { bidirectional: true })(ones(4, 1, 2));
 * [output.shape, hn.shape] // [torch.Size([4, 1, 6]), torch.Size([2, 1, 3])]
 * ```
 * @torch torch.nn.GRU
 */
export class GRU extends RecurrentBase {
  constructor(
    inputSize: number,
    hiddenSize: number,
    ...rest: [
      numLayers?: number | RecurrentOptions,
      bias?: boolean | RecurrentOptions,
      batchFirst?: boolean | RecurrentOptions,
      dropout?: number | RecurrentOptions,
      bidirectional?: boolean | RecurrentOptions,
      options?: RecurrentOptions,
    ]
  ) {
    super(
      { name: "GRU", mode: RecurrentMode.gru, gates: 3 },
      recurrentSettings("GRU", [inputSize, hiddenSize, ...rest]),
    );
  }
  /** Outputs of all steps, and the last hidden states; `hx` are the first ones. */
  override forward(input: Tensor, hx?: Hidden): [output: Tensor, hn: Tensor];
  override forward(input: PackedSequence, hx?: Hidden): [output: PackedSequence, hn: Tensor];
  override forward(input: Tensor | PackedSequence, hx?: Hidden): [output: Tensor | PackedSequence, hn: Tensor] {
    const [output, [hn]] = this._call(input, hx === undefined || hx === null ? null : [hx as Tensor]);
    return [output, hn as Tensor];
  }
}
export interface GRU extends HiddenCalls {}
checkForward(GRU, "GRU");
