/** One step of a recurrent network: RNNCell, LSTMCell and GRUCell. */

import { RecurrentMode } from "../../generated/abi.ts";
import * as O from "../../generated/ops.ts";
import { recurrentLayer } from "../autograd/composites-recurrent.ts";
import { installChecks } from "../tensor/checks.ts";
import { RuntimeError, ValueError } from "../tensor/errors.ts";
import { tidy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkForward } from "./forward-checks.ts";
import * as init from "./init.ts";
import { Module } from "./module.ts";
import { newParameter, type Placement, settings } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import type { LSTMState } from "./recurrent.ts";
import { requirePair } from "./recurrent-base.ts";
import { MODULE } from "./signatures.ts";

/** Options of cells. */
export interface CellOptions extends Placement {
  /** Whether there are biases. Default true. */
  bias?: boolean;
}

type CellSettings = Required<CellOptions> & { inputSize: number; hiddenSize: number; nonlinearity?: string };
type CellName = "RNNCell" | "LSTMCell" | "GRUCell";

const DEFAULTS = { bias: true, device: null, dtype: null };

/** What cells have in common. */
abstract class RecurrentCell extends Module {
  /** What the input is multiplied by. */
  declare weight_ih: Parameter;
  /** What the hidden state is multiplied by. */
  declare weight_hh: Parameter;
  /** Added to the input's part; null without biases. */
  declare bias_ih: Parameter | null;
  /** Added to the hidden state's part; null without biases. */
  declare bias_hh: Parameter | null;
  /** Features of the input. */
  inputSize: number;
  /** Features of the hidden state. */
  hiddenSize: number;
  /** Whether there are biases. */
  bias: boolean;

  constructor(o: CellSettings, gates: number) {
    super();
    this.inputSize = o.inputSize;
    this.hiddenSize = o.hiddenSize;
    this.bias = o.bias;
    const rows = gates * o.hiddenSize;
    this.registerParameter("weight_ih", newParameter([rows, o.inputSize], o));
    this.registerParameter("weight_hh", newParameter([rows, o.hiddenSize], o));
    this.registerParameter("bias_ih", o.bias ? newParameter([rows], o) : null);
    this.registerParameter("bias_hh", o.bias ? newParameter([rows], o) : null);
    this.resetParameters();
  }
  /** Draws all from -1 / sqrt(hiddenSize) to 1 / sqrt(hiddenSize). @torch torch.nn.LSTMCell.reset_parameters */
  resetParameters(): void {
    const bound = this.hiddenSize > 0 ? 1 / Math.sqrt(this.hiddenSize) : 0;
    for (const p of this.parameters()) init.uniform_(p, -bound, bound);
  }
  override extraRepr(): string {
    return `${this.inputSize}, ${this.hiddenSize}${this.bias ? "" : ", bias=False"}`;
  }

  /** The new states of a call. */
  protected _step(name: CellName, mode: number, given: Tensor, hx: readonly Tensor[] | null): Tensor[] {
    if (given.ndim !== 1 && given.ndim !== 2) {
      throw new ValueError(`${name}: Expected input to be 1D or 2D, got ${given.ndim}D instead`);
    }
    if (mode === RecurrentMode.lstm) requirePair("lstm_cell", hx);
    for (const [i, t] of (hx ?? []).entries()) {
      const what = name === "LSTMCell" ? `hx[${i}]` : "hidden";
      if (t.ndim !== 1 && t.ndim !== 2) {
        throw new ValueError(`${name}: Expected ${what} to be 1D or 2D, got ${t.ndim}D instead`);
      }
    }
    const batched = given.ndim === 2;
    const input = batched ? given : O.unsqueeze(given, 0);
    const count = mode === RecurrentMode.lstm ? 2 : 1;
    const zeros = (): Tensor => O.zeros([input._shape[0] as number, this.hiddenSize], input.dtype, input.device, false);
    const states =
      hx === null ? Array.from({ length: count }, zeros) : batched ? [...hx] : hx.map((t) => O.unsqueeze(t, 0));
    requireStates(this, input, states);
    const weights = {
      ofInput: this.weight_ih,
      ofHidden: this.weight_hh,
      biasOfInput: this.bias_ih,
      biasOfHidden: this.bias_hh,
      projection: null,
    };
    const [, h, c] = recurrentLayer(
      O.unsqueeze(input, 0),
      states[0] as Tensor,
      states[1] ?? null,
      weights,
      mode,
      false,
    );
    const ends = c === null ? [h] : [h, c];
    return batched ? ends : ends.map((t) => O.squeeze_dim(t, 0));
  }
}
installChecks(RecurrentCell.prototype, MODULE);

function requireStates(cell: RecurrentCell, input: Tensor, states: readonly Tensor[]): void {
  const [batch, width] = input._shape as [number, number];
  if (width !== cell.inputSize) {
    throw new RuntimeError(`input has inconsistent input_size: got ${width} expected ${cell.inputSize}`);
  }
  for (const [i, t] of states.entries()) {
    const [own, hidden] = t._shape as [number, number];
    if (own !== batch) throw new RuntimeError(`Input batch size ${batch} doesn't match hidden${i} batch size ${own}`);
    if (hidden !== cell.hiddenSize) {
      throw new RuntimeError(`hidden${i} has inconsistent hidden_size: got ${hidden}, expected ${cell.hiddenSize}`);
    }
  }
}

/** Options of `RNNCell`. */
export interface RNNCellOptions extends CellOptions {
  /** What it ends with. Default `"tanh"`. */
  nonlinearity?: "tanh" | "relu";
}

/**
 * One step of `RNN`.
 * @example
 * ```ts
 * new nn.RNNCell(2, 3)(ones(4, 2)).shape // torch.Size([4, 3])
 * ```
 * @torch torch.nn.RNNCell
 */
export class RNNCell extends RecurrentCell {
  /** What it ends with. */
  nonlinearity: string;

  constructor(
    inputSize: number,
    hiddenSize: number,
    ...rest: [bias?: boolean | RNNCellOptions, nonlinearity?: string | RNNCellOptions, options?: RNNCellOptions]
  ) {
    const defaults = { ...DEFAULTS, nonlinearity: "tanh" };
    const o = settings<CellSettings>("RNNCell", [inputSize, hiddenSize, ...rest], defaults);
    super(o, 1);
    this.nonlinearity = o.nonlinearity as string;
  }
  /** The new hidden state; `hx` is the old one. */
  override forward(input: Tensor, hx?: Tensor | null | { hx?: Tensor | null }): Tensor {
    const relu = this.nonlinearity === "relu";
    if (!relu && this.nonlinearity !== "tanh") throw new RuntimeError(`Unknown nonlinearity: ${this.nonlinearity}`);
    const mode = relu ? RecurrentMode.relu : RecurrentMode.tanh;
    const state = (hx ?? null) as Tensor | null;
    return tidy(() => this._step("RNNCell", mode, input, state === null ? null : [state])[0] as Tensor);
  }
  override extraRepr(): string {
    return super.extraRepr() + (this.nonlinearity === "tanh" ? "" : `, nonlinearity=${this.nonlinearity}`);
  }
}
installChecks(RNNCell.prototype, MODULE);
checkForward(RNNCell, "RNNCell");

/**
 * One step of `LSTM`.
 * @example
 * ```ts
 * const [h, c] = new nn.LSTMCell(2, 3)(ones(4, 2));
 * [h.shape, c.shape] // [torch.Size([4, 3]), torch.Size([4, 3])]
 * ```
 * @torch torch.nn.LSTMCell
 */
export class LSTMCell extends RecurrentCell {
  constructor(inputSize: number, hiddenSize: number, ...rest: [bias?: boolean | CellOptions, options?: CellOptions]) {
    super(settings<CellSettings>("LSTMCell", [inputSize, hiddenSize, ...rest], DEFAULTS), 4);
  }
  /** The new hidden state and cell; `hx` are the old ones. */
  override forward(input: Tensor, hx?: LSTMState | null | { hx?: LSTMState | null }): [h: Tensor, c: Tensor] {
    const states = (hx ?? null) as LSTMState | null;
    return tidy(() => this._step("LSTMCell", RecurrentMode.lstm, input, states) as [Tensor, Tensor]);
  }
}
checkForward(LSTMCell, "LSTMCell");

/**
 * One step of `GRU`.
 * @example
 * ```ts
 * new nn.GRUCell(2, 3)(ones(4, 2)).shape // torch.Size([4, 3])
 * ```
 * @torch torch.nn.GRUCell
 */
export class GRUCell extends RecurrentCell {
  constructor(inputSize: number, hiddenSize: number, ...rest: [bias?: boolean | CellOptions, options?: CellOptions]) {
    super(settings<CellSettings>("GRUCell", [inputSize, hiddenSize, ...rest], DEFAULTS), 3);
  }
  /** The new hidden state; `hx` is the old one. */
  override forward(input: Tensor, hx?: Tensor | null | { hx?: Tensor | null }): Tensor {
    const state = (hx ?? null) as Tensor | null;
    const given = state === null ? null : [state];
    return tidy(() => this._step("GRUCell", RecurrentMode.gru, input, given)[0] as Tensor);
  }
}
checkForward(GRUCell, "GRUCell");
