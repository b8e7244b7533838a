/** What holds for a while for all modules: how distributions are turned into values, whether results are kept. */
import { inOrder } from "../../tensor/checks.ts";
import { ValueError } from "../../tensor/errors.ts";
import { Mode, type ModeGuard } from "../../tensor/modes.ts";
import { pythonRepr } from "../core/python-repr.ts";
import type { Restorable } from "../core/settings.ts";
import { idOf, type Key, type KeyList, keysOf } from "./keys.ts";
import { FUNCTIONS } from "./signatures.ts";

/**
 * What a probabilistic module takes from its distribution.
 * @example
 * ```ts
 * const { InteractionType } = tensordict.nn;
 * [InteractionType.MEAN, InteractionType.fromStr("RANDOM")] // [mean, random]
 * ```
 * @torch tensordict.nn.InteractionType
 */
export const InteractionType = {
  /** The value of highest probability. */
  MODE: "mode",
  /** The median. */
  MEDIAN: "median",
  /** The mean, or that of many samples. */
  MEAN: "mean",
  /** A sample. */
  RANDOM: "random",
  /** What the distribution calls its deterministic value: its mean or its mode. */
  DETERMINISTIC: "deterministic",
  /** The type of a name in any case. */
  fromStr(typeStr: string): InteractionType {
    return interactionOf(typeStr);
  },
} as const;

/** What a probabilistic module takes from its distribution. */
export type InteractionType = "mode" | "median" | "mean" | "random" | "deterministic";

const TYPES: ReadonlySet<string> = new Set(["mode", "median", "mean", "random", "deterministic"]);

/** The type that a user named. */
export function interactionOf(value: unknown): InteractionType {
  const name = typeof value === "string" ? value.toLowerCase() : value;
  if (typeof name === "string" && TYPES.has(name)) return name as InteractionType;
  throw new ValueError(`${pythonRepr(value)} is not a valid InteractionType`);
}

/** Keys whose modules are skipped when they are there; true for all. */
export type SkipMode = boolean | readonly Key[];

/** Current values. */
export const modes = {
  interaction: null as InteractionType | null,
  skip: false as SkipMode,
  aggregate: false,
};

function modeOf<K extends keyof typeof modes>(key: K): Mode<(typeof modes)[K]> {
  return new Mode(
    () => modes[key],
    (value) => {
      modes[key] = value;
    },
  );
}

const interactions = modeOf("interaction");
const skips = modeOf("skip");
const aggregates = modeOf("aggregate");

/** Until it is taken back, or while a function runs. */
function change<T, R>(
  mode: Mode<T>,
  value: T,
  name: string,
  body: (() => R) | undefined,
): R | (Restorable & ModeGuard) {
  return body === undefined ? mode.change(value, name) : mode.run(value, name, body);
}

/**
 * What probabilistic modules take from their distributions: `using _ = setInteractionType("random")`, or for the length
 * of a callback. Null leaves it to each module.
 * @throws ValueError for a name that is none
 * @example
 * ```ts
 * const { interactionType, setInteractionType } = tensordict.nn;
 * [setInteractionType("mode", () => interactionType()), interactionType()] // [mode, null]
 * ```
 * @torch tensordict.nn.set_interaction_type
 */
export function setInteractionType(type: InteractionType | string | null): Restorable;
export function setInteractionType<R>(type: InteractionType | string | null, body: () => R): R;
export function setInteractionType<R>(type: InteractionType | string | null, body?: () => R): R | Restorable {
  [type, body] = inOrder<[typeof type, typeof body]>("setInteractionType", FUNCTIONS.setInteractionType, arguments);
  return change(interactions, type === null ? null : interactionOf(type), "setInteractionType", body);
}

/**
 * What probabilistic modules take from their distributions; null where each module decides.
 * @example
 * ```ts
 * tensordict.nn.interactionType() // null
 * ```
 * @torch tensordict.nn.interaction_type
 */
export function interactionType(): InteractionType | null {
  inOrder("interactionType", FUNCTIONS.interactionType, arguments);
  return modes.interaction;
}

/**
 * Whether modules whose results are all there do nothing; a list of keys says so for these only. Until it is taken
 * back, or while a callback runs.
 * @example
 * ```ts
 * const { setSkipExisting, TensorDictModule } = tensordict.nn;
 * const module = new TensorDictModule((x) => x.add(1), ["a"], ["b"]);
 * const td = new TensorDict({ a: ones(1), b: zeros(1) }, []);
 * setSkipExisting(true, () => module(td));
 * const kept = td.get("b").item();
 * [kept, module(td).get("b").item()] // [0, 2]
 * ```
 * @torch tensordict.nn.set_skip_existing
 */
export function setSkipExisting(mode: boolean | KeyList): Restorable;
export function setSkipExisting<R>(mode: boolean | KeyList, body: () => R): R;
export function setSkipExisting<R>(mode: boolean | KeyList, body?: () => R): R | Restorable {
  [mode, body] = inOrder<[typeof mode, typeof body]>("setSkipExisting", FUNCTIONS.setSkipExisting, arguments);
  const value = typeof mode === "boolean" ? mode : keysOf(mode, "setSkipExisting takes a bool or a list of keys");
  return change<SkipMode, R>(skips, value, "setSkipExisting", body);
}

/**
 * Whether modules whose results are all there do nothing, or the keys for which they do.
 * @example
 * ```ts
 * tensordict.nn.skipExisting() // false
 * ```
 * @torch tensordict.nn.skip_existing
 */
export function skipExisting(): SkipMode {
  inOrder("skipExisting", FUNCTIONS.skipExisting, arguments);
  return modes.skip;
}

/** Runs a module in the mode that it finds, whatever it changes. */
export function keepingSkip<R>(body: () => R): R {
  return skips.run(modes.skip, "setSkipExisting", body);
}

/** Whether the results of a module are to be left as they are. */
export function skips_(outKeys: readonly Key[]): boolean {
  if (typeof modes.skip === "boolean") return modes.skip;
  const known = new Set(modes.skip.map(idOf));
  return outKeys.every((key) => known.has(idOf(key)));
}

/**
 * Whether probabilities of composite distributions are summed up to one tensor. Until it is taken back, or while a
 * callback runs.
 * @example
 * ```ts
 * const { CompositeDistribution, setCompositeLpAggregate } = tensordict.nn;
 * const params = new TensorDict({ a: { loc: zeros(2), scale: ones(2) }, b: { probs: ones(2).mul(0.5) } }, [2]);
 * const dist = new CompositeDistribution(params, { a: distributions.Normal, b: distributions.Bernoulli });
 * setCompositeLpAggregate(true, () => dist.logProb(new TensorDict({ a: zeros(2), b: ones(2) }, [2])))
 * // tensor([-1.6121, -1.6121])
 * ```
 * @torch tensordict.nn.set_composite_lp_aggregate
 */
export function setCompositeLpAggregate(mode: boolean): Restorable;
export function setCompositeLpAggregate<R>(mode: boolean, body: () => R): R;
export function setCompositeLpAggregate<R>(mode: boolean, body?: () => R): R | Restorable {
  [mode, body] = inOrder<[boolean, typeof body]>(
    "setCompositeLpAggregate",
    FUNCTIONS.setCompositeLpAggregate,
    arguments,
  );
  return change(aggregates, mode, "setCompositeLpAggregate", body);
}

/**
 * Whether probabilities of composite distributions are summed up to one tensor.
 * @example
 * ```ts
 * tensordict.nn.compositeLpAggregate() // false
 * ```
 * @torch tensordict.nn.composite_lp_aggregate
 */
export function compositeLpAggregate(): boolean {
  inOrder("compositeLpAggregate", FUNCTIONS.compositeLpAggregate, arguments);
  return modes.aggregate;
}
