/** Means and standard deviations from the outputs of a network. */
import { full, where } from "../../../generated/functional.ts";
import { tensor } from "../../api/tensor-data.ts";
import { softplus } from "../../distributions/parameters.ts";
import { Module } from "../../nn/module.ts";
import { Buffer, Parameter } from "../../nn/parameter.ts";
import { inOrder, namedArguments } from "../../tensor/checks.ts";
import type { DeviceLike } from "../../tensor/device.ts";
import { NotImplementedError, RuntimeError, ValueError } from "../../tensor/errors.ts";
import { Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { CONSTRUCTORS, FUNCTIONS } from "./signatures.ts";

/** A function that makes values positive. */
export type Mapping = (x: Tensor) => Tensor;

/**
 * What softplus brings to a value: its inverse.
 * @example
 * ```ts
 * [tensordict.nn.invSoftplus(1).toFixed(4), tensordict.nn.invSoftplus(tensor([1, 2]))]
 * // [0.5413, tensor([0.5413, 1.8546])]
 * ```
 * @torch tensordict.nn.inv_softplus
 */
export function invSoftplus(bias: number): number;
export function invSoftplus(bias: Tensor): Tensor;
export function invSoftplus(bias: number | Tensor): number | Tensor {
  [bias] = inOrder<[number | Tensor]>("invSoftplus", FUNCTIONS.invSoftplus, arguments);
  return bias instanceof Tensor ? inverse(bias) : (inverse(tensor(bias)).item() as number);
}

/** log(exp(x) - 1), for small numbers without loss of digits. */
function inverse(x: Tensor): Tensor {
  const wide = x.to("float64");
  return wide.exp().sub(1).to(x.dtype).clamp({ min: 1e-6 }).log();
}

/**
 * Softplus with a summand, so that zero becomes `bias`, and at least `minVal` comes out.
 * @example
 * ```ts
 * const positive = new tensordict.nn.BiasedSoftplus(1);
 * [positive(tensor([0, 1])), positive.minVal, positive.bias.toFixed(4)] // [tensor([1.0000, 1.7323]), 0.01, 0.5255]
 * ```
 * @torch tensordict.nn.biased_softplus
 */
export class BiasedSoftplus extends Module {
  /** What is added before softplus. */
  bias: number;
  /** What is added after it. */
  minVal: number;

  constructor(bias: number, minVal?: number | { minVal?: number });
  constructor(...given: unknown[]) {
    super();
    const o = namedArguments("BiasedSoftplus", CONSTRUCTORS.BiasedSoftplus, given) as { bias: number; minVal?: number };
    this.minVal = o.minVal ?? 0.01;
    this.bias = inverse(tensor(o.bias - this.minVal)).item() as number;
  }
  /** @internal */
  override _getName(): string {
    return "biased_softplus";
  }
  /** Positive values. */
  override forward(x: Tensor): Tensor {
    return softplus(x.add(this.bias)).add(this.minVal);
  }
}

const expln: Mapping = (x) => where(x.le(0), x.clamp({ max: 0 }).exp(), x.clamp({ min: 0 }).log1p().add(1));

const known = new Map<string, Mapping>([
  ["softplus", softplus],
  ["exp", (x) => x.exp()],
  ["relu", (x) => x.relu()],
  ["biased_softplus", (x) => new BiasedSoftplus(1)(x)],
  ["none", (x) => x],
  ["expln", expln],
]);

/**
 * A function to positive values by its name: `"softplus"`, `"exp"`, `"relu"`, `"expln"`, `"none"`,
 * `"biased_softplus_1.0"` with what zero becomes, or one that was added.
 * @throws NotImplementedError for a name that is not known
 * @example
 * ```ts
 * [tensordict.nn.mappings("exp")(zeros(2)), tensordict.nn.mappings("biased_softplus_0.5")(zeros(2))]
 * // [tensor([1., 1.]), tensor([0.5000, 0.5000])]
 * ```
 * @torch tensordict.nn.mappings
 */
export function mappings(key: string): Mapping {
  [key] = inOrder<[string]>("mappings", FUNCTIONS.mappings, arguments);
  const found = known.get(key);
  if (found !== undefined) return found;
  if (!key.startsWith("biased_softplus")) throw new NotImplementedError(`Unknown mapping ${key}`);
  const parts = key.split("_");
  if (parts.length !== 3 && parts.length !== 4) throw new ValueError(`Invalid number of args in  ${key}`);
  const numbers = parts.slice(2).map((part) => {
    const value = Number(part);
    if (part === "" || Number.isNaN(value)) throw new ValueError(`could not convert string to float: '${part}'`);
    return value;
  });
  return new BiasedSoftplus(numbers[0] as number, numbers[1]);
}

/**
 * Adds a function under a name for `mappings`.
 * @example
 * ```ts
 * tensordict.nn.addCustomMapping("square", (x) => x.pow(2));
 * tensordict.nn.mappings("square")(tensor([3])) // tensor([9.])
 * ```
 * @torch tensordict.nn.add_custom_mapping
 */
export function addCustomMapping(name: string, mapping: Mapping): void {
  [name, mapping] = inOrder<[string, Mapping]>("addCustomMapping", FUNCTIONS.addCustomMapping, arguments);
  known.set(name, mapping);
}

/** Options of `NormalParamExtractor`. */
export interface NormalParamOptions {
  /** The function to positive values. Default "biased_softplus_1.0". */
  scaleMapping?: string;
  /** The least standard deviation. Default 1e-4. */
  scaleLb?: number;
}

/**
 * Splits the last dimension into means and standard deviations; further arguments are passed on.
 * @throws NotImplementedError for a mapping that is not known
 * @example
 * ```ts
 * const params = new tensordict.nn.NormalParamExtractor();
 * const [loc, scale] = params(tensor([1, 2, 0, 1]));
 * print(loc, scale, params.scaleLb, params.scaleMapping);
 * // tensor([1., 2.]) tensor([1.0000, 1.7323]) 0.0001 biased_softplus()
 * ```
 * @torch tensordict.nn.NormalParamExtractor
 */
export class NormalParamExtractor extends Module {
  /** The function to positive values. */
  declare readonly scaleMapping: Mapping;
  /** The least standard deviation. */
  scaleLb: number;

  constructor(scaleMapping?: string | NormalParamOptions, scaleLb?: number | NormalParamOptions);
  constructor(...given: unknown[]) {
    super();
    const o = namedArguments("NormalParamExtractor", CONSTRUCTORS.NormalParamExtractor, given) as NormalParamOptions;
    const mapping = mappings(o.scaleMapping ?? "biased_softplus_1.0");
    // A module among these has the name that it has in Python.
    if (mapping instanceof Module) this.addModule("scale_mapping", mapping);
    Object.defineProperty(this, "scaleMapping", { value: mapping });
    this.scaleLb = o.scaleLb ?? 1e-4;
  }
  /** The means, the standard deviations, and all further arguments. */
  override forward(...tensors: [Tensor, ...unknown[]]): [loc: Tensor, scale: Tensor, ...others: unknown[]] {
    const [parameters, ...others] = tensors;
    const [loc, scale] = parameters.chunk(2, -1) as [Tensor, Tensor];
    return [loc, this.scaleMapping(scale).clamp({ min: this.scaleLb }), ...others];
  }
}

/** The name of the parameter in states that Python saves. */
const SCALE = "state_independent_scale";

/** Options of `AddStateIndependentNormalScale`. */
export interface ScaleOptions {
  /** The function to positive values. Default "exp". */
  scaleMapping?: string;
  /** The least standard deviation. Default 1e-4. */
  scaleLb?: number;
  /** Where the parameter is. */
  device?: DeviceLike | null;
  /** Whether it is a parameter (the default) or a buffer. */
  makeParam?: boolean;
  /** Its first value, before the mapping. Default 0. */
  initValue?: number;
}

/**
 * Takes all of its input for means, and adds standard deviations that are parameters of its own; further arguments are
 * passed on.
 * @throws RuntimeError when the last dimensions of the means are others than those of the parameter
 * @example
 * ```ts
 * const params = new tensordict.nn.AddStateIndependentNormalScale(2);
 * const [loc, scale] = params(zeros(3, 2));
 * print(loc.shape, scale.shape, params.scaleShape, params.scaleMapping, params.scaleLb);
 * print(params.stateIndependentScale);
 * // torch.Size([3, 2]) torch.Size([3, 2]) torch.Size([2]) exp 0.0001
 * // Parameter containing:
 * // tensor([0., 0.], requires_grad=True)
 * ```
 * @torch tensordict.nn.AddStateIndependentNormalScale
 */
export class AddStateIndependentNormalScale extends Module {
  /** The least standard deviation. */
  scaleLb: number;
  /** The shape of the parameter. */
  scaleShape: Size;
  /** The name of the function to positive values. */
  scaleMapping: string;

  constructor(scaleShape?: number | readonly number[] | ScaleOptions, options?: ScaleOptions);
  constructor(...given: unknown[]) {
    super();
    const { AddStateIndependentNormalScale: signature } = CONSTRUCTORS;
    const o = namedArguments("AddStateIndependentNormalScale", signature, given) as ScaleOptions & {
      scaleShape?: number | readonly number[];
    };
    const shape = o.scaleShape ?? [];
    this.scaleShape = Size.fromList(typeof shape === "number" ? [shape] : shape);
    this.scaleLb = o.scaleLb ?? 1e-4;
    this.scaleMapping = o.scaleMapping ?? "exp";
    const value = full([...this.scaleShape], o.initValue ?? 0, o.device ? { device: o.device } : {});
    if (o.makeParam === false) this.registerBuffer(SCALE, new Buffer(value));
    else this.registerParameter(SCALE, new Parameter(value));
  }
  /** The standard deviations before the mapping: a parameter, or a buffer. */
  get stateIndependentScale(): Tensor {
    return (this._parameters.get(SCALE) ?? this._buffers.get(SCALE)) as Tensor;
  }
  /** The means, the standard deviations, and all further arguments. */
  override forward(loc: Tensor, ...others: unknown[]): [loc: Tensor, scale: Tensor, ...others: unknown[]] {
    const last = loc.shape.slice(Math.max(loc.ndim - this.scaleShape.length, 0));
    if (!sameSizes(this.scaleShape, last)) {
      throw new RuntimeError(
        `Last dimensions of loc (${Size.fromList(last)}) do not match the number of dimensions in scale ` +
          `(${this.stateIndependentScale.shape})`,
      );
    }
    const scale = mappings(this.scaleMapping)(this.stateIndependentScale.expandAs(loc));
    return [loc, scale.clamp({ min: this.scaleLb }), ...others];
  }
}
