/** Initial values of parameters, drawn in torch's order. @torch torch.nn.init */
import { emptyLike, randperm } from "../../generated/functional.ts";
import { noGrad } from "../autograd/api.ts";
import type { Generator } from "../dispatch/generator.ts";
import { inOrder } from "../tensor/checks.ts";
import { ValueError, warn } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { FUNCTIONS } from "./signatures.ts";

/** Which side of a layer the variance is kept for. */
export type FanMode = "fan_in" | "fan_out";

const LINEAR = new Set([
  "linear",
  "conv1d",
  "conv2d",
  "conv3d",
  "conv_transpose1d",
  "conv_transpose2d",
  "conv_transpose3d",
  "sigmoid",
]);

/**
 * The gain recommended for a nonlinearity.
 * @example
 * ```ts
 * nn.init.calculateGain("tanh") // 1.6666666666666667
 * ```
 * @torch torch.nn.init.calculate_gain
 */
export function calculateGain(nonlinearity: string, param: number | null = null): number {
  [nonlinearity, param = null] = inOrder<Parameters<typeof calculateGain>>(
    "calculateGain",
    FUNCTIONS.calculateGain,
    arguments,
  );
  if (LINEAR.has(nonlinearity)) return 1;
  switch (nonlinearity) {
    case "tanh":
      return 5 / 3;
    case "relu":
      return Math.sqrt(2);
    case "selu":
      return 3 / 4;
    case "leaky_relu": {
      if (param !== null && typeof param !== "number") {
        const shown = param === true ? "True" : param === false ? "False" : String(param);
        throw new ValueError(`negative_slope ${shown} not a valid number`);
      }
      const slope = param ?? 0.01;
      return Math.sqrt(2 / (1 + slope ** 2));
    }
    default:
      throw new ValueError(`Unsupported nonlinearity ${nonlinearity}`);
  }
}

/**
 * Inputs and outputs of one unit of a layer with this weight.
 * @example
 * ```ts
 * nn.init.calculateFanInAndFanOut(zeros(3, 5)) // [5, 3]
 * ```
 */
export function calculateFanInAndFanOut(tensor: Tensor): [fanIn: number, fanOut: number] {
  [tensor] = inOrder<Parameters<typeof calculateFanInAndFanOut>>(
    "calculateFanInAndFanOut",
    FUNCTIONS.calculateFanInAndFanOut,
    arguments,
  );
  if (tensor.ndim < 2) {
    throw new ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
  }
  let field = 1;
  for (let d = 2; d < tensor.ndim; d++) field *= tensor._shape[d] as number;
  return [(tensor._shape[1] as number) * field, (tensor._shape[0] as number) * field];
}

function fanOf(tensor: Tensor, mode: FanMode): number {
  if (mode !== "fan_in" && mode !== "fan_out") {
    throw new ValueError(`Mode ${String(mode)} not supported, please use one of ['fan_in', 'fan_out']`);
  }
  const [fanIn, fanOut] = calculateFanInAndFanOut(tensor);
  return mode === "fan_in" ? fanIn : fanOut;
}

/**
 * Uniform numbers from [a, b).
 * @example
 * ```ts
 * manualSeed(0);
 * nn.init.uniform_(zeros(2), -1, 1) // tensor([-0.0075,  0.5364])
 * ```
 * @torch torch.nn.init.uniform_
 */
export function uniform_(tensor: Tensor, a = 0, b = 1, generator: Generator | null = null): Tensor {
  [tensor, a = 0, b = 1, generator = null] = inOrder<Parameters<typeof uniform_>>(
    "uniform_",
    FUNCTIONS.uniform_,
    arguments,
  );
  return noGrad(() => tensor.uniform_(a, b, { generator }));
}

/**
 * Normal numbers.
 * @example
 * ```ts
 * manualSeed(0);
 * nn.init.normal_(zeros(2), 10, 1) // tensor([11.5410,  9.7066])
 * ```
 * @torch torch.nn.init.normal_
 */
export function normal_(tensor: Tensor, mean = 0, std = 1, generator: Generator | null = null): Tensor {
  [tensor, mean = 0, std = 1, generator = null] = inOrder<Parameters<typeof normal_>>(
    "normal_",
    FUNCTIONS.normal_,
    arguments,
  );
  return noGrad(() => tensor.normal_(mean, std, { generator }));
}

/**
 * Normal numbers, those outside of [a, b] drawn again.
 * @example
 * ```ts
 * manualSeed(0);
 * nn.init.truncNormal_(zeros(100), 0, 1, -1, 1).abs().max().item() <= 1 // true
 * ```
 * @torch torch.nn.init.trunc_normal_
 */
export function truncNormal_(
  tensor: Tensor,
  mean = 0,
  std = 1,
  a = -2,
  b = 2,
  generator: Generator | null = null,
): Tensor {
  [tensor, mean = 0, std = 1, a = -2, b = 2, generator = null] = inOrder<Parameters<typeof truncNormal_>>(
    "truncNormal_",
    FUNCTIONS.truncNormal_,
    arguments,
  );
  if (mean < a - 2 * std || mean > b + 2 * std) {
    warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.");
  }
  return noGrad(() => {
    if (tensor.isMeta) return tensor;
    const inside = normalCdf((b - mean) / std) - normalCdf((a - mean) / std);
    if (inside > MOSTLY_INSIDE) drawAgain(tensor, mean, std, [a, b], generator);
    else drawBelowDensity(tensor, mean, std, [a, b], generator);
    return tensor;
  });
}

/** Where less of the distribution lies between the bounds, numbers are drawn between them instead. */
const MOSTLY_INSIDE = 0.3;

/** The error function, to eight digits. */
function erf(x: number): number {
  if (Math.abs(x) > 4) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let n = 1; n < 80; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const normalCdf = (x: number): number => (1 + erf(x / Math.SQRT2)) / 2;

type Bounds = readonly [low: number, high: number];

/** Normal numbers, drawn again while they lie outside. */
function drawAgain(t: Tensor, mean: number, std: number, [a, b]: Bounds, generator: Generator | null): void {
  // The bounds as the tensor's dtype has them.
  const [low, high] = [a, b].map((x) => t.newFull([], x).item() as number) as [number, number];
  t.normal_(mean, std, { generator });
  for (;;) {
    const outside = t.lt(low).logicalOr(t.gt(high));
    if (!outside.any().item()) return;
    t.copy_(emptyLike(t).normal_(mean, std, { generator }).where(outside, t));
  }
}

/** Even numbers between the bounds, kept with the probability of the density there. */
function drawBelowDensity(t: Tensor, mean: number, std: number, [a, b]: Bounds, generator: Generator | null): void {
  const peak = -0.5 * ((Math.max(a, Math.min(mean, b)) - mean) / std) ** 2;
  const chance = emptyLike(t);
  const refused = (candidates: Tensor): Tensor => {
    const logDensity = candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak);
    return chance.uniform_(0, 1, { generator }).log_().gt(logDensity);
  };
  t.uniform_(a, b, { generator });
  let pending = refused(t.clone());
  while (pending.any().item()) {
    const candidates = emptyLike(t).uniform_(a, b, { generator });
    t.copy_(candidates.where(pending, t));
    pending = pending.logicalAnd(refused(candidates));
  }
}

/**
 * Fills with one value.
 * @example
 * ```ts
 * nn.init.constant_(zeros(2), 3) // tensor([3., 3.])
 * ```
 * @torch torch.nn.init.constant_
 */
export function constant_(tensor: Tensor, val: number): Tensor {
  [tensor, val] = inOrder<Parameters<typeof constant_>>("constant_", FUNCTIONS.constant_, arguments);
  return noGrad(() => tensor.fill_(val));
}
/**
 * Fills with ones.
 * @example
 * ```ts
 * nn.init.ones_(zeros(2)) // tensor([1., 1.])
 * ```
 * @torch torch.nn.init.ones_
 */
export function ones_(tensor: Tensor): Tensor {
  [tensor] = inOrder<Parameters<typeof ones_>>("ones_", FUNCTIONS.ones_, arguments);
  return constant_(tensor, 1);
}
/**
 * Fills with zeros.
 * @example
 * ```ts
 * nn.init.zeros_(ones(2)) // tensor([0., 0.])
 * ```
 * @torch torch.nn.init.zeros_
 */
export function zeros_(tensor: Tensor): Tensor {
  [tensor] = inOrder<Parameters<typeof zeros_>>("zeros_", FUNCTIONS.zeros_, arguments);
  return noGrad(() => tensor.zero_());
}

/**
 * Ones on the diagonal of a matrix.
 * @example
 * ```ts
 * nn.init.eye_(zeros(2, 2)) // tensor([[1., 0.],
 * //         [0., 1.]])
 * ```
 * @torch torch.nn.init.eye_
 */
export function eye_(tensor: Tensor): Tensor {
  [tensor] = inOrder<Parameters<typeof eye_>>("eye_", FUNCTIONS.eye_, arguments);
  if (tensor.ndim !== 2) throw new ValueError("Only tensors with 2 dimensions are supported");
  return noGrad(() => {
    tensor.zero_();
    tensor.diagonal().fill_(1);
    return tensor;
  });
}

/**
 * Identity filters of a convolution.
 * @example
 * ```ts
 * nn.init.dirac_(zeros(1, 1, 3)) // tensor([[[0., 1., 0.]]])
 * ```
 * @torch torch.nn.init.dirac_
 */
export function dirac_(tensor: Tensor, groups = 1): Tensor {
  [tensor, groups = 1] = inOrder<Parameters<typeof dirac_>>("dirac_", FUNCTIONS.dirac_, arguments);
  const rank = tensor.ndim;
  if (rank < 3 || rank > 5) throw new ValueError("Only tensors with 3, 4, or 5 dimensions are supported");
  const [outs, ins] = tensor._shape as readonly [number, number];
  if (outs % groups !== 0) throw new ValueError("dim 0 must be divisible by groups");
  const each = outs / groups;
  return noGrad(() => {
    tensor.zero_();
    for (let g = 0; g < groups; g++) {
      for (let d = 0; d < Math.min(each, ins); d++) {
        let at = tensor.select(0, g * each + d).select(0, d);
        while (at.ndim > 0) at = at.select(0, Math.floor((at._shape[0] as number) / 2));
        at.fill_(1);
      }
    }
    return tensor;
  });
}

/**
 * Fills from the uniform distribution whose variance is 2 gain² / (fan in + fan out).
 * @example
 * ```ts
 * manualSeed(0);
 * nn.init.xavierUniform_(zeros(1, 2)) // tensor([[-0.0106,  0.7586]])
 * ```
 * @torch torch.nn.init.xavier_uniform_
 */
export function xavierUniform_(tensor: Tensor, gain = 1, generator: Generator | null = null): Tensor {
  [tensor, gain = 1, generator = null] = inOrder<Parameters<typeof xavierUniform_>>(
    "xavierUniform_",
    FUNCTIONS.xavierUniform_,
    arguments,
  );
  const [fanIn, fanOut] = calculateFanInAndFanOut(tensor);
  const std = gain * Math.sqrt(2 / (fanIn + fanOut));
  const bound = Math.sqrt(3) * std;
  return uniform_(tensor, -bound, bound, generator);
}

/**
 * Fills from the normal distribution whose variance is 2 gain² / (fan in + fan out).
 * @example
 * ```ts
 * manualSeed(0);
 * nn.init.xavierNormal_(zeros(1, 2)) // tensor([[ 1.2582, -0.2396]])
 * ```
 * @torch torch.nn.init.xavier_normal_
 */
export function xavierNormal_(tensor: Tensor, gain = 1, generator: Generator | null = null): Tensor {
  [tensor, gain = 1, generator = null] = inOrder<Parameters<typeof xavierNormal_>>(
    "xavierNormal_",
    FUNCTIONS.xavierNormal_,
    arguments,
  );
  const [fanIn, fanOut] = calculateFanInAndFanOut(tensor);
  return normal_(tensor, 0, gain * Math.sqrt(2 / (fanIn + fanOut)), generator);
}

/** Settings of the Kaiming initialisers. */
export interface KaimingOptions {
  /** The slope behind a leaky ReLU, of which the gain follows; 0 by default. */
  a?: number;
  /** The fan that counts; `"fan_in"` by default. */
  mode?: FanMode;
  /** What follows the layer; `"leaky_relu"` by default. */
  nonlinearity?: string;
  /** By default the default generator. */
  generator?: Generator | null;
}

function kaimingStd(tensor: Tensor, o: KaimingOptions): number | null {
  if (tensor._shape.includes(0)) {
    warn("Initializing zero-element tensors is a no-op");
    return null;
  }
  const fan = fanOf(tensor, o.mode ?? "fan_in");
  return calculateGain(o.nonlinearity ?? "leaky_relu", o.a ?? 0) / Math.sqrt(fan);
}

/**
 * Fills from the uniform distribution whose variance is gain² / fan.
 * @example
 * ```ts
 * manualSeed(0);
 * nn.init.kaimingUniform_(zeros(1, 2), { nonlinearity: "relu" }) // tensor([[-0.0130,  0.9291]])
 * ```
 * @torch torch.nn.init.kaiming_uniform_
 */
export function kaimingUniform_(tensor: Tensor, options: KaimingOptions = {}): Tensor {
  [tensor, options = {}] = inOrder<Parameters<typeof kaimingUniform_>>(
    "kaimingUniform_",
    FUNCTIONS.kaimingUniform_,
    arguments,
  );
  const std = kaimingStd(tensor, options);
  if (std === null) return tensor;
  const bound = Math.sqrt(3) * std;
  return uniform_(tensor, -bound, bound, options.generator ?? null);
}

/**
 * Fills from the normal distribution whose variance is gain² / fan.
 * @example
 * ```ts
 * manualSeed(0);
 * nn.init.kaimingNormal_(zeros(1, 2), { mode: "fan_out" }) // tensor([[ 2.1793, -0.4150]])
 * ```
 * @torch torch.nn.init.kaiming_normal_
 */
export function kaimingNormal_(tensor: Tensor, options: KaimingOptions = {}): Tensor {
  [tensor, options = {}] = inOrder<Parameters<typeof kaimingNormal_>>(
    "kaimingNormal_",
    FUNCTIONS.kaimingNormal_,
    arguments,
  );
  const std = kaimingStd(tensor, options);
  return std === null ? tensor : normal_(tensor, 0, std, options.generator ?? null);
}

/**
 * Fills a matrix from a normal distribution of mean 0, with this share of the elements of each column zero.
 * @throws ValueError for tensors of another rank
 * @example
 * ```ts
 * nn.init.sparse_(zeros(4, 2), 0.5).eq(0).sum(0) // tensor([2, 2])
 * ```
 * @torch torch.nn.init.sparse_
 */
export function sparse_(tensor: Tensor, sparsity: number, std = 0.01, generator: Generator | null = null): Tensor {
  [tensor, sparsity, std = 0.01, generator = null] = inOrder<Parameters<typeof sparse_>>(
    "sparse_",
    FUNCTIONS.sparse_,
    arguments,
  );
  if (tensor.ndim !== 2) throw new ValueError("Only tensors with 2 dimensions are supported");
  if (tensor.isMeta) return tensor;
  const [rows, columns] = tensor._shape as [number, number];
  const zeros = Math.ceil(sparsity * rows);
  return noGrad(() => {
    tensor.normal_(0, std, { generator });
    for (let column = 0; column < columns; column++) {
      // As in PyTorch the order of the rows is drawn by the default generator.
      const order = randperm(rows).narrow(0, 0, Math.min(zeros, rows));
      tensor.select(1, column).indexFill_(0, order, 0);
    }
    return tensor;
  });
}
