// Calls of the operators over lists that users do not call themselves.
import * as O from "../../generated/ops.ts";
import type { Tensor } from "../../src/index.ts";
import * as lib from "../../src/index.ts";

/** Two tensors of the same device, and as many times as wanted others like them. */
const pair = (x: Tensor): Tensor[] => [x.mul(2), x.t().mul(3)];
const zeros = (x: Tensor): Tensor[] => pair(x).map((t) => t.zero_());
const steps = (x: Tensor): Tensor[] => pair(x).map(() => lib.zeros([], { device: x.device }));

export const LIST_CALLS: Record<string, (x: Tensor) => unknown> = {
  _foreach_add: (x) => O._foreach_add_List(pair(x), pair(x), 3),
  _foreach_mul: (x) => {
    const list = pair(x);
    O._foreach_mul_Scalar_(list, 0.5);
    return list;
  },
  _foreach_zero: (x) => {
    const list = pair(x);
    O._foreach_zero_(list);
    return list;
  },
  _fused_adam: (x) => {
    const [p, m, v, s] = [pair(x), zeros(x), zeros(x), steps(x)];
    O._fused_adam_(p, pair(x), m, v, [], s, 0.5, 0.9, 0.99, 0.1, 1e-3, false, false, true);
    return [p, m, v, s];
  },
  _fused_sgd: (x) => {
    const [p, buffers] = [pair(x), pair(x)];
    O._fused_sgd_(p, pair(x), buffers, 0.1, 0.9, 0.5, 0, true, false, false);
    return [p, buffers];
  },
  _fused_adagrad: (x) => {
    const [p, sums, s] = [pair(x), zeros(x), steps(x)];
    O._fused_adagrad_(p, pair(x), sums, s, 0.5, 0.1, 0.1, 1e-3, true);
    return [p, sums, s];
  },
  _fused_rmsprop: (x) => {
    const [p, squares, buffers, averages, s] = [pair(x), zeros(x), zeros(x), zeros(x), steps(x)];
    O._fused_rmsprop_(p, pair(x), squares, buffers, averages, s, 0.5, 0.9, 1e-3, 0.1, 0.9, true, false);
    return [p, squares, buffers, averages, s];
  },
};
