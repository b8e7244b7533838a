/** The namespace of special functions. */

import {
  digamma,
  erf,
  erfc,
  erfinv,
  exp2,
  expm1,
  lgamma,
  log1p,
  logit,
  logSoftmax,
  logsumexp,
  polygamma,
  round,
  sigmoid,
  sinc,
  softmax,
  xlogy,
} from "../../generated/functional.ts";
import { tellMissingFunctions } from "../tensor/missing.ts";

const expit = sigmoid;
const gammaln = lgamma;
const psi = digamma;

/**
 * Special functions. All of them are functions of the main namespace too; `expit`, `gammaln` and `psi` are other names
 * of `sigmoid`, `lgamma` and `digamma`.
 * @example
 * ```ts
 * special.gammaln(tensor([5, 10])) // tensor([ 3.1781, 12.8018])
 * ```
 * @torch torch.special
 */
export const special = {
  digamma,
  erf,
  erfc,
  erfinv,
  exp2,
  expit,
  expm1,
  gammaln,
  log1p,
  logit,
  logSoftmax,
  logsumexp,
  polygamma,
  psi,
  round,
  sinc,
  softmax,
  xlogy,
} as const;
tellMissingFunctions("special", special);
