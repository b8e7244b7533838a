// Functions whose derivatives scripts/oracle/make_func_cases.py takes with torch, by the same names.
import * as Z from "../../src/index.ts";

type T = Z.Tensor;
const F = Z.nn.functional;

export const FUNCTIONS: Readonly<Record<string, (...args: T[]) => T>> = Object.fromEntries(
  Object.entries({
    sin: (x: T) => x.sin(),
    exp: (x: T) => x.mul(0.5).exp().div(x.square().add(1)),
    product: (x: T) => x.prod(),
    cumsum: (x: T) => x.cumsum(0).mul(x),
    cumprod: (x: T) => x.cumprod(0),
    softmax: (x: T) => x.softmax(-1),
    logSoftmax: (x: T) => x.logSoftmax(0),
    logsumexp: (x: T) => x.logsumexp(0),
    norm: (x: T) => x.norm(),
    variance: (x: T) => x.var(0).add(x.std()),
    largest: (x: T) => x.max().mul(x.amax(0)),
    sorted: (x: T) => x.sort(0).values.square(),
    clamped: (x: T) => x.clamp(-0.5, 0.5).mul(x),
    chosen: (x: T) => Z.where(x.gt(0), x.square(), x.sin()),
    picked: (x: T) =>
      x
        .at(1)
        .mul(x.narrow(0, 0, 2).sum())
        .add(x.at(Z.tensor([0, 1, 0], { dtype: "int64" })).sum()),
    joined: (x: T) => Z.cat([x.square(), Z.stack([x, x.sin()]).sum(0)], 0),
    reversed: (x: T) =>
      x
        .flip(0)
        .unsqueeze(0)
        .expand(2, ...x.shape)
        .mul(x),
    gates: (x: T) =>
      Z.relu(x)
        .add(x.erf())
        .add(Z.sigmoid(x).mul(Z.tanh(x))),
    constant: (_: T) => Z.ones(2, { dtype: "float64" }).mul(3),
    partly: (x: T) => x.detach().mul(x),
    times: (a: T, b: T) => a.mul(b),
    quotient: (a: T, b: T) => a.div(b.square().add(1)),
    powers: (a: T, b: T) => a.square().add(1).pow(b),
    matmul: (a: T, b: T) => (a.ndim === 2 ? a.matmul(b.mT) : a.mul(b.sum())),
    outer: (a: T, b: T) => a.unsqueeze(-1).mul(b.unsqueeze(-2)),
    linear: (a: T, b: T) => F.linear(a, b.reshape(-1, b.shape.at(-1)!)).tanh(),
    layerNorm: (a: T, b: T) => F.layerNorm(a, [a.shape.at(-1)!], b.reshape(-1, b.shape.at(-1)!).at(0)),
    mse: (a: T, b: T) => F.mseLoss(a, b, { reduction: "sum" }).add(F.smoothL1Loss(a, b)),
    largerOf: (a: T, b: T) => Z.maximum(a, b).atan2(a.square().add(1)),
    mixed: (a: T, b: T) => Z.lerp(a, b, 0.25).add(Z.addcmul(a, a, b)),
  }),
) as Readonly<Record<string, (...args: T[]) => T>>;
