/** All probability on one value. */

import { full } from "../../generated/functional.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Constraint } from "./constraints.ts";
import { Distribution, type SampleShape, settings, sizesOf } from "./distribution.ts";
import { METHODS } from "./signatures.ts";

/** Parameters of `Delta` by name. */
export interface DeltaOptions {
  /** The one value. */
  param?: Tensor;
  /** How far a value may lie away and count as equal. Default 1e-6. */
  atol?: number;
  /** The same, times the parameter. Default 1e-6. */
  rtol?: number;
  /** The batch's shape. Without both shapes the last dimension is the event. */
  batchShape?: SampleShape | null;
  /** The shape of one value. */
  eventShape?: SampleShape | null;
}

/**
 * All probability on one value.
 * @example
 * ```ts
 * const dist = new distributions.Delta(tensor([1, 2]));
 * print(dist.eventShape, dist.param, dist.atol);
 * print(dist.rtol, dist.sample(), dist.deterministicSample);
 * print(dist.logProb(tensor([1, 3])));
 * // torch.Size([2]) tensor([1., 2.]) 1e-06
 * // 1e-06 tensor([1., 2.]) tensor([1., 2.])
 * // tensor(-inf)
 * ```
 * @torch tensordict.nn.distributions.Delta
 */
export class Delta extends Distribution {
  /** The one value. */
  declare param: Tensor;
  /** How far a value may lie away and count as equal. */
  declare atol: number;
  /** The same, times the parameter. */
  declare rtol: number;

  constructor(
    param: Tensor | DeltaOptions,
    atol?: number | DeltaOptions,
    rtol?: number | DeltaOptions,
    batchShape?: SampleShape | null | DeltaOptions,
    eventShape?: SampleShape | null | DeltaOptions,
  );
  constructor(...given: unknown[]) {
    super();
    const o = settings<DeltaOptions & { param: Tensor }>("Delta", given);
    this.param = o.param;
    this.atol = o.atol ?? 1e-6;
    this.rtol = o.rtol ?? 1e-6;
    let [batch, event] = [sizesOf(o.batchShape ?? []), sizesOf(o.eventShape ?? [])];
    if (batch.length === 0 && event.length === 0) {
      batch = o.param.shape.slice(0, -1);
      event = o.param.shape.slice(-1);
    }
    this._init(batch, event, null);
  }
  override get argConstraints(): Record<string, Constraint> {
    return {};
  }
  /** Replaces the value; shapes stay. @torch tensordict.nn.distributions.Delta.update */
  update(param: Tensor): void {
    this.param = param;
  }
  override get mean(): Tensor {
    return this.param;
  }
  override get mode(): Tensor {
    return this.param;
  }
  /** The value. @torch tensordict.nn.distributions.Delta.deterministic_sample */
  get deterministicSample(): Tensor {
    return this.param;
  }
  override rsample(sampleShape: SampleShape = []): Tensor {
    return this.param.expand([...sizesOf(sampleShape), ...this.param.shape]);
  }
  override logProb(value: Tensor): Tensor {
    const param = this.param.expandAs(value);
    let equal = value.sub(param).abs().lt(param.abs().mul(this.rtol).add(this.atol));
    for (let i = 0; i < this._eventShape.length; i++) equal = equal.all(-1);
    const out = full(equal.shape, Number.NEGATIVE_INFINITY, { dtype: value.dtype, device: value.device });
    return out.maskedFill_(equal, Number.POSITIVE_INFINITY);
  }
}
installChecks(Delta.prototype, METHODS);
