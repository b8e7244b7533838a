// What the sweep measures: operators with the same work in Python, element types, and layouts of the first operand.
import {
  cat,
  contiguousFormat,
  type DTypeLike,
  lerp,
  logicalAnd,
  manualSeed,
  maximum,
  minimum,
  rand,
  randint,
  randn,
  stack,
  type Tensor,
  where,
} from "zensor";

/** Operands of a row: `x` has the layout, the others are plain. */
export interface Operands {
  x: Tensor;
  /** Numbers from 1 to 6 where they are integers. */
  y: Tensor;
  /** Half true. */
  mask: Tensor;
  /** Random positions along the last dimension and along the first, one for each element. */
  last: Tensor;
  first: Tensor;
  /** Random rows. */
  rows: Tensor;
}

export type Operator = readonly [name: string, ours: (o: Operands) => unknown, python: string];

export const OPERATORS: readonly Operator[] = [
  ["abs", ({ x }) => x.abs(), "x.abs()"],
  ["neg", ({ x }) => x.neg(), "-x"],
  ["square", ({ x }) => x.square(), "x.square()"],
  ["exp", ({ x }) => x.exp(), "x.exp()"],
  ["log", ({ x }) => x.log(), "x.log()"],
  ["log1p", ({ x }) => x.log1p(), "x.log1p()"],
  ["sqrt", ({ x }) => x.sqrt(), "x.sqrt()"],
  ["tanh", ({ x }) => x.tanh(), "x.tanh()"],
  ["sigmoid", ({ x }) => x.sigmoid(), "x.sigmoid()"],
  ["sin", ({ x }) => x.sin(), "x.sin()"],
  ["relu", ({ x }) => x.relu(), "x.relu()"],
  ["clamp", ({ x }) => x.clamp(2, 50), "x.clamp(2, 50)"],
  ["isnan", ({ x }) => x.isnan(), "x.isnan()"],
  ["logicalNot", ({ x }) => x.logicalNot(), "x.logical_not()"],
  ["bitwiseNot", ({ x }) => x.bitwiseNot(), "x.bitwise_not()"],
  ["add a number", ({ x }) => x.add(3), "x + 3"],
  ["mul a number", ({ x }) => x.mul(3), "x * 3"],
  ["pow 3", ({ x }) => x.pow(3), "x ** 3"],
  ["to float32", ({ x }) => x.to("float32", { copy: true }), "x.to(torch.float32, copy=True)"],
  ["to bfloat16", ({ x }) => x.to("bfloat16", { copy: true }), "x.to(torch.bfloat16, copy=True)"],
  ["to int32", ({ x }) => x.to("int32", { copy: true }), "x.to(torch.int32, copy=True)"],
  ["to int64", ({ x }) => x.to("int64", { copy: true }), "x.to(torch.int64, copy=True)"],
  ["to uint8", ({ x }) => x.to("uint8", { copy: true }), "x.to(torch.uint8, copy=True)"],
  ["to bool", ({ x }) => x.to("bool", { copy: true }), "x.to(torch.bool, copy=True)"],
  ["clone", ({ x }) => x.clone(), "x.clone()"],
  [
    "contiguous",
    ({ x }) => x.clone({ memoryFormat: contiguousFormat }),
    "x.clone(memory_format=torch.contiguous_format)",
  ],
  ["add", ({ x, y }) => x.add(y), "x + y"],
  ["sub", ({ x, y }) => x.sub(y), "x - y"],
  ["mul", ({ x, y }) => x.mul(y), "x * y"],
  ["div", ({ x, y }) => x.div(y), "x / y"],
  ["floorDivide", ({ x, y }) => x.floorDivide(y), "x // y"],
  ["remainder", ({ x, y }) => x.remainder(y), "x % y"],
  ["maximum", ({ x, y }) => maximum(x, y), "torch.maximum(x, y)"],
  ["minimum", ({ x, y }) => minimum(x, y), "torch.minimum(x, y)"],
  ["eq", ({ x, y }) => x.eq(y), "x == y"],
  ["lt", ({ x, y }) => x.lt(y), "x < y"],
  ["logicalAnd", ({ x, y }) => logicalAnd(x, y), "torch.logical_and(x, y)"],
  ["bitwiseAnd", ({ x, y }) => x.bitwiseAnd(y), "x & y"],
  ["atan2", ({ x, y }) => x.atan2(y), "x.atan2(y)"],
  ["lerp", ({ x, y }) => lerp(x, y, 0.3), "torch.lerp(x, y, 0.3)"],
  ["addcmul", ({ x, y }) => x.addcmul(y, y), "x.addcmul(y, y)"],
  ["where", ({ x, y, mask }) => where(mask, x, y), "torch.where(mask, x, y)"],
  ["maskedFill", ({ x, mask }) => x.maskedFill(mask, 1), "x.masked_fill(mask, 1)"],
  ["sum", ({ x }) => x.sum(), "x.sum()"],
  ["sum 0", ({ x }) => x.sum(0), "x.sum(0)"],
  ["sum 1", ({ x }) => x.sum(1), "x.sum(1)"],
  ["mean 1", ({ x }) => x.mean(1), "x.mean(1)"],
  ["var 1", ({ x }) => x.var(1), "x.var(1)"],
  ["prod 1", ({ x }) => x.prod(1), "x.prod(1)"],
  ["max", ({ x }) => x.max(), "x.max()"],
  ["min", ({ x }) => x.min(), "x.min()"],
  ["amax 0", ({ x }) => x.amax(0), "x.amax(0)"],
  ["max 1", ({ x }) => x.max(1), "x.max(1)"],
  ["argmax", ({ x }) => x.argmax(), "x.argmax()"],
  ["all", ({ x }) => x.all(), "x.all()"],
  ["any 1", ({ x }) => x.any(1), "x.any(1)"],
  ["cumsum 0", ({ x }) => x.cumsum(0), "x.cumsum(0)"],
  ["cumsum 1", ({ x }) => x.cumsum(1), "x.cumsum(1)"],
  ["cumprod 1", ({ x }) => x.cumprod(1), "x.cumprod(1)"],
  ["softmax 0", ({ x }) => x.softmax(0), "x.softmax(0)"],
  ["softmax 1", ({ x }) => x.softmax(1), "x.softmax(1)"],
  ["logSoftmax 1", ({ x }) => x.logSoftmax(1), "x.log_softmax(1)"],
  ["gather 1", ({ x, last }) => x.gather(1, last), "x.gather(1, last)"],
  ["gather 0", ({ x, first }) => x.gather(0, first), "x.gather(0, first)"],
  ["indexSelect 0", ({ x, rows }) => x.indexSelect(0, rows), "x.index_select(0, rows)"],
  ["indexSelect 1", ({ x, rows }) => x.indexSelect(1, rows), "x.index_select(1, rows)"],
  ["scatterAdd 1", ({ x, y, last }) => x.scatterAdd(1, last, y), "x.scatter_add(1, last, y)"],
  ["cat 1", ({ x }) => cat([x, x], 1), "torch.cat([x, x], 1)"],
  ["stack 0", ({ x }) => stack([x, x]), "torch.stack([x, x])"],
  ["flip 1", ({ x }) => x.flip(1), "x.flip(1)"],
  ["sort 1", ({ x }) => x.sort(1), "x.sort(1)"],
  ["topk 1", ({ x }) => x.topk(5), "x.topk(5)"],
];

export const DTYPES = ["float32", "float64", "bfloat16", "int32", "int64", "uint8", "bool"] as const;
export const LAYOUTS = ["contiguous", "transposed", "every second column", "broadcast"] as const;

/** Rows and columns. */
export const SIZES = [1000, 32] as const;

type Layout = (typeof LAYOUTS)[number];

/** The shape that holds `x`, and how `x` is seen in it. */
function laid(layout: Layout, n: number): { shape: [number, number]; view(x: Tensor): Tensor; python: string } {
  switch (layout) {
    case "contiguous":
      return { shape: [n, n], view: (x) => x, python: "" };
    case "transposed":
      return { shape: [n, n], view: (x) => x.t(), python: ".t()" };
    case "every second column":
      return { shape: [n, 2 * n], view: (x) => x.slice(1, 0, 2 * n, 2), python: "[:, ::2]" };
    case "broadcast":
      return { shape: [1, n], view: (x) => x.expand(n, n), python: `.expand(${n}, ${n})` };
  }
}

/** Makes operands of one kind. */
export function operands(dtype: string, layout: Layout, n: number): Operands {
  const { shape, view } = laid(layout, n);
  manualSeed(1);
  return {
    x: view(values(dtype, shape, 100)),
    y: values(dtype, [n, n], 7),
    mask: rand([n, n]).gt(0.5),
    last: randint(0, n, [n, n]),
    first: randint(0, n, [n, n]),
    rows: randint(0, n, [n]),
  };
}

function values(dtype: string, shape: number[], below: number): Tensor {
  if (dtype === "bool") return rand(shape).gt(0.5);
  if (/int/.test(dtype)) return randint(1, below, shape, { dtype: dtype as DTypeLike });
  return randn(shape).to(dtype as DTypeLike);
}

/** The same in Python. */
export function pythonSetup(dtype: string, layout: Layout, n: number): string {
  const { shape, python } = laid(layout, n);
  const make = (size: string, below: number) => {
    if (dtype === "bool") return `(torch.rand(${size}) > 0.5)`;
    if (/int/.test(dtype)) return `torch.randint(1, ${below}, (${size}), dtype=torch.${dtype})`;
    return `torch.randn(${size}).to(torch.${dtype})`;
  };
  const square = `${n}, ${n}`;
  return [
    "torch.manual_seed(1)",
    `x = ${make(shape.join(", "), 100)}${python}`,
    `y = ${make(square, 7)}`,
    `mask = torch.rand(${square}) > 0.5`,
    `last, first = torch.randint(0, ${n}, (${square})), torch.randint(0, ${n}, (${square}))`,
    `rows = torch.randint(0, ${n}, (${n},))`,
  ].join("\n");
}
