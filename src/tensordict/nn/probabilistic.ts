/** A module that makes a distribution of entries and writes what it gives. */
import { randint } from "../../../generated/functional.ts";
import { Generator } from "../../dispatch/generator.ts";
import { Delta } from "../../distributions/delta.ts";
import type { Distribution } from "../../distributions/distribution.ts";
import { installChecks, isDict, namedArguments } from "../../tensor/checks.ts";
import { KeyError, RuntimeError, TypeError, ValueError, warn } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { typeName } from "../../tensor/type-name.ts";
import { pythonRepr } from "../core/python-repr.ts";
import { isNonTensor, isTensorCollection, type Td } from "../core/state.ts";
import type { NestedKey } from "../core/types.ts";
import { CompositeDistribution, type DistributionMaker, makeDistribution, sampleKeys } from "./composite.ts";
import { callDispatched } from "./dispatch.ts";
import { classText, drawingFrom, drawn } from "./drawing.ts";
import { addSuffix, idOf, includes, indent, type Key, type KeyList, keyRepr, keysRepr, renameEntries } from "./keys.ts";
import { type InteractionType, interactionOf, modes, setCompositeLpAggregate } from "./modes.ts";
import { type ForwardOptions, optionsOf } from "./module.ts";
import { inKeysOf, outKeysOf, TensorDictModuleBase, unlessThere } from "./module-base.ts";
import { OneHotCategorical } from "./one-hot.ts";
import { CONSTRUCTORS, METHODS, PROBABILISTIC } from "./signatures.ts";

// biome-ignore lint/suspicious/noExplicitAny: distributions of any kind
type Any = any;

/** Where a module draws from: a generator, a seed, or the key of an entry that holds one. */
export type GeneratorLike = Generator | number | NestedKey | null;

/** Options of `ProbabilisticTensorDictModule`. */
export interface ProbabilisticOptions {
  /** What is taken from the distribution unless `setInteractionType` says so. Default "deterministic". */
  defaultInteractionType?: InteractionType | string;
  /** The class, a function that makes a distribution of named parameters, or a name. Default `Delta`. */
  distributionClass?: DistributionMaker | "delta" | "onehotcategorical";
  /** More arguments for the class. */
  distributionKwargs?: Record<string, unknown>;
  /** Whether probabilities are written, too. Default false. */
  returnLogProb?: boolean;
  /** Where probabilities are written, one key for each output. */
  logProbKeys?: KeyList | null;
  /** Where the probability of the only output is written. */
  logProbKey?: NestedKey | null;
  /** How many samples the mean is taken of where a distribution has none. Default 1000. */
  nEmpiricalEstimate?: number;
  /** How many samples are drawn: a size in front of the batch. */
  numSamples?: number | readonly number[] | null;
  /** Where random numbers come from. */
  generator?: GeneratorLike;
}

/** A generator, and what is to be done after it drew. */
interface Source {
  generator: Generator | null;
  done: () => void;
}

/**
 * Makes a distribution of entries of a TensorDict, and writes a value of it: a sample, the mode, the mean. An object as
 * `inKeys` names the keys of the distribution's parameters; otherwise parameters have the names of the keys.
 * @throws TypeError for entries that the distribution does not take
 * @example
 * ```ts
 * const { InteractionType, ProbabilisticTensorDictModule, setInteractionType } = tensordict.nn;
 * const policy = new ProbabilisticTensorDictModule(["loc", "scale"], ["action"], {
 *   distributionClass: distributions.Normal,
 *   returnLogProb: true,
 * });
 * const td = new TensorDict({ loc: zeros(3), scale: ones(3) }, [3]);
 * manualSeed(0);
 * const out = setInteractionType(InteractionType.RANDOM, () => policy(td));
 * print(out.get("action"), out.get("action_log_prob"));
 * print(policy.getDist(td), policy.outKeys, policy.distSampleKeys, policy.distParamsKeys);
 * print(policy.defaultInteractionType, policy.returnLogProb, policy.numSamples, policy.nEmpiricalEstimate);
 * print(policy.distKeys, policy.distributionClass === distributions.Normal, policy.distributionKwargs);
 * // tensor([ 1.5410, -0.2934, -2.1788]) tensor([-2.1063, -0.9620, -3.2925])
 * // Normal(loc: torch.Size([3]), scale: torch.Size([3])) ('action', 'action_log_prob') ('action',) ('loc', 'scale')
 * // deterministic True None 1000
 * // ('loc', 'scale') True {}
 * ```
 * @torch tensordict.nn.ProbabilisticTensorDictModule
 */
export class ProbabilisticTensorDictModule extends TensorDictModuleBase {
  /** The names of the distribution's parameters. */
  declare distKeys: Key[];
  /** What is taken from the distribution unless `setInteractionType` says so. */
  declare defaultInteractionType: InteractionType;
  /** What makes the distribution. */
  declare distributionClass: DistributionMaker;
  /** More arguments for it. */
  declare distributionKwargs: Record<string, unknown>;
  /** Whether probabilities are written, too. */
  declare returnLogProb: boolean;
  /** How many samples the mean is taken of where a distribution has none. */
  declare nEmpiricalEstimate: number;
  /** How many samples are drawn; null for one without a dimension of its own. */
  declare numSamples: Size | null;
  /** @internal */ declare _logProbKey: Key | null;
  /** @internal */ declare _logProbKeys: Key[] | null;
  /** @internal Whether probabilities were summed up when it was made. */ declare _aggregates: boolean;
  /** @internal */ declare _generator: Generator | null;
  /** @internal */ declare _generatorKey: Key | null;
  /** @internal */ declare _unnamed: boolean;

  constructor(
    inKeys: KeyList | Record<string, NestedKey>,
    outKeys?: KeyList | null | ProbabilisticOptions,
    options?: ProbabilisticOptions,
  );
  constructor(
    options: { inKeys: KeyList | Record<string, NestedKey>; outKeys?: KeyList | null } & ProbabilisticOptions,
  );
  constructor(...given: unknown[]) {
    super();
    const { ProbabilisticTensorDictModule: signature } = CONSTRUCTORS;
    const o = namedArguments("ProbabilisticTensorDictModule", signature, given) as Any;
    this.distributionClass = makerOf(o.distributionClass ?? Delta);
    this.distributionKwargs = o.distributionKwargs ?? {};
    const named = isDict(o.inKeys);
    this._inKeys = inKeysOf(named ? Object.values(o.inKeys) : o.inKeys);
    this.distKeys = named ? Object.keys(o.inKeys) : this._inKeys;
    this._unnamed = (o.outKeys ?? null) === null && !isComposite(this.distributionClass);
    this._setOutKeys(outKeysOf(o.outKeys ?? this._defaultOutputs()));
    this.defaultInteractionType = interactionOf(o.defaultInteractionType ?? "deterministic");
    this.returnLogProb = o.returnLogProb ?? false;
    this.nEmpiricalEstimate = o.nEmpiricalEstimate ?? 1000;
    const samples = o.numSamples ?? null;
    this.numSamples = samples === null ? null : Size.fromList(typeof samples === "number" ? [samples] : samples);
    this._aggregates = modes.aggregate;
    this._setLogProbKeys(o.logProbKeys ?? null, o.logProbKey ?? null);
    [this._generator, this._generatorKey] = generatorOf(o.generator ?? null);
  }
  private _defaultOutputs(): Key[] {
    if (this._unnamed) return ["_"];
    const { distributionMap, nameMap } = this.distributionKwargs as Any;
    if (distributionMap === undefined) {
      throw new KeyError(
        "'distribution_map' must be provided within distribution_kwargs whenever the distribution is of type " +
          "CompositeDistribution.",
      );
    }
    return sampleKeys(distributionMap, nameMap);
  }
  private _setLogProbKeys(keys: KeyList | null, key: NestedKey | null): void {
    const outputs = this.outKeysSource;
    const aggregates = this._aggregates;
    if (keys !== null && aggregates) {
      throw new RuntimeError(
        "composite_lp_aggregate is set to True but log_prob_keys were passed. When composite_lp_aggregate() returns " +
          "``True``, log_prob_key must be used instead.",
      );
    }
    if (key !== null && outputs.length > 1 && !aggregates) {
      throw new RuntimeError(
        "composite_lp_aggregate is set to `False` but a `log_prob_key` was passed. When composite_lp_aggregate() " +
          "returns ``False``, log_prob_keys must be used instead.",
      );
    }
    const one = key === null ? null : (outKeysOf([key])[0] as Key);
    const single = outputs.length === 1;
    const suffixed = outputs.map((output) => addSuffix(output, "_log_prob"));
    if (keys !== null) this._logProbKeys = outKeysOf(keys);
    else if (single && one !== null) this._logProbKeys = [one];
    else this._logProbKeys = aggregates ? (single ? ["sample_log_prob"] : null) : suffixed;
    this._logProbKey = one ?? (aggregates ? "sample_log_prob" : single ? (suffixed[0] as Key) : null);
    if (this.returnLogProb) this._requireApart();
  }
  /** Probabilities written over samples would be all that is left of them. */
  private _requireApart(): void {
    const { distributionMap, nameMap } = this.distributionKwargs as Any;
    const samples = isComposite(this.distributionClass) ? sampleKeys(distributionMap, nameMap) : this.outKeysSource;
    const usual = [...this.outKeysSource, ...samples].map((key) => addSuffix(key, "_log_prob"));
    usual.push("sample_log_prob");
    const within = (a: Key, b: Key) => idOf(b).startsWith(idOf(a).slice(0, -1));
    const scores = this._logProbKeys ?? (this._logProbKey === null ? [] : [this._logProbKey]);
    const clashes = scores
      .filter((key) => !includes(usual, key))
      .flatMap((key) =>
        samples.filter((one) => within(key, one) || within(one, key)).map((one) => [key, one] as const),
      );
    if (clashes.length === 0) return;
    const list = clashes.map(([a, b]) => `log-probability key ${keyRepr(a)} for sample key ${keyRepr(b)}`).join(", ");
    throw new ValueError(
      "A custom log-probability key cannot be a sample key, lie inside one or hold one, since writing the " +
        `log-probability would overwrite the sample. Got ${list}.`,
    );
  }

  /** The outputs, with the keys of probabilities where those are written. */
  override get outKeys(): Key[] {
    const keys = [...(this._outKeysApparent ?? [])];
    if (!this.returnLogProb) return keys;
    const scores = modes.aggregate ? [this.logProbKey] : this.logProbKeys;
    return [...keys, ...scores.filter((key) => !includes(keys, key))];
  }
  override set outKeys(keys: KeyList) {
    this._setOutKeys(outKeysOf(keys));
  }
  private _requireMode(property: string): void {
    if (modes.aggregate === this._aggregates) return;
    const flag = (value: boolean) => (value ? "True" : "False");
    throw new RuntimeError(
      `composite_lp_aggregate is set to \`${flag(modes.aggregate)}\`, but the class was instantiated with ` +
        `\`${flag(this._aggregates)}\` which may affect the ${property} property.`,
    );
  }
  /**
   * Where the probability is written.
   * @throws RuntimeError where there are several
   * @torch tensordict.nn.ProbabilisticTensorDictModule.log_prob_key
   */
  get logProbKey(): Key {
    this._requireMode("log_prob_key");
    if (modes.aggregate) return this._logProbKey as Key;
    const keys = this.logProbKeys;
    if (keys.length === 1) return keys[0] as Key;
    const { name } = this.constructor;
    throw new RuntimeError(
      `composite_lp_aggregate is set to \`\`False\`\`, hence ${name}.log_prob_key cannot be accessed unless there is ` +
        `one and only one element in log_prob_keys (got log_prob_keys=${keysRepr(keys)}). When ` +
        `composite_lp_aggregate() returns \`\`False\`\`, try to use ${name}.log_prob_keys instead.`,
    );
  }
  /** Where probabilities are written. @torch tensordict.nn.ProbabilisticTensorDictModule.log_prob_keys */
  get logProbKeys(): Key[] {
    this._requireMode("log_prob_keys");
    return modes.aggregate ? [this.logProbKey] : (this._logProbKeys ?? []);
  }
  /** The entries that are the distribution's parameters. */
  get distParamsKeys(): Key[] {
    return [...this.inKeys];
  }
  /** The entries that it draws. */
  get distSampleKeys(): Key[] {
    return [...this.outKeysSource];
  }

  /**
   * The distribution of the entries.
   * @throws TypeError for entries that it does not take
   * @torch tensordict.nn.ProbabilisticTensorDictModule.get_dist
   */
  getDist(tensordict: Td): Any {
    const parameters: Record<string, unknown> = {};
    for (const [i, key] of this.distKeys.entries()) {
      const name = typeof key === "string" ? key : (key.at(-1) as string);
      parameters[name] = tensordict.get(this.inKeys[i] as Key, null);
    }
    try {
      return makeDistribution(this.distributionClass, { ...parameters, ...this.distributionKwargs });
    } catch (error) {
      throw explained(error, this, tensordict);
    }
  }
  /** Another name of `getDist`. @torch tensordict.nn.ProbabilisticTensorDictModule.build_dist_from_params */
  buildDistFromParams(tensordict: Td): Any {
    return this.getDist(tensordict);
  }
  /**
   * The probability of the sample in a TensorDict: a tensor, or one entry for each component of a composite.
   * @torch tensordict.nn.ProbabilisticTensorDictModule.log_prob
   */
  logProb(tensordict: Td, options: { dist?: Distribution<Any, Any> } = {}): Td | Tensor {
    const dist: Any = options.dist ?? this.getDist(tensordict);
    if (!(dist instanceof CompositeDistribution)) return dist.logProb(tensordict.get(this.outKeys[0] as Key));
    this._requireSame();
    const scores = dist.logProbComposite(tensordict, { includeSum: false });
    if (modes.aggregate) return total(dist, scores);
    this._rename(scores);
    return scores;
  }
  /** @internal */
  _requireSame(): void {
    if (modes.aggregate === this._aggregates) return;
    const flag = (value: boolean) => (value ? "True" : "False");
    throw new RuntimeError(
      `The value returned by composite_lp_aggregate changed between init of ${this.constructor.name} and its ` +
        `execution (${flag(this._aggregates)} -> ${flag(modes.aggregate)}). Make sure the mode matches.`,
    );
  }
  /** @internal The names that probabilities have, and those that they are to have. */
  get _renames(): [before: Key, after: Key][] {
    const keys = this._logProbKeys ?? [];
    const pairs = this.outKeysSource.map((key, i): [Key, Key] => [addSuffix(key, "_log_prob"), keys[i] ?? key]);
    return keys.length === pairs.length ? pairs.filter(([a, b]) => idOf(a) !== idOf(b)) : [];
  }
  private _rename(scores: Td): void {
    if (this._renames.length > 0) renameEntries(scores, this._renames);
  }

  /** Writes a value of the distribution, or gives it for parameters. */
  override forward(tensordict: Td, options?: ForwardOptions): Td;
  override forward(...inputs: Any[]): Any;
  override forward(...given: Any[]): Any {
    return callDispatched(this, given, { autoBatchSize: false }, (td, rest) =>
      unlessThere(this, td, () => this._forward(td, rest)),
    );
  }
  private _forward(td: Td, rest: readonly unknown[]): Td {
    const [[positional = null], { tensordictOut = positional, _requiresSample = true, ...named }] = optionsOf(rest);
    const [unknown] = Object.keys(named);
    if (unknown !== undefined) {
      throw new TypeError(`${this.constructor.name}.forward() got an unexpected keyword argument '${unknown}'`);
    }
    const out = (tensordictOut as Td | null) ?? td;
    const dist = this.getDist(td);
    if (_requiresSample === true) return this._sampled(td, out, dist);
    if (this.returnLogProb) this._score(td, out, dist);
    return out;
  }
  private _sampled(td: Td, out: Td, dist: Any): Td {
    const { generator, done } = this._source(td);
    const scored = this.returnLogProb && (modes.interaction ?? this.defaultInteractionType) === "random";
    const how = dist.hasRsample === true ? "rsampleAndLogProb" : "sampleAndLogProb";
    // What a distribution scores while it draws is not computed back from the sample.
    const joint = scored && typeof dist[how] === "function" && !(dist instanceof CompositeDistribution);
    const both: Any = joint ? drawingFrom(generator, () => dist[how](this.numSamples ?? [])) : null;
    const value = both === null ? this._drawn(dist, generator) : both[0];
    done();
    const target = this.numSamples === null ? out : out.expand([...this.numSamples, ...out.batchSize]);
    if (isTensorCollection(value)) {
      if (this.returnLogProb) this._scoreComposite(dist, value as Td);
      return target.update(value as Td);
    }
    if (this._unnamed) {
      this._unnamed = false;
      warn(
        'ProbabilisticTensorDictModule got no out_keys and writes its sample at "_". Starting with TensorDict 0.17, ' +
          'the default will change to not writing the sample at "_". Pass out_keys to write the sample at a key of ' +
          "your choice and silence this warning.",
        "FutureWarning",
      );
    }
    const values = Array.isArray(value) ? value : [value];
    for (const [i, key] of this.distSampleKeys.entries()) target.set(key, values[i]);
    if (this.returnLogProb) target.set(this.logProbKey, both === null ? dist.logProb(...values) : both[1]);
    return target;
  }
  private _scoreComposite(dist: CompositeDistribution, sample: Td): void {
    this._requireSame();
    const aggregates = modes.aggregate;
    const scores = setCompositeLpAggregate(false, () => dist.logProbComposite(sample));
    if (!aggregates) this._rename(scores);
    sample.update(scores);
    if (aggregates) sample.set(this.logProbKey, total(dist, scores));
  }
  private _score(td: Td, out: Td, dist: Any): void {
    const keys = this.outKeys.filter((key) => !includes(this.logProbKeys, key));
    const values = keys.map((key) => td.get(key, null));
    if (!(dist instanceof CompositeDistribution) || (values.length === 1 && isTensorCollection(values[0]))) {
      out.set(this.logProbKey, dist.logProb(...values));
      return;
    }
    const scores = this.logProb(td, { dist });
    if (scores instanceof Tensor) out.set(this.logProbKey, scores);
    else out.update(scores);
  }

  /** @internal A value of a distribution, as often as samples are drawn. */
  _drawn(dist: Any, generator: Generator | null = null): Any {
    const type = modes.interaction ?? this.defaultInteractionType;
    const value = drawn(dist, type, this, generator);
    const samples = this.numSamples ?? [];
    if (samples.length === 0 || type === "random") return value;
    const shape = value instanceof Tensor ? value.shape : value.batchSize;
    return value.expand([...samples, ...shape]);
  }
  /** @internal Where random numbers come from for this input. */
  _source(td: Td): Source {
    const none = { generator: this._generator, done: () => {} };
    const key = this._generatorKey;
    if (key === null) return none;
    const entry = td.get(key, null);
    if (entry === null) return none;
    const value: unknown = isNonTensor(entry) ? td.at(key as string) : entry;
    if (value instanceof Generator) return { generator: value, done: () => {} };
    const seed = seedOf(value, key);
    const generator = new Generator().manualSeed(seed);
    const done = () => {
      const next = randint(0, 2 ** 62, [], { generator, dtype: "int64" });
      if (value instanceof Tensor) td.set(key, next);
      else td.setNonTensor(key, Number(next.bigint()));
    };
    return { generator, done };
  }

  /** What it reads and writes, and its distribution. */
  override toString(): string {
    const samples = this.numSamples === null ? "None" : String(this.numSamples);
    // The parentheses are Python's.
    const lines = [
      `in_keys=${keysRepr(this.inKeys)},`,
      `out_keys=${keysRepr(this.outKeys)},`,
      `distribution_class=${classText(this.distributionClass)}, `,
      `distribution_kwargs=${pythonRepr(this.distributionKwargs)}),`,
      `default_interaction_type=${this.defaultInteractionType}),`,
      `num_samples=${samples}))`,
    ];
    return `${this.constructor.name}(\n${lines.map((line) => indent(line)).join("\n")}`;
  }
}
installChecks(ProbabilisticTensorDictModule.prototype, { ...METHODS, ...PROBABILISTIC });

const isComposite = (maker: unknown): boolean => maker === CompositeDistribution;

/** The sum of all probabilities, over what is behind the batch as well. */
function total(dist: CompositeDistribution, scores: Td): Tensor {
  const keys = dist.keys().map((key) => addSuffix(key, "_log_prob"));
  return dist._sum(
    keys.map((key) => [key, scores.get(key) as Tensor] as const),
    scores.ndim,
  );
}

function makerOf(maker: unknown): DistributionMaker {
  if (typeof maker === "function") return maker as DistributionMaker;
  const name = typeof maker === "string" ? maker.toLowerCase() : "";
  if (name === "delta") return Delta;
  if (name === "onehotcategorical") return OneHotCategorical;
  throw new ValueError(
    `distribution_class must be a class or one of 'delta', 'onehotcategorical', got ${String(maker)}`,
  );
}

function generatorOf(given: unknown): [Generator | null, Key | null] {
  if (given === null) return [null, null];
  if (given instanceof Generator) return [given, null];
  if (typeof given === "number" && Number.isInteger(given)) return [new Generator().manualSeed(given), null];
  if (typeof given === "string" || Array.isArray(given)) return [null, outKeysOf([given])[0] as Key];
  throw new TypeError(`generator must be a torch.Generator, int, NestedKey, or None; got ${typeName(given)}.`);
}

function seedOf(value: unknown, key: Key): number | bigint {
  if (value instanceof Tensor) {
    if (value.numel() === 1) return value.dtype.category === 1 ? value.bigint() : Math.trunc(value.item() as number);
    throw new ValueError(
      `Generator key ${keyRepr(key)} resolved to a tensor of ${value.numel()} elements; expected a scalar seed.`,
    );
  }
  if (typeof value === "number" && Number.isInteger(value)) return value;
  throw new TypeError(
    `Generator key ${keyRepr(key)} resolved to a value of type ${typeName(value)}; expected torch.Generator, int, or ` +
      "scalar Tensor.",
  );
}

/** What a class says about its arguments, in terms of keys. */
function explained(error: unknown, module: ProbabilisticTensorDictModule, td: Td): unknown {
  const text = String((error as Error)?.message);
  if (!(error instanceof TypeError)) return error;
  if (text.includes("an unexpected keyword argument")) {
    return new TypeError(
      "distribution keywords and tensordict keys indicated by ProbabilisticTensorDictModule.dist_keys must match. " +
        `Got this error message: \n${indent(text)}\nwith dist_keys=${keysRepr(module.distKeys)}`,
    );
  }
  if (!/missing.*required positional argument/.test(text)) return error;
  const keys = `_StringKeys(dict_keys(${keysRepr(td.keys())}))`;
  const name = classText(module.distributionClass);
  return new TypeError(`TensorDict with keys ${keys} does not match the distribution ${name} keywords.`);
}
