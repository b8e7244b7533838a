// TensorDicts from their printed forms: the same keys, shapes, dtypes and devices, all elements zero.
import { inOrder } from "../../tensor/checks.ts";
import { type Device, toDevice } from "../../tensor/device.ts";
import { type DType, dtypeByName, dtypes } from "../../tensor/dtype.ts";
import { ValueError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { pythonString } from "../core/keys.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { make, type Td } from "../core/state.ts";
import { zeros } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { shortDtype } from "./compact.ts";

/** Levels that a printed TensorDict may have. */
const MAX_DEPTH = 500;

const HEADER = /\w+\((?:batch_size=\[([\d,]*)\],\s+)?(?:device=([\w:]+),\s+)?(?:stack_dim=\d+,\s+)?fields=(?=\{)/;
const VALUE = /(\w*)(?:\[([-\d,]*)\])?(?:@([\w:]+(?:,[\w:]+)*))?/y;

class Reader {
  at = 0;
  constructor(readonly text: string) {}

  /** What a sticky pattern matches here; the reader goes on behind it. */
  take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at = pattern.lastIndex;
    return found;
  }
  next(word: string): boolean {
    const there = this.text.startsWith(word, this.at);
    if (there) this.at += word.length;
    return there;
  }
  space(): void {
    this.take(/\s*/y);
  }
}

function unreadable(field: string): ValueError {
  return new ValueError(
    `Cannot parse the field ${pythonString(field)}: parse_tensor_dict_string reads Tensor and TensorDict fields ` +
      "printed with the default print options.",
  );
}

const noFields = (rest: string) => new ValueError(`Cannot parse the fields ${pythonString(rest.slice(0, 200))}.`);
const noExclusive = () =>
  new ValueError(
    "Cannot parse the exclusive_fields of a lazy stack: parse_tensor_dict_string does not rebuild lazy stacks with " +
      "exclusive keys.",
  );

const sizes = (list: string | undefined): number[] =>
  list === undefined || list.trim() === "" ? [] : list.split(",").map(Number);

function collection(entries: Map<string, Entry>, batchSize: readonly number[], device: Device | null): Td {
  return make.tensordict(entries, { batchSize: Size.fromList([...batchSize]), device, names: null });
}

// ---- the compact form

/** `{key: value, ...}`, where the reader stands. */
function compactFields(r: Reader, batch: readonly number[], device: Device | null, depth: number): Td {
  if (depth > MAX_DEPTH) throw noFields(r.text.slice(r.at));
  const entries = new Map<string, Entry>();
  const begin = r.at;
  r.next("{");
  r.space();
  while (!r.next("}")) {
    const colon = r.text.indexOf(": ", r.at);
    if (colon < 0) throw noFields(r.text.slice(r.at));
    const start = r.at;
    const key = r.text.slice(start, colon);
    r.at = colon + 2;
    const [, name = "", dims, devices] = r.take(VALUE) as RegExpExecArray;
    const dtype = shortDtypes().get(name);
    if (r.text[r.at] === "{" && name === "" && devices === undefined) {
      entries.set(key, compactFields(r, [...batch, ...sizes(dims)], device, depth + 1));
    } else if (dims === undefined || /(^|,)-/.test(dims) || dtype === undefined || devices?.includes(",")) {
      throw unreadable(r.text.slice(start, r.at));
    } else {
      const where = devices === undefined ? device : toDevice(devices);
      entries.set(key, zeros([...batch, ...sizes(dims)], where === null ? { dtype } : { dtype, device: where }));
    }
    if (r.next(",")) r.space();
    else if (!/^\s*\}/.test(r.text.slice(r.at, r.at + 4096))) throw noFields(r.text.slice(begin));
    else r.space();
  }
  return collection(entries, batch, device);
}

let short: ReadonlyMap<string, DType> | undefined;

function shortDtypes(): ReadonlyMap<string, DType> {
  short ??= new Map(dtypes.map((dtype) => [shortDtype(dtype), dtype]));
  return short;
}

function compact(text: string, header: RegExpExecArray): Td {
  const [found, batch, device] = header;
  if (batch === undefined) throw new ValueError("Batch size not found in the string");
  const r = new Reader(text);
  r.at = header.index + found.length;
  const td = compactFields(r, sizes(batch), device === undefined ? null : toDevice(device), 0);
  if (/^,\s+exclusive_fields=/.test(text.slice(r.at, r.at + 4096))) throw noExclusive();
  return td;
}

// ---- the detailed form

const FIELD = /\s*([^\n]*?)(?:: |=)(\w+)\(/y;
const TENSOR = /shape=torch\.Size\(\[([\d, ]*)\]\), device=(\w+(?::\d+)?), dtype=torch\.(\w+), is_shared=\w+\)/y;
const STATE = /\s*batch_size=torch\.Size\(\[([\d, ]*)\]\),\s*device=(\w+(?::\d+)?)/y;

/** The fields of a collection, from behind its opening parenthesis to behind its closing one. */
function detailed(r: Reader, depth: number): Td {
  if (depth > MAX_DEPTH) throw noFields(r.text.slice(r.at));
  const entries = new Map<string, Entry>();
  const isClass = r.take(/\s*fields=\{/y) === null;
  let state = isClass ? r.take(STATE) : null;
  while (state === null && r.take(/\s*\}/y) === null) {
    const start = r.at;
    const field = r.take(FIELD);
    if (field === null) throw noFields(r.text.slice(start));
    const [, key = "", type = ""] = field;
    entries.set(key, detailedValue(r, type, r.text.slice(start, r.at), depth));
    r.next(",");
    if (isClass) state = r.take(STATE);
  }
  if (!isClass) {
    r.next(",");
    if (r.take(/\s*exclusive_fields=\{\s*/y) !== null && !r.next("}")) throw noExclusive();
    r.next(",");
    state = r.take(STATE);
  }
  if (state === null) throw new ValueError("Batch size not found in the string");
  // What follows says how it was stored or stacked; it ends with the parenthesis.
  r.take(/[^()]*\)/y);
  const [, batch, device = "None"] = state;
  return collection(entries, sizes(batch), device === "None" ? null : toDevice(device));
}

function detailedValue(r: Reader, type: string, begin: string, depth: number): Entry {
  if (type === "TensorDict") return detailed(r, depth + 1);
  const found = type === "Tensor" ? r.take(TENSOR) : null;
  const dtype = found === null ? undefined : dtypeByName(found[3] as string);
  if (found === null || dtype === undefined) {
    const line = begin.trimStart() + (r.text.slice(r.at).split("\n", 1)[0] as string);
    throw unreadable(line.replace(/[,}]+$/, ""));
  }
  return zeros(sizes(found[1]), { dtype, device: toDevice(found[2] as string) });
}

/**
 * A TensorDict with the keys, shapes, dtypes, devices and batch sizes of a printed one, in the compact or in the
 * detailed form. All elements are zero, as the text has none.
 * @throws ValueError for fields that are neither tensors nor TensorDicts
 * @example
 * ```ts
 * const td = new TensorDict({ obs: ones(3, 4), next: { done: ones(3, 1, { dtype: bool }) } }, [3]);
 * tensordict.parseTensorDictString(String(td)).get(["next", "done"]).dtype // torch.bool
 * ```
 * @torch tensordict.parse_tensor_dict_string
 */
export function parseTensorDictString(s: string): Td {
  [s] = inOrder<[string]>("parseTensorDictString", FUNCTIONS.parseTensorDictString, arguments);
  const header = HEADER.exec(s);
  const multiline = /\w+\(\s*fields=\{\s*\n[^\n]*(?:Tensor|TensorDict|\w+)\(/.test(s);
  if (header !== null && !multiline) return compact(s, header);
  const begin = /^\s*\w+\(/y;
  const r = new Reader(s);
  if (r.take(begin) === null) throw new ValueError("Batch size not found in the string");
  return detailed(r, 0);
}
