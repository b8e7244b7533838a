/** What the constructors of optimisers look at, in PyTorch's words and order. */
import { pythonText } from "../api/print.ts";
import { empty } from "../dispatch/allocate.ts";
import { fill } from "../dispatch/copy.ts";
import { Complex, Float, isScalar, scalarToNumber } from "../tensor/complex.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { float32, float64, getDefaultDtype } from "../tensor/dtype.ts";
import { IndexError, KeyError, RuntimeError, TypeError, ValueError } from "../tensor/errors.ts";
import { take } from "../tensor/scope-state.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";

function valueOf(x: unknown): number {
  if (x instanceof Tensor) return x.item() as number;
  if (isScalar(x)) return scalarToNumber(x);
  throw new TypeError(`'<=' not supported between instances of 'float' and '${typeName(x)}'`);
}

/** As Python formats values: tensors without dimensions are their number. */
function formatted(value: unknown): string {
  return pythonText(value instanceof Tensor && value.ndim === 0 ? new Float(Number(value.item())) : value);
}

/** Refuses an option below zero, and NaN. */
export function requireNotNegative(what: string, value: unknown): void {
  if (!(valueOf(value) >= 0)) throw new ValueError(`Invalid ${what}: ${formatted(value)}`);
}

/** Refuses an option below zero, and takes NaN, as PyTorch's SGD does. */
export function requireNotBelow(what: string, value: unknown): void {
  if (valueOf(value) < 0) throw new ValueError(`Invalid ${what}: ${formatted(value)}`);
}

/** Refuses a decay that is not from 0 to below 1. */
export function requireBeta(betas: readonly unknown[], i: number): void {
  if (i >= betas.length) throw new IndexError("tuple index out of range");
  const value = valueOf(betas[i]);
  if (!(value >= 0 && value < 1)) {
    throw new ValueError(`Invalid beta parameter at index ${i}: ${formatted(betas[i])}`);
  }
}

export function requireOneElement(what: string, value: unknown): void {
  if (value instanceof Tensor && value._numel !== 1) throw new ValueError(`Tensor ${what} must be 1-element`);
}

/** Refuses ways of computing that exclude each other. */
export function checkWays(o: { fused?: unknown; foreach?: unknown; differentiable?: unknown }): void {
  if (!o.fused) return;
  if (o.differentiable) throw new RuntimeError("`fused` does not support `differentiable`");
  if (o.foreach) throw new RuntimeError("`fused` and `foreach` cannot be `True` together.");
}

/** Refuses a parameter that has no fused step in PyTorch. */
export function checkFused(p: Tensor): void {
  if (p.dtype.category === 2 && p.device.type !== "meta") return;
  const devices = "['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone']";
  throw new RuntimeError(
    "`fused=True` requires all the params to be floating point Tensors of supported devices: " +
      `${devices} but ${p.dtype} and ${p.device.type}`,
  );
}

/** Refuses the way of computing whose step is on a GPU, elsewhere. */
export function checkCapturable(p: Tensor, step: Tensor): void {
  if (p.device.type === "cuda" && step.device.type === "cuda") return;
  throw new RuntimeError(
    "If capturable=True, params and state_steps must be on supported devices: " +
      "['cuda', 'xpu', 'hpu', 'privateuseone', 'xla'].",
  );
}

/** Refuses the way over lists where gradients are recorded. */
export function checkForeach(foreach: unknown, differentiable: unknown): void {
  if (foreach && differentiable) throw new RuntimeError("_foreach ops don't support autograd");
}

/** A number of steps, none so far. A scope that ends leaves it. */
export function newStep(fused: unknown, device: Device = CPU): Tensor {
  const dtype = !fused && getDefaultDtype() === float64 ? float64 : float32;
  return take(fill(empty([], dtype, device), 0));
}

/** The number of steps of an older state as a tensor. */
export function stepOf(value: unknown, fused: unknown, device: Device = CPU): Tensor {
  if (value instanceof Tensor) return value;
  if (value === undefined) throw new KeyError("'step'");
  if (!isScalar(value) || value instanceof Complex) {
    throw new TypeError(`the state \`step\` of a parameter has to be a number or a Tensor, not ${typeName(value)}`);
  }
  return fill(newStep(fused, device), scalarToNumber(value));
}

/** The gradient with its sign, and with the penalty on the parameter's square. */
export function decayed(p: Tensor, grad: Tensor, maximize: boolean, decay: number | Tensor): Tensor {
  const signed = maximize ? grad.neg() : grad;
  if (decay === 0) return signed;
  if (!(decay instanceof Tensor)) return signed.add(p, { alpha: decay });
  if (decay.requiresGrad) return signed.addcmul(p.clone(), decay);
  return signed.add(p, { alpha: decay.item() as number });
}
