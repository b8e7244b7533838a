// Values of .pt files as texts in which every type of Python can be seen: those of scripts/oracle/make_checkpoints.py.
import { createHash } from "node:crypto";
import { pythonFloatRepr, pythonJsonString } from "../../src/io/base/python-json.ts";
import { asInPython, attributesOf, dictClassOf, isByteArray, keyInPython } from "../../src/io/base/python-origin.ts";
import { TorchConstant, TorchDevice } from "../../src/io/torch/torch-constants.ts";
import { Parameter } from "../../src/nn/parameter.ts";
import { Complex, Float, Int } from "../../src/tensor/complex.ts";
import { Device } from "../../src/tensor/device.ts";
import { DType } from "../../src/tensor/dtype.ts";
import { Size } from "../../src/tensor/size.ts";
import { Tensor } from "../../src/tensor/tensor.ts";

let equalTexts = false;

/** The same text for all that Python's == takes for the same: orders of keys, and the class of a dictionary. */
export function equalText(value: unknown): string {
  equalTexts = true;
  try {
    return pythonText(value);
  } finally {
    equalTexts = false;
  }
}

function tensorText(value: Tensor): string {
  const plain = value.detach().resolveConj().resolveNeg().contiguous();
  const flat = plain.reshape(-1);
  const bytes = value.isMeta || flat.numel() === 0 ? new Uint8Array(0) : flat.clone().view("uint8").tolist();
  const digest = createHash("sha256")
    .update(Uint8Array.from(bytes as number[]))
    .digest("hex")
    .slice(0, 16);
  const wants = value.requiresGrad ? ", requires_grad" : "";
  const kind = value instanceof Parameter ? "Parameter" : "Tensor";
  const attributes = equalTexts ? undefined : attributesOf(value);
  const more = attributes === undefined ? "" : ` with ${pythonText(attributes)}`;
  return `${kind}(${value.dtype}, [${value.shape.join(", ")}], ${digest}${wants})${more}`;
}

function dictText(value: object): string {
  const entries: [unknown, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
  const pairs = entries.map(
    ([key, item]) => `${pythonText(keyInPython(value, key))}: ${pythonText(asInPython(value, key, item))}`,
  );
  if (equalTexts) return `dict{${pairs.sort().join(", ")}}`;
  const attributes = attributesOf(value);
  const more = attributes === undefined ? "" : ` with ${pythonText(attributes)}`;
  return `${dictClassOf(value)}{${pairs.join(", ")}}${more}`;
}

function objectText(value: object): string {
  if (value instanceof Float) return pythonFloatRepr(value.value);
  if (value instanceof Int) return String(value.value);
  if (value instanceof Complex) return `complex(${pythonFloatRepr(value.re)}, ${pythonFloatRepr(value.im)})`;
  if (value instanceof Uint8Array) {
    return `${isByteArray(value) ? "bytearray" : "bytes"}(${Buffer.from(value).toString("hex")})`;
  }
  if (value instanceof Tensor) return tensorText(value);
  if (value instanceof Size) return `Size[${value.join(", ")}]`;
  if (value instanceof DType) return `dtype(${value})`;
  if (value instanceof Device || value instanceof TorchDevice) return `device(${value})`;
  if (value instanceof TorchConstant) return `${value.kind}(${value})`;
  if (value instanceof Set) {
    const items = Array.from(value, (item) => pythonText(keyInPython(value, item)));
    return `set(${items.sort().join(", ")})`;
  }
  if (!Array.isArray(value)) return dictText(value);
  const items = value.map((item, i) => pythonText(asInPython(value, i, item)));
  return Object.isFrozen(value) ? `(${items.map((item) => `${item}, `).join("")})` : `[${items.join(", ")}]`;
}

/** The text of a value. */
export function pythonText(value: unknown): string {
  switch (typeof value) {
    case "boolean":
      return value ? "True" : "False";
    case "string":
      return pythonJsonString(value);
    case "bigint":
      return String(value);
    case "number":
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? String(value) : pythonFloatRepr(value);
  }
  return value === null ? "None" : objectText(value as object);
}
