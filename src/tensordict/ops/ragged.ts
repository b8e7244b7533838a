// Reading entries of lazy stacks whose members differ in shape: as a list, filled up, or as a nested tensor.
import { slice } from "../../api/indexing-parse.ts";
import { isDict } from "../../tensor/checks.ts";
import { RuntimeError, TypeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { isBranch, isLazy, isTensorCollection, make, type Td } from "../core/state.ts";
import { stackTensors, zeros } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { requireEntry } from "./access.ts";
import { lazyStackTds } from "./stacking.ts";

/** How an entry of a lazy stack is read whose members differ in shape. */
export interface RaggedOptions {
  /** An array with one tensor per member. */
  asList?: boolean;
  /** One tensor, shorter members filled up. */
  asPaddedTensor?: boolean;
  /** One nested tensor. */
  asNestedTensor?: boolean;
  /** What shorter members are filled up with; 0 unless given. */
  paddingValue?: number;
  /** The side on which they are filled up. */
  paddingSide?: "left" | "right";
}

const NAMES = new Set(["asList", "asPaddedTensor", "asNestedTensor", "paddingValue", "paddingSide", "layout"]);

/** Whether the second argument of `get` says how to read. */
export function isRagged(value: unknown): value is RaggedOptions {
  if (!isDict(value)) return false;
  const names = Object.keys(value);
  return names.some((name) => name.startsWith("as")) && names.every((name) => NAMES.has(name));
}

/** Tensors as one, the shorter ones filled up in every dimension. */
export function padded(tensors: readonly Tensor[], options: RaggedOptions, dim = 0): Tensor {
  const [first] = tensors as [Tensor];
  if (!tensors.every((t) => t.ndim === first.ndim))
    throw new RuntimeError("only tensors of the same rank can be padded");
  const shape = first._shape.map((_, i) => Math.max(...tensors.map((t) => t._shape[i] as number)));
  const left = options.paddingSide === "left";
  const filled = tensors.map((t) => {
    const out = zeros(shape, { dtype: t.dtype, device: t.device }).fill_(options.paddingValue ?? 0);
    const part = t._shape.map((n, i) => (left ? slice((shape[i] as number) - n, null) : slice(0, n)));
    (part.length === 0 ? out : out.at(part)).copy_(t);
    return out;
  });
  return stackTensors(filled, dim);
}

type Read = Entry | readonly Read[];

function joined(parts: readonly Read[], lazy: Td & { stackDim: number }, options: RaggedOptions): Read {
  if (parts.every((part) => part instanceof Tensor)) {
    const tensors = parts as readonly Tensor[];
    if (options.asList) return tensors;
    return options.asNestedTensor ? make.nested(tensors) : padded(tensors, options);
  }
  if (parts.every(isTensorCollection)) return lazyStackTds(parts as readonly Td[], lazy.stackDim);
  return parts;
}

/** The entry at the end of a path; of lazy stacks those of all members, together as the options say. */
export function raggedEntry(td: Td, path: readonly string[], options: RaggedOptions): Read {
  const { paddingSide: side = "right" } = options;
  if (side !== "left" && side !== "right")
    throw new TypeError(`padding_side must be 'left' or 'right', got ${JSON.stringify(side)}.`);
  const chosen = [options.asList, options.asPaddedTensor, options.asNestedTensor].filter((one) => one === true);
  if (chosen.length > 1) throw new TypeError("as_list, as_padded_tensor and as_nested_tensor are exclusive.");
  if (chosen.length === 0) return requireEntry(td, path);
  if (isLazy(td)) {
    return joined(
      td.members.map((member) => raggedEntry(member, path, options)),
      td,
      options,
    );
  }
  const [key, ...rest] = path as [string, ...string[]];
  const entry = requireEntry(td, key);
  if (rest.length === 0 || !isBranch(entry)) return rest.length === 0 ? entry : requireEntry(td, path);
  return raggedEntry(entry, rest, options);
}
