/** Several named distributions as one, over TensorDicts. */
import { Distribution, type SampleShape } from "../../distributions/distribution.ts";
import { installChecks, isDict, namedArguments } from "../../tensor/checks.ts";
import { KeyError, NotImplementedError } from "../../tensor/errors.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { TensorDict } from "../classes/tensordict.ts";
import { keyPath, unravelKey } from "../core/keys.ts";
import { entriesOf, isNonTensor, isTensorCollection, type Td } from "../core/state.ts";
import type { NestedKey } from "../core/types.ts";
import { deterministicOf } from "./deterministic.ts";
import { addSuffix, idOf, type Key, keyRepr, keysRepr, keyWords } from "./keys.ts";
import { modes } from "./modes.ts";
import { COMPOSITE, CONSTRUCTORS, STATICS } from "./signatures.ts";

// biome-ignore lint/suspicious/noExplicitAny: components are distributions of any kind
type Any = any;

/** A class of distributions, or a function that makes one of parameters by name. */
export type DistributionMaker = (abstract new (...args: Any[]) => Any) | ((parameters: Any) => Any);

/** Values by key: an object, with objects inside for nested keys, or a Map whose keys may be nested. */
export type ByKey<V> = { readonly [key: string]: V | ByKey<V> } | ReadonlyMap<NestedKey, V>;

/** Options of `CompositeDistribution`. */
export interface CompositeOptions {
  /** Where samples stand, by the names of components; others stand under their names. */
  nameMap?: ByKey<NestedKey> | null;
  /** More arguments by the names of components. */
  extraKwargs?: ByKey<Record<string, unknown>> | null;
  /** Where the sum of all probabilities stands. Default "sample_log_prob". */
  logProbKey?: NestedKey | null;
  /** Where the sum of all entropies stands. Default "entropy". */
  entropyKey?: NestedKey | null;
}

/** Names and values; those that `isValue` says are none are looked into. */
function pairsOf(map: ByKey<Any>, isValue: (value: unknown) => boolean, before: readonly string[] = []): [Key, Any][] {
  if (map instanceof Map) return [...map].map(([key, value]) => [unravelKey(key), value]);
  return Object.entries(map).flatMap(([name, value]): [Key, Any][] => {
    const path = [...before, name];
    return isDict(value) && !isValue(value) ? pairsOf(value as ByKey<Any>, isValue, path) : [[unravelKey(path), value]];
  });
}

/** The value of a name. */
function valueAt(map: ByKey<Any> | null | undefined, name: Key): Any {
  if (map === null || map === undefined) return undefined;
  if (map instanceof Map) return [...map].find(([key]) => idOf(key) === idOf(name))?.[1];
  return keyPath(name).reduce<Any>((at, part) => (isDict(at) ? at[part] : undefined), map);
}

/** Where the samples of each name stand. */
export function sampleKeys(map: ByKey<Any>, nameMap: ByKey<NestedKey> | null | undefined): Key[] {
  return pairsOf(map, () => false).map(([name]) => unravelKey((valueAt(nameMap, name) as NestedKey) ?? name));
}

/** Makes a distribution of parameters by name. */
export function makeDistribution(maker: DistributionMaker, parameters: Record<string, unknown>): Any {
  const isClass = /^class\b/.test(Function.prototype.toString.call(maker));
  return isClass ? new (maker as Any)(parameters) : (maker as Any)(parameters);
}

/** The entries of a TensorDict as arguments. */
function argumentsOf(td: Td): Record<string, unknown> {
  return Object.fromEntries(
    [...entriesOf(td)].map(([name, entry]) => [name, isNonTensor(entry) ? td.at(name) : entry]),
  );
}

/**
 * Distributions by name, which draw and score TensorDicts. `distributionMap` has a class for each name, and `params`
 * its arguments under that name. Samples stand under the names, probabilities under names with "_log_prob".
 * @throws KeyError for a name without parameters
 * @example
 * ```ts
 * const { Categorical, Normal } = distributions;
 * const params = new TensorDict(
 *   { cont: { loc: zeros(3, 4), scale: ones(3, 4) }, nested: { disc: { logits: zeros(3, 10) } } },
 *   [3],
 * );
 * const dist = new tensordict.nn.CompositeDistribution(params, { cont: Normal, nested: { disc: Categorical } });
 * const sample = dist.sample([4]);
 * print(dist.get("cont"), dist.length, dist.logProbKey, dist.entropyKey);
 * print(sample.batchSize, sample.get(["nested", "disc"]).shape);
 * print((dist.logProb(sample) as TensorDict).get(["nested", "disc_log_prob"]).shape);
 * // Normal(loc: torch.Size([3, 4]), scale: torch.Size([3, 4])) 2 sample_log_prob entropy
 * // torch.Size([4, 3]) torch.Size([4, 3])
 * // torch.Size([4, 3])
 * ```
 * @torch tensordict.nn.CompositeDistribution
 */
export class CompositeDistribution extends Distribution<Td, Td | Tensor> {
  /** @internal */ declare _dists: Map<string, readonly [key: Key, dist: Any]>;
  /** @internal */ declare _logProbKey: Key | null;
  /** @internal */ declare _entropyKey: Key | null;

  constructor(params: Td, distributionMap: ByKey<DistributionMaker>, options?: CompositeOptions);
  constructor(options: { params: Td; distributionMap: ByKey<DistributionMaker> } & CompositeOptions);
  constructor(...given: unknown[]) {
    super();
    const o = namedArguments("CompositeDistribution", CONSTRUCTORS.CompositeDistribution, given) as Any;
    const params = o.params as Td;
    const made = pairsOf(o.distributionMap, () => false).map(([name, maker]): [Key, Any] => {
      const own = params.get(name, null);
      if (!isTensorCollection(own)) {
        const there = params.keys({ includeNested: true, leavesOnly: true });
        const view = `_TensorDictKeysView(${keysRepr(there)},\n    include_nested=True,\n    leaves_only=True)`;
        throw new KeyError(`no param ${keyWords(name)} found in params with keys ${view}`);
      }
      const more = valueAt(o.extraKwargs, name) as Record<string, unknown> | undefined;
      return [name, makeDistribution(maker, { ...argumentsOf(own as Td), ...more })];
    });
    this._setDists(params, made, o);
  }
  /**
   * A composite of distributions that are there; only the batch size of `params` is used.
   * @torch tensordict.nn.CompositeDistribution.from_distributions
   */
  static fromDistributions(
    params: Td,
    distributions: ByKey<Distribution<Any, Any>>,
    options?: Omit<CompositeOptions, "extraKwargs">,
  ): CompositeDistribution;
  static fromDistributions(...given: unknown[]): CompositeDistribution {
    const { fromDistributions } = STATICS.CompositeDistribution;
    const o = namedArguments("fromDistributions", fromDistributions, given) as Any;
    const made = Object.create(CompositeDistribution.prototype) as CompositeDistribution;
    made._setDists(
      o.params,
      pairsOf(o.distributions, (value) => value instanceof Distribution),
      o,
    );
    return made;
  }
  /** @internal */
  _setDists(params: Td, dists: readonly (readonly [Key, Any])[], options: CompositeOptions): void {
    this._setShapes(params.batchSize, [], null);
    this._dists = new Map();
    for (const [name, dist] of dists) {
      const key = unravelKey((valueAt(options.nameMap, name) as NestedKey) ?? name);
      this._dists.set(idOf(key), [key, dist]);
    }
    this.logProbKey = options.logProbKey ?? null;
    this.entropyKey = options.entropyKey ?? null;
  }

  /** The component of a sample's key. @throws KeyError for a key that none has */
  get(name: NestedKey): Any {
    const found = this._dists.get(idOf(name));
    if (found === undefined) throw new KeyError(keyRepr(unravelKey(name)));
    return found[1];
  }
  /** Whether there is a component of that key. */
  has(name: NestedKey): boolean {
    return this._dists.has(idOf(name));
  }
  /** The keys of samples. */
  keys(): Key[] {
    return [...this._dists.values()].map(([key]) => key);
  }
  /** The components. */
  values(): Any[] {
    return [...this._dists.values()].map(([, dist]) => dist);
  }
  /** How many components there are. */
  get length(): number {
    return this._dists.size;
  }
  *[Symbol.iterator](): IterableIterator<Key> {
    yield* this.keys();
  }
  /** Where the sum of all probabilities stands; null restores the default. */
  get logProbKey(): Key {
    return this._logProbKey ?? "sample_log_prob";
  }
  set logProbKey(key: NestedKey | null) {
    this._logProbKey = key === null ? null : unravelKey(key);
  }
  /** Where the sum of all entropies stands; null restores the default. */
  get entropyKey(): Key {
    return this._entropyKey ?? "entropy";
  }
  set entropyKey(key: NestedKey | null) {
    this._entropyKey = key === null ? null : unravelKey(key);
  }

  /** @internal Something of each component, under its key. */
  _each(shape: SampleShape, of: (dist: Any) => unknown): Td {
    const sizes = typeof shape === "number" ? [shape] : shape;
    const td: Td = new TensorDict({}, [...sizes, ...this._batchShape]);
    for (const [key, dist] of this._dists.values()) td.set(key, of(dist));
    return td;
  }
  /** A sample of each component. @torch tensordict.nn.CompositeDistribution.sample */
  override sample(sampleShape: SampleShape = []): Td {
    return this._each(sampleShape, (dist) => dist.sample(sampleShape));
  }
  /** A sample of each component, with gradients. @torch tensordict.nn.CompositeDistribution.rsample */
  override rsample(sampleShape: SampleShape = []): Td {
    return this._each(sampleShape, (dist) => dist.rsample(sampleShape));
  }
  override get mode(): Td {
    return this._each([], (dist) => dist.mode);
  }
  override get mean(): Td {
    return this._each([], (dist) => dist.mean);
  }
  /** The deterministic value of each component: its own, its mode or its mean. */
  get deterministicSample(): Td {
    return this._each([], (dist) => deterministicOf(dist, this.constructor.name));
  }
  /** A sample and its probabilities. @torch tensordict.nn.CompositeDistribution.sample_and_log_prob */
  sampleAndLogProb(sampleShape: SampleShape = []): [sample: Td, logProb: Td | Tensor] {
    return this._scored(sampleShape, "sample");
  }
  /**
   * A sample with gradients, and its probabilities.
   * @torch tensordict.nn.CompositeDistribution.rsample_and_log_prob
   */
  rsampleAndLogProb(sampleShape: SampleShape = []): [sample: Td, logProb: Td | Tensor] {
    return this._scored(sampleShape, "rsample");
  }
  private _scored(shape: SampleShape, how: "sample" | "rsample"): [Td, Td | Tensor] {
    const scores: [Key, Tensor][] = [];
    const joint = `${how}AndLogProb`;
    const sample = this._each(shape, () => null);
    for (const [key, dist] of this._dists.values()) {
      const both = typeof dist[joint] === "function" ? dist[joint](shape) : null;
      const value = both === null ? dist[how](shape) : both[0];
      sample.set(key, value);
      scores.push([key, both === null ? dist.logProb(value) : both[1]]);
    }
    const suffixed = scores.map(([key, score]): [Key, Tensor] => [addSuffix(key, "_log_prob"), score]);
    return [sample, modes.aggregate ? this._sum(scores, sample.ndim) : beside(sample, suffixed)];
  }

  /** @internal The sum over all components, and over what is behind the batch. */
  _sum(scores: readonly (readonly [Key, Tensor])[], dims: number): Tensor {
    let sum: Tensor | null = null;
    for (const [, score] of scores) {
      const flat = score.ndim > dims ? score.flatten(dims, -1).sum(-1) : score;
      sum = sum === null ? flat : sum.add(flat);
    }
    return sum as Tensor;
  }
  private _scores(sample: Td, suffix: string, of: (dist: Any, value: Any) => Tensor): [Key, Tensor][] {
    return [...this._dists.values()].map(([key, dist]) => [addSuffix(key, suffix), of(dist, sample.get(key))]);
  }
  /**
   * The probabilities of a sample: a TensorDict with one entry for each component, or the sum of all of them while
   * `compositeLpAggregate()` is true.
   * @torch tensordict.nn.CompositeDistribution.log_prob
   */
  override logProb(sample: Td): Td | Tensor {
    if (!modes.aggregate) return this.logProbComposite(sample);
    return this._sum(
      this._scores(sample, "_log_prob", (dist, value) => dist.logProb(value)),
      sample.ndim,
    );
  }
  /**
   * A TensorDict with the probability of each component, and with their sum where it is asked for.
   * @torch tensordict.nn.CompositeDistribution.log_prob_composite
   */
  logProbComposite(sample: Td, options: { includeSum?: boolean } = {}): Td {
    const scores = this._scores(sample, "_log_prob", (dist, value) => dist.logProb(value));
    const sum: [Key, Tensor][] =
      (options.includeSum ?? modes.aggregate) ? [[this.logProbKey, this._sum(scores, sample.ndim)]] : [];
    const all = [...scores, ...sum];
    if (!modes.aggregate) return beside(sample, all);
    for (const [key, value] of all) sample.set(key, value);
    return sample;
  }
  /**
   * The entropy of each component, or the sum of all of them while `compositeLpAggregate()` is true. A component that
   * has none gets an estimate of so many samples.
   * @torch tensordict.nn.CompositeDistribution.entropy
   */
  override entropy(
    samplesMc: number | { includeSum?: boolean } = 1,
    options: { includeSum?: boolean } = {},
  ): Td | Tensor {
    const samples = typeof samplesMc === "number" ? samplesMc : 1;
    if (!modes.aggregate) return this.entropyComposite(samples, options);
    return this._sum(this._entropies(samples), this._batchShape.length);
  }
  private _entropies(samples: number): [Key, Tensor][] {
    return [...this._dists.values()].map(([key, dist]) => [addSuffix(key, "_entropy"), entropyOf(dist, samples)]);
  }
  /**
   * A TensorDict with the entropy of each component, and with their sum where it is asked for.
   * @torch tensordict.nn.CompositeDistribution.entropy_composite
   */
  entropyComposite(samplesMc = 1, options: { includeSum?: boolean } = {}): Td {
    const entropies = this._entropies(samplesMc);
    const td: Td = new TensorDict({}, [...this._batchShape]);
    for (const [key, value] of entropies) td.set(key, value);
    if (options.includeSum ?? modes.aggregate) {
      td.set(this.entropyKey, this._sum(entropies, this._batchShape.length));
    }
    return td;
  }
  /**
   * Writes `cdf` of each entry beside it, under its name with "_cdf".
   * @torch tensordict.nn.CompositeDistribution.cdf
   */
  override cdf(value: Td): Td {
    const found = this._scores(value, "_cdf", (dist, one) => dist.cdf(one));
    for (const [key, one] of found) value.set(key, one);
    return value;
  }
  /**
   * Writes `icdf` of each entry with "_cdf" under the name with "_icdf".
   * @throws KeyError where neither the entry nor the one with "_cdf" is there
   * @torch tensordict.nn.CompositeDistribution.icdf
   */
  override icdf(value: Td): Td {
    for (const [key, dist] of this._dists.values()) {
      const at = addSuffix(key, "_cdf");
      let probability = value.get(at, null);
      if (probability === null) {
        const one = value.get(key, null);
        if (one === null) {
          throw new KeyError(
            `Neither ${keyWords(key)} nor ${keyWords(at)} could be found in the sampled tensordict. Make sure one of ` +
              "these is available to icdf.",
          );
        }
        probability = dist.cdf(one);
      }
      value.set(addSuffix(key, "_icdf"), dist.icdf(probability));
    }
    return value;
  }
  /** Its components. */
  override toString(): string {
    const parts = [...this._dists.values()].map(([key, dist]) => `${keyRepr(key)}: ${dist}`);
    return `${this.constructor.name}({${parts.join(", ")}})`;
  }
}
installChecks(CompositeDistribution.prototype, COMPOSITE);

/** A TensorDict like a sample, with other entries. */
function beside(sample: Td, entries: readonly (readonly [Key, Tensor])[]): Td {
  const td = sample.empty();
  for (const [key, value] of entries) td.set(key, value);
  return td;
}

function entropyOf(dist: Any, samples: number): Tensor {
  try {
    return dist.entropy();
  } catch (error) {
    if (!(error instanceof NotImplementedError)) throw error;
    return dist
      .logProb(dist.rsample([samples]))
      .mean(0)
      .neg();
  }
}
