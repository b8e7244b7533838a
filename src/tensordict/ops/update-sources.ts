// What updates read: their sources, and the parts of them that were asked for.
import { KeyError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { badSource, isSource, sourceEntries } from "../core/convert.ts";
import { keyPath, keyText } from "../core/keys.ts";
import type { IsLeaf } from "../core/leaves.ts";
import { Collection, entriesOf, isBranch, outlinesOf, stackOf, type Td } from "../core/state.ts";
import type { NestedKey } from "../core/types.ts";

/** What `update` takes. */
export type UpdateSource = Td | Record<string, unknown> | ReadonlyMap<string, unknown>;

/** Which keys of a source count, and what is done with others than those that are there. */
export interface Selection {
  /** Paths; null for all of them. */
  only: readonly (readonly string[])[] | null;
  /** In place: keys that are not there are added; otherwise they are errors, and values broadcast. */
  add: boolean;
  /** Where the level is that is written, for errors. */
  at?: readonly string[];
}

/** The pairs of a source that are selected, and what of each is. */
export function* pairsOf(
  source: UpdateSource,
  only: Selection["only"],
): Generator<[path: readonly string[], value: unknown, inner: Selection["only"]]> {
  const pairs: Iterable<[NestedKey, unknown]> =
    source instanceof Collection ? entriesOf(source) : sourceEntries(source as Record<string, unknown>);
  for (const [key, value] of pairs) {
    const path = keyPath(key);
    if (only === null) {
      yield [path, value, null];
      continue;
    }
    const below = only.filter((one) => path.every((part, i) => i >= one.length || one[i] === part));
    if (below.length === 0) continue;
    const whole = below.some((one) => one.length <= path.length);
    yield [path, value, whole ? null : below.map((one) => one.slice(path.length))];
  }
}

/** Throws for what is no source of an update. */
export function requireSource(source: unknown): asserts source is UpdateSource {
  if (isBranch(source) || isSource(source)) return;
  throw badSource(source);
}

/** Refuses a key that goes through another one of the same source, which is no dictionary. */
export function requireApart(
  pairs: readonly (readonly [path: readonly string[], value: unknown, inner: unknown])[],
): void {
  if (pairs.every(([path]) => path.length === 1)) return;
  const leaves = new Set(pairs.filter(([, value]) => !isBranch(value) && !isSource(value)).map(([p]) => p.join("\0")));
  for (const [path] of pairs) {
    for (let n = 1; n < path.length; n++) {
      if (leaves.has(path.slice(0, n).join("\0"))) {
        throw new KeyError(`key ${keyText(path)} goes through ${keyText(path.slice(0, n))}, which is no tensordict`);
      }
    }
  }
}

/** The selected part of a source. */
export function partOf(
  source: UpdateSource,
  only: Selection["only"],
): Record<string, unknown> | ReadonlyMap<string, unknown> {
  const part = new Map<string, unknown>();
  for (const [path, value, inner] of pairsOf(source, only)) {
    part.set(path[0] as string, inner === null ? value : partOf(value as UpdateSource, inner));
  }
  return part;
}

/** Whether a level of a source has neither tensors nor values, on any level below. */
export function isBare(value: unknown): boolean {
  if (value instanceof Tensor) return false;
  if (isSource(value)) return sourceEntries(value).every(([, item]) => isBare(item));
  if (!isBranch(value)) return false;
  const stack = stackOf(value);
  if (stack !== null) return stack.members.every(isBare);
  for (const [, entry] of outlinesOf(value)) if (!isBare(entry)) return false;
  return true;
}

/** How `update` works. */
export interface UpdateOptions {
  /** Copy what comes in. */
  clone?: boolean;
  /** Write into entries that are there already. */
  inplace?: boolean;
  /** Of the source, these keys only. */
  keysToUpdate?: NestedKey | readonly NestedKey[] | null;
  /** Take over the source's batch size where it is another one; then every key needs a new value. */
  updateBatchSize?: boolean;
  /** Which classes of entries are replaced and not updated; tensors and wrapped values without it. */
  isLeaf?: IsLeaf | null;
  /** Accepted for compatibility; transfers to the CPU are always complete. */
  nonBlocking?: boolean;
}

/** Options of `update`, and more entries under their names, which count before those of the source. */
export type UpdateWords<O extends UpdateOptions = UpdateOptions> = O & { readonly [entry: string]: unknown };

/** No options and no entries. */
export const NO_WORDS: UpdateWords = {};

const UPDATE_WORDS = new Set<string>(
  Object.keys({
    clone: 0,
    inplace: 0,
    keysToUpdate: 0,
    updateBatchSize: 0,
    isLeaf: 0,
    nonBlocking: 0,
  } satisfies Record<keyof UpdateOptions, 0>),
);

/** A source with the entries that were given by name. */
export function withEntries(source: UpdateSource | null | undefined, words: UpdateWords): UpdateSource {
  if (words === NO_WORDS) return source ?? {};
  const more = Object.entries(words).filter(([name]) => !UPDATE_WORDS.has(name));
  if (more.length === 0) return source ?? {};
  requireSource(source ?? {});
  const own = source instanceof Collection ? entriesOf(source) : sourceEntries(source ?? {});
  return new Map<string, unknown>([...own, ...more]);
}

export function selected(keys: UpdateOptions["keysToUpdate"]): Selection["only"] {
  if (keys === null || keys === undefined) return null;
  return typeof keys === "string" ? [[keys]] : keys.map(keyPath);
}

/** What of a source `keysToUpdate` leaves. */
export function selectedPart(source: UpdateSource, keys: UpdateOptions["keysToUpdate"]): UpdateSource {
  return keys === null || keys === undefined ? source : partOf(source, selected(keys));
}
