// What one call costs: operators on ten elements, where the work itself is nothing.
import { add, arange, ones, randn, type Tensor, tensor } from "zensor";
import { type Case, loop } from "./case.ts";

/** The same call on a tensor that asks for gradients and on one that does not. */
function both(name: string, make: () => Tensor, body: (x: Tensor) => () => unknown): Case[] {
  return [
    { name, ours: () => loop(body(make())) },
    { name: `${name}, requires grad`, ours: () => loop(body(make().requiresGrad_())) },
  ];
}

const ten = () => randn(10);

export const cases: readonly Case[] = [
  ...both("add", ten, (x) => {
    const y = randn(10);
    return () => x.add(y);
  }),
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
  ...both("add a number", ten, (x) => () => x.add(2)),
  ...both("add, mixed dtypes", ten, (x) => {
    const y = arange(10);
    return () => x.add(y);
  }),
  ...both("add, broadcast 10 and 1", ten, (x) => {
    const y = randn(1);
    return () => x.add(y);
  }),
  ...both(
    "add, broadcast 10x1 and 1x10",
    () => randn(10, 1),
    (x) => {
      const y = randn(1, 10);
      return () => x.add(y);
    },
  ),
  {
    name: "mul, sum, backward",
    ours() {
      const [x, y] = [randn(10).requiresGrad_(), randn(10)];
      return loop(() => x.mul(y).sum().backward());
    },
  },
  {
    name: "mul, sum",
    ours() {
      const [x, y] = [randn(10), randn(10)];
      return loop(() => x.mul(y).sum());
    },
  },
  ...both("view", ten, (x) => () => x.view(2, 5)),
  ...both("at(3)", ten, (x) => () => x.at(3)),
  ...both("slice", ten, (x) => () => x.at("2:7")),
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
