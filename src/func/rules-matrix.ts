/** Matrix products: one product of all examples. */
import * as O from "../../generated/ops.ts";
import { PROCEED } from "../dispatch/seam.ts";
import type { Scalar } from "../tensor/complex.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Call, each, type Rule } from "./call.ts";
import { padded, requireBatched } from "./shapes.ts";

/** The batch in front; what is the same for all examples is taken as it is. */
const operand = ({ level }: Call, t: Tensor): Tensor => (level.has(t) ? level.front(t) : t);

const column = (t: Tensor): Tensor => O.unsqueeze(t, t.ndim);
const row = (t: Tensor): Tensor => O.unsqueeze(t, t.ndim - 1);

/** Sizes that do not fit are refused as for one example. */
function fits(call: Call, ok: boolean): boolean {
  if (!ok) call.operator.run(...call.args.map((x) => x));
  return ok;
}

const last = (t: Tensor): number => t._shape[t.ndim - 1] as number;

const mm: Rule = (call) => {
  const [a, b] = call.args as [Tensor, Tensor];
  fits(call, a.ndim === 2 && b.ndim === 2 && a._shape[1] === b._shape[0] && a.dtype === b.dtype);
  return O.matmul(operand(call, a), operand(call, b));
};

const bmm: Rule = (call) => {
  const [a, b] = call.args as [Tensor, Tensor];
  const [s, o] = [a._shape, b._shape];
  fits(call, a.ndim === 3 && b.ndim === 3 && s[0] === o[0] && s[2] === o[1] && a.dtype === b.dtype);
  return O.matmul(operand(call, a), operand(call, b));
};

const mv: Rule = (call) => {
  const [a, v] = call.args as [Tensor, Tensor];
  fits(call, a.ndim === 2 && v.ndim === 1 && a._shape[1] === v._shape[0] && a.dtype === v.dtype);
  if (!call.level.has(v)) return O.matmul(call.level.front(a), v);
  return O.squeeze_dim(O.matmul(operand(call, a), column(call.level.front(v))), -1);
};

const dot =
  (conjugate: boolean): Rule =>
  (call) => {
    const [a, b] = call.args as [Tensor, Tensor];
    fits(call, a.ndim === 1 && b.ndim === 1 && a._shape[0] === b._shape[0] && a.dtype === b.dtype);
    const left = conjugate && a.dtype.category === 3 ? operand(call, a).conj() : operand(call, a);
    const [x, y] = [row(left), column(operand(call, b))];
    return O.squeeze_dims(O.matmul(x, y), [-2, -1]);
  };

/** `beta * self + alpha * product`, where the operands of the product have a batch in front. */
function added(call: Call, rank: number, product: (a: Tensor, b: Tensor) => [Tensor, Tensor] | null): unknown {
  const { level, args, inplace } = call;
  const [self, a, b, beta, alpha] = args as [Tensor, Tensor, Tensor, Scalar, Scalar];
  if (inplace) requireBatched(call);
  const pair = product(a, b);
  if (pair === null || self.ndim > rank || a.dtype !== b.dtype || self.dtype !== a.dtype) return each(call);
  const [x, y] = pair;
  // An example without a batch is the same for all: its sizes broadcast.
  const base = padded(operand(call, self), level.has(self) ? 1 : 0, 3);
  if (!inplace) return O.baddbmm(base, x, y, beta, alpha);
  return O.baddbmm_(base, x, y, beta, alpha);
}

const addmm: Rule = (call) => {
  const { level, args, inplace } = call;
  const [self, a, b, beta, alpha] = args as [Tensor, Tensor, Tensor, Scalar, Scalar];
  const rows = !inplace && !level.has(self) && !level.has(b) && self.ndim < 2 && a.ndim === 2;
  // With one matrix for all, the examples are rows of one product.
  if (rows && a._shape[1] === b._shape[0]) {
    const all = level.front(a);
    const product = O.addmm(self, O.reshape(all, [level.size * (a._shape[0] as number), last(a)]), b, beta, alpha);
    return O._unsafe_view(product, [level.size, a._shape[0] as number, last(b)]);
  }
  return added(call, 2, () => {
    if (a.ndim !== 2 || b.ndim !== 2 || a._shape[1] !== b._shape[0]) return null;
    return [level.all(a), level.all(b)];
  });
};

/** Batches of matrices: the examples are more of them. */
const baddbmm: Rule = (call) => {
  const { level, args, inplace } = call;
  const [self, a, b, beta, alpha] = args as [Tensor, Tensor, Tensor, Scalar, Scalar];
  if (inplace || self.ndim > 3 || a.ndim !== 3 || b.ndim !== 3 || a._shape[0] !== b._shape[0]) return each(call);
  const sizes = [level.size, a._shape[0] as number, a._shape[1] as number, last(b)] as const;
  const base = O.expand(padded(level.all(self), 1, 4), sizes, false);
  const merged = (t: Tensor) => O.reshape(t, [sizes[0] * sizes[1], t._shape[2] as number, t._shape[3] as number]);
  return O.reshape(O.baddbmm(merged(base), merged(level.all(a)), merged(level.all(b)), beta, alpha), sizes);
};

/** The sum of products is the product of the matrices side by side. */
const addbmm: Rule = (call) => {
  const { level } = call;
  return added(call, 2, (a, b) => {
    const [s, o] = [a._shape as [number, number, number], b._shape as [number, number, number]];
    if (a.ndim !== 3 || b.ndim !== 3 || s[0] !== o[0] || s[2] !== o[1]) return null;
    const left = O.reshape(O.permute(level.all(a), [0, 2, 1, 3]), [level.size, s[1], s[0] * s[2]]);
    return [left, O.reshape(level.all(b), [level.size, o[0] * o[1], o[2]])];
  });
};

const addmv: Rule = (call) => {
  const { level, inplace } = call;
  const [self, a, v, beta, alpha] = call.args as [Tensor, Tensor, Tensor, Scalar, Scalar];
  if (inplace || self.ndim > 1 || a.ndim !== 2 || v.ndim !== 1 || last(a) !== v._shape[0]) return each(call);
  if (a.dtype !== v.dtype || self.dtype !== a.dtype) return each(call);
  const base = column(padded(operand(call, self), level.has(self) ? 1 : 0, level.has(self) ? 2 : 1));
  return O.squeeze_dim(O.baddbmm(padded(base, 0, 3), level.all(a), column(level.all(v)), beta, alpha), -1);
};

const addr: Rule = (call) => {
  const { level, inplace } = call;
  const [self, a, b, beta, alpha] = call.args as [Tensor, Tensor, Tensor, Scalar, Scalar];
  if (inplace || self.ndim > 2 || a.ndim !== 1 || b.ndim !== 1 || a.dtype !== b.dtype || self.dtype !== a.dtype) {
    return each(call);
  }
  if (self.dtype.category < 2) return each(call);
  const base = padded(operand(call, self), level.has(self) ? 1 : 0, 3);
  return O.baddbmm(base, column(level.all(a)), row(level.all(b)), beta, alpha);
};

/** Weights of each example's own: neither their transposes nor the bias become an example's tensors on the way. */
const linear: Rule = (call) => {
  const { level } = call;
  const [input, weight, bias] = call.args as [Tensor, Tensor, Tensor | null];
  if (!level.has(weight) || !multiplies(input, weight, bias)) return PROCEED;
  const columns = O.transpose(level.front(weight), 1, 2);
  if (bias === null) return O.matmul(operand(call, input), columns);
  // A bias that is the same for all broadcasts as it is.
  const base = level.has(bias) ? O.unsqueeze(level.front(bias), 1) : bias;
  return O.baddbmm(base, level.all(input), columns, 1, 1);
};

/** Whether `linear` takes these as matrices and a vector that fit. */
function multiplies(input: Tensor, weight: Tensor, bias: Tensor | null): boolean {
  const matrices = input.ndim === 2 && weight.ndim === 2 && input.dtype === weight.dtype;
  if (!matrices || last(input) !== last(weight)) return false;
  return bias === null || (bias.ndim === 1 && bias._shape[0] === weight._shape[0] && bias.dtype === weight.dtype);
}

/** Of operators written with others, which call those where a rule does not fit. */
export const WHOLE_RULES: Readonly<Record<string, Rule>> = { "nn.functional.linear": linear };

export const MATRIX_RULES: Readonly<Record<string, Rule>> = {
  mm,
  bmm,
  mv,
  dot: dot(false),
  vdot: dot(true),
  addmm,
  addmv,
  addr,
  baddbmm,
  addbmm,
};
