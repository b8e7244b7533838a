// All tensors of a collection in one, and back: `pack` and the layout that it gives.

import { installChecks } from "../../tensor/checks.ts";
import type { Device } from "../../tensor/device.ts";
import { IndexError, KeyError, RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { numelOf, Size, sameSizes } from "../../tensor/size.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { unravelKey } from "../core/keys.ts";
import { isLeafNontensor } from "../core/leaves.ts";
import { LAYOUT_METHODS } from "../core/signatures.ts";
import {
  type ClassTd,
  entriesOf,
  isClassTd,
  isLazy,
  isNested,
  isNonTensor,
  isTensorCollection,
  make,
  stateOf,
  type Td,
} from "../core/state.ts";
import { catTensors, zeros } from "../core/tensor-ops.ts";

import { listEntries } from "./access.ts";
import { keyRepr } from "./padding.ts";
import { setEntry } from "./writes.ts";

type Path = readonly string[];

/** A nested collection: where it is, its batch behind the outer one, and an object of its class. */
interface NestedLayout {
  path: Path;
  batch: readonly number[];
  model: ClassTd | null;
}

interface Parts {
  paths: readonly Path[];
  shapes: readonly Size[];
  dim: number;
  nested: readonly NestedLayout[];
  device: Device | null;
  model: ClassTd | null;
}

const tuple = (items: readonly string[]) => `(${items.join(", ")}${items.length === 1 ? "," : ""})`;

/**
 * How the tensors of a collection lie in a packed one.
 * @example
 * ```ts
 * const [, layout] = new TensorDict({ p: zeros(5), v: ones(5, 3) }, [5]).pack();
 * [layout.keys, layout.shapes, layout.dim, layout.device, layout.offsets, layout.numel]
 * // [[p, v], [torch.Size([]), torch.Size([3])], -1, null, [0, 1], 4]
 * ```
 * @torch tensordict.PackLayout
 */
export class PackLayout {
  /** Keys of the tensors, in their order. */
  readonly keys: readonly (string | string[])[];
  /** Their shapes behind the batch. */
  readonly shapes: readonly Size[];
  /** The packed dimension, counted from the end. */
  readonly dim: number;
  /** Where each tensor begins. */
  readonly offsets: readonly number[];
  /** Elements of all tensors together, for one element of the batch. */
  readonly numel: number;
  /** The device of what was packed. */
  readonly device: Device | null;
  readonly #parts: Parts;

  /** @internal */
  constructor(parts: Parts) {
    this.#parts = parts;
    this.keys = parts.paths.map((path) => unravelKey(path));
    this.shapes = parts.shapes;
    this.dim = parts.dim;
    this.device = parts.device;
    const offsets: number[] = [];
    let numel = 0;
    for (const shape of parts.shapes) {
      offsets.push(numel);
      numel += numelOf(shape);
    }
    this.offsets = offsets;
    this.numel = numel;
  }

  /** @internal */
  get _paths(): readonly Path[] {
    return this.#parts.paths;
  }

  /**
   * The collection that a packed tensor stands for: its tensors are views. The batch may be another one.
   * @throws IndexError for a tensor without the packed dimension, ValueError for another number of elements
   * @example
   * ```ts
   * const [flat, layout] = new TensorDict({ p: zeros(5) }, [5]).pack();
   * layout.unpack(flat.at("1:3")).batchSize // torch.Size([2])
   * ```
   * @torch PackLayout.unpack
   */
  unpack(flat: Tensor): Td {
    const rank = flat.ndim;
    const at = this.dim < 0 ? this.dim + rank : this.dim;
    if (at < 0 || at >= rank) {
      throw new IndexError(`dim ${this.dim} is out of range for a tensor with ${rank} dimensions.`);
    }
    if (flat._shape[at] !== this.numel) {
      throw new ValueError(
        `Expected ${this.numel} entries along dim ${this.dim} of the packed tensor, got ${flat._shape[at]}.`,
      );
    }
    const rows = flat.movedim(at, -1);
    const batch = rows._shape.slice(0, -1);
    const { nested, device, paths, model } = this.#parts;
    const state = (more: readonly number[]) => ({
      batchSize: Size.fromList([...batch, ...more]),
      device: device === null ? null : flat.device,
      names: null,
    });
    const out = make.tensordict(new Map(), state([])) as Td;
    for (const one of nested) setEntry(out, unravelKey(one.path), make.tensordict(new Map(), state(one.batch)));
    for (const [i, path] of paths.entries()) {
      const shape = this.shapes[i] as Size;
      const part = rows.narrow(-1, this.offsets[i] as number, numelOf(shape));
      setEntry(out, unravelKey(path), shape.length === 0 ? part.squeeze(-1) : part.unflatten(-1, [...shape]));
    }
    for (const one of [...nested].reverse()) {
      if (one.model !== null) setEntry(out, unravelKey(one.path), asClass(one.model, out.get(one.path) as Td));
    }
    return model === null ? out : asClass(model, out);
  }

  /** As Python shows it. */
  toString(): string {
    const keys = tuple(this.#parts.paths.map((path) => keyRepr(path)));
    const shapes = tuple(this.shapes.map(String));
    const offsets = tuple(this.offsets.map(String));
    return (
      `PackLayout(keys=${keys}, shapes=${shapes}, dim=${this.dim}, device=${this.device ?? "None"}, ` +
      `offsets=${offsets}, numel=${this.numel})`
    );
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
installChecks(PackLayout.prototype, LAYOUT_METHODS);

function asClass(model: ClassTd, td: Td): Td {
  return (model as Td)._like(new Map(entriesOf(td)), stateOf(td));
}

/** Refuses lazy stacks whose members have different keys. */
function requireSameMembers(td: Td, where: string): void {
  if (!isLazy(td)) return;
  const keys = new Set(td._keys());
  if (td.members.some((member) => [...member._keys()].some((key) => !keys.has(key)))) {
    throw new RuntimeError(`Cannot pack ${where}`, { op: "pack" });
  }
}

/** The tensors by path, and the nested collections. */
function contents(td: Td): [Map<string, [Path, Tensor]>, NestedLayout[]] {
  requireSameMembers(td, "a lazy stack whose members have different keys.");
  const rank = td._batchSize.length;
  const leaves = new Map<string, [Path, Tensor]>();
  const nested: NestedLayout[] = [];
  for (const [path, entry] of listEntries(
    td,
    { includeNested: true, isLeaf: isLeafNontensor, sort: true },
    entriesOf,
    true,
  )) {
    if (isNonTensor(entry)) {
      throw new TypeError(
        `Cannot pack the non-tensor entry ${keyRepr(path)}. Drop the non-tensor entries with ` +
          "filter_non_tensor_data() first.",
        { op: "pack" },
      );
    }
    if (isTensorCollection(entry)) {
      requireSameMembers(entry, `the lazy stack at ${keyRepr(path)}: its members have different keys.`);
      const model = isClassTd(entry) ? (entry as ClassTd) : null;
      nested.push({ path: [...path], batch: entry._batchSize.slice(rank), model });
    } else if (isNested(entry)) {
      throw new RuntimeError(`Cannot pack the nested tensor ${keyRepr(path)}.`, { op: "pack" });
    } else leaves.set(path.join("\0"), [[...path], entry as Tensor]);
  }
  return [leaves, nested];
}

/** The tensors in the order of a layout that they must fit. */
function inOrderOf(layout: PackLayout, leaves: Map<string, [Path, Tensor]>): [Path, Tensor][] {
  const wanted = layout._paths.map((path) => path.join("\0"));
  if (wanted.length !== leaves.size || wanted.some((id) => !leaves.has(id))) {
    const text = (paths: Iterable<Path>) =>
      `[${[...paths]
        .map((path) => keyRepr(path))
        .sort()
        .join(", ")}]`;
    throw new KeyError(
      "The leaves of the tensordict differ from the keys of the layout: " +
        `${text([...leaves.values()].map(([path]) => path))} vs ${text(layout._paths)}.`,
    );
  }
  return wanted.map((id) => leaves.get(id) as [Path, Tensor]);
}

/** Refuses what cannot lie in one tensor. */
function requireAlike(pairs: readonly [Path, Tensor][]): void {
  const [first] = pairs;
  for (const [path, t] of pairs) {
    const [, own] = first as [Path, Tensor];
    if (t.dtype !== own.dtype) {
      throw new TypeError(
        `Cannot pack leaves of different dtypes: ${own.dtype} and ${t.dtype} at ${keyRepr(path)}. Cast the ` +
          "tensordict first, e.g. with float().",
        { op: "pack" },
      );
    }
    if (!t.device.equals(own.device)) {
      throw new RuntimeError(
        `Cannot pack leaves on different devices: ${own.device} and ${t.device} at ${keyRepr(path)}.`,
        { op: "pack" },
      );
    }
  }
}

/** One tensor of all, and how they lie in it. @torch TensorDict.pack */
export function packTd(td: Td, dim: number, layout: PackLayout | null): [Tensor, PackLayout] {
  const rank = td._batchSize.length;
  if (dim < -rank - 1 || dim > rank) {
    throw new IndexError(`dim ${dim} is out of range for packing a tensordict with ${rank} batch dimensions.`);
  }
  const at = dim < 0 ? dim + rank + 1 : dim;
  const [leaves, nested] = contents(td);
  if (layout !== null && (layout.dim < 0 ? layout.dim + rank + 1 : layout.dim) !== at) {
    throw new ValueError(`Cannot pack along dim ${dim} with a layout packed along dim ${layout.dim}.`);
  }
  const pairs = layout === null ? [...leaves.values()] : inOrderOf(layout, leaves);
  const shapes = pairs.map(([, t]) => Size.fromList(t._shape.slice(rank)));
  if (layout !== null && !shapes.every((shape, i) => sameSizes(shape, layout.shapes[i] as Size))) {
    throw new ValueError(
      "The feature shapes of the leaves differ from those of the layout: " +
        `${tuple(shapes.map(String))} vs ${tuple(layout.shapes.map(String))}.`,
    );
  }
  requireAlike(pairs);
  const flat = pairs.map(([, t]) => {
    const row = t.ndim > rank ? t.flatten(rank) : t.unsqueeze(-1);
    return at === rank ? row : row.movedim(-1, at);
  });
  const batch = [...td._batchSize];
  const none = () =>
    zeros([...batch.slice(0, at), 0, ...batch.slice(at)], td._device === null ? {} : { device: td._device });
  const model = isClassTd(td) ? (td as ClassTd) : null;
  const paths = pairs.map(([path]) => path);
  const made = new PackLayout({ paths, shapes, dim: at - rank - 1, nested, device: td._device, model });
  return [flat.length === 0 ? none() : catTensors(flat, at).contiguous(), made];
}
