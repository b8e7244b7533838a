// Products of square float32 matrices.
import { matmul, randn } from "zensor";
import { type Case, loop } from "./case.ts";

export const cases: readonly Case[] = [64, 128, 256, 512, 1024].flatMap((n) => [
  {
    name: `matmul ${n}`,
    ours() {
      const [x, y] = [randn(n, n), randn(n, n)];
      return loop(() => matmul(x, y));
    },
  },
  {
    name: `matmul ${n}, out`,
    ours() {
      const [x, y, out] = [randn(n, n), randn(n, n), randn(n, n)];
      return loop(() => matmul(x, y, { out }));
    },
  },
]);
