// vmap over TensorDicts and modules: what Python's tensordict gives for the same programs.
import { expect, test } from "bun:test";
import {
  arange,
  func,
  lazyStack,
  manualSeed,
  nn,
  ones,
  profiler,
  stack,
  type Tensor,
  TensorDict,
  tensordict,
  zeros,
} from "../../src/index.ts";
import { thrown } from "../thrown.ts";

const { vmap } = func;
// biome-ignore lint/suspicious/noExplicitAny: collections of any keys
type Any = any;
const collection = (): Any =>
  new TensorDict({ a: arange(6).view(2, 3).float(), b: { c: ones(2, 3, 4) } }, { batchSize: [2, 3] });
const sizes = (td: Any) => [[...td.batchSize], [...td.get("a").shape], [...td.get("b").batchSize]];
test("the examples' dimension is left out of the batch inside, and put back outside", () => {
  for (const [inDims, outDims, inside, outside] of [
    [0, 0, [3], [2, 3]],
    [1, 0, [2], [3, 2]],
    [-1, 1, [2], [2, 3]],
  ] as const) {
    const seen: unknown[] = [];
    const td = vmap(
      (one: Any) => {
        seen.push(sizes(one));
        return one.clone().set("d", one.get("a").add(1));
      },
      inDims,
      outDims,
    )(collection());
    expect(seen).toEqual([[inside, inside, inside]]);
    expect(sizes(td)).toEqual([outside, outside, outside] as never);
    expect(td.get("d").tolist()).toEqual(td.get("a").add(1).tolist());
  }
});

test("a fresh TensorDict as a result, from examples and from what is the same for all", () => {
  const fresh = vmap((one: Any) => new TensorDict({ x: one.get("a").mul(2), y: ones(3, 5) }, [3]))(collection());
  expect([[...fresh.batchSize], [...fresh.get("x").shape], [...fresh.get("y").shape]]).toEqual([
    [2, 3],
    [2, 3],
    [2, 3, 5],
  ]);
  const same = vmap((_: Tensor) => new TensorDict({ x: ones(3, 5) }, [3]))(ones(2));
  expect([...same.get("x").shape]).toEqual([2, 3, 5]);
});

test("locks, names, chunks, lazy stacks", () => {
  const td = collection();
  expect(thrown(() => vmap((one: Any) => one.set("q", one.get("a")))(td.clone().lock_()))).toContain(
    "Cannot modify locked TensorDict",
  );
  vmap((one: Any) => one.set("q", one.get("a")))(td);
  expect([...td.keys()]).toEqual(["a", "b"]);
  const named = new TensorDict({ a: ones(2, 3) }, { batchSize: [2, 3], names: ["x", "y"] });
  expect([...(vmap((one: Any) => one, 1)(named) as Any).names]).toEqual([null, "x"]);
  const plus = (one: Any) => one.apply((x: Tensor) => x.add(1));
  expect(vmap(plus, { chunkSize: 1 })(td).get("a").tolist()).toEqual(td.get("a").add(1).tolist());
  const lazy = lazyStack([new TensorDict({ a: ones(3) }, [3]), new TensorDict({ a: zeros(3) }, [3])], 0);
  expect(vmap(plus)(lazy).get("a").tolist()).toEqual([
    [2, 2, 2],
    [1, 1, 1],
  ]);
  expect([...(vmap(plus, 1)(lazy) as Any).batchSize]).toEqual([3, 2]);
  expect(thrown(() => vmap((one: Any, _: Tensor) => one)(td, ones(3)))).toContain("got sizes [2, 3]");
});

const layers = () => [0, 1, 2, 3].map(() => new nn.Linear(3, 2));

test("an ensemble runs as one: one product a layer", () => {
  manualSeed(0);
  const modules = layers();
  const params = TensorDict.fromModules(...modules, { asModule: true }) as Any;
  const [module] = modules as [nn.Linear];
  const call = (x: Tensor, p: Any) => {
    using _ = p.toModule(module);
    return module(x);
  };
  const x = arange(15).view(5, 3).float();
  const recorded = profiler.profile(() => vmap(call, [null, 0])(x, params));
  const outermost = recorded.events.filter((e) => e.parent === null).map((e) => e.name);
  expect(outermost.filter((name) => /mm|matmul/.test(name))).toEqual(["aten::baddbmm"]);
  expect(outermost.length).toBeLessThan(6);
  const found = recorded.result;
  const wanted = stack(
    modules.map((m) => m(x)),
    0,
  );
  expect(found.allclose(wanted)).toBe(true);
  found.sum().backward();
  expect([...params.get("weight").grad.shape]).toEqual([4, 2, 3]);
  expect(module.weight.grad).toBe(null);
  const [state] = func.stackModuleState(modules);
  const run = vmap((p: func.ModuleState, y: Tensor) => func.functionalCall(module, p, y), [0, null]);
  expect(run(state, x).allclose(wanted)).toBe(true);
});

test("modules over TensorDicts, and ensembles of them", () => {
  const module = new tensordict.nn.TensorDictModule(new nn.Linear(3, 2), ["i"], ["o"]);
  const all = vmap(module as unknown as (td: Any) => Any)(new TensorDict({ i: ones(4, 5, 3) }, [4]));
  expect([[...all.batchSize], [...all.get("o").shape]]).toEqual([[4], [4, 5, 2]]);
  const ensemble = new tensordict.nn.EnsembleModule(module, 3);
  const recorded = profiler.profile(() => ensemble(new TensorDict({ i: ones(5, 3) }, [5])));
  expect(recorded.events.filter((e) => e.name === "aten::baddbmm").length).toBe(1);
  expect([...(recorded.result as Any).get("o").shape]).toEqual([3, 5, 2]);
});

test("layers, activations, normalization and dropout inside of vmap", () => {
  manualSeed(0);
  const model = new nn.Sequential(
    new nn.Linear(3, 4),
    new nn.LayerNorm(4),
    new nn.ReLU(),
    new nn.Dropout(0.5),
    new nn.Linear(4, 2),
  ) as Any;
  const x = arange(105).view(7, 5, 3).float();
  expect(thrown(() => vmap(model)(x))).toContain("randomness error mode");
  expect([...(vmap(model, { randomness: "different" })(x) as Tensor).shape]).toEqual([7, 5, 2]);
  model.eval();
  expect((vmap(model)(x) as Tensor).allclose(model(x))).toBe(true);
  expect(thrown(() => vmap(new nn.Linear(3, 2) as Any, [0, 0])(x))).toContain(
    "vmap(Linear(in_features=3, out_features=2, bias=True), in_dims=(0, 0), ...)(<inputs>): in_dims is not",
  );
});

test("functionalCall, tied parameters and errors in torch's words", () => {
  const layer = new nn.Linear(3, 2);
  const { functionalCall, stackModuleState } = func;
  const given = { weight: ones(2, 3), bias: zeros(2) };
  expect(functionalCall(layer, given, ones(3)).tolist()).toEqual([3, 3]);
  expect(functionalCall(layer, [{ weight: ones(2, 3) }, { bias: zeros(2) }], [ones(3)]).tolist()).toEqual([3, 3]);
  const before = layer.weight;
  expect(thrown(() => functionalCall(layer, given, ones(7)))).not.toBe("no error");
  expect(layer.weight).toBe(before);
  const tied = new nn.Sequential(new nn.Linear(2, 2), new nn.Linear(2, 2)) as Any;
  tied.at(1).weight = tied.at(0).weight;
  const w = { "0.weight": ones(2, 2), "0.bias": zeros(2), "1.bias": zeros(2) };
  expect(functionalCall(tied, w, ones(2)).tolist()).toEqual([4, 4]);
  const errors: [() => unknown, string][] = [
    [
      () => functionalCall(tied, { "0.weight": ones(2, 2), "1.weight": zeros(2, 2) }, ones(2)),
      "ValueError: functional_call got multiple values for keys ['0.weight', '1.weight'], which are tied. Consider " +
        "using tie_weights=False",
    ],
    [
      () => functionalCall(layer, { weight: ones(2, 3) }, ones(3), null, { strict: true }),
      "RuntimeError: Error(s) in reparametrizing for Linear:\n\tMissing key(s): 'bias'.",
    ],
    [
      () => functionalCall(layer, { ...given, x: ones(1) }, ones(3), null, { strict: true }),
      "RuntimeError: Error(s) in reparametrizing for Linear:\n\tUnexpected key(s): 'x'.",
    ],
    [
      () => functionalCall(layer, [given, { weight: ones(1) }], ones(3)),
      "ValueError: ['weight'] appeared in multiple dictionaries; behavior of functional call is ambiguous",
    ],
    [
      () => functionalCall(layer, 3 as never, ones(3)),
      "ValueError: Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got <class 'int'>",
    ],
    [() => functionalCall(layer, { weight: 3 } as never, ones(3)), "TypeError: 3 is not an instance of torch.Tensor"],
    [() => stackModuleState([]), "RuntimeError: stack_module_state: Expected at least one model, got 0."],
    [
      () => stackModuleState([layer, new nn.Linear(3, 2).eval()]),
      "RuntimeError: stack_module_state: Expected all models to have the same training/eval mode.",
    ],
    [
      () => stackModuleState([layer, new nn.ReLU()]),
      "RuntimeError: stack_module_state: Expected all models to be of the same class.",
    ],
    [
      () => stackModuleState([layer, new nn.Linear(3, 2).requiresGrad_(false)]),
      "RuntimeError: Expected weight from each model to have the same .requires_grad",
    ],
  ];
  for (const [body, wanted] of errors) expect(thrown(body)).toBe(wanted);
});

test("fromModules: parameters, buffers, lazy stacks, what modules share", () => {
  const modules = layers();
  modules[0]!.weight.requiresGrad_(false);
  const params = TensorDict.fromModules(...modules) as Any;
  expect(params.isLocked).toBe(true);
  expect([params.get("weight").requiresGrad, params.get("bias").requiresGrad]).toEqual([false, true]);
  expect(params.get("bias")).toBeInstanceOf(nn.Parameter);
  expect((TensorDict.fromModules(...modules, { lock: false }) as Any).isLocked).toBe(false);
  const lazy = tensordict.fromModules(...modules, { lazyStack: true }) as Any;
  expect(lazy.unbind(0)[1].get("weight")).toBe(modules[1]!.weight);
  expect(thrown(() => tensordict.fromModules(...modules, { lazyStack: true, asModule: true }))).toBe(
    "RuntimeError: Using a LazyStackedTensorDict within a TensorDictParams isn't permitted.",
  );
  expect(thrown(() => tensordict.fromModules())).toBe("RuntimeError: stack expects a non-empty TensorList");
  const shared = new nn.Linear(2, 2);
  const pair = [0, 1].map(() => new nn.Sequential(shared, new nn.Linear(2, 2)));
  const together = tensordict.fromModules(...(pair as Any), { expandIdentical: true }) as Any;
  expect([...together.get(["0", "weight"]).stride()]).toEqual([0, 2, 1]);
  expect([...together.get(["1", "weight"]).stride()]).toEqual([4, 2, 1]);
});
