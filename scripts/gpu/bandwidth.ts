// How much of the memory's bandwidth copies, pointwise operators, reductions and softmax reach.
import * as z from "../../src/index.ts";
import { isLate, measured, type Part, type Run } from "./parts.ts";
import type { Body } from "./timing.ts";

const COLUMNS = 1000;
const SIZES = { full: [1e5, 1e6, 1e7, 1e8, 1e9], small: [1e3, 1e4] } as const;

/** Operands of `n` elements, a row of them and a column. */
interface Operands {
  x: z.Tensor;
  y: z.Tensor;
  out: z.Tensor;
  row: z.Tensor;
  column: z.Tensor;
  /** One element for each row, and for each column. */
  rows: z.Tensor;
  columns: z.Tensor;
}

interface Work {
  name: string;
  dtype: "float32" | "bfloat16";
  /** Elements that go through memory, for each of `n`: read and written. */
  traffic: number;
  /** Tensors of `n` elements that have to be there. */
  tensors: number;
  body(o: Operands): Body;
  torch: string;
}

const both = (name: string, traffic: number, tensors: number, body: Work["body"], torch: string): Work[] =>
  (["float32", "bfloat16"] as const).map((dtype) => ({ name, dtype, traffic, tensors, body, torch }));

const one = (...args: Parameters<typeof both>): Work => both(...args)[0] as Work;

/** Those that write into `out` give nothing back. */
const into = (call: (o: Operands) => unknown): Work["body"] => {
  return (o) => () => {
    call(o);
    return undefined;
  };
};

const WORK: readonly Work[] = [
  one(
    "copy",
    2,
    2,
    into((o) => o.out.copy_(o.x)),
    "out.copy_(x)",
  ),
  ...both(
    "add",
    3,
    3,
    into((o) => z.add(o.x, o.y, { out: o.out })),
    "torch.add(x, y, out=out)",
  ),
  one(
    "mul by a number",
    2,
    2,
    into((o) => z.mul(o.x, 2.5, { out: o.out })),
    "torch.mul(x, 2.5, out=out)",
  ),
  one(
    "relu in place",
    2,
    1,
    into((o) => o.x.relu_()),
    "x.relu_()",
  ),
  ...both(
    "exp",
    2,
    2,
    into((o) => z.exp(o.x, { out: o.out })),
    "torch.exp(x, out=out)",
  ),
  one(
    "tanh",
    2,
    2,
    into((o) => z.tanh(o.x, { out: o.out })),
    "torch.tanh(x, out=out)",
  ),
  one("add, fresh result", 3, 3, (o) => () => o.x.add(o.y), "x + y"),
  one(
    "add a row",
    2,
    2,
    into((o) => z.add(o.x, o.row, { out: o.out })),
    "torch.add(x, row, out=out)",
  ),
  one(
    "add a column",
    2,
    2,
    into((o) => z.add(o.x, o.column, { out: o.out })),
    "torch.add(x, column, out=out)",
  ),
  one("transposed copy", 2, 2, (o) => () => o.x.t().contiguous(), "x.t().contiguous()"),
  ...both("sum", 1, 1, (o) => () => o.x.sum(), "x.sum()"),
  one(
    "sum of rows",
    1,
    1,
    into((o) => z.sum(o.x, 1, { out: o.rows } as never)),
    "torch.sum(x, 1, out=rows)",
  ),
  one(
    "sum of columns",
    1,
    1,
    into((o) => z.sum(o.x, 0, { out: o.columns } as never)),
    "torch.sum(x, 0, out=columns)",
  ),
  one("max of rows", 1, 1, (o) => () => o.x.amax(1), "x.amax(1)"),
  one("argmax", 1, 1, (o) => () => o.x.argmax(), "x.argmax()"),
  ...both("softmax of rows", 2, 2, (o) => () => o.x.softmax(1), "x.softmax(1)"),
  one("cumulative sum of rows", 2, 2, (o) => () => o.x.cumsum(1), "x.cumsum(1)"),
];

/** What PyTorch needs for the same; it has as much memory as we left. */
const setup = (rows: number, columns: number, dtype: string): string =>
  `f = dict(device='cuda', dtype=torch.${dtype})
x, y, out = (torch.ones(${rows}, ${columns}, **f) for _ in range(3))
row, column = torch.ones(${columns}, **f), torch.ones(${rows}, 1, **f)
rows, columns = torch.ones(${rows}, **f), torch.ones(${columns}, **f)`;

function operands(rows: number, columns: number, work: Work): Operands {
  const options = { device: "cuda", dtype: work.dtype } as const;
  const full = (wanted: boolean): z.Tensor => (wanted ? z.ones(rows, columns, options) : z.empty(0, options));
  const [x, y, out] = [full(true), full(work.tensors > 2), full(work.tensors > 1)];
  const [row, column] = [z.ones(columns, options), z.ones(rows, 1, options)];
  return { x, y, out, row, column, rows: z.ones(rows, options), columns: z.ones(columns, options) };
}

async function row(run: Run, work: Work, n: number): Promise<void> {
  const columns = run.small ? 100 : COLUMNS;
  const rows = n / columns;
  const itemsize = work.dtype === "float32" ? 4 : 2;
  const described = { name: work.name, dtype: work.dtype, elements: n, bytes: work.traffic * n * itemsize };
  // Half stays free for PyTorch's copies of the operands.
  const needed = work.tensors * n * itemsize;
  const [free] = z.cuda.memGetInfo();
  const beside = run.peers.found.torch !== null && n < 1e9;
  if (needed > (0.9 * free) / (beside ? 2 : 1)) {
    run.results.add("bandwidth", { ...described, note: "not enough memory" });
    return;
  }
  const theirs = beside && !isLate(run) ? await run.peers.torch(setup(rows, columns, work.dtype), work.torch) : null;
  await measured(run, "bandwidth", described, () => {
    const made = operands(rows, columns, work);
    return {
      body: work.body(made),
      theirs,
      dispose() {
        for (const t of Object.values(made) as z.Tensor[]) t.dispose();
        if (n >= 1e8) z.cuda.emptyCache();
      },
    };
  });
}

/** Sizes first, so that a run that ends early has every operator. */
export const bandwidth: Part = async (run) => {
  const sizes = run.small ? SIZES.small : SIZES.full;
  const order = run.small ? sizes : [1e8, 1e6, 1e7, 1e5, 1e9];
  for (const n of order) for (const work of WORK) await row(run, work, n);
  return undefined;
};
