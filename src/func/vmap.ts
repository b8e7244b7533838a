/** `vmap`: a function of one example, called with many at once. */
import { cat } from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { getRngState, setRngState } from "../api/generator.ts";
import { taking } from "../dispatch/seam.ts";
import { inOrder, isDict } from "../tensor/checks.ts";
import { Tensor, wrapDim } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import type { Randomness } from "./call.ts";
import { collections } from "./collections.ts";
import { Level, levels } from "./level.ts";
import { broadcast, flatten, pythonText, rebuilt, type Structure, structureText } from "./pytree.ts";
import { FUNCTIONS } from "./signatures.ts";

/** Dimensions of arguments or results: one for all, or one for each, nested as they are; null for those without. */
export type Dims = number | null | readonly Dims[] | { readonly [key: string]: Dims };

/** How `vmap` takes arguments and gives results. */
export interface VmapOptions {
  /** The dimension of each argument that counts the examples; null for an argument that is the same for all. */
  inDims?: Dims;
  /** Where the results count the examples; null for a result that is the same for all. */
  outDims?: Dims;
  /** Whether random operators give each example numbers of its own, all the same, or are refused. */
  randomness?: Randomness;
  /** How many examples at most are computed at once. */
  chunkSize?: number | null;
}

type Settings = Required<VmapOptions> & { name: string };

/** A leaf that may have examples: a tensor or a collection of tensors. */
const sizesOf = (x: unknown): readonly number[] | null => {
  if (x instanceof Tensor) return x._shape;
  return collections.kind?.is(x) ? collections.kind.sizes(x) : null;
};

const nameOf = (fn: unknown): string => {
  // A module is a function whose text tells what it is.
  if (typeof fn === "function" && Object.getPrototypeOf(fn) === Function.prototype) return fn.name || "<lambda>";
  return String(fn);
};

/**
 * A function that calls `fn` with many examples at once: the arguments have one more dimension than `fn` expects
 * (`inDims`, the first unless given), and so have the results (`outDims`). Inside, tensors have the sizes of one
 * example, and each operator computes all of them in one call. Arguments and results may be nested in arrays and plain
 * objects. Gradients flow through it, and it may be called inside of another `vmap`.
 * @param fn a function that is not async; it may not read elements (`item`, `tolist`), which differ by example
 * @example
 * ```ts
 * const dots = func.vmap(dot)(ones(2, 3), arange(6).view(2, 3).float());
 * [dots.tolist(), func.vmap(add, { inDims: [0, null], outDims: 1 })(arange(2), arange(3)).shape]
 * // [[3, 12], torch.Size([3, 2])]
 * ```
 * @throws ValueError when sizes differ or `inDims` and `outDims` do not fit; RuntimeError for a wrong `randomness`, and
 * for what cannot be done with many examples at once
 * @torch torch.func.vmap
 */
export function vmap<A extends readonly unknown[] = Tensor[], R = unknown>(
  fn: (...args: A) => R,
  inDims?: Dims | VmapOptions,
  outDims?: Dims | VmapOptions,
  randomness?: Randomness | VmapOptions,
  options?: VmapOptions,
): (...args: A) => R;
export function vmap(...given: unknown[]): (...args: unknown[]) => unknown {
  const [fn, inDims, outDims, randomness, rest] = inOrder<
    [(...args: unknown[]) => unknown, Dims?, Dims?, Randomness?, VmapOptions?]
  >("vmap", FUNCTIONS.vmap, given);
  const settings = {
    inDims: inDims === undefined || (isDict(inDims) && Object.keys(inDims).length === 0) ? 0 : inDims,
    outDims: outDims === undefined ? 0 : outDims,
    randomness: randomness ?? "error",
    chunkSize: rest?.chunkSize ?? null,
    name: nameOf(fn),
  };
  if (!["error", "different", "same"].includes(settings.randomness)) {
    throw texts.vmapRandomness(undefined, settings.randomness);
  }
  const { chunkSize } = settings;
  if (chunkSize !== null && !(chunkSize > 0)) throw texts.vmapChunk(undefined, chunkSize);
  return (...args) => {
    const inputs = readInputs(settings, args);
    return chunkSize === null ? once(fn, inputs, settings) : inChunks(fn, inputs, settings, chunkSize);
  };
}

interface Inputs {
  readonly size: number;
  readonly leaves: readonly unknown[];
  readonly dims: readonly (number | null)[];
  readonly structure: Structure;
}

function readInputs(settings: Settings, args: unknown[]): Inputs {
  const { name, inDims, outDims } = settings;
  const said = () => pythonText(inDims);
  checkOutDims(outDims, settings);
  if (inDims === null || (typeof inDims !== "number" && !Array.isArray(inDims))) {
    throw texts.vmapInDims(undefined, name, said(), `<class '${typeName(inDims)}'>`);
  }
  if (args.length === 0) throw texts.vmapNoInputs(undefined, name);
  const leaves: unknown[] = [];
  const structure = flatten(args, leaves);
  const dims = broadcast(inDims, structure);
  if (dims === null) {
    const own = structureText(flatten(inDims, []));
    throw texts.vmapInDimsStructure(undefined, name, said(), own, structureText(structure));
  }
  const found: (number | null)[] = [];
  const sizes: number[] = [];
  for (let i = 0; i < dims.length; i++) {
    const dim = inDim(dims[i], leaves[i], name, said);
    found.push(dim);
    if (dim !== null) sizes.push((sizesOf(leaves[i]) as number[])[dim] as number);
  }
  if (sizes.length === 0) throw texts.vmapNoTensor(undefined);
  if (sizes.some((n) => n !== sizes[0])) throw texts.vmapSizes(undefined, pythonText(sizes, false));
  return { size: sizes[0] as number, leaves, dims: found, structure };
}

/** The dimension of an input, counted from the front. */
function inDim(dim: unknown, leaf: unknown, name: string, said: () => string): number | null {
  if (dim === null || dim === undefined) return null;
  if (!Number.isInteger(dim)) throw texts.vmapInDimKind(undefined, name, said(), String(dim));
  const d = dim as number;
  const sizes = sizesOf(leaf);
  if (sizes === null) throw texts.vmapInputKind(undefined, name, said(), d, `<class '${typeName(leaf)}'>`);
  const rank = sizes.length;
  if (d < -rank || d >= rank) throw texts.vmapInDimRange(undefined, name, said(), d, rank);
  return d < 0 ? d + rank : d;
}

function checkOutDims(dims: unknown, { name, outDims }: Settings): void {
  const leaves: unknown[] = [];
  flatten(dims, leaves);
  for (const dim of leaves) {
    if (dim === null || Number.isInteger(dim)) continue;
    throw texts.vmapOutDims(undefined, name, typeof outDims === "string" ? outDims : pythonText(outDims));
  }
}

function once(fn: (...args: unknown[]) => unknown, inputs: Inputs, settings: Settings): unknown {
  const level = new Level(inputs.size, settings.randomness, levels.length + 1);
  levels.push(level);
  try {
    const { leaves, dims } = inputs;
    const entered = leaves.map((x, i) => enter(level, x, dims[i] as number | null));
    const args = rebuilt(inputs.structure, entered) as unknown[];
    return leaveAll(
      level,
      taking(level, "vmap", () => fn(...args)),
      settings,
    );
  } finally {
    level.running = false;
    levels.pop();
  }
}

function enter(level: Level, x: unknown, dim: number | null): unknown {
  if (dim === null) return x;
  if (x instanceof Tensor) return level.enter(x, dim);
  return collections.kind?.enter(x, dim, (t, d) => level.enter(t, d));
}

function leaveAll(level: Level, result: unknown, settings: Settings): unknown {
  const { outDims, name } = settings;
  const leaves: unknown[] = [];
  const structure = flatten(result, leaves);
  const alone = structure.kind === "leaf" && Array.isArray(outDims) && outDims.length === 1;
  const dims = broadcast(alone ? (outDims as unknown[])[0] : outDims, structure);
  if (dims === null) {
    const [said, own] = [pythonText(outDims), structureText(flatten(outDims, []))];
    throw texts.vmapOutDimsStructure(undefined, name, said, own, structureText(structure));
  }
  const left = leaves.map((x, i) => leave(level, x, dims[i] as number | null, name));
  return rebuilt(structure, left);
}

function leave(level: Level, x: unknown, dim: number | null, name: string): unknown {
  if (dim === null) {
    if (level.has(x)) throw texts.vmapBatchedOutput(undefined, name);
    return x;
  }
  if (x instanceof Tensor) return level.leave(x, wrapDim(dim, x.ndim + 1));
  const kind = collections.kind;
  if (!kind?.is(x)) throw texts.vmapOutput(undefined, name, `<class '${typeName(x)}'>`);
  const at = wrapDim(dim, kind.sizes(x).length + 1);
  return kind.leave(x, at, level.size, (t, d) => level.leave(t, d));
}

/** A part of the examples after the other. */
function inChunks(fn: (...args: unknown[]) => unknown, inputs: Inputs, settings: Settings, chunkSize: number): unknown {
  const starts: number[] = [];
  for (let i = 0; i < inputs.size; i += chunkSize) starts.push(i);
  const same = settings.randomness === "same" ? getRngState() : null;
  const parts = starts.map((start) => {
    if (same !== null) setRngState(same);
    const size = Math.min(chunkSize, inputs.size - start);
    const leaves = inputs.leaves.map((x, i) => {
      const dim = inputs.dims[i];
      if (dim === null || dim === undefined) return x;
      return x instanceof Tensor ? x.narrow(dim, start, size) : collections.kind?.part(x, dim, start, size);
    });
    return once(fn, { ...inputs, size, leaves }, settings);
  });
  return joined(parts, settings);
}

function joined(parts: readonly unknown[], { outDims }: Settings): unknown {
  const lists = parts.map((part) => {
    const leaves: unknown[] = [];
    return { leaves, structure: flatten(part, leaves) };
  });
  const { structure, leaves } = lists[0] as (typeof lists)[number];
  const alone = structure.kind === "leaf" && Array.isArray(outDims);
  const dims = broadcast(alone ? (outDims as unknown[])[0] : outDims, structure) as (number | null)[];
  return rebuilt(
    structure,
    leaves.map((first, i) => {
      const dim = dims[i] ?? null;
      if (dim === null) return first;
      const all = lists.map((list) => list.leaves[i]);
      return first instanceof Tensor ? cat(all as Tensor[], dim) : collections.kind?.joined(all, dim);
    }),
  );
}
