/** Sequences of modules that end in distributions. */

import type { Distribution } from "../../distributions/distribution.ts";
import { installChecks } from "../../tensor/checks.ts";
import { AttributeError, RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { isTensorCollection, type Td } from "../core/state.ts";
import { CompositeDistribution } from "./composite.ts";
import { callDispatched } from "./dispatch.ts";
import { drawn } from "./drawing.ts";
import { hasKey, includes, type Key, keysRepr, renameEntries } from "./keys.ts";
import { type InteractionType, modes, setInteractionType } from "./modes.ts";
import { type ForwardOptions, optionsOf } from "./module.ts";
import { type TensorDictModuleBase, unlessThere } from "./module-base.ts";
import { ProbabilisticTensorDictModule } from "./probabilistic.ts";
import {
  keysOfChain,
  type SequentialArguments,
  type SequentialOptions,
  type Steps,
  stepsOf,
  TensorDictSequential,
} from "./sequential.ts";
import { PROBABILISTIC, PROBABILISTIC_SEQUENTIAL, PROBABILISTIC_STEPS } from "./signatures.ts";

// biome-ignore lint/suspicious/noExplicitAny: distributions of any kind
type Any = any;

/** Options of `ProbabilisticTensorDictSequential`. */
export interface ProbabilisticSequentialOptions extends SequentialOptions {
  /** Whether all distributions make one composite. Default: where there are several, or the last module has none. */
  returnComposite?: boolean;
}

type Probabilistic = ProbabilisticTensorDictModule | ProbabilisticTensorDictSequential;

const isProbabilistic = (module: unknown): module is Probabilistic =>
  module instanceof ProbabilisticTensorDictModule || module instanceof ProbabilisticTensorDictSequential;

/**
 * Modules one after the other, the last of which makes a distribution of what the others have written. It writes what
 * the distribution gives; `getDist` gives the distribution itself.
 * @throws ValueError for no modules, TypeError for a last module that makes no distribution where there has to be one
 * @example
 * ```ts
 * const { NormalParamExtractor, ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential } = tensordict.nn;
 * manualSeed(0);
 * const network = new nn.Sequential(new nn.Linear(3, 4), new NormalParamExtractor());
 * const policy = new ProbabilisticTensorDictSequential(
 *   new tensordict.nn.TensorDictModule(network, ["observation"], ["loc", "scale"]),
 *   new ProbabilisticTensorDictModule(["loc", "scale"], ["action"], {
 *     distributionClass: distributions.Normal,
 *     defaultInteractionType: "random",
 *     returnLogProb: true,
 *   }),
 * );
 * const td = policy(new TensorDict({ observation: ones(2, 3) }, [2]));
 * print(td.get("action").shape, policy.getDist(td), equal(policy.logProb(td) as Tensor, td.get("action_log_prob")));
 * print(policy.distSampleKeys, policy.distParamsKeys, policy.logProbKey, policy.logProbKeys);
 * print(policy.defaultInteractionType, policy.returnComposite, policy.numSamples);
 * // torch.Size([2, 2]) Normal(loc: torch.Size([2, 2]), scale: torch.Size([2, 2])) True
 * // ('action',) ('loc', 'scale') action_log_prob ('action_log_prob',)
 * // random False ()
 * ```
 * @torch tensordict.nn.ProbabilisticTensorDictSequential
 */
export class ProbabilisticTensorDictSequential extends TensorDictSequential {
  /** Whether the distributions of all modules make one composite. */
  declare returnComposite: boolean;
  /** @internal All modules but the last, made when it is needed. */
  declare _parts: TensorDictSequential | undefined;

  constructor(...modules: (SequentialArguments | ProbabilisticSequentialOptions)[]);
  constructor(...given: unknown[]) {
    super();
    const name = "ProbabilisticTensorDictSequential";
    const steps = stepsOf<ProbabilisticSequentialOptions>(name, PROBABILISTIC_SEQUENTIAL, given);
    this._setSteps(steps);
    const several = steps.modules.filter((one) => one instanceof ProbabilisticTensorDictModule).length > 1;
    const wanted = steps.options.returnComposite;
    requireDistribution(steps.modules, wanted ?? true);
    this.returnComposite = wanted ?? (several || !isProbabilistic(steps.modules.at(-1)));
    if (!steps.modules.some(isProbabilistic)) this.returnComposite = true;
  }
  /** @internal */
  override _setSteps(steps: Steps<SequentialOptions>): void {
    super._setSteps(steps);
    this._keep(undefined);
  }
  /** Enumerable properties that are modules become children. */
  private _keep(parts: TensorDictSequential | undefined): void {
    Object.defineProperty(this, "_parts", { value: parts, writable: true, configurable: true, enumerable: false });
  }
  private get _before(): TensorDictSequential {
    if (this._parts !== undefined) return this._parts;
    const parts = new TensorDictSequential(...this._list().slice(0, -1));
    this._keep(parts);
    return parts;
  }
  /** @internal Whether the last module has to draw: the others have not written its sample. */
  get _requiresSample(): boolean {
    const list = this._list();
    if (!list.some(isProbabilistic)) return false;
    const last = list.at(-1);
    const [, written] = keysOfChain(list.slice(0, -1));
    return !isProbabilistic(last) || last.distSampleKeys.some((key) => !includes(written, key));
  }
  /** @internal */
  override _checkSteps(modules: readonly TensorDictModuleBase[]): void {
    super._checkSteps(modules);
    requireDistribution(modules, this.returnComposite);
  }
  /** @internal */
  override _refresh(): void {
    super._refresh();
    this._keep(undefined);
  }
  /** @internal */
  override _made(names: string[] | null, modules: TensorDictModuleBase[]): TensorDictSequential {
    const last = modules.at(-1);
    const stays = isProbabilistic(last) || (this.returnComposite && modules.some(isProbabilistic));
    const steps: Any = names === null ? modules : new Map(names.map((name, i) => [name, modules[i]]));
    if (!stays) return new TensorDictSequential(steps);
    return new ProbabilisticTensorDictSequential(steps, { returnComposite: this.returnComposite });
  }

  private _collected(of: (module: Probabilistic) => readonly Key[]): Key[] {
    return [...this._list()].reverse().flatMap((module) => (isProbabilistic(module) ? of(module) : []));
  }
  /** Where probabilities are written, those of the last module first. */
  get logProbKeys(): Key[] {
    return this._collected((module) => module.logProbKeys);
  }
  /** Where the only probability is written. @throws AttributeError where there are several */
  get logProbKey(): Key {
    const keys = this.logProbKeys;
    if (keys.length === 1) return keys[0] as Key;
    throw new AttributeError(
      `log_prob_key needs exactly one log-probability key, got ${keysRepr(keys)}. Use log_prob_keys instead.`,
    );
  }
  /** The entries that are parameters of distributions. */
  get distParamsKeys(): Key[] {
    return this._collected((module) => module.distParamsKeys);
  }
  /** The entries that are drawn. */
  get distSampleKeys(): Key[] {
    return this._collected((module) => module.distSampleKeys);
  }
  /** How many samples are drawn, by all modules together. */
  get numSamples(): readonly number[] {
    const sizes: number[] = [];
    for (const module of this._list()) if (isProbabilistic(module)) sizes.unshift(...(module.numSamples ?? []));
    return sizes;
  }
  /** What the last module takes from its distribution. */
  get defaultInteractionType(): InteractionType | null {
    for (const module of [...this._list()].reverse()) {
      if (isProbabilistic(module)) return module.defaultInteractionType;
    }
    return modes.interaction;
  }

  /**
   * Runs all modules but the last: what the distribution is made of.
   * @torch tensordict.nn.ProbabilisticTensorDictSequential.get_dist_params
   */
  getDistParams(tensordict: Td, tensordictOut: Td | null = null): Td {
    const type = this.defaultInteractionType;
    if (modes.interaction === null && type === null) {
      throw new ValueError("Could not find a default interaction in the modules.");
    }
    return setInteractionType(modes.interaction ?? type, () => this._before(tensordict, { tensordictOut }));
  }
  /**
   * The distribution of the last module, or a composite of those of all modules.
   * @throws RuntimeError where no module makes one
   * @torch tensordict.nn.ProbabilisticTensorDictSequential.get_dist
   */
  getDist(tensordict: Td): Any {
    if (!this.returnComposite) return this.buildDistFromParams(this.getDistParams(tensordict));
    let at: Td = tensordict.copy();
    const dists = new Map<Key, Any>();
    for (const [i, module] of this._list().entries()) {
      if (!isProbabilistic(module)) {
        at = module(at);
        continue;
      }
      const dist = module.getDist(at);
      if (i < this.length - 1) at = this._withSample(module, dist, at);
      if (dist instanceof CompositeDistribution) for (const key of dist.keys()) dists.set(key, dist.get(key));
      else dists.set(module.distSampleKeys[0] as Key, dist);
    }
    if (dists.size === 0) throw new RuntimeError(`No distribution module found in ${this}.`);
    return CompositeDistribution.fromDistributions(at, dists as Map<Any, Any>);
  }
  /** What comes behind a module sees its sample. */
  private _withSample(module: Probabilistic, dist: Any, td: Td): Td {
    let sample: Any;
    if (module instanceof ProbabilisticTensorDictModule) {
      const { generator, done } = module._source(td);
      sample = module._drawn(dist, generator);
      done();
    } else {
      const type = modes.interaction ?? module.defaultInteractionType ?? "deterministic";
      sample = drawn(dist, type, module, null);
    }
    const samples = module.numSamples ?? [];
    const target = samples.length > 0 ? td.expand([...samples, ...td.batchSize]) : td;
    if (isTensorCollection(sample)) return target.update(sample as Td);
    const values = Array.isArray(sample) ? sample : [sample];
    for (const [i, value] of values.entries()) target.set(module.distSampleKeys[i] as Key, value);
    return target;
  }
  /**
   * The distribution of what `getDistParams` gave.
   * @torch tensordict.nn.ProbabilisticTensorDictSequential.build_dist_from_params
   */
  buildDistFromParams(tensordict: Td): Any {
    const last = this.modules().findLast((module) => module instanceof ProbabilisticTensorDictModule);
    if (last !== undefined) return (last as ProbabilisticTensorDictModule).getDist(tensordict);
    throw new RuntimeError("Could not find any ProbabilisticTensorDictModule in the sequence.");
  }
  /**
   * The probability of the sample in a TensorDict: a tensor, or one entry for each distribution.
   * @torch tensordict.nn.ProbabilisticTensorDictSequential.log_prob
   */
  logProb(tensordict: Td, options: { dist?: Distribution<Any, Any> } = {}): Td | Tensor {
    const dist: Any = options.dist ?? this.getDist(tensordict);
    if (!this.returnComposite || !(dist instanceof CompositeDistribution)) {
      return (this._list().at(-1) as Probabilistic).logProb(tensordict, { dist });
    }
    const scores = dist.logProb(tensordict);
    if (scores instanceof Tensor) return scores;
    const renames = this._allRenames().filter(([before]) => hasKey(scores, before));
    if (renames.length > 0) renameEntries(scores, renames);
    return scores;
  }
  private _allRenames(): [before: Key, after: Key][] {
    return this._list().flatMap((module) => {
      if (module instanceof ProbabilisticTensorDictModule) return module._renames;
      return module instanceof ProbabilisticTensorDictSequential ? module._allRenames() : [];
    });
  }

  /** Writes what all modules give, or gives it for tensors. */
  override forward(tensordict: Td, options?: ForwardOptions): Td;
  override forward(...inputs: Any[]): Any;
  override forward(...given: Any[]): Any {
    return callDispatched(this, given, { autoBatchSize: false }, (td, rest) =>
      unlessThere(this, td, () => this._forward(td, rest)),
    );
  }
  /** @internal */
  override _forward(td: Td, rest: readonly unknown[]): Td {
    const [[positional = null], { tensordictOut = null, _requiresSample = true, ...named }] = optionsOf(rest);
    const [unknown] = Object.keys(named);
    if (unknown !== undefined) {
      throw new TypeError(`${this.constructor.name}.forward() got an unexpected keyword argument '${unknown}'`);
    }
    const out = tensordictOut ?? (positional as Td | null);
    const sample = _requiresSample === true && this._requiresSample;
    const at = this._working(td, out);
    if (!this.returnComposite) {
      const last = this._list().at(-1) as TensorDictModuleBase;
      return this._result(td, last(this.getDistParams(at), { _requiresSample: sample }), out);
    }
    return this._result(td, this._each(at, sample), out);
  }
  private _each(td: Td, sample: boolean): Td {
    const list = this._list();
    return list.reduce((at, module, i) => {
      try {
        // Only the last one may keep a sample that the others have written.
        const options = { _requiresSample: i === list.length - 1 ? sample : true };
        return isProbabilistic(module) ? module(at, options) : module(at);
      } catch (error) {
        const place = this._names()?.[i] ?? i;
        throw new RuntimeError(`Failed while executing module '${place}'. Scroll up for more info.`, { cause: error });
      }
    }, td);
  }
}
installChecks(ProbabilisticTensorDictSequential.prototype, { ...PROBABILISTIC, ...PROBABILISTIC_STEPS });

/** @throws ValueError for no modules, TypeError where the last one has to make a distribution and does not */
function requireDistribution(modules: readonly unknown[], composite: boolean): void {
  if (modules.length === 0) {
    throw new ValueError(
      "ProbabilisticTensorDictSequential must consist of zero or more TensorDictModules followed by a " +
        "ProbabilisticTensorDictModule",
    );
  }
  if (composite || isProbabilistic(modules.at(-1))) return;
  throw new TypeError(
    "The final module passed to ProbabilisticTensorDictSequential must be an instance of " +
      "ProbabilisticTensorDictModule or another ProbabilisticTensorDictSequential (unless return_composite is set to " +
      "``True``).",
  );
}
