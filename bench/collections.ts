// What calls on dictionaries of small tensors cost, beside tensordict in Python: the work on the bytes is nothing.
import {
  func,
  lazyStack,
  nn,
  randn,
  stack,
  TensorDict,
  type TensorDictBase,
  type TensorDictParams,
  tensordict,
  zeros,
} from "zensor";
import { type Case, loop } from "./case.ts";

const SETUP = "import torch; from tensordict import TensorDict, lazy_stack";
const THREE = "TensorDict({'a': torch.zeros(4, 3), 'b': torch.zeros(4), 'nested': {'c': torch.zeros(4)}}, [4])";

function three(): TensorDictBase {
  return new TensorDict({ a: zeros(4, 3), b: zeros(4), nested: { c: zeros(4) } }, [4]);
}

/** A dictionary of `n` vectors. */
function many(n: number): TensorDictBase {
  return new TensorDict(Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, zeros(3)])), []);
}

/** One statement on a dictionary. */
function on(
  name: string,
  body: (td: TensorDictBase) => unknown,
  statement: string,
  make: () => TensorDictBase = three,
  python = THREE,
): Case {
  return {
    name,
    ours() {
      const td = make();
      return loop(() => body(td));
    },
    python: [`${SETUP}; td = ${python}`, statement],
  };
}

const sixteen = () => Array.from({ length: 16 }, three);
const SIXTEEN = `${SETUP}; tds = [${THREE} for _ in range(16)]`;
const MANY = (n: number) => `TensorDict({f'k{i}': torch.zeros(3) for i in range(${n})}, [])`;

const accesses: Case[] = [
  {
    name: "construction of 3 keys",
    ours() {
      const [a, b, c] = [zeros(4, 3), zeros(4), zeros(4)];
      return loop(() => new TensorDict({ a, b, c }, [4]));
    },
    python: [
      `${SETUP}; a, b, c = torch.zeros(4, 3), torch.zeros(4), torch.zeros(4)`,
      "TensorDict({'a': a, 'b': b, 'c': c}, [4])",
    ],
  },
  on("get", (td) => td.get("a"), "td.get('a')"),
  on("nested get", (td) => td.get(["nested", "c"]), "td.get(('nested', 'c'))"),
  {
    name: "set",
    ours() {
      const [td, value] = [three(), zeros(4)];
      return loop(() => td.set("b", value));
    },
    python: [`${SETUP}; td = ${THREE}; value = torch.zeros(4)`, "td.set('b', value)"],
  },
  {
    name: "update",
    ours() {
      const [td, other] = [three(), three()];
      return loop(() => td.update(other));
    },
    python: [`${SETUP}; td = ${THREE}; other = ${THREE}`, "td.update(other)"],
  },
  on("index", (td) => td.at(1), "td[1]"),
  on("slice", (td) => td.at("1:3"), "td[1:3]"),
  on("unbind", (td) => td.unbind(0), "td.unbind(0)"),
  on("flattenKeys", (td) => td.flattenKeys(), "td.flatten_keys()"),
];

const stacks: Case[] = [
  {
    name: "stack of 16",
    ours() {
      const tds = sixteen();
      return loop(() => stack(tds));
    },
    python: [SIXTEEN, "torch.stack(tds)"],
  },
  {
    name: "lazy stack of 16",
    ours() {
      const tds = sixteen();
      return loop(() => lazyStack(tds));
    },
    python: [SIXTEEN, "lazy_stack(tds)"],
  },
  {
    name: "index of a lazy stack",
    ours() {
      const lazy = lazyStack(sixteen());
      return loop(() => lazy.at(1));
    },
    python: [`${SIXTEEN}; lazy = lazy_stack(tds)`, "lazy[1]"],
  },
  {
    name: "slice of a lazy stack",
    ours() {
      const lazy = lazyStack(sixteen());
      return loop(() => lazy.at("1:5"));
    },
    python: [`${SIXTEEN}; lazy = lazy_stack(tds)`, "lazy[1:5]"],
  },
];

const arithmetic: Case[] = [
  ...[10, 1000].map((n) =>
    on(
      `add 1 to ${n} entries`,
      (td) => td.add(1),
      "td + 1",
      () => many(n),
      MANY(n),
    ),
  ),
  on("clone", (td) => td.clone(), "td.clone()"),
  on("to(dtype)", (td) => td.to("float64"), "td.to(torch.float64)"),
  on("apply", (td) => td.apply((x) => x.add(1)), "td.apply(lambda x: x + 1)"),
  on("sum", (td) => td.sum(), "td.sum()"),
];

const modules: Case[] = [
  {
    name: "TensorDictModule call",
    ours() {
      const module = new tensordict.nn.TensorDictModule(new nn.Linear(3, 4), ["a"], ["out"]);
      const td = three();
      return loop(() => module(td));
    },
    python: [
      `${SETUP}; from tensordict.nn import TensorDictModule; td = ${THREE}
module = TensorDictModule(torch.nn.Linear(3, 4), in_keys=['a'], out_keys=['out'])`,
      "module(td)",
    ],
  },
  {
    name: "vmap of an ensemble of 10",
    ours() {
      const make = () => new nn.Sequential(new nn.Linear(32, 64), new nn.ReLU(), new nn.Linear(64, 8));
      const [frame, x] = [make(), randn(64, 32)];
      const parameters = TensorDict.fromModules(...Array.from({ length: 10 }, make), {
        asModule: true,
      }) as unknown as TensorDictParams;
      const call = func.vmap(
        (p: TensorDictParams) => {
          using _ = p.toModule(frame);
          return frame(x);
        },
        { inDims: [0] },
      );
      return loop(() => call(parameters));
    },
    python: [
      `${SETUP}
def make(): return torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
frame, x = make(), torch.randn(64, 32)
parameters = TensorDict.from_modules(*[make() for _ in range(10)], as_module=True)
def one(p):
    with p.to_module(frame):
        return frame(x)
call = torch.vmap(one, (0,))`,
      "call(parameters)",
    ],
  },
];

export const cases: readonly Case[] = [...accesses, ...stacks, ...arithmetic, ...modules];
