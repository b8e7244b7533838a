// What one call costs: operators on ten elements, where the work itself is nothing.
import { add, arange, ones, randn, tensor } from "zensor";
import { type Case, loop } from "./case.ts";

export const cases: readonly Case[] = [
  {
    name: "add",
    ours() {
      const [x, y] = [randn(10), randn(10)];
      return loop(() => x.add(y));
    },
  },
  {
    name: "add_",
    ours() {
      const [x, y] = [randn(10), randn(10)];
      return loop(() => x.add_(y));
    },
  },
  {
    name: "add with out",
    ours() {
      const [x, y, out] = [randn(10), randn(10), randn(10)];
      const options = { out };
      return loop(() => add(x, y, options));
    },
  },
  {
    name: "add a number",
    ours() {
      const x = randn(10);
      return loop(() => x.add(2));
    },
  },
  {
    name: "add, requires grad",
    ours() {
      const [x, y] = [randn(10).requiresGrad_(), randn(10)];
      return loop(() => x.add(y));
    },
  },
  {
    name: "mul, sum, backward",
    ours() {
      const [x, y] = [randn(10).requiresGrad_(), randn(10)];
      return loop(() => x.mul(y).sum().backward());
    },
  },
  {
    name: "add, mixed dtypes",
    ours() {
      const [x, y] = [randn(10), arange(10)];
      return loop(() => x.add(y));
    },
  },
  {
    name: "add, broadcast",
    ours() {
      const [x, y] = [randn(10, 1), randn(1, 10)];
      return loop(() => x.add(y));
    },
  },
  {
    name: "view",
    ours() {
      const x = randn(10);
      return loop(() => x.view(2, 5));
    },
  },
  {
    name: "index",
    ours() {
      const x = randn(10);
      return loop(() => x.at(3));
    },
  },
  {
    name: "slice",
    ours() {
      const x = randn(10);
      return loop(() => x.at("2:7"));
    },
  },
  {
    name: "item",
    ours() {
      const x = tensor(1.5);
      return loop(() => x.item());
    },
  },
  {
    name: "make ones",
    ours: () => loop(() => ones(10)),
  },
];
