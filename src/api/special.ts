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
import { lateNamespace } from "../tensor/late-members.ts";
import { tellMissingFunctions } from "../tensor/missing.ts";

/** For the compiler, and for what reads its types. */
function all() {
  const expit = sigmoid;
  const gammaln = lgamma;
  const psi = digamma;
  return {
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
}

function specialMember(name: string): unknown {
  switch (name) {
    case "digamma":
      return digamma;
    case "erf":
      return erf;
    case "erfc":
      return erfc;
    case "erfinv":
      return erfinv;
    case "exp2":
      return exp2;
    case "expit":
      return sigmoid;
    case "expm1":
      return expm1;
    case "gammaln":
      return lgamma;
    case "log1p":
      return log1p;
    case "logit":
      return logit;
    case "logSoftmax":
      return logSoftmax;
    case "logsumexp":
      return logsumexp;
    case "polygamma":
      return polygamma;
    case "psi":
      return digamma;
    case "round":
      return round;
    case "sinc":
      return sinc;
    case "softmax":
      return softmax;
    case "xlogy":
      return xlogy;
  }
  return undefined;
}

/**
 * Special functions. All of them are functions of the main namespace too; `expit`, `gammaln` and `psi` are other names
 * of `sigmoid`, `lgamma` and `digamma`.
 * @example
 * ```ts
 * special.gammaln(tensor([5, 10])) // tensor([ 3.1781, 12.8018])
 * ```
 * @torch torch.special
 */
export const special = lateNamespace(
  "digamma erf erfc erfinv exp2 expit expm1 gammaln log1p logit " +
    "logSoftmax logsumexp polygamma psi round sinc softmax xlogy",
  specialMember,
  all,
);
tellMissingFunctions("special", special);
