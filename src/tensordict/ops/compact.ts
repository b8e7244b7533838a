// The compact form of collections: keys with short dtypes and shapes, on one line where they fit.

import { promoteTypes } from "../../dispatch/promotion.ts";
import { byCodePoints } from "../../tensor/code-points.ts";
import type { Device } from "../../tensor/device.ts";
import type { DType } from "../../tensor/dtype.ts";
import { Tensor } from "../../tensor/tensor.ts";
import type { NestedTensor } from "../core/nested.ts";
import { keysAreSorted, settings } from "../core/settings.ts";
import { isClassTd, isLazy, isNested, isNonTensor, outlineOf, shapeOf, type Td } from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { isUnbatched } from "../core/unbatched.ts";

const WIDTH = 80;

/** An entry: its text, or a collection. */
type Node = string | Block;
interface Block {
  prefix: string;
  entries: [string, Node][];
}

type AnyTensor = Tensor | NestedTensor;

const isTensor = (entry: Entry | undefined): entry is AnyTensor => entry instanceof Tensor || isNested(entry);

const SHORT: Record<string, string> = { bool: "bool", bfloat16: "bf16", complex64: "c64", complex128: "c128" };

/** Short name of a dtype: f32, i64, bf16, ... */
export function shortDtype(dtype: DType): string {
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

/** The shape behind the batch dimensions; of an unbatched tensor all of it. */
function ownShape(td: Td, tensor: AnyTensor): readonly number[] {
  return isUnbatched(tensor) ? tensor._shape : shapeOf(tensor).slice(td._batchSize.length);
}

function tensorToken(td: Td, shape: readonly number[], dtype: DType, devices: ReadonlySet<string>): string {
  const sizes = `[${shape.join(",")}]`;
  const token = settings.print.showDtype ? shortDtype(dtype) + sizes : sizes;
  const elsewhere = [...devices].some((device) => device !== "cpu");
  return elsewhere && td._device === null ? `${token}@${[...devices].sort().join(",")}` : token;
}

const deviceName = (device: Device) => String(device);

/** A tensor of a stack, from those of its members: -1 where their sizes differ. */
function stackedToken(td: Td, key: string): Node {
  const shapes: (readonly number[])[] = [];
  const devices = new Set<string>();
  let dtype: DType | null = null;
  const open: Td[] = [td];
  for (let at = open.shift(); at !== undefined; at = open.shift()) {
    if (isLazy(at)) {
      open.push(...at.members);
      continue;
    }
    const entry = outlineOf(at, key);
    if (!isTensor(entry)) return entryNode(at, key);
    shapes.push(ownShape(at, entry));
    devices.add(deviceName(entry.device));
    dtype = dtype === null ? entry.dtype : promoteTypes(dtype, entry.dtype);
  }
  const [first, ...others] = shapes as [readonly number[], ...(readonly number[])[]];
  const ragged = others.some((shape) => shape.length !== first.length);
  const common = first.map((n, i) => (others.every((shape) => shape[i] === n) ? n : -1));
  return tensorToken(td, ragged ? [-1] : common, dtype as DType, devices);
}

/** The first member of the first member ..., which decides what the entries of a stack are. */
function firstOf(td: Td): Td {
  return isLazy(td) && td.members.length > 0 ? firstOf(td.members[0] as Td) : td;
}

function entryNode(td: Td, key: string): Node {
  const first = firstOf(td);
  const item = outlineOf(first, key);
  if (isTensor(item)) {
    if (first !== td) return stackedToken(td, key);
    return tensorToken(td, ownShape(td, item), item.dtype, new Set([deviceName(item.device)]));
  }
  if (item === undefined) return typeName(item);
  if (isNonTensor(item)) {
    // Values in files are named, not described: that would mean reading them.
    const named = item._kind === "nonTensorStack" || item._className === "MetaData" || first._outside !== undefined;
    return named ? item._className : typeName(item.value_);
  }
  const sub = first === td ? item : (td._own(key) as Td);
  const extra = sub._batchSize.slice(td._batchSize.length);
  const name = item._className === "TensorDict" ? "" : item._className;
  return { prefix: extra.length > 0 ? `${name}[${extra.join(",")}]` : name, entries: entriesOf(sub as Td) };
}

function flat(node: Node): string {
  if (typeof node === "string") return node;
  return `${node.prefix}{${node.entries.map(([key, one]) => `${key}: ${flat(one)}`).join(", ")}}`;
}

function nodesOf(td: Td, keys: Iterable<string>): [string, Node][] {
  const nodes = Array.from(keys, (key): [string, Node] => [key, entryNode(td, key)]);
  if (!keysAreSorted()) return nodes;
  const texts = new Map(nodes.map(([key, node]) => [key, `${key}: ${flat(node)}`]));
  return nodes.sort(([a], [b]) => byCodePoints(texts.get(a) as string, texts.get(b) as string));
}

function entriesOf(td: Td): [string, Node][] {
  const nodes = nodesOf(td, td._keys());
  if (!isClassTd(td)) return nodes;
  const missing = td._fieldNames().filter((key) => td._own(key) === undefined);
  return [...nodes, ...missing.map((key): [string, Node] => [key, "None"])];
}

const columns = (text: string) => [...text].length;

/** One line where it fits between what is before and after it; else a line for each entry, by the same rule. */
function render(node: Node, margin: string, used: number, tail: number): string {
  const line = flat(node);
  if (typeof node === "string" || node.entries.length === 0 || used + columns(line) + tail <= WIDTH) return line;
  const inner = `${margin}    `;
  const lines = node.entries.map(([key, one], i) => {
    const after = i === node.entries.length - 1 ? tail + 1 : 1;
    return `${inner}${key}: ${render(one, inner, columns(inner) + columns(key) + 2, after)}`;
  });
  return `${node.prefix}{\n${lines.join(",\n")}}`;
}

/** What members of a stack have that others have not. */
function exclusiveOf(td: Td): [string, Node][] {
  if (!isLazy(td)) return [];
  const shared = new Set(td._keys());
  const groups: [string, Node][] = [];
  for (const [i, member] of td.members.entries()) {
    const own = [...member._keys()].filter((key) => !shared.has(key));
    if (own.length > 0) groups.push([String(i), { prefix: "", entries: nodesOf(member, own) }]);
  }
  return groups;
}

/** The compact form of a collection with entries. */
export function compactText(td: Td): string {
  const { print } = settings;
  const head: string[] = [];
  if (print.showBatchSize) head.push(`batch_size=[${td._batchSize.join(",")}]`);
  if (print.showDevice && td._device !== null) head.push(`device=${td._device}`);
  if (isLazy(td)) head.push(`stack_dim=${td.stackDim}`);
  const start = `${td._className}(${head.map((part) => `${part}, `).join("")}fields=`;
  const exclusive = exclusiveOf(td);
  const tail = exclusive.length > 0 ? 1 + ", exclusive_fields={".length : 1;
  let text = start + render({ prefix: "", entries: entriesOf(td) }, "", columns(start), tail);
  if (exclusive.length > 0) {
    const used = columns(text.slice(text.lastIndexOf("\n") + 1)) + ", exclusive_fields=".length;
    text += `, exclusive_fields=${render({ prefix: "", entries: exclusive }, "", used, 1)}`;
  }
  return `${text})`;
}
