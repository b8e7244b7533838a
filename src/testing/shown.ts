// How objects of the library are told of in snapshots and in what a failed test prints: all that is compared, and
// nothing that another run has otherwise.
import { Device } from "../tensor/device.ts";
import { DType } from "../tensor/dtype.ts";
import { DISPOSED } from "../tensor/storage.ts";
import { Tensor } from "../tensor/tensor.ts";
import { elementsOf, elementTexts } from "./elements.ts";
import { type Composed, type Own, partsOf } from "./parts.ts";
import { replaced } from "./walking.ts";

/** Tensors of more elements are told by those at both ends, and by a sum of all. */
const MOST = 1000;
const ENDS = 3;

const classes = new Map<string, new () => object>();

/** An object that prints with the name of a class. */
function named(name: string, fields: object): object {
  let made = classes.get(name);
  if (made === undefined) {
    made = class {
      static displayName = name;
    };
    classes.set(name, made);
  }
  return Object.assign(new made(), fields);
}

/** A row of elements as one text. */
const rowOf = (texts: readonly string[]) => `[${texts.join(", ")}]`;

/** Nested lists of rows. */
function rows(texts: readonly string[], shape: readonly number[]): unknown {
  if (shape.length === 0) return texts[0];
  if (shape.length === 1) return rowOf(texts);
  const [count, ...rest] = shape as [number, ...number[]];
  const step = texts.length / Math.max(count, 1);
  return Array.from({ length: count }, (_, i) => rows(texts.slice(i * step, (i + 1) * step), rest));
}

/** The hash of all elements, whatever bits their nans have. */
function sumOf(t: Tensor): string {
  const elements = elementsOf(t);
  if (t.dtype.category >= 2) for (let i = 0; i < elements.length; i++) if (Number.isNaN(elements[i])) elements[i] = NaN;
  return new Bun.CryptoHasher("sha256").update(elements as never).digest("hex");
}

function valuesOf(t: Tensor): object {
  if (t._storage === DISPOSED) return { disposed: true };
  if (t.isMeta) return {};
  try {
    return readable(t);
  } catch (error) {
    return { error: (error as Error).message };
  }
}

function readable(t: Tensor): object {
  if (t._numel <= MOST) return { values: rows(elementTexts(t), t._shape) };
  const flat = t.detach().reshape(-1);
  const [first, last] = [elementTexts(flat.narrow(0, 0, ENDS)), elementTexts(flat.narrow(0, t._numel - ENDS, ENDS))];
  return { values: `[${first.join(", ")}, ..., ${last.join(", ")}]`, sha256: sumOf(t) };
}

function shownTensor(t: Tensor): object {
  const device = t.device.type === "cpu" ? {} : { device: String(t.device) };
  const gradient = t.requiresGrad ? { requiresGrad: true } : {};
  const shape = rowOf(t._shape.map(String));
  return named(t.constructor.name, { dtype: String(t.dtype), shape, ...device, ...gradient, ...valuesOf(t) });
}

/** What is told of each object; while that is being found out, that it holds itself. */
let told: Map<Own, unknown> | null = null;

function shownOwn(own: Own): unknown {
  if (own instanceof Tensor) return shownTensor(own);
  if (own instanceof DType || own instanceof Device) return String(own);
  if (told?.has(own)) return told.get(own);
  const outermost = told === null;
  told ??= new Map();
  try {
    told.set(own, named(own.constructor.name, { circular: true }));
    const text = shownComposed(own);
    told.set(own, text);
    return text;
  } finally {
    if (outermost) told = null;
  }
}

function shownComposed(own: Composed): object {
  const { batchSize, device, names, ...parts } = partsOf(own) as Record<string, unknown>;
  const size = Array.isArray(batchSize) ? { batchSize: rowOf(batchSize.map(String)) } : {};
  const known = Object.entries({ device, names }).filter(([, value]) => value !== null && value !== undefined);
  const inner = Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, shown(part)]));
  return named(own.constructor.name, { ...size, ...Object.fromEntries(known), ...inner });
}

/** A value with texts in the places of the library's objects; the value itself where there are none. */
export function shown(value: unknown): unknown {
  return replaced(value, shownOwn);
}
