// Appends rows to a saved TensorDict.

import { FormatError, guarded } from "../../io/base/errors.ts";
import { absolutePath } from "../../io/base/places.ts";
import { toPlain } from "../../io/base/python-json.ts";
import { DirectoryLock } from "../../io/disk/directory-lock.ts";
import { nativeBytes } from "../../io/disk/tensor-bytes.ts";
import { appendRows, finishAppend, type LeafGrowth, levelsOf } from "../../io/memmap/memmap-append.ts";
import { readDirectory } from "../../io/memmap/memmap-read.ts";
import type { LeafNode, NestedNode, NonTensorNode, TensorDictNode, TreeNode } from "../../io/memmap/tree.ts";
import { statSync } from "../../runtime/node.ts";
import { inOrder } from "../../tensor/checks.ts";
import { ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { requireFit } from "../core/batch.ts";
import { pythonString } from "../core/keys.ts";
import { pythonRepr } from "../core/python-repr.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { isNonTensor, type Td } from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { valuesOf } from "../ops/stacking.ts";

function placeText(path: readonly string[]): string {
  if (path.length === 0) return "the saved tensordict";
  const keys = path.map(pythonString);
  return `the entry ${keys.length === 1 ? keys[0] : `(${keys.join(", ")})`}`;
}

function tuple(sizes: readonly number[]): string {
  return `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})`;
}

function listText(keys: Iterable<string>): string {
  return `[${[...keys].sort().map(pythonString).join(", ")}]`;
}

/** Compares rows with what is saved and collects what each tensor gets. */
class Plan {
  readonly growth: LeafGrowth[] = [];
  constructor(private readonly savedRows: number) {}

  entry(saved: LeafNode | NestedNode | TreeNode, rows: Entry, path: readonly string[]): void {
    switch (saved.kind) {
      case "leaf":
        this.leaf(saved, rows, path);
        return;
      case "nested":
        throw new ValueError(`Cannot append to ${placeText(path)}: a nested tensor cannot grow.`);
      case "nonTensor":
        checkValue(saved, rows, path);
        return;
      case "lazy":
        throw new ValueError(`Cannot append to ${placeText(path)}: a lazy stack cannot grow.`);
      case "nonTensorStack":
        throw new ValueError(
          `Cannot append to ${placeText(path)}, a NonTensorStack: a stack of non-tensor values cannot grow.`,
        );
      case "tensordict":
        this.level(saved, saved.className, rows, path);
        return;
      case "tensorclass":
        if (saved.inner.kind === "lazy") this.entry(saved.inner, rows, path);
        else this.level(saved.inner, saved.className, rows, path);
    }
  }

  private level(saved: TensorDictNode, className: string, rows: Entry, path: readonly string[]): void {
    const given = rows instanceof Tensor ? "Tensor" : rows._className;
    if (given !== className) throw new ValueError(`Cannot append a ${given} to ${placeText(path)}, a ${className}.`);
    const td = rows as Td;
    const { batchSize } = saved;
    if (batchSize[0] !== this.savedRows) {
      throw new FormatError(`it has ${batchSize[0]} rows, the outermost level ${this.savedRows}`, saved.path);
    }
    const [a, b] = [[...batchSize], [...td._batchSize]];
    if (a.length !== b.length || a.some((n, i) => i > 0 && n !== b[i])) {
      throw new ValueError(
        `Cannot append rows of batch size torch.Size([${b.join(", ")}]) to ${placeText(path)}, of batch size ` +
          `torch.Size([${a.join(", ")}]): they differ beyond the first dimension.`,
      );
    }
    const keys = [...td._keys()];
    if (keys.length !== saved.entries.size || keys.some((key) => !saved.entries.has(key))) {
      const known = listText(saved.entries.keys());
      throw new ValueError(
        `Cannot append rows with the keys ${listText(keys)} to ${placeText(path)}, which has the keys ${known}.`,
      );
    }
    for (const [key, entry] of saved.entries) this.entry(entry, td._own(key) as Entry, [...path, key]);
  }

  private leaf(saved: LeafNode, rows: Entry, path: readonly string[]): void {
    if (!(rows instanceof Tensor)) {
      throw new ValueError(`Cannot append a ${rows._className} to ${placeText(path)}, a tensor.`);
    }
    const { shape, dtype } = saved.meta;
    if (shape[0] !== this.savedRows) throw new FormatError(`${shape[0]} rows instead of ${this.savedRows}`, saved.path);
    const given = rows._shape;
    if (rows.dtype !== dtype || given.length !== shape.length || given.some((n, i) => i > 0 && n !== shape[i])) {
      throw new ValueError(
        `Cannot append rows of dtype ${rows.dtype} and shape ${tuple(given)} to ${placeText(path)}, of dtype ` +
          `${dtype} and shape ${tuple(shape)}.`,
      );
    }
    this.growth.push({ leaf: saved, bytes: nativeBytes(rows) });
  }
}

function checkValue(saved: NonTensorNode, rows: Entry, path: readonly string[]): void {
  if (saved.pickle !== null) {
    throw new ValueError(`Cannot append to ${placeText(path)}: its saved value is a pickle, which is not compared.`);
  }
  const value = toPlain(saved.data);
  const values = isNonTensor(rows) ? valuesOf(rows) : null;
  if (values?.every((other) => Bun.deepEquals(other, value, true))) return;
  const first = values?.find((other) => !Bun.deepEquals(other, value, true));
  throw new ValueError(
    `Cannot append to ${placeText(path)}: the saved non-tensor value ${pythonRepr(value)} stays as it is, so the ` +
      `rows must hold the same value, not ${values === null ? String(rows) : pythonRepr(first)}.`,
  );
}

/**
 * Appends rows to a TensorDict (or an object of a tensorclass) saved in a directory, along its first batch dimension.
 * Keys, classes, dtypes and all other sizes must be those that are saved; values that are no tensors stay and must be
 * equal. Everything is checked before the first file is written; then files grow, and last the metadata of all levels
 * is replaced, the outermost first. Whoever mapped the files before keeps the old rows. Other appends and saves to the
 * directory are waited for, those of Workers and other processes too, unless the file system has no locks; nobody
 * should load it meanwhile. An append that is killed midway is completed or dropped by the next one.
 * @throws ValueError when the rows do not fit or the directory holds something that cannot grow, such as a lazy stack
 * @example
 * ```ts
 * new TensorDict({ a: arange(2) }, [2]).memmap("data");
 * appendMemmap("data", new TensorDict({ a: tensor([7n]) }, [1]));
 * TensorDict.loadMemmap("data").get("a") // MemoryMappedTensor([0, 1, 7])
 * ```
 * @torch tensordict.append_memmap
 */
export function appendMemmap(prefix: string, rows: Td): void {
  [prefix, rows] = inOrder<Parameters<typeof appendMemmap>>("appendMemmap", FUNCTIONS.appendMemmap, arguments);
  requireFit(rows, "memory-mapped");
  absolutePath(prefix);
  if (!guarded(prefix, () => statSync(prefix, { throwIfNoEntry: false })?.isDirectory())) {
    throw new ValueError(
      `append_memmap appends to a directory written by save or memmap, and ${prefix} is not one. An archive cannot ` +
        "grow: unpack it first.",
    );
  }
  using _ = DirectoryLock.take(prefix);
  let saved = readDirectory(prefix);
  if (finishAppend(levelsOf(saved))) saved = readDirectory(prefix);
  const level = saved.kind === "tensorclass" ? saved.inner : saved;
  if (level.kind !== "tensordict") {
    throw new ValueError(
      `Cannot append a ${rows._className} to the saved tensordict, a ${
        level.kind === "lazy"
          ? "LazyStackedTensorDict"
          : level.kind === "nonTensor"
            ? level.className
            : "NonTensorStack"
      }.`,
    );
  }
  const [before, added] = [level.batchSize[0], rows._batchSize[0]];
  if (before === undefined || added === undefined) {
    throw new ValueError(
      "append_memmap appends along the first batch dimension, which the saved tensordict (batch size " +
        `torch.Size([${level.batchSize.join(", ")}])) and the rows (batch size ${rows._batchSize}) must both have.`,
    );
  }
  const plan = new Plan(before);
  plan.entry(saved, rows, []);
  appendRows(levelsOf(saved), plan.growth, before + added);
}
