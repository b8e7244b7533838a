// How collections print: the detailed form, field by field, and the compact one.
import { Buffer as ModuleBuffer } from "../../nn/parameter.ts";
import { byCodePoints } from "../../tensor/code-points.ts";
import type { Device } from "../../tensor/device.ts";
import { Tensor } from "../../tensor/tensor.ts";
import type { NestedTensor } from "../core/nested.ts";
import { pythonRepr } from "../core/python-repr.ts";
import { keysAreSorted, settings } from "../core/settings.ts";
import { isSharedTd, isSharedTensor } from "../core/shared.ts";
import {
  type ClassTd,
  Collection,
  isClassTd,
  isLazy,
  isNested,
  isNonTensor,
  type LazyTd,
  outlineOf,
  outlinesOf,
  shapeOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import { stackTensors } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { nestedValues } from "../core/values.ts";
import { compactText } from "./compact.ts";
import { valuesOf } from "./stacking.ts";

function deviceText(device: Device | null): string {
  return device === null ? "None" : String(device);
}

function indent(text: string, depth = 1): string {
  const pad = "    ".repeat(depth);
  return text
    .split("\n")
    .map((line) => pad + line)
    .join("\n");
}

/** Lines of fields, sorted as they are printed: "a-b: " comes before "a: ". */
function fieldLines(fields: readonly (readonly [string, string])[], between: string): string[] {
  const lines = fields.map(([key, text]) => `${key}${between}${text}`);
  return keysAreSorted() ? lines.sort(byCodePoints) : lines;
}

/** Class name of a tensor as printed: Tensor, Parameter, MemoryMappedTensor, ... */
function tensorClassName(t: Tensor): string {
  return t instanceof ModuleBuffer ? "Tensor" : t.constructor.name;
}

const pythonBool = (value: boolean) => (value ? "True" : "False");

/** Python's `%.4g`. */
function shortNumber(n: number): string {
  if (!Number.isFinite(n)) return Number.isNaN(n) ? "nan" : n > 0 ? "inf" : "-inf";
  const exponent = n === 0 ? 0 : Number(n.toExponential(3).split("e")[1]);
  if (exponent >= -4 && exponent < 4) return String(Number(n.toPrecision(4)));
  const [digits, power] = n.toExponential(3).split("e") as [string, string];
  return `${Number(digits)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

/** Mean and standard deviation, or the smallest and largest element. */
function valuesSummary(t: Tensor): string {
  if (t.numel() === 0) return "[]";
  const plain = t.detach();
  if (plain.isComplex())
    return `mean=${plain.to("complex128").mean().item()}, std=${plain.to("complex128").std().item()}`;
  if (plain.isFloatingPoint()) {
    const wide = plain.double();
    const std = wide.numel() > 1 ? wide.std().item() : Number.NaN;
    return `mean=${shortNumber(wide.mean().item())}, std=${shortNumber(std)}`;
  }
  const text = (one: Tensor) =>
    typeof one.item<boolean>() === "boolean" ? pythonBool(one.item<boolean>()) : String(one.item());
  return `min=${text(plain.min())}, max=${text(plain.max())}`;
}

function tensorText(t: Tensor, shape: readonly number[]): string {
  const { print } = settings;
  const parts: string[] = [];
  if (print.showShape) parts.push(`shape=torch.Size([${shape.join(", ")}])`);
  if (print.showFieldDevice) parts.push(`device=${t.device}`);
  if (print.showDtype) parts.push(`dtype=${t.dtype}`);
  if (print.showFieldIsShared) parts.push(`is_shared=${pythonBool(isSharedTensor(t))}`);
  if (print.showGrad) parts.push(`requires_grad=${pythonBool(t.requiresGrad)}`);
  if (print.showIsContiguous) parts.push(`is_contiguous=${pythonBool(t.isContiguous())}`);
  if (print.showIsView) parts.push(`is_view=${pythonBool(t.isView())}`);
  if (print.showStorageSize) parts.push(`storage_size=${t.untypedStorage().nbytes}`);
  if (print.plain) parts.push(valuesSummary(t));
  return `${tensorClassName(t)}(${parts.join(", ")})`;
}

type AnyTensor = Tensor | NestedTensor;

function isAnyTensor(entry: Entry): entry is AnyTensor {
  return entry instanceof Tensor || isNested(entry);
}

/** Members that are no lazy stacks, of those that are in their place. */
function membersOf(td: LazyTd): Td[] {
  return td.members.flatMap((member) => (isLazy(member) ? membersOf(member) : [member]));
}

/** Shape of a stack of differing tensors: -1 where they differ; null when even their ranks do. */
function stackedShape(td: Td, key: string): number[] | null {
  if (!isLazy(td)) return [...shapeOf(outlineOf(td, key) as Entry)];
  const shapes = td.members.map((member) => stackedShape(member, key));
  const [first, ...others] = shapes;
  if (first === undefined || first === null) return null;
  if (!others.every((shape) => shape !== null && shape.length === first.length)) return null;
  const inner = first.map((n, i) => (others.every((shape) => shape?.[i] === n) ? n : -1));
  return [...inner.slice(0, td.stackDim), td.members.length, ...inner.slice(td.stackDim)];
}

type Field = Entry | { tensors: AnyTensor[]; shape: number[] | null } | { kinds: string[] };

interface LazyFields {
  common: [string, Field][];
  exclusive: [number, [string, Field][]][];
}

/** What an entry of a stack prints as: its tensors are not stacked for it. */
function fieldOf(td: Td, key: string): Field {
  if (!isLazy(td)) return outlineOf(td, key) as Entry;
  const entries = membersOf(td).map((member) => outlineOf(member, key) as Entry);
  if (entries.every(isAnyTensor)) return { tensors: entries, shape: stackedShape(td, key) };
  // Tensors in some members and not in others cannot be stacked.
  if (entries.some(isAnyTensor)) return { kinds: [...new Set(entries.map(className))] };
  return td._own(key) as Entry;
}

function lazyFields(td: LazyTd): LazyFields {
  const common: LazyFields["common"] = [];
  const shared = new Set(td._keys());
  for (const key of shared) common.push([key, fieldOf(td, key)]);
  const exclusive: LazyFields["exclusive"] = [];
  for (const [i, member] of td.members.entries()) {
    const own = [...member._keys()].filter((key) => !shared.has(key));
    if (own.length > 0) exclusive.push([i, own.map((key) => [key, fieldOf(member, key)])]);
  }
  return { common, exclusive };
}

function className(entry: Entry): string {
  if (entry instanceof Tensor) return tensorClassName(entry);
  return isNested(entry) ? tensorClassName(entry._values) : entry._className;
}

function fieldText(entry: Field, stackDim: number): string {
  if (entry instanceof Tensor) return tensorText(entry, entry._shape);
  if (isNested(entry)) return tensorText(entry._values, entry._batchSize);
  if (entry instanceof Collection) return detailed(entry as Td);
  if ("kinds" in entry) return `[${entry.kinds.join(", ")}]`;
  const first = entry.tensors[0] as AnyTensor;
  const { shape } = entry;
  const { print } = settings;
  const reads = print.showGrad || print.showIsContiguous || print.showIsView || print.showStorageSize || print.plain;
  if (reads && shape !== null && !shape.includes(-1) && shape.length === shapeOf(first).length + 1) {
    const stacked = stackTensors(
      entry.tensors.map((one) => (isNested(one) ? one._values : one)),
      stackDim,
    );
    return tensorText(stacked, stacked._shape);
  }
  return shape === null
    ? `${tensorClassName(isNested(first) ? first._values : first)}(shape=ragged, dtype=${first.dtype})`
    : stackedText(entry.tensors, shape);
}

// What reading the entry would give is a fresh, unshared tensor.
function stackedText(tensors: readonly AnyTensor[], shape: readonly number[]): string {
  const first = tensors[0] as AnyTensor;
  const parts = [`shape=torch.Size([${shape.join(", ")}])`, `device=${first.device}`, `dtype=${first.dtype}`];
  return `Tensor(${parts.join(", ")}, is_shared=False)`;
}

function trailer(td: Td): string[] {
  const { print } = settings;
  const lines: string[] = [];
  if (print.showBatchSize) lines.push(`batch_size=${td._batchSize}`);
  if (print.showDevice) lines.push(`device=${deviceText(td._device)}`);
  if (print.showIsShared) lines.push(`is_shared=${pythonBool(isSharedTd(td))}`);
  return lines;
}

function block(name: string, fields: readonly (readonly [string, string])[]): string {
  const lines = fieldLines(fields, ": ").map((line) => indent(line));
  return `${name}={\n${lines.join(",\n")}}`;
}

/** Characters of a list of values that are shown. */
const SHOWN = 50;

/** The beginning of a long text. */
function shortened(text: string, length = SHOWN): string {
  // A character has two units at most.
  const characters = [...text.slice(0, 2 * length + 2)];
  return characters.length <= length ? text : `${characters.slice(0, length).join("")}...`;
}

/** A text that is shown as a long one is, up to where that is cut: both have the same quotes around them. */
function beginning(value: unknown): unknown {
  if (typeof value !== "string" || value.length < 4 * SHOWN) return value;
  return value.slice(0, 2 * SHOWN) + ["'", '"'].filter((quote) => value.includes(quote)).join("");
}

function nonTensorText(td: ValueTd): string {
  if (td._kind === "nonTensorStack") {
    const values = nestedValues(valuesOf(td), td._batchSize);
    // Each value takes a character at least: what comes behind so many is not shown.
    const list = shortened(pythonRepr(Array.isArray(values) ? values.slice(0, SHOWN + 1).map(beginning) : values));
    return `NonTensorStack(\n    ${list},\n    batch_size=${td._batchSize},\n    device=${deviceText(td._device)})`;
  }
  const text = typeof td.value_ === "string" ? td.value_ : pythonRepr(td.value_);
  return `${td._className}(data=${text}, batch_size=${td._batchSize}, device=${deviceText(td._device)})`;
}

function tensorclassText(td: ClassTd): string {
  const source: Td = td._source ?? td;
  const stackDim = isLazy(source) ? source.stackDim : 0;
  const keys = [...td._keys()];
  const present = keys.map((key): [string, string] => [key, fieldText(fieldOf(source, key), stackDim)]);
  const lines = fieldLines(present, "=");
  for (const key of td._fieldNames()) if (!keys.includes(key)) lines.push(`${key}=None`);
  return `${td._className}(\n${[...lines, ...trailer(td)].map((line) => indent(line)).join(",\n")})`;
}

/** The detailed form. */
export function detailed(td: Td): string {
  if (isNonTensor(td)) return nonTensorText(td);
  if (isClassTd(td)) return tensorclassText(td);
  const parts: string[] = [];
  if (isLazy(td)) {
    const { common, exclusive } = lazyFields(td);
    const fields = common.map(([key, entry]): [string, string] => [key, fieldText(entry, td.stackDim)]);
    parts.push(block("fields", fields));
    const members = exclusive.map(([i, own]) => {
      const inner = own.map(([key, entry]): [string, string] => [key, fieldText(entry, 0)]);
      const lines = fieldLines(inner, ": ").map((line) => indent(line));
      return indent(`${i} ->\n${lines.join(",\n")}`);
    });
    parts.push(`exclusive_fields={\n${members.join(",\n")}}`, ...trailer(td), `stack_dim=${td.stackDim}`);
  } else {
    const fields = [...outlinesOf(td)].map(([key, entry]): [string, string] => [key, fieldText(entry, 0)]);
    parts.push(block("fields", fields), ...trailer(td));
  }
  return `${td._className}(\n${parts.map((part) => indent(part)).join(",\n")})`;
}

/** The compact form: one line where it fits. */
export function compact(td: Td): string {
  return isNonTensor(td) ? nonTensorText(td) : compactText(td);
}

/** The text of a collection, as the settings say. */
export function textOf(td: Td): string {
  return settings.print.compact ? compact(td) : detailed(td);
}
