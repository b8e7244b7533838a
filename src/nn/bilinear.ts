/** Layers of two inputs. */

import * as composites from "../autograd/composites-embedding.ts";
import { installChecks } from "../tensor/checks.ts";
import { ValueError } from "../tensor/errors.ts";
import { tidy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkForward } from "./forward-checks.ts";
import * as init from "./init.ts";
import type { LinearOptions } from "./linear.ts";
import { Module } from "./module.ts";
import { newParameter, settings } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { MODULE } from "./signatures.ts";

type Features = { in1Features: number; in2Features: number; outFeatures: number };

/**
 * x1^T @ weight[k] @ x2 + bias[k] for each feature of the output.
 * @throws ValueError unless the first input has features
 * @example
 * ```ts
 * new nn.Bilinear(2, 3, 4)(ones(5, 2), ones(5, 3)).shape // torch.Size([5, 4])
 * ```
 * @torch torch.nn.Bilinear
 */
export class Bilinear extends Module {
  /** The matrices, of shape (outFeatures, in1Features, in2Features). */
  declare weight: Parameter;
  /** The summands, of shape (outFeatures); null without them. */
  declare bias: Parameter | null;
  /** Features of the first input. */
  in1Features: number;
  /** Features of the second input. */
  in2Features: number;
  /** Features of the output. */
  outFeatures: number;
  constructor(
    in1Features: number,
    in2Features: number,
    outFeatures: number,
    ...rest: [bias?: boolean | LinearOptions, options?: LinearOptions]
  ) {
    super();
    const given = [in1Features, in2Features, outFeatures, ...rest];
    const defaults = { bias: true, device: null, dtype: null };
    const o = settings<Required<LinearOptions> & Features>("Bilinear", given, defaults);
    if (o.in1Features <= 0) throw new ValueError(`in1_features must be > 0, but got ${o.in1Features}`);
    this.in1Features = o.in1Features;
    this.in2Features = o.in2Features;
    this.outFeatures = o.outFeatures;
    this.weight = newParameter([o.outFeatures, o.in1Features, o.in2Features], o);
    if (o.bias) this.bias = newParameter([o.outFeatures], o);
    else this.registerParameter("bias", null);
    this.resetParameters();
  }
  /** Draws new values. @torch torch.nn.Bilinear.reset_parameters */
  resetParameters(): void {
    const bound = 1 / Math.sqrt(this.in1Features);
    init.uniform_(this.weight, -bound, bound);
    if (this.bias !== null) init.uniform_(this.bias, -bound, bound);
  }
  override forward(input1: Tensor, input2: Tensor): Tensor {
    return tidy(() => composites.bilinear(input1, input2, this.weight, this.bias));
  }
  override extraRepr(): string {
    const sizes = `in1_features=${this.in1Features}, in2_features=${this.in2Features}`;
    return `${sizes}, out_features=${this.outFeatures}, bias=${this.bias === null ? "False" : "True"}`;
  }
}
installChecks(Bilinear.prototype, MODULE);
checkForward(Bilinear, "Bilinear");
