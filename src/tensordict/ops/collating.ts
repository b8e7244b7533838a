// A list of samples as one batch.
import { inOrder, isDict } from "../../tensor/checks.ts";
import { Float, Int } from "../../tensor/complex.ts";
import { KeyError, RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { typeName } from "../../tensor/type-name.ts";
import { keyPath, keyText } from "../core/keys.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { isClassTd, isLazy, isTensorCollection, make, type Td } from "../core/state.ts";
import { stackTensors, tensor } from "../core/tensor-ops.ts";
import type { Entry, NestedKey } from "../core/types.ts";
import { findEntry, requireEntry } from "./access.ts";
import { excludeKeys, selectKeys } from "./key-ops.ts";
import { type ByKey, byPath, keyRepr, padSequenceTds } from "./padding.ts";
import { maybeDenseStackTds } from "./stacking.ts";
import { setEntry } from "./writes.ts";

/** How samples are collated. */
export interface CollateOptions {
  /** Entries that are padded along their first dimension, each with its value. */
  padKeys?: ByKey<number> | null;
  /** Entries that become nested tensors. */
  nestedKeys?: readonly NestedKey[] | null;
  /** Where masks of the padded entries go. */
  maskKey?: NestedKey | null;
}

/** Samples that are TensorDicts, some entries of which are padded or nested. */
function collateKeys(batch: readonly Td[], options: CollateOptions): Td {
  const padKeys = byPath(options.padKeys ?? {});
  const nestedKeys = (options.nestedKeys ?? []).map(keyPath);
  const maskKey = (options.maskKey ?? null) === null ? null : keyPath(options.maskKey as NestedKey);
  if (maskKey !== null && padKeys.length === 0) throw new ValueError("collate got a mask_key but no pad_keys to mask.");
  const padded = new Set(padKeys.map(([path]) => keyRepr(path)));
  const both = nestedKeys.map(keyRepr).filter((key) => padded.has(key));
  if (both.length > 0) {
    throw new ValueError(`collate got the keys [${both.join(", ")}] in both pad_keys and nested_keys.`);
  }
  const first = batch[0] as Td;
  if (padKeys.length > 0 && first._batchSize.length > 0) {
    throw new ValueError(
      "collate(pad_keys=...) pads the first dim of each entry, which is a batch dim of these samples " +
        `(batch_size=${first._batchSize}). Give the samples an empty batch size, or call pad_sequence.`,
    );
  }
  const named = [...padKeys.map(([path]) => path), ...nestedKeys];
  for (const sample of batch) {
    for (const path of named) {
      if (findEntry(sample, path) !== undefined) continue;
      throw new KeyError(`collate got the key ${keyRepr(path)}, which a sample lacks.`);
    }
    if (maskKey !== null && findEntry(sample, maskKey) !== undefined) {
      throw new ValueError(`collate got mask_key=${keyRepr(maskKey)}, which is an entry of a sample.`);
    }
  }
  const out = maybeDenseStackTds(
    batch.map((sample) => excludeKeys(sample, named)),
    0,
  );
  if (nestedKeys.length > 0 && isLazy(out)) {
    throw new ValueError(
      `collate got nested_keys=[${nestedKeys.map(keyRepr).join(", ")}], but the other entries of the samples ` +
        "differ in shape, so they stack lazily and the nested tensors could not be read back. Name the entries that " +
        "vary in length in pad_keys or nested_keys.",
    );
  }
  if (padKeys.length > 0) putPadded(out, batch, padKeys, maskKey);
  for (const path of nestedKeys) setEntry(out, path, nestedOf(batch, path));
  return out;
}

function putPadded(
  out: Td,
  batch: readonly Td[],
  padKeys: [readonly string[], number][],
  maskKey: readonly string[] | null,
): void {
  const paths = padKeys.map(([path]) => path);
  const padded = padSequenceTds(
    batch.map((sample) => {
      const entries = new Map<string, Entry>();
      if (!isClassTd(sample)) return selectKeys(sample, paths);
      for (const path of paths) entries.set(path[0] as string, sample._own(path[0] as string) as Entry);
      return make.tensordict(entries, { batchSize: sample._batchSize, device: sample._device, names: null });
    }),
    { paddingValue: new Map(padKeys), returnMask: maskKey === null ? false : [...maskKey] },
  );
  for (const path of maskKey === null ? paths : [...paths, maskKey]) setEntry(out, path, requireEntry(padded, path));
}

function nestedOf(batch: readonly Td[], path: readonly string[]): Entry {
  const tensors = batch.map((sample) => requireEntry(sample, path));
  const odd = tensors.find((t) => !(t instanceof Tensor));
  if (odd !== undefined) throw new TypeError(`collate nests tensors only: ${keyText(path)} is none in some sample.`);
  return make.nested(tensors as Tensor[]);
}

const isNumber = (value: unknown) =>
  ["number", "bigint", "boolean"].includes(typeof value) || value instanceof Int || value instanceof Float;

function collateAny(batch: readonly unknown[], options: CollateOptions): unknown {
  const first = batch[0];
  if (isTensorCollection(first)) {
    const plain = [options.padKeys, options.nestedKeys, options.maskKey].every((one) => (one ?? null) === null);
    for (const sample of batch) {
      if (!isTensorCollection(sample)) throw new TypeError(`collate got TensorDicts and a ${typeName(sample)}`);
    }
    return plain ? maybeDenseStackTds(batch as Td[], 0) : collateKeys(batch as Td[], options);
  }
  if (first instanceof Tensor) return stackTensors(batch as Tensor[], 0);
  if (Array.isArray(first)) {
    if (!batch.every((sample) => Array.isArray(sample) && sample.length === first.length)) {
      throw new RuntimeError("each element in list of batch should be of equal size");
    }
    return first.map((_, i) =>
      collateAny(
        batch.map((sample) => (sample as unknown[])[i]),
        options,
      ),
    );
  }
  if (isDict(first)) {
    const entryOf = (sample: unknown, key: string) => {
      if (isDict(sample) && Object.hasOwn(sample, key)) return sample[key];
      throw new KeyError(`'${key}'`);
    };
    const column = (key: string) => batch.map((sample) => entryOf(sample, key));
    return Object.fromEntries(Object.keys(first).map((key) => [key, collateAny(column(key), options)]));
  }
  if (typeof first === "string" || first instanceof Uint8Array) return [...batch];
  if (isNumber(first)) return tensor(batch);
  throw new TypeError(
    `default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found ${typeName(first)}`,
  );
}

/**
 * A list of samples as one batch, by the type of the first sample: TensorDicts are stacked, densely where keys and
 * shapes agree and lazily elsewhere; tensors are stacked; objects and arrays such as `[td, label]` are collated entry
 * by entry; numbers become a tensor (of the default dtype, as `tensor` makes it of them), texts stay a list. Entries of
 * TensorDicts that vary in length can be padded, with masks, or become nested tensors. What is no list, or an empty
 * one, is returned as it is.
 *
 * @throws KeyError for a sample without an entry that is to be padded or nested
 * @throws ValueError for a mask without padded entries, a key in both lists, and samples with a batch size to pad
 * @example
 * ```ts
 * const samples = [2, 3].map((n) => new TensorDict({ ids: ones(n), score: n }, []));
 * const batch = tensordict.collate(samples, { padKeys: { ids: 7 }, maskKey: "mask" });
 * batch.get("ids") // tensor([[1., 1., 7.],
 * //         [1., 1., 1.]])
 * ```
 * @torch tensordict.collate
 */
export function collate<T extends Td>(batch: readonly T[], options?: CollateOptions): T;
export function collate(batch: readonly Tensor[], options?: CollateOptions): Tensor;
// biome-ignore lint/suspicious/noExplicitAny: what comes back follows from the first sample
export function collate(batch: unknown, options?: CollateOptions): any;
export function collate(batch: unknown, options: CollateOptions = {}): unknown {
  [batch, options = {}] = inOrder<[unknown, CollateOptions?]>("collate", FUNCTIONS.collate, arguments);
  if (!Array.isArray(batch) || batch.length === 0) return batch;
  return collateAny(batch, options);
}
