// Scenes of tensordict's modules: what they show is what Python shows (scripts/oracle/make_td_nn_cases.py).
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  arange,
  distributions,
  lazyStack,
  manualSeed,
  nn,
  ones,
  setWarningPolicy,
  type Tensor,
  TensorDict,
  tensor,
  tensordict,
  zeros,
} from "../../src/index.ts";
import { PROBABILISTIC } from "./nn-probabilistic.ts";
import { alike, error, keys, type Show, seen, sorted } from "./nn-scenes.ts";

// biome-ignore lint/suspicious/noExplicitAny: modules are called with all kinds of things
type Any = any;

const file = join(import.meta.dir, "..", "fixtures", "tensordict-nn", "scenes.json");
const wanted: Record<string, string[]> = JSON.parse(readFileSync(file, "utf8"));

const tnn = tensordict.nn;
const D = distributions;
beforeAll(() => setWarningPolicy("never"));
afterAll(() => setWarningPolicy("once"));

const data = (): Any => new TensorDict({ a: arange(4).reshape(2, 2).float(), b: { c: ones(2, 2) } }, [2]);
const plusOne = (x: Tensor) => x.add(1);
const names = (pairs: readonly (readonly [string, unknown])[]) => pairs.map(([name]) => name);

const MODULES: Record<string, (show: Show) => void> = {
  module_linear(show) {
    manualSeed(0);
    const module = new tnn.TensorDictModule(new nn.Linear(2, 3), ["a"], ["out"]);
    show(String(module), keys(module.inKeys), keys(module.outKeys), module(data()));
    show(module(ones(1, 2)), module({ a: ones(1, 2) }), names(module.namedParameters()));
  },
  module_nested_keys(show) {
    const both = (x: Tensor, y: Tensor) => [x.add(y), x.mul(y)];
    const module = new tnn.TensorDictModule(both, ["a", ["b", "c"]], [["n", "s"], "_"]);
    show(keys(module.inKeys), keys(module.outKeys), module(data()), module(ones(1), ones(1)));
    show(
      module(ones(1), { b_c: ones(1) }),
      error(() => module(ones(1), { a: ones(1) })),
    );
  },
  module_by_name(show) {
    const minus = ({ x, y }: { x: Tensor; y: Tensor }) => x.sub(y);
    for (const options of [{}, { outToInMap: true }]) {
      const module = new tnn.TensorDictModule(minus, { y: "a", x: ["b", "c"] }, ["d"], options);
      show(keys(module.inKeys), module(data()));
    }
    const module = new tnn.TensorDictModule(minus, { a: "y", z: "x" }, ["d"], { outToInMap: false });
    show(keys(module.inKeys), module(data().set("z", zeros(2, 2))));
  },
  module_inplace(show) {
    for (const inplace of [true, false, "empty", null] as const) {
      const module = new tnn.TensorDictModule(plusOne, ["a"], ["out"], { inplace });
      const td = data();
      const out = module(td);
      show(inplace, out === td, out, sorted(td.keys()));
    }
    const [td, target] = [data(), new TensorDict({}, [2])];
    const module = new tnn.TensorDictModule(plusOne, ["a"], ["out"]);
    show(module(td, { tensordictOut: target }) === target, target, sorted(td.keys()));
  },
  module_results(show) {
    const call = (fn: (x: Tensor) => unknown, outKeys: string[]) =>
      new tnn.TensorDictModule(fn, ["a"], outKeys)(data());
    show(call((x) => ({ p: x, q: x.mul(2), r: x }), ["q", "p"]));
    show(call((x) => new TensorDict({ p: x }, [2]), ["p"]));
    show(call((x) => new TensorDict({ p: x }, [2]), ["q"]));
    show(error(() => call((x) => [x, x], ["p"])));
    show(error(() => call((x) => x, ["p", "q"])));
    show(call(() => null, []));
  },
  module_methods(show) {
    class Two extends nn.Module {
      part(x: Tensor, { by = 2 }: { by?: number } = {}) {
        return x.div(by);
      }
    }
    show(new tnn.TensorDictModule(new Two(), ["a"], ["h"], { method: "part" })(data()));
    show(new tnn.TensorDictModule(new Two(), ["a"], ["h"], { method: "part", methodKwargs: { by: 4 } })(data()));
  },
  module_errors(show) {
    const make =
      (inKeys: Any, outKeys: Any, options = {}) =>
      () =>
        new tnn.TensorDictModule(plusOne, inKeys, outKeys, options);
    show(
      error(make(1, ["b"])),
      error(make(["a"], 1)),
      error(make(["a"], ["b"], { inplace: "yes" })),
      error(make([1], ["b"])),
    );
    const strict = new tnn.TensorDictModule(new nn.Linear(2, 3), ["zz"], ["out"], { strict: true });
    const lenient = new tnn.TensorDictModule(new nn.Linear(2, 3), ["zz"], ["out"]);
    show(
      error(() => strict(data())),
      error(() => lenient(data())),
    );
    show(error(() => make(["a"], ["b"])()(ones(1), ones(1))));
  },
  select_out_keys(show) {
    const module = new tnn.TensorDictModule((x: Tensor) => [x, x.mul(2), x.mul(3)], ["a"], ["p", ["q", "r"], "s"]);
    show(
      error(() => module.selectOutKeys("zz")),
      error(() => module.selectOutKeys("p", "zz")),
    );
    show(error(() => module.selectOutKeys(["p", "s"])));
    show(module.selectOutKeys("s", "p") === module, keys(module.outKeys), keys(module.outKeysSource), module(data()));
    show(module(ones(1)));
    module.selectOutKeys("s");
    show(keys(module.outKeys), module(data()), module(ones(1)));
    module.resetOutKeys();
    show(keys(module.outKeys), module(data()));
  },
};

function chain(options: Any = {}): Any {
  return new tnn.TensorDictSequential(
    new tnn.TensorDictModule(plusOne, ["a"], ["h"]),
    new tnn.TensorDictModule((x: Tensor, y: Tensor) => [x.mul(y), x], ["h", ["b", "c"]], ["o", ["n", "p"]]),
    new tnn.TensorDictModule((x: Tensor) => x.neg(), ["o"], ["o"]),
    options,
  );
}

const SEQUENCES: Record<string, (show: Show) => void> = {
  sequential(show) {
    const seq = chain();
    show(keys(seq.inKeys), keys(seq.outKeys), seq.length, seq(data()), seq(ones(1), ones(1)));
    const td = data();
    show(seq(td) === td);
    manualSeed(0);
    const layered = new tnn.TensorDictSequential(
      new tnn.TensorDictModule(new nn.Linear(2, 2), ["a"], ["h"]),
      new tnn.TensorDictModule(new nn.ReLU(), ["h"], ["o"]),
    );
    show(String(layered), names(layered.namedParameters()), layered(data()));
    show(String(new tnn.TensorDictSequential({ first: layered.at(0), second: layered.at(1) })));
    show(String(new tnn.TensorDictSequential([layered.at(1)])));
  },
  sequential_inplace(show) {
    for (const inplace of [null, true, false, "empty"]) {
      const td = data();
      const out = chain({ inplace })(td);
      show(inplace, out === td, out, sorted(td.keys()));
    }
    const [td, target] = [data(), new TensorDict({}, [2])];
    show(chain()(td, { tensordictOut: target }) === target, target, sorted(td.keys()));
  },
  sequential_selected(show) {
    let seq = chain({ selectedOutKeys: ["o"] });
    const td = data();
    const out = seq(td);
    show(keys(seq.outKeys), out === td, out, seq(ones(1), ones(1)));
    show(
      error(() => chain({ selectedOutKeys: ["zz"] })),
      error(() => seq.selectOutKeys("zz")),
    );
    seq = chain().selectOutKeys(["n", "p"], "h");
    show(keys(seq.outKeys), seq(data()), keys(seq.resetOutKeys().outKeys));
  },
  sequential_partial(show) {
    const seq = chain({ partialTolerant: true });
    show(seq(new TensorDict({ a: ones(1) }, [])), seq(new TensorDict({ h: ones(1), b: { c: ones(1) } }, [])));
    const parts = [new TensorDict({ a: ones(1) }, []), new TensorDict({ a: ones(1), b: { c: ones(1) } }, [])];
    const out = seq(lazyStack(parts));
    const listed = out.tensordicts.map((one: Any) =>
      one
        .keys({ includeNested: true, leavesOnly: true })
        .map((key: Any) => (Array.isArray(key) ? `('${key.join("', '")}')` : key))
        .sort(),
    );
    // Python sorts its texts of keys, tuples among them.
    show(
      tensordict.isTensorCollection(out) && "tensordicts" in out,
      `[${listed.map((one: string[]) => sortedTexts(one)).join(", ")}]`,
    );
  },
  sequential_parts(show) {
    const seq = chain();
    show(
      keys(seq.selectSubsequence({ outKeys: ["h"] }).outKeys),
      keys(seq.selectSubsequence({ inKeys: ["a"] }).outKeys),
    );
    show(keys(seq.selectSubsequence({ inKeys: ["h", ["b", "c"]] }).inKeys));
    show(error(() => seq.selectSubsequence({ inKeys: ["q"] })));
    show(keys(seq.at("1:").inKeys), keys(seq.at(":1").outKeys), keys(seq.at(-1).inKeys), seq.at(":2").length);
    const nested = new tnn.TensorDictSequential(chain(), new tnn.TensorDictModule(plusOne, ["zz"], ["yy"]));
    show(keys(nested.inKeys), keys(nested.selectSubsequence({ outKeys: ["h"] }).outKeys));
    show(keys(nested.selectSubsequence({ inKeys: ["zz"] }).outKeys));
    seq.setAt(2, new tnn.TensorDictModule(plusOne, ["h"], ["z"]));
    show(keys(seq.outKeys), seq(data()));
    seq.del_(0);
    show(keys(seq.inKeys), keys(seq.outKeys));
    const named = new tnn.TensorDictSequential({ one: chain().at(0), two: chain().at(2) });
    show(keys(named.at("one").outKeys), keys(named.inKeys));
    const picked = chain({ selectedOutKeys: ["h"] });
    show(error(() => picked.del_(0)));
  },
  wrap(show) {
    const module = new tnn.WrapModule((td) => td.select("a"));
    show(module(data()), keys(module.inKeys), keys(module.outKeys));
    const td = data();
    const plus = (one: Any) => new TensorDict({ z: one.get("a").add(1) }, [2]) as Any;
    const inplace = new tnn.WrapModule(plus, { inplace: true, inKeys: ["a"], outKeys: ["z"] });
    show(inplace(td) === td, td);
    const twice = (one: Any) => one.set("y", one.get("a").mul(2));
    show(new tnn.TensorDictSequential(twice, new tnn.TensorDictModule(plusOne, ["y"], ["z"]))(data()));
  },
  skipping(show) {
    let calls = 0;
    const counted = (x: Tensor) => {
      calls++;
      return x.add(1);
    };
    const module = new tnn.TensorDictModule(counted, ["a"], ["o"]);
    const there = () => data().set("o", zeros(2));
    tnn.setSkipExisting(true, () => show(module(data()), module(there()), calls, tnn.skipExisting()));
    tnn.setSkipExisting(["o"], () => show(module(there()), calls));
    tnn.setSkipExisting(["p"], () => show(module(there()), calls));
    const loop = new tnn.TensorDictModule(counted, ["a"], ["a"]);
    {
      using _ = tnn.setSkipExisting(true);
      show(loop(data()), calls);
    }
    show(tnn.skipExisting());
  },
  dispatching(show) {
    class Sum extends tnn.TensorDictModuleBase {
      constructor() {
        super();
        this.inKeys = ["a", ["b", "c"]];
        this.outKeys = ["s", ["n", "p"]];
      }
      override forward = tnn.dispatch({ separator: "." })(function (this: Sum, td: Any) {
        td.set("s", td.get("a").add(td.get(["b", "c"])));
        return td.set(["n", "p"], td.get("a").mul(td.get(["b", "c"])));
      });
    }
    const module: Any = new Sum();
    show(module(ones(2), ones(2)), module({ a: ones(2), "b.c": ones(2) }), module(data()), String(module));
    show(module({ tensordict: data() }));
    const scaled = (td: Any) => td.set("y", td.get("x").mul(td.batchSize.numel()));
    show(
      tnn.dispatch({ source: ["x"], dest: ["y"] })(scaled)(ones(3, 2)),
      error(() => tnn.dispatch((td: Any) => td)(ones(1))),
    );
  },
  as_module(show) {
    const total = tnn.asTensordictModule({ inKeys: ["a", ["b", "c"]], outKeys: "s" })((x, y) => x.add(y));
    show(total(data()), total(ones(1), ones(1)));
  },
  resetting(show) {
    manualSeed(0);
    const inner = new nn.Sequential(new nn.Linear(2, 2), new nn.ReLU(), new nn.Linear(2, 1));
    const module = new tnn.TensorDictModule(inner, ["a"], ["o"]);
    const params: Any = TensorDict.fromModule(module);
    show(module.resetParametersRecursive(params.clone().zero_()), TensorDict.fromModule(module));
    module.resetParametersRecursive();
    show(
      TensorDict.fromModule(module),
      error(() => module.resetParametersRecursive(params.expand(2))),
    );
  },
};

/** As Python prints a sorted list of texts. */
function sortedTexts(list: readonly string[]): string {
  const quoted = list.map((one) => (one.startsWith("(") ? `"${one}"` : `'${one}'`));
  return `[${quoted.join(", ")}]`;
}

function composite(options: Any = {}): Any {
  const params = new TensorDict(
    {
      cont: { loc: arange(12).float().reshape(3, 4).div(10), scale: ones(3, 4) },
      nested: { disc: { logits: arange(6).float().reshape(3, 2) } },
    },
    [3],
  );
  return new tnn.CompositeDistribution(params, { cont: D.Normal, nested: { disc: D.Categorical } }, options);
}

const DISTRIBUTIONS: Record<string, (show: Show) => void> = {
  normal_params(show) {
    const x = tensor([
      [1, -2, 0, 1, -50],
      [0.5, 0.5, 0.5, 30, 3],
    ]);
    const kinds = ["biased_softplus_1.0", "biased_softplus_0.5_0.1", "softplus", "exp", "relu", "none", "expln"];
    for (const kind of [...kinds, "biased_softplus"]) show(new tnn.NormalParamExtractor(kind)(x));
    show(
      new tnn.NormalParamExtractor({ scaleLb: 0.5 })(x, ones(1)),
      error(() => new tnn.NormalParamExtractor("what")),
    );
    show(
      error(() => tnn.mappings("biased_softplus_1_2_3")),
      tnn.invSoftplus(0.7),
      tnn.invSoftplus(tensor([0.1, 3])),
    );
    show(String(new tnn.NormalParamExtractor()));
    const scale = new tnn.AddStateIndependentNormalScale(3);
    show(
      scale(zeros(2, 3), ones(1)),
      names(scale.namedParameters()),
      error(() => scale(zeros(2, 2))),
    );
    show(new tnn.AddStateIndependentNormalScale()(zeros(2)));
    const options = { initValue: 1, scaleMapping: "softplus" };
    show(new tnn.AddStateIndependentNormalScale([2, 1], options)(zeros(3, 2, 1)));
    const buffer = new tnn.AddStateIndependentNormalScale(1, { makeParam: false, scaleLb: 2 });
    show(names(buffer.namedBuffers()), buffer.parameters().length, buffer(zeros(1)));
  },
  composite_distribution(show) {
    const dist = composite();
    manualSeed(0);
    const sample = dist.sample([2]);
    show(String(dist), sample, dist.batchShape, dist.eventShape, dist.length, keys([...dist]));
    show(String(dist.get("cont")), String(dist.get(["nested", "disc"])));
    show(dist.logProb(sample), dist.logProbComposite(sample, { includeSum: true }));
    show(dist.entropy(), dist.entropyComposite({ includeSum: true }));
    tnn.setCompositeLpAggregate(true, () => {
      show(dist.logProb(sample.clone()), dist.entropy());
      const all = dist.logProbComposite(sample.clone()).keys({ includeNested: true, leavesOnly: true });
      show(sortedTexts(all.map((key: Any) => (Array.isArray(key) ? `('${key.join("', '")}')` : key)).sort()));
    });
    show(
      dist.mode,
      dist.deterministicSample,
      error(() => dist.get("zz")),
    );
    const mapped = composite({
      nameMap: { nested: { disc: ["other", "d"] } },
      extraKwargs: { cont: { validateArgs: false } },
    });
    manualSeed(0);
    show(keys([...mapped]), mapped.sample(), mapped.logProbKey, mapped.entropyKey);
    show(error(() => new tnn.CompositeDistribution(data(), { zz: D.Normal })));
    manualSeed(0);
    show(...dist.sampleAndLogProb([2]));
  },
  composite_made(show) {
    const parts = { a: new D.Uniform(zeros(2), ones(2)), b: new D.Uniform(ones(2), ones(2).mul(3)) };
    const empty = () => new TensorDict({}, [2]) as Any;
    const coins = tnn.CompositeDistribution.fromDistributions(empty(), parts, { logProbKey: "lp", entropyKey: "ent" });
    manualSeed(0);
    const sample = coins.rsample();
    show(sample, coins.logProbComposite(sample, { includeSum: true }), coins.entropyComposite(1, { includeSum: true }));
    show(
      coins.cdf(sample) === sample,
      sample,
      coins.icdf(sample),
      error(() => coins.icdf(empty())),
    );
  },
  one_hot(show) {
    const dist = new tnn.OneHotCategorical({
      logits: tensor([
        [0, 2, 1],
        [1, 1, 0.5],
      ]),
    });
    manualSeed(0);
    show(String(dist), dist.sample([2]), dist.mode, dist.deterministicSample);
    show(
      dist.logProb(
        tensor([
          [0, 1, 0],
          [0, 0, 1],
        ]),
      ),
      dist.entropy(),
    );
    const logits = tensor([0, 2, 1], { requiresGrad: true });
    manualSeed(1);
    const out = new tnn.OneHotCategorical({ logits }).rsample([2]);
    out
      .mul(tensor([1, 2, 3]))
      .sum()
      .backward();
    show(out, logits.grad, new tnn.OneHotCategorical({ probs: tensor([[[0.5], [0.5]]]) }).batchShape);
    manualSeed(0);
    show(
      tnn.randOneHot(zeros(4, 3)),
      tnn.randOneHot(
        tensor([
          [0.1, 0.9],
          [0.8, 0.2],
        ]),
        false,
      ),
    );
  },
};

const scenes = { ...MODULES, ...SEQUENCES, ...DISTRIBUTIONS, ...PROBABILISTIC };

for (const [name, play] of Object.entries(scenes)) {
  test(name, () => {
    const shown: string[] = [];
    play((...values) => shown.push(...values.map(seen)));
    const differing = (wanted[name] as string[]).map((text, i) =>
      alike(shown[i] ?? "", text) ? text : (shown[i] ?? "nothing"),
    );
    expect(differing).toEqual(wanted[name] as string[]);
    expect(shown.length).toBe((wanted[name] as string[]).length);
  });
}

test("every scene is played", () => expect(Object.keys(scenes).sort()).toEqual(Object.keys(wanted).sort()));

test("texts that differ in a number or a word do not count as alike", () => {
  expect([alike("a 1.00001", "a 1"), alike("a 1.001", "a 1"), alike("b 1", "a 1"), alike("a 1 2", "a 1")]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
