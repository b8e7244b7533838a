// How collections print: the detailed form, field by field, and the compact one.
import { Buffer as ModuleBuffer } from "../../nn/parameter.ts";
import type { Device } from "../../tensor/device.ts";
import type { DType } from "../../tensor/dtype.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import type { NestedTensor } from "../core/nested.ts";
import { pythonRepr } from "../core/python-repr.ts";
import { settings } from "../core/settings.ts";
import { isSharedTensor } from "../core/shared.ts";
import {
  type ClassTd,
  Collection,
  entriesOf,
  isClassTd,
  isLazy,
  isNested,
  isNonTensor,
  type LazyTd,
  outlinesOf,
  shapeOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { isUnbatched } from "../core/unbatched.ts";
import { nestedValues } from "../core/values.ts";
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

/** Python's order of strings: by code points, not by UTF-16 units. */
function byCodePoints(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
}

function sorted<T extends readonly [string, unknown]>(fields: T[]): T[] {
  if (!settings.print.sortKeys) return fields;
  return fields.sort(([a], [b]) => byCodePoints(a, b));
}

/** Class name of a tensor as printed: Tensor, Parameter, MemoryMappedTensor, ... */
function tensorClassName(t: Tensor): string {
  return t instanceof ModuleBuffer ? "Tensor" : t.constructor.name;
}

function tensorText(t: Tensor, shape: readonly number[]): string {
  const { print } = settings;
  const parts: string[] = [];
  if (print.showShape) parts.push(`shape=torch.Size([${shape.join(", ")}])`);
  if (print.showFieldDevice) parts.push(`device=${t.device}`);
  if (print.showDtype) parts.push(`dtype=${t.dtype}`);
  if (print.showFieldIsShared) parts.push(`is_shared=${isSharedTensor(t) ? "True" : "False"}`);
  return `${tensorClassName(t)}(${parts.join(", ")})`;
}

type AnyTensor = Tensor | NestedTensor;

function isAnyTensor(entry: Entry): entry is AnyTensor {
  return entry instanceof Tensor || isNested(entry);
}

/** Shape of a stack of differing tensors: -1 where they differ; null when even their ranks do. */
function raggedShape(tensors: readonly AnyTensor[], stackDim: number): number[] | null {
  const [first, ...others] = tensors.map(shapeOf) as [Size, ...Size[]];
  if (!others.every((shape) => shape.length === first.length)) return null;
  const inner = first.map((n, i) => (others.every((shape) => shape[i] === n) ? n : -1));
  return [...inner.slice(0, stackDim), tensors.length, ...inner.slice(stackDim)];
}

interface LazyFields {
  common: [string, Entry | { tensors: AnyTensor[] }][];
  exclusive: [number, [string, Entry][]][];
}

function lazyFields(td: LazyTd): LazyFields {
  const common: LazyFields["common"] = [];
  const shared = new Set(td._keys());
  for (const key of shared) {
    const entries = td.members.map((member) => member._own(key) as Entry);
    if (entries.every(isAnyTensor)) common.push([key, { tensors: entries as AnyTensor[] }]);
    // Tensors in some members and not in others cannot be stacked: each member has its own.
    else if (entries.some(isAnyTensor)) shared.delete(key);
    else common.push([key, td._own(key) as Entry]);
  }
  const exclusive: LazyFields["exclusive"] = [];
  for (const [i, member] of td.members.entries()) {
    const own = [...entriesOf(member)].filter(([key]) => !shared.has(key));
    if (own.length > 0) exclusive.push([i, own]);
  }
  return { common, exclusive };
}

function fieldText(entry: Entry | { tensors: AnyTensor[] }, stackDim: number): string {
  if (entry instanceof Tensor) return tensorText(entry, entry._shape);
  if (isNested(entry)) return tensorText(entry._values, entry._batchSize);
  if (entry instanceof Collection) return detailed(entry as Td);
  const first = entry.tensors[0] as AnyTensor;
  const shape = raggedShape(entry.tensors, stackDim);
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
  if (print.showIsShared) lines.push(`is_shared=${isSharedTree(td) ? "True" : "False"}`);
  return lines;
}

function isSharedTree(td: Td): boolean {
  return td._device?.type === "cuda";
}

function block(name: string, fields: readonly (readonly [string, string])[]): string {
  const lines = fields.map(([key, text]) => indent(`${key}: ${text}`));
  return `${name}={\n${lines.join(",\n")}}`;
}

function nonTensorText(td: ValueTd): string {
  if (td._kind === "nonTensorStack") {
    const list = pythonRepr(nestedValues(valuesOf(td), td._batchSize));
    return `NonTensorStack(\n    ${list},\n    batch_size=${td._batchSize},\n    device=${deviceText(td._device)})`;
  }
  const text = typeof td.value_ === "string" ? td.value_ : pythonRepr(td.value_);
  return `${td._className}(data=${text}, batch_size=${td._batchSize}, device=${deviceText(td._device)})`;
}

function tensorclassText(td: ClassTd): string {
  const present = sorted([...entriesOf(td)].map(([key, entry]): [string, string] => [key, fieldText(entry, 0)]));
  const lines = present.map(([key, text]) => `${key}=${text}`);
  for (const key of td._fieldNames()) if (td._own(key) === undefined) lines.push(`${key}=None`);
  return `${td._className}(\n${[...lines, ...trailer(td)].map((line) => indent(line)).join(",\n")})`;
}

/** The detailed form. */
export function detailed(td: Td): string {
  if (isNonTensor(td)) return nonTensorText(td);
  if (isClassTd(td)) return tensorclassText(td);
  const parts: string[] = [];
  if (isLazy(td)) {
    const { common, exclusive } = lazyFields(td);
    const fields = sorted(common.map(([key, entry]): [string, string] => [key, fieldText(entry, td.stackDim)]));
    parts.push(block("fields", fields));
    const members = exclusive.map(([i, own]) => {
      const inner = sorted(own.map(([key, entry]): [string, string] => [key, fieldText(entry, 0)]));
      return indent(`${i} ->\n${inner.map(([key, text]) => indent(`${key}: ${text}`)).join(",\n")}`);
    });
    parts.push(`exclusive_fields={\n${members.join(",\n")}}`, ...trailer(td), `stack_dim=${td.stackDim}`);
  } else {
    const fields = sorted([...outlinesOf(td)].map(([key, entry]): [string, string] => [key, fieldText(entry, 0)]));
    parts.push(block("fields", fields), ...trailer(td));
  }
  return `${td._className}(\n${parts.map((part) => indent(part)).join(",\n")})`;
}

const SHORT: Record<string, string> = {
  bool: "bool",
  bfloat16: "bf16",
  complex64: "c64",
  complex128: "c128",
};

/** Short name of a dtype: f32, i64, bf16, ... */
function shortDtype(dtype: DType): string {
  const known = SHORT[dtype.name];
  if (known !== undefined) return known;
  return dtype.name
    .replace(/^float8_/, "f8_")
    .replace(/^uint/, "u")
    .replace(/^int/, "i")
    .replace(/^float/, "f");
}

function typeName(value: unknown): string {
  if (value === null || value === undefined) return "NoneType";
  switch (typeof value) {
    case "string":
      return "str";
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return Number.isInteger(value) ? "int" : "float";
    case "function":
      return "function";
    default:
      if (Array.isArray(value)) return "list";
      return Object.getPrototypeOf(value) === Object.prototype ? "dict" : (value as object).constructor.name;
  }
}

function compactToken(
  entry: Entry | { tensors: AnyTensor[] },
  rank: number,
  device: Device | null,
  outer: Size,
): string {
  if (entry instanceof Tensor || isNested(entry)) {
    const where = device === null && entry.device.type !== "cpu" ? `@${entry.device}` : "";
    const own = isUnbatched(entry) ? entry._shape : shapeOf(entry).slice(rank);
    return `${shortDtype(entry.dtype)}[${own.join(",")}]${where}`;
  }
  if (!(entry instanceof Collection)) {
    const shape = raggedShape(entry.tensors, 0);
    const first = entry.tensors[0] as AnyTensor;
    return `${shortDtype(first.dtype)}[${shape === null ? "?" : shape.slice(rank).join(",")}]`;
  }
  if (isNonTensor(entry)) {
    return entry._kind === "nonTensorStack" || entry._className === "MetaData"
      ? entry._className
      : typeName(entry.value_);
  }
  const name = entry._className === "TensorDict" ? "" : entry._className;
  const extra = entry._batchSize.slice(outer.length);
  return `${name}${extra.length > 0 ? `[${extra.join(",")}]` : ""}{${compactFields(entry as Td).join(", ")}}`;
}

function compactFields(td: Td): string[] {
  const rank = td._batchSize.length;
  const token = (entry: Entry | { tensors: AnyTensor[] }) => compactToken(entry, rank, td._device, td._batchSize);
  if (isLazy(td)) {
    return lazyFields(td)
      .common.map(([key, entry]) => `${key}: ${token(entry)}`)
      .sort(byCodePoints);
  }
  const names = isClassTd(td) ? td._fieldNames() : [];
  // Values in files are named, not described: that would mean reading them.
  const text = (entry: Entry) => (td._outside !== undefined && isNonTensor(entry) ? entry._className : token(entry));
  const fields = [...outlinesOf(td)].map(([key, entry]) => `${key}: ${text(entry)}`).sort(byCodePoints);
  const missing = names.filter((key) => td._own(key) === undefined).map((key) => `${key}: None`);
  return [...fields, ...missing];
}

/** The compact form: one line where it fits. */
export function compact(td: Td): string {
  if (isNonTensor(td)) return nonTensorText(td);
  const head = [`batch_size=[${td._batchSize.join(",")}]`];
  if (td._device !== null) head.push(`device=${td._device}`);
  let tail = "";
  if (isLazy(td)) {
    head.push(`stack_dim=${td.stackDim}`);
    const groups = lazyFields(td).exclusive.map(([i, own]) => {
      const fields = own.map(
        ([key, entry]) =>
          `${key}: ${compactToken(entry, td._batchSize.length - 1, td._device, Size.fromList(td._batchSize.slice(1)))}`,
      );
      return `${i}: {${fields.sort().join(", ")}}`;
    });
    if (groups.length > 0) tail = `, exclusive_fields={${groups.join(", ")}}`;
  }
  const fields = compactFields(td);
  const line = `${td._className}(${head.join(", ")}, fields={${fields.join(", ")}}${tail})`;
  if (line.length <= 80 || fields.length === 0) return line;
  return `${td._className}(${head.join(", ")}, fields={\n${fields.map((field) => indent(field)).join(",\n")}}${tail})`;
}

/** The text of a collection, as the settings say. */
export function textOf(td: Td): string {
  return settings.print.compact ? compact(td) : detailed(td);
}
