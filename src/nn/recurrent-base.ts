/** What RNN, LSTM and GRU have in common: parameters of layers and directions, checks, and the walk through them. */

import { RecurrentMode } from "../../generated/abi.ts";
import * as O from "../../generated/ops.ts";
import { pythonFloat } from "../api/number-text.ts";
import { dropout } from "../autograd/composites-nn.ts";
import { packedLayer, recurrentLayer, type Stretch } from "../autograd/composites-recurrent.ts";
import { installChecks, isDict } from "../tensor/checks.ts";
import { RuntimeError, TypeError, ValueError, warn } from "../tensor/errors.ts";
import { sameSizes } from "../tensor/size.ts";
import { tidy } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import * as init from "./init.ts";
import { Module } from "./module.ts";
import { newParameter, type Placement, settings } from "./options.ts";
import { PackedSequence, permuted, stretchesOf } from "./packed-sequence.ts";
import { MODULE } from "./signatures.ts";

/** Options of recurrent modules. */
export interface RecurrentOptions extends Placement {
  /** How many layers follow each other. Default 1. */
  numLayers?: number;
  /** Whether there are biases. Default true. */
  bias?: boolean;
  /** Whether the batch is the first dimension. Default false. */
  batchFirst?: boolean;
  /** The probability of dropout between layers. Default 0. */
  dropout?: number;
  /** Whether each layer also goes through the sequence backwards. Default false. */
  bidirectional?: boolean;
}

/** The words of torch's error texts differ by module. */
interface Kind {
  readonly name: "RNN" | "LSTM" | "GRU";
  readonly mode: number;
  readonly gates: number;
}

type RecurrentSettings = Required<RecurrentOptions> & {
  inputSize: number;
  hiddenSize: number;
  projSize?: number;
  nonlinearity?: string;
};

const DEFAULTS = {
  numLayers: 1,
  bias: true,
  batchFirst: false,
  dropout: 0,
  bidirectional: false,
  device: null,
  dtype: null,
};

export const sizeText = (sizes: readonly number[]): string => `[${sizes.join(", ")}]`;
const tupleText = (sizes: readonly number[]): string => `(${sizes.join(", ")})`;

function requireSettings(o: RecurrentSettings): void {
  if (!(o.dropout >= 0 && o.dropout <= 1)) {
    throw new ValueError(
      "dropout should be a number in range [0, 1] representing the probability of an element being zeroed",
    );
  }
  if (o.dropout > 0 && o.numLayers === 1) {
    warn(
      "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers " +
        `greater than 1, but got dropout=${o.dropout} and num_layers=${o.numLayers}`,
    );
  }
  if (o.inputSize <= 0) throw new ValueError("input_size must be greater than zero");
  if (o.hiddenSize <= 0) throw new ValueError("hidden_size must be greater than zero");
  if (o.numLayers <= 0) throw new ValueError("num_layers must be greater than zero");
  const projection = o.projSize ?? 0;
  if (projection < 0) {
    throw new ValueError("proj_size should be a positive integer or zero to disable projections");
  }
  if (projection >= o.hiddenSize) throw new ValueError("proj_size has to be smaller than hidden_size");
}

/** Refuses what are no two states of LSTM. */
export function requirePair(name: "lstm" | "lstm_cell", hx: unknown): void {
  if (hx === null) return;
  if (!Array.isArray(hx)) {
    const given = hx instanceof Tensor ? "Tensor" : typeName(hx);
    throw new TypeError(`${name}(): argument 'hx' (position 2) must be tuple of Tensors, not ${given}`);
  }
  if (hx.length !== 2) throw new RuntimeError(`${name} expects two hidden states`);
  for (const [i, t] of hx.entries()) {
    if (t instanceof Tensor) continue;
    throw new TypeError(`expected Tensor as element ${i} in argument 2, but got ${typeName(t)}`);
  }
}

/** Recurrent layers. */
export abstract class RecurrentBase extends Module {
  /** Features of the input. */
  inputSize: number;
  /** Features of the hidden state. */
  hiddenSize: number;
  /** How many layers follow each other. */
  numLayers: number;
  /** Whether there are biases. */
  bias: boolean;
  /** Whether the batch is the first dimension. */
  batchFirst: boolean;
  /** The probability of dropout between layers. */
  dropout: number;
  /** Whether each layer also goes through the sequence backwards. */
  bidirectional: boolean;
  /** Features that LSTM's hidden state is brought to; 0 for those that it has. */
  projSize: number;
  /** What texts call it, and what a step computes. */
  readonly _kind: Kind;

  constructor(kind: Kind, o: RecurrentSettings) {
    super();
    requireSettings(o);
    this._kind = kind;
    this.inputSize = o.inputSize;
    this.hiddenSize = o.hiddenSize;
    this.numLayers = o.numLayers;
    this.bias = o.bias;
    this.batchFirst = o.batchFirst;
    this.dropout = o.dropout;
    this.bidirectional = o.bidirectional;
    this.projSize = o.projSize ?? 0;
    const rows = kind.gates * o.hiddenSize;
    const real = this.projSize || o.hiddenSize;
    for (let layer = 0; layer < o.numLayers; layer++) {
      for (const suffix of this._suffixes(layer)) {
        const width = layer === 0 ? o.inputSize : real * this._directions;
        this.registerParameter(`weight_ih_${suffix}`, newParameter([rows, width], o));
        this.registerParameter(`weight_hh_${suffix}`, newParameter([rows, real], o));
        if (o.bias) {
          this.registerParameter(`bias_ih_${suffix}`, newParameter([rows], o));
          this.registerParameter(`bias_hh_${suffix}`, newParameter([rows], o));
        }
        if (this.projSize > 0) {
          this.registerParameter(`weight_hr_${suffix}`, newParameter([this.projSize, o.hiddenSize], o));
        }
      }
    }
    this.resetParameters();
  }

  get _directions(): number {
    return this.bidirectional ? 2 : 1;
  }

  _suffixes(layer: number): string[] {
    return this.bidirectional ? [`l${layer}`, `l${layer}_reverse`] : [`l${layer}`];
  }

  /** Draws all parameters from -1 / sqrt(hiddenSize) to 1 / sqrt(hiddenSize). @torch torch.nn.LSTM.reset_parameters */
  resetParameters(): void {
    const bound = this.hiddenSize > 0 ? 1 / Math.sqrt(this.hiddenSize) : 0;
    for (const p of this.parameters()) init.uniform_(p, -bound, bound);
  }

  override extraRepr(): string {
    const said = [`${this.inputSize}, ${this.hiddenSize}`];
    if (this.projSize !== 0) said.push(`proj_size=${this.projSize}`);
    if (this.numLayers !== 1) said.push(`num_layers=${this.numLayers}`);
    if (!this.bias) said.push("bias=False");
    if (this.batchFirst) said.push("batch_first=True");
    if (this.dropout !== 0) said.push(`dropout=${pythonFloat(this.dropout)}`);
    if (this.bidirectional) said.push("bidirectional=True");
    return said.join(", ");
  }

  /** All layers; `states` are the first hidden states and, of LSTM, cells. With stretches the input is packed. */
  _run(input: Tensor, states: readonly (Tensor | null)[], packed: readonly Stretch[] | null): [Tensor, Tensor[]] {
    const turned = this.batchFirst && packed === null;
    const steps = turned ? O.transpose(input, 0, 1) : input;
    const { mode } = this._kind;
    const last: Tensor[][] = [];
    let x = steps;
    for (let layer = 0; layer < this.numLayers; layer++) {
      const outputs: Tensor[] = [];
      for (const [direction, suffix] of this._suffixes(layer).entries()) {
        const at = layer * this._directions + direction;
        const [h0, c0] = states.map((t) => (t === null ? null : t.select(0, at)));
        const weights = {
          ofInput: this.getParameter(`weight_ih_${suffix}`),
          ofHidden: this.getParameter(`weight_hh_${suffix}`),
          biasOfInput: this.bias ? this.getParameter(`bias_ih_${suffix}`) : null,
          biasOfHidden: this.bias ? this.getParameter(`bias_hh_${suffix}`) : null,
          projection: this.projSize > 0 ? this.getParameter(`weight_hr_${suffix}`) : null,
        };
        const rest = [h0 as Tensor, c0 ?? null, weights, mode, direction === 1] as const;
        const [output, ...ends] = packed === null ? recurrentLayer(x, ...rest) : packedLayer(x, packed, ...rest);
        outputs.push(output);
        last.push(ends.filter((t) => t !== null));
      }
      x = outputs.length === 1 ? (outputs[0] as Tensor) : O.cat(outputs, -1);
      const drops = this.training && this.dropout > 0 && layer < this.numLayers - 1;
      if (drops) x = dropout(x, this.dropout, true, false);
    }
    const count = mode === RecurrentMode.lstm ? 2 : 1;
    const ends = Array.from({ length: count }, (_, i) =>
      O.stack(
        last.map((one) => one[i] as Tensor),
        0,
      ),
    );
    return [turned ? O.transpose(x, 0, 1) : x, ends];
  }

  /** Refuses inputs that do not fit. */
  _requireInput(input: Tensor, packed: boolean): void {
    const { dtype } = this.getParameter("weight_ih_l0");
    if (input.dtype !== dtype) {
      throw new ValueError(
        `RNN input dtype (${String(input.dtype)}) does not match weight dtype (${String(dtype)}). Convert input: ` +
          `input.to(${String(dtype)}), or convert model: model.to(${String(input.dtype)})`,
      );
    }
    if (packed && input.ndim !== 2) throw new RuntimeError(`input must have 2 dimensions, got ${input.ndim}`);
    const width = input._shape[input.ndim - 1] as number;
    if (width !== this.inputSize) {
      throw new RuntimeError(`input.size(-1) must be equal to input_size. Expected ${this.inputSize}, got ${width}`);
    }
  }

  /** The sizes of the states of a call, and zeros where none are given. */
  private _shapes(batch: number): number[][] {
    const layers = this.numLayers * this._directions;
    const lstm = this._kind.mode === RecurrentMode.lstm;
    const widths = lstm ? [this.projSize || this.hiddenSize, this.hiddenSize] : [this.hiddenSize];
    return widths.map((width) => [layers, batch, width]);
  }

  private _requireStates(states: readonly Tensor[], batch: number): void {
    const lstm = this._kind.mode === RecurrentMode.lstm;
    const shapes = this._shapes(batch);
    for (const [i, t] of states.entries()) {
      const expected = shapes[i] as number[];
      if (sameSizes(t._shape, expected)) continue;
      const what = lstm ? `hidden[${i}]` : "hidden";
      throw new RuntimeError(`Expected ${what} size ${tupleText(expected)}, got ${sizeText(t._shape)}`);
    }
  }

  /** The states of a call, checked; zeros where none are given. */
  _states(input: Tensor, given: readonly Tensor[] | null, batched: boolean): Tensor[] {
    const batch = input._shape[this.batchFirst ? 0 : 1] as number;
    const lstm = this._kind.mode === RecurrentMode.lstm;
    if (given === null) {
      this._requireInput(input, false);
      return this._shapes(batch).map((shape) => O.zeros(shape, input.dtype, input.device, false));
    }
    const rank = batched ? 3 : 2;
    if (given.some((t) => t.ndim !== rank)) {
      const start = batched ? "For batched 3-D input" : "For unbatched 2-D input";
      const ranks = given.map((t) => `${t.ndim}-D`).join(", ");
      throw new RuntimeError(
        lstm
          ? `${start}, hx and cx should also be ${rank}-D but got (${ranks}) tensors`
          : `${start}, hx should also be ${rank}-D but got ${ranks} tensor`,
      );
    }
    const states = batched ? [...given] : given.map((t) => O.unsqueeze(t, 1));
    this._requireInput(input, false);
    this._requireStates(states, batch);
    return states;
  }

  /** Outputs and last states of a call. */
  _call(given: Tensor | PackedSequence, hx: readonly Tensor[] | null): [Tensor | PackedSequence, Tensor[]] {
    if (this._kind.mode === RecurrentMode.lstm) requirePair("lstm", hx);
    if (given instanceof PackedSequence) return this._callPacked(given, hx);
    return tidy(() => this._callPadded(given, hx));
  }

  private _callPadded(given: Tensor, hx: readonly Tensor[] | null): [output: Tensor, last: Tensor[]] {
    const { name } = this._kind;
    if (given.ndim !== 2 && given.ndim !== 3) {
      const ending = name === "RNN" ? "D tensor instead" : "D instead";
      throw new ValueError(`${name}: Expected input to be 2D or 3D, got ${given.ndim}${ending}`);
    }
    const batched = given.ndim === 3;
    const at = this.batchFirst ? 0 : 1;
    const input = batched ? given : O.unsqueeze(given, at);
    const states = this._states(input, hx, batched);
    const [output, last] = this._run(input, states, null);
    if (batched) return [output, last];
    return [O.squeeze_dim(output, at), last.map((t) => O.squeeze_dim(t, 1))];
  }

  private _callPacked(given: PackedSequence, hx: readonly Tensor[] | null): [PackedSequence, Tensor[]] {
    const { data, batchSizes, sortedIndices, unsortedIndices } = given;
    const [output, last] = tidy((): [Tensor, Tensor[]] => {
      const width = (this.getParameter("weight_hh_l0")._shape[0] as number) / (this._kind.name === "GRU" ? 3 : 1);
      const stretches = stretchesOf(batchSizes, data, width);
      const batch = (stretches[0] as Stretch).batch;
      const states =
        hx === null
          ? this._shapes(batch).map((shape) => O.zeros(shape, data.dtype, data.device, false))
          : hx.map((t) => permuted(t, sortedIndices));
      this._requireInput(data, true);
      this._requireStates(states, batch);
      const rows = stretches.reduce((sum, one) => sum + one.steps * one.batch, 0);
      const taken = rows === data._shape[0] ? data : data.narrow(0, 0, rows);
      const [out, ends] = this._run(taken, states, stretches);
      return [out, ends.map((t) => permuted(t, unsortedIndices))];
    });
    return [new PackedSequence(output, batchSizes, sortedIndices, unsortedIndices), last];
  }

  /** Nothing here: parameters need not lie together. @torch torch.nn.LSTM.flatten_parameters */
  flattenParameters(): void {}
}
installChecks(RecurrentBase.prototype, MODULE);

/** The arguments of a constructor by name. */
export function recurrentSettings(
  name: "RNN" | "LSTM" | "GRU",
  given: readonly unknown[],
  more: object = {},
): RecurrentSettings {
  const last = given.at(-1);
  if (name !== "LSTM" && isDict(last) && "projSize" in last) {
    throw new ValueError("proj_size argument is only supported for LSTM, not RNN or GRU");
  }
  return settings<RecurrentSettings>(name, given, { ...DEFAULTS, ...more });
}
