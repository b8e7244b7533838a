// The parameters and buffers of a TensorDict as a module has them.
import { Module } from "../../nn/module.ts";
import { Buffer, Parameter } from "../../nn/parameter.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { entriesOf, isLazy, isNonTensor, isTensorCollection, type Td } from "../core/state.ts";

/** How tensors are kept: as parameters where their dtype allows it, all as buffers, or as they are. */
export type NoConvert = boolean | "skip";

const LEARNABLE: ReadonlySet<string> = new Set(["float16", "float32", "float64"]);

/** A tensor as a parameter or a buffer, unless it is one. */
export function asParameter(t: Tensor, noConvert: NoConvert): Tensor {
  if (noConvert === "skip" || t instanceof Parameter || t instanceof Buffer) return t;
  if (noConvert === false && LEARNABLE.has(t.dtype.name)) return new Parameter(t);
  // What has a history keeps it: a buffer of its own would be a leaf.
  return t.requiresGrad ? t : new Buffer(t);
}

/** Makes the tensors of a tree parameters and buffers, in their places. */
export function convertLeaves(td: Td, noConvert: NoConvert): Td {
  if (isLazy(td)) {
    throw new RuntimeError("Using a LazyStackedTensorDict within a TensorDictParams isn't permitted.");
  }
  if (td._kind !== "tensordict") return td;
  for (const [key, entry] of [...entriesOf(td)]) {
    if (!(entry instanceof Tensor)) {
      if (isTensorCollection(entry)) convertLeaves(entry, noConvert);
      continue;
    }
    const converted = asParameter(entry, noConvert);
    if (converted !== entry) td._put(key, converted);
  }
  return td;
}

/** What has the tensors of a module. */
interface Owner {
  readonly _wrapped: Td;
  /** The module of a copy. */
  _copiedModule(): Module;
}

/** Parameters or buffers by their joined keys; writing one of them writes the entry. */
class Slots extends Map<string, Tensor | null> {
  private readonly places = new Map<string, [Td, string]>();

  constructor(td: Td, wanted: (t: Tensor) => boolean) {
    super();
    this.collect(td, "", wanted);
  }
  private collect(td: Td, prefix: string, wanted: (t: Tensor) => boolean): void {
    for (const [key, entry] of entriesOf(td)) {
      if (entry instanceof Tensor) {
        if (!wanted(entry)) continue;
        super.set(prefix + key, entry);
        this.places.set(prefix + key, [td, key]);
      } else if (isTensorCollection(entry) && !isNonTensor(entry)) this.collect(entry, `${prefix}${key}.`, wanted);
    }
  }
  override set(name: string, value: Tensor | null): this {
    const place = this.places.get(name);
    if (place !== undefined && value !== null) place[0]._put(place[1], asParameter(value, true));
    return super.set(name, value);
  }
}

/** The module that stands for a TensorDictParams among modules. */
export class ParamsModule extends Module {
  declare readonly _params: Owner;

  override get _parameters(): Map<string, Tensor | null> {
    return new Slots(this._params._wrapped, (t) => t instanceof Parameter);
  }
  override get _buffers(): Map<string, Tensor | null> {
    return new Slots(this._params._wrapped, (t) => !(t instanceof Parameter));
  }
  override get _slots(): Pick<Module, "_parameters" | "_buffers" | "_modules"> {
    return { _parameters: this._parameters, _buffers: this._buffers, _modules: this._modules };
  }
  override get _itself(): unknown {
    return this._params;
  }
  override _copy(): Module {
    return this._params._copiedModule();
  }
  override _getName(): string {
    return "TensorDictParams";
  }
  override toString(): string {
    return String(this._params);
  }
}
