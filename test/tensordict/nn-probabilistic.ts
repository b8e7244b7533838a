// Scenes of probabilistic modules, for nn.test.ts.
import {
  arange,
  distributions,
  Generator,
  nn as layers,
  manualSeed,
  ones,
  rand,
  type Tensor,
  TensorDict,
  tensor,
  tensordict,
  zeros,
} from "../../src/index.ts";
import { error, keys, type Show, sorted } from "./nn-scenes.ts";

// biome-ignore lint/suspicious/noExplicitAny: modules are called with all kinds of things
type Any = any;

const { nn } = tensordict;
const D = distributions;
const data = (): Any => new TensorDict({ a: arange(4).reshape(2, 2).float(), b: { c: ones(2, 2) } }, [2]);
const parameters = (): Any => new TensorDict({ loc: arange(6).reshape(3, 2).float(), scale: ones(3, 2).mul(0.5) }, [3]);

function gaussian(options: Any = {}): Any {
  return new nn.ProbabilisticTensorDictModule(["loc", "scale"], ["x"], { distributionClass: D.Normal, ...options });
}

function policy(options: Any = {}): Any {
  return new nn.ProbabilisticTensorDictSequential(
    new nn.TensorDictModule((x: Tensor) => [x, x.abs().add(1)], ["a"], ["loc", "scale"]),
    gaussian({ returnLogProb: true, defaultInteractionType: "random" }),
    options,
  );
}

export const PROBABILISTIC: Record<string, (show: Show) => void> = {
  probabilistic(show) {
    const module = gaussian();
    show(String(module), keys(module.inKeys), keys(module.outKeys), keys(module.distSampleKeys));
    show(keys(module.distParamsKeys), String(module.getDist(parameters())));
    for (const kind of ["mode", "mean", "random", "deterministic", "RANDOM"]) {
      manualSeed(0);
      nn.setInteractionType(kind, () => show(nn.interactionType(), module(parameters())));
    }
    show(nn.interactionType(), module(parameters()).get("x"));
    show(error(() => gaussian({ defaultInteractionType: "what" })));
    show(error(() => gaussian({ defaultInteractionType: "median" })(parameters())));
    manualSeed(0);
    show(gaussian({ defaultInteractionType: nn.InteractionType.RANDOM })(zeros(2), ones(2)));
  },
  probabilistic_scores(show) {
    manualSeed(0);
    const module = gaussian({ returnLogProb: true, defaultInteractionType: "random" });
    const td = module(parameters());
    show(keys(module.outKeys), module.logProbKey, keys(module.logProbKeys), td, module.logProb(td));
    show(module(zeros(2), ones(2)));
    const named = gaussian({ returnLogProb: true, logProbKey: "score" });
    show(keys(named.outKeys), named(parameters()));
    show(error(() => gaussian({ returnLogProb: true, logProbKeys: ["x"] })));
    const samples = gaussian({ numSamples: 2, defaultInteractionType: "random", returnLogProb: true });
    manualSeed(0);
    show(samples(parameters()), gaussian({ numSamples: [2] })(parameters()), String(samples.numSamples));
    const wrong = () => new nn.ProbabilisticTensorDictModule(["loc", "sigma"], ["x"], { distributionClass: D.Uniform });
    show(error(() => wrong()(parameters())).split("\n")[0]);
  },
  probabilistic_parameters(show) {
    const options = { distributionClass: D.Normal, distributionKwargs: { validateArgs: false } };
    const module = new nn.ProbabilisticTensorDictModule({ loc: "mu", scale: ["n", "sigma"] }, ["x"], options);
    const inputs = new TensorDict({ mu: ones(2), n: { sigma: ones(2) } }, [2]);
    show(keys(module.inKeys), sequenceOf(module.distKeys), module(inputs as Any));
    const distributionClass = ({ loc, scale }: Any) => new D.Independent(new D.Normal(loc, scale), 1);
    const made = new nn.ProbabilisticTensorDictModule(["loc", "scale"], ["x"], {
      distributionClass,
      returnLogProb: true,
    });
    show(made(parameters()));
    show(new nn.ProbabilisticTensorDictModule(["param"], ["x"])(new TensorDict({ param: ones(2, 3) }, [2]) as Any));
    const coin = new nn.ProbabilisticTensorDictModule(["logits"], ["x"], {
      distributionClass: nn.OneHotCategorical,
      defaultInteractionType: "random",
      returnLogProb: true,
    });
    manualSeed(0);
    show(coin(new TensorDict({ logits: zeros(2, 3) }, [2]) as Any));
  },
  probabilistic_generators(show) {
    const td: Any = new TensorDict({ loc: zeros(2), scale: ones(2) }, []);
    const module = gaussian({ generator: 7, defaultInteractionType: "random" });
    manualSeed(0);
    show(module(td).get("x"), module(td).get("x"), rand(2));
    const keyed = gaussian({ generator: "seed", defaultInteractionType: "random" });
    td.set("seed", tensor(7, { dtype: "int64" }));
    show(
      keyed(td).get("x"),
      String(td.get("seed").bigint()),
      keyed(td).get("x"),
      error(() => gaussian({ generator: 1.5 })),
    );
    const owned = new Generator().manualSeed(7);
    show(gaussian({ generator: owned, defaultInteractionType: "random" })(td).get("x"));
  },
  probabilistic_sequence(show) {
    const seq = policy();
    manualSeed(0);
    const td = seq(data());
    show(keys(seq.inKeys), keys(seq.outKeys), td, String(seq.getDist(td)), seq.logProb(td), seq.getDistParams(data()));
    show(keys(seq.distSampleKeys), keys(seq.distParamsKeys), seq.logProbKey, keys(seq.logProbKeys));
    show(seq.defaultInteractionType, seq.returnComposite);
    nn.setInteractionType("mode", () => show(seq(data()).get("x")));
    manualSeed(0);
    show(
      seq(ones(2)),
      error(() => new nn.ProbabilisticTensorDictSequential()),
    );
    show(error(() => new nn.ProbabilisticTensorDictSequential(seq.at(0), { returnComposite: false })));
    show(seq.at(":1").constructor.name, seq.at("1:").constructor.name);
    const written = new nn.ProbabilisticTensorDictSequential(
      new nn.TensorDictModule((x: Tensor) => [x, x.add(1), x.mul(0)], ["a"], ["loc", "scale", "x"]),
      gaussian({ returnLogProb: true }),
    );
    show(written(data()));
    for (const inplace of [true, false, "empty"]) {
      const input = data();
      manualSeed(0);
      const out = policy({ inplace })(input);
      show(out === input, sorted(out.keys()), sorted(input.keys()));
    }
    const picked = policy({ selectedOutKeys: ["x"] });
    manualSeed(0);
    show(picked(data()));
  },
  probabilistic_composite(show) {
    const last = { distributionClass: D.Bernoulli, returnLogProb: true, defaultInteractionType: "random" };
    const seq = new nn.ProbabilisticTensorDictSequential(
      new nn.TensorDictModule((x: Tensor) => [x, x.abs().add(1)], ["a"], ["loc", "scale"]),
      gaussian({ returnLogProb: true, defaultInteractionType: "random" }),
      new nn.TensorDictModule((x: Tensor) => x.mul(2), ["x"], ["logits"]),
      new nn.ProbabilisticTensorDictModule(["logits"], ["y"], last),
    );
    manualSeed(0);
    const td = seq(data());
    show(seq.returnComposite, keys(seq.outKeys), td, keys(seq.logProbKeys));
    manualSeed(0);
    const dist = seq.getDist(data());
    show(dist.constructor.name, keys([...dist]), seq.logProb(td));
    const whole = new nn.ProbabilisticTensorDictModule(["params"], null, {
      distributionClass: nn.CompositeDistribution as Any,
      returnLogProb: true,
      defaultInteractionType: "random",
      distributionKwargs: { distributionMap: { u: D.Normal, v: D.Bernoulli } },
    });
    const inner = { u: { loc: zeros(2), scale: ones(2) }, v: { probs: ones(2).mul(0.5) } };
    manualSeed(0);
    const out = whole(new TensorDict({ params: inner }, [2]) as Any);
    show(keys(whole.outKeys), out.select("u", "v", "u_log_prob", "v_log_prob"), whole.logProb(out));
  },
};

PROBABILISTIC.ensemble = (show) => {
  manualSeed(0);
  const linear = () => new nn.TensorDictModule(new layers.Linear(2, 1), ["a"], ["o"]);
  const made: Any = new nn.EnsembleModule(linear(), 3);
  show(
    keys(made.inKeys),
    keys(made.outKeys),
    made.namedParameters().map(([name]: [string]) => name),
  );
  show(made.paramsTd, made(data()));
  made(data()).get("o").sum().backward();
  show(
    made.paramsTd.get(["module", "weight"]).grad,
    error(() => made.resetParametersRecursive()),
  );
  manualSeed(1);
  const split: Any = new nn.EnsembleModule(linear(), 2, false);
  show(split(data()));
};

/** A tuple, as the names of parameters are one in Python. */
const sequenceOf = (list: readonly (string | readonly string[])[]): string => `(${keys(list).slice(1, -1)})`;
