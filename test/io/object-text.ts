// Values of .pt files with objects in them as texts: those of scripts/oracle/object_text.py.
import { createHash } from "node:crypto";
import { NumpyScalar } from "../../src/io/base/numpy-scalar.ts";
import { pythonFloatRepr, pythonJsonString } from "../../src/io/base/python-json.ts";
import {
  attributesOf,
  dequeLength,
  dictClassOf,
  exactKey,
  exactly,
  isByteArray,
  isFrozenSet,
  numpyLayoutOf,
} from "../../src/io/base/python-origin.ts";
import { PythonName, PythonObject } from "../../src/io/pickle/python-object.ts";
import { TorchConstant, TorchDevice } from "../../src/io/torch/torch-constants.ts";
import { Parameter } from "../../src/nn/parameter.ts";
import { Complex, Float } from "../../src/tensor/complex.ts";
import { Device } from "../../src/tensor/device.ts";
import { DType } from "../../src/tensor/dtype.ts";
import { Size } from "../../src/tensor/size.ts";
import { Tensor } from "../../src/tensor/tensor.ts";

function digest(tensor: Tensor): string {
  const flat = tensor.detach().resolveConj().resolveNeg().contiguous().reshape(-1);
  const bytes = tensor.isMeta || flat.numel() === 0 ? [] : (flat.clone().view("uint8").tolist() as number[]);
  return createHash("sha256").update(Uint8Array.from(bytes)).digest("hex").slice(0, 16);
}

const simple = (value: object) => value instanceof Complex || value instanceof DType || value instanceof Device;

/** Containers and objects that were met before are numbers. */
class Text {
  private readonly seen = new Map<object, number>();

  of(value: unknown): string {
    if (value === null) return "None";
    if (typeof value === "string") return pythonJsonString(value);
    if (typeof value === "boolean") return value ? "True" : "False";
    if (typeof value === "bigint") return String(value);
    if (typeof value === "number") {
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? String(value) : pythonFloatRepr(value);
    }
    return this.small(value as object) ?? this.large(value as object);
  }

  private small(value: object): string | null {
    if (value instanceof Float) return pythonFloatRepr(value.value);
    if (value instanceof Complex) return `complex(${pythonFloatRepr(value.re)}, ${pythonFloatRepr(value.im)})`;
    if (value instanceof NumpyScalar) {
      const order = value.code === "b1" || /^[iu]1$/.test(value.code) ? "|" : value.order;
      return `scalar(${order}${value.code}, ${Buffer.from(value.bytes).toString("hex")})`;
    }
    if (value instanceof Uint8Array && !isByteArray(value)) return `bytes(${Buffer.from(value).toString("hex")})`;
    if (value instanceof Size) return `Size[${value.join(", ")}]`;
    if (value instanceof DType) return `dtype(${value})`;
    if (value instanceof TorchDevice || simple(value)) return `device(${value})`;
    if (value instanceof TorchConstant) return `${value.kind}(${value})`;
    if (value instanceof PythonName) return `name(${value})`;
    return Array.isArray(value) && Object.isFrozen(value) && value.length === 0 ? "()" : null;
  }

  private large(value: object): string {
    // A class inside of another is an attribute of that for old protocols, each time anew.
    const nested = nestedName(value);
    if (nested !== null) return `name(${nested})`;
    const before = this.seen.get(value);
    if (before !== undefined) return `<${before}>`;
    this.seen.set(value, this.seen.size + 1);
    if (value instanceof Tensor) return this.tensor(value);
    if (value instanceof Uint8Array) return `bytearray(${Buffer.from(value).toString("hex")})`;
    if (value instanceof PythonObject) return this.object(value);
    if (value instanceof Set) {
      const items = Array.from(value, (item) => new Text().of(exactKey(value, item)));
      return `${isFrozenSet(value) ? "frozenset" : "set"}(${items.sort(byCodePoints).join(", ")})`;
    }
    return Array.isArray(value) ? this.list(value) : this.dict(value);
  }

  private list(value: readonly unknown[]): string {
    const items = value.map((item, i) => this.of(exactly(value, i, item)));
    const maxlen = dequeLength(value);
    if (maxlen !== undefined) return `deque(${maxlen ?? "None"}, [${items.join(", ")}])`;
    return Object.isFrozen(value) ? `(${items.map((item) => `${item}, `).join("")})` : `[${items.join(", ")}]`;
  }

  private pairs(value: object): string {
    const entries: [unknown, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
    return entries
      .map(([key, item]) => `${this.of(exactKey(value, key))}: ${this.of(exactly(value, key, item))}`)
      .join(", ");
  }

  private dict(value: object): string {
    const is = dictClassOf(value);
    if (is === "defaultdict") return `defaultdict(${this.of(attributesOf(value))}){${this.pairs(value)}}`;
    const text = `${is}{${this.pairs(value)}}`;
    const attributes = attributesOf(value);
    return attributes === undefined ? text : `${text} with ${this.of(attributes)}`;
  }

  private tensor(value: Tensor): string {
    const layout = numpyLayoutOf(value);
    const shape = `[${value.shape.join(", ")}]`;
    if (layout !== undefined) {
      const order = value.dtype.itemsize === 1 ? "|" : layout.bigEndian ? ">" : "<";
      return `ndarray(${order}${layout.code}, ${shape}, ${layout.fortranOrder ? "F" : "C"}, ${digest(value)})`;
    }
    const kind = value instanceof Parameter ? "Parameter" : "Tensor";
    const wants = value.requiresGrad ? ", requires_grad" : "";
    const attributes = attributesOf(value);
    const more = attributes === undefined ? "" : ` with ${this.of(attributes)}`;
    return `${kind}(${value.dtype}, ${shape}, ${digest(value)}${wants})${more}`;
  }

  private object(value: PythonObject): string {
    const { callee, how, args, kwargs, listItems, dictItems, state, stateSetter } = value;
    if (how === "storage") return `storage(${(callee as PythonName).name}, ${digest(args[0] as Tensor)})`;
    let text = `${how === "new" ? "new" : "call"} ${this.of(callee)}${this.of(args)}`;
    if (kwargs !== null) text += this.of(kwargs);
    if (listItems !== null)
      text += ` items [${listItems.map((item, i) => this.of(exactly(listItems, i, item))).join(", ")}]`;
    if (dictItems !== null) text += ` pairs {${this.pairs(dictItems)}}`;
    if (state !== undefined) text += ` state ${this.of(exactly(value, "state", state))}`;
    return stateSetter === null ? text : `${text} by ${this.of(stateSetter)}`;
  }
}

function nestedName(value: unknown): string | null {
  if (value instanceof PythonName) return String(value);
  if (!(value instanceof PythonObject) || String(value.callee) !== "builtins.getattr") return null;
  const outer = nestedName(value.args[0]);
  return outer === null ? null : `${outer}.${value.args[1]}`;
}

/** Python's order of texts. */
function byCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The text of a value. */
export function objectText(value: unknown): string {
  return new Text().of(value);
}
