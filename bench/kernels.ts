// Operators on a million elements and more, where memory and arithmetic decide.
import { add, exp, randn, type Tensor } from "zensor";
import { type Case, loop } from "./case.ts";

const N = 1_000_000;

function unary(name: string, op: (x: Tensor) => Tensor): Case {
  return {
    name,
    ours() {
      const x = randn(N);
      return loop(() => op(x));
    },
  };
}

export const cases: readonly Case[] = [
  {
    name: "add 1e6",
    ours() {
      const [x, y] = [randn(N), randn(N)];
      return loop(() => x.add(y));
    },
  },
  {
    name: "add 1e6, out",
    ours() {
      const [x, y, out] = [randn(N), randn(N), randn(N)];
      return loop(() => add(x, y, { out }));
    },
  },
  unary("exp 1e6", (x) => x.exp()),
  {
    name: "exp 1e6, out",
    ours() {
      const [x, out] = [randn(N), randn(N)];
      return loop(() => exp(x, { out }));
    },
  },
  unary("tanh 1e6", (x) => x.tanh()),
  unary("sum 1e6", (x) => x.sum()),
  {
    name: "softmax 1000x1000",
    ours() {
      const x = randn(1000, 1000);
      return loop(() => x.softmax(1));
    },
  },
  {
    name: "transpose, contiguous 1000x1000",
    ours() {
      const x = randn(1000, 1000);
      return loop(() => x.t().contiguous());
    },
  },
  {
    name: "add a row 1000x1000",
    ours() {
      const [x, row] = [randn(1000, 1000), randn(1000)];
      return loop(() => x.add(row));
    },
  },
  {
    name: "add a row 1000x1000, out",
    ours() {
      const [x, row, out] = [randn(1000, 1000), randn(1000), randn(1000, 1000)];
      return loop(() => add(x, row, { out }));
    },
  },
  {
    name: "add a column 1000x1000",
    ours() {
      const [x, column] = [randn(1000, 1000), randn(1000, 1)];
      return loop(() => x.add(column));
    },
  },
  {
    name: "add a column 1000x1000, out",
    ours() {
      const [x, column, out] = [randn(1000, 1000), randn(1000, 1), randn(1000, 1000)];
      return loop(() => add(x, column, { out }));
    },
  },
  {
    name: "add a transpose 1000x1000",
    ours() {
      const [x, y] = [randn(1000, 1000), randn(1000, 1000).t()];
      return loop(() => x.add(y));
    },
  },
  {
    name: "add 1e7, allocating",
    ours() {
      const [x, y] = [randn(10 * N), randn(10 * N)];
      return loop(() => x.add(y));
    },
  },
  {
    name: "argmax 1e6",
    ours() {
      const x = randn(N);
      return loop(() => x.argmax());
    },
  },
  {
    name: "sort 1e6",
    ours() {
      const x = randn(N);
      return loop(() => x.sort());
    },
  },
];
