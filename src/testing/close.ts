// `torch.testing.assert_close`: what is compared with what, when it is close, and what is said of what is not.
import * as ops from "../../generated/functional.ts";
import { fixed, pythonComplex, pythonFloat } from "../api/number-text.ts";
import { pythonText } from "../api/print.ts";
import { tupleText } from "../api/printing.ts";
import { fromTypedArray } from "../api/tensor-data.ts";
import { promoteTypes } from "../dispatch/promotion.ts";
import { Parameter } from "../nn/parameter.ts";
import { isDict, isNumber } from "../tensor/checks.ts";
import { Complex, Float, Int } from "../tensor/complex.ts";
import { bool, type DType, float32, float64, int64 } from "../tensor/dtype.ts";
import { AssertionError, TypeError, ValueError } from "../tensor/errors.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { isNonTensor, isTensorCollection } from "../tensordict/core/state.ts";

/** How close is close, and what is looked at besides values. */
export interface CloseOptions {
  /** Whether a Parameter may be compared with a Tensor; true unless given. */
  allowSubclasses?: boolean;
  /** How far apart relative to the expected value; with `atol` or not at all. By default what the dtype allows. */
  rtol?: number | null;
  /** How far apart at all; with `rtol` or not at all. By default what the dtype allows. */
  atol?: number | null;
  /** Whether nan is close to nan. */
  equalNan?: boolean;
  /** Whether devices have to be the same; true unless given. */
  checkDevice?: boolean;
  /** Whether dtypes have to be the same; true unless given. */
  checkDtype?: boolean;
  /** Whether layouts have to be the same: all tensors are strided. */
  checkLayout?: boolean;
  /** Whether strides have to be the same. */
  checkStride?: boolean;
  /** The text of the error, or what makes it of the usual one. */
  msg?: string | ((text: string) => string) | null;
}

/** Which value inside of what was given: keys and numbers on the way to it. */
type Path = readonly (string | number)[];
type Kind = typeof AssertionError | typeof TypeError | typeof ValueError;
type Comparison = () => void;

/** What did not fit, before the user's own text is asked for. */
class Refusal {
  constructor(
    readonly kind: Kind,
    readonly text: string,
    readonly path: Path,
  ) {}

  toError(msg: CloseOptions["msg"]): Error {
    if (typeof msg === "string") return new this.kind(msg);
    const items = this.path.map((part) => `[${pythonText(part)}]`).join("");
    const text = items === "" ? this.text : `${this.text}\n\nThe failure occurred for item ${items}`;
    return new this.kind(typeof msg === "function" ? msg(text) : text);
  }
}

/** The tolerances of a dtype, relative and absolute; of those that have none, nothing. */
const TOLERANCES: Readonly<Record<string, readonly [number, number]>> = {
  float16: [0.001, 1e-5],
  bfloat16: [0.016, 1e-5],
  float32: [1.3e-6, 1e-5],
  float64: [1e-7, 1e-7],
  complex64: [1.3e-6, 1e-5],
  complex128: [1e-7, 1e-7],
};

interface Bounds {
  rtol: number;
  atol: number;
  equalNan: boolean;
}

function boundsOf(dtypes: readonly string[], { rtol, atol, equalNan }: CloseOptions, path: Path): Bounds {
  const one = rtol ?? null;
  const other = atol ?? null;
  if ((one === null) !== (other === null)) {
    const which = one === null ? "rtol" : "atol";
    const text = `Both 'rtol' and 'atol' must be either specified or omitted, but got no ${which}.`;
    throw new Refusal(ValueError, text, path);
  }
  if (one !== null && other !== null) return { rtol: one, atol: other, equalNan: equalNan === true };
  const known = dtypes.map((name) => TOLERANCES[name] ?? [0, 0]);
  const largest = (at: 0 | 1) => Math.max(...known.map((pair) => pair[at]));
  return { rtol: largest(0), atol: largest(1), equalNan: equalNan === true };
}

/** The differences of what is not close, as lines. */
function differences(abs: string, rel: string, { rtol, atol }: Bounds, at: [string, string] | null): string {
  const line = (type: string, diff: string, place: string | undefined, most: number) => {
    const allowed = rtol === 0 && atol === 0 ? "" : ` (up to ${numberText(most)} allowed)`;
    const title = `${type[0]?.toUpperCase()}${type.slice(1)} difference: ${diff}`;
    return `${place === undefined ? title : `Greatest ${type} difference: ${diff} at index ${place}`}${allowed}`;
  };
  return `${line("absolute", abs, at?.[0], atol)}\n${line("relative", rel, at?.[1], rtol)}`;
}

const header = (what: string, { rtol, atol }: Bounds) =>
  `${what} are not ${rtol === 0 && atol === 0 ? "equal" : "close"}!`;

function numberText(x: unknown): string {
  if (x instanceof Complex) return pythonComplex(x.re, x.im);
  return pythonText(x);
}

/** A scalar as what is computed with: `whole` where Python would have an int. */
interface Scalar {
  re: number;
  im: number;
  text: string;
  whole: bigint | null;
}

function scalarOf(value: unknown): Scalar {
  const plain = value instanceof Int || value instanceof Float ? value.value : value;
  const text = numberText(value);
  if (plain instanceof Complex) return { re: plain.re, im: plain.im, text, whole: null };
  const whole = value instanceof Float ? null : wholeOf(plain);
  return { re: Number(plain), im: 0, text, whole };
}

function wholeOf(value: unknown): bigint | null {
  if (typeof value === "bigint" || typeof value === "boolean") return BigInt(value);
  return Number.isSafeInteger(value) ? BigInt(value as number) : null;
}

function scalarText(actual: Scalar, expected: Scalar, bounds: Bounds): string {
  const exact = actual.whole !== null && expected.whole !== null;
  const difference = exact ? (actual.whole as bigint) - (expected.whole as bigint) : null;
  const abs = difference === null ? distance(actual, expected) : Number(difference < 0n ? -difference : difference);
  const size = Math.hypot(expected.re, expected.im);
  const rel = size === 0 ? Number.POSITIVE_INFINITY : abs / size;
  const absText = difference === null ? pythonFloat(abs) : String(difference < 0n ? -difference : difference);
  const expectation = `Expected ${expected.text} but got ${actual.text}.`;
  return `${header("Scalars", bounds)}\n\n${expectation}\n${differences(absText, pythonFloat(rel), bounds, null)}`;
}

const distance = (a: Scalar, b: Scalar): number => Math.hypot(a.re - b.re, a.im - b.im);

function compareNumbers(given: unknown, wanted: unknown, options: CloseOptions, path: Path): Comparison {
  const [actual, expected] = [scalarOf(given), scalarOf(wanted)];
  const dtype = (value: unknown, { whole }: Scalar) =>
    value instanceof Complex ? "complex128" : whole === null ? "float64" : "int64";
  const bounds = boundsOf([dtype(given, actual), dtype(wanted, expected)], options, path);
  return () => {
    if (actual.re === expected.re && actual.im === expected.im && actual.whole === expected.whole) return;
    const isNan = ({ re, im }: Scalar) => Number.isNaN(re) || Number.isNaN(im);
    if (bounds.equalNan && isNan(actual) && isNan(expected)) return;
    const apart = distance(actual, expected);
    const size = Math.hypot(expected.re, expected.im);
    const exact = actual.whole !== null && expected.whole !== null && actual.whole !== expected.whole && apart === 0;
    if (!exact && Number.isFinite(apart) && apart <= bounds.atol + bounds.rtol * size) return;
    throw new Refusal(AssertionError, scalarText(actual, expected, bounds), path);
  };
}

/** The greatest of some differences among what does not match, and where. */
function greatest(differences: Tensor, matches: Tensor, shape: readonly number[]): [text: string, place: string] {
  const counted = differences.maskedFill(matches, 0);
  const { values, indices } = counted.max(0);
  let flat = indices.item();
  const place: number[] = [];
  for (let dim = shape.length - 1; dim >= 0; dim--) {
    const size = shape[dim] as number;
    place.unshift(flat % size);
    flat = Math.floor(flat / size);
  }
  const text = values.dtype.category < 2 ? String(values.bigint()) : pythonFloat(values.item());
  return [text, tupleText(place)];
}

function tensorText(actual: Tensor, expected: Tensor, matches: Tensor, bounds: Bounds): string {
  const total = matches.numel();
  const missed = total - matches.sum().item();
  const counts = `Mismatched elements: ${missed} / ${total} (${fixed((100 * missed) / total, 1)}%)`;
  if (isSmall(actual.dtype)) {
    const first = matches.logicalNot().nonzero().at(0).tolist<number[]>();
    return `Tensor-likes are not 'equal'!\n\n${counts}\nThe first mismatched element is at index ${tupleText(first)}.`;
  }
  const flat = (t: Tensor) => (t.dtype.category < 2 ? t.reshape(-1).to(int64) : t.reshape(-1));
  const [a, b] = [flat(actual), flat(expected)];
  const abs = a.sub(b).abs();
  const matching = matches.reshape(-1);
  const [absText, absPlace] = greatest(abs, matching, actual.shape);
  const [relText, relPlace] = greatest(abs.div(b.abs()), matching, actual.shape);
  const found = differences(absText, relText, bounds, [absPlace, relPlace]);
  return `${header("Tensor-likes", bounds)}\n\n${counts}\n${found}`;
}

const isSmall = (dtype: DType) => dtype.category === 2 && dtype.itemsize === 1;

/** As it is compared: unsigned integers that are not of one dtype with others are int64. */
function equalized(actual: Tensor, expected: Tensor): [Tensor, Tensor] {
  let [a, b] = [actual.detach(), expected.detach()];
  if (String(a.device) !== String(b.device)) [a, b] = [a.cpu(), b.cpu()];
  if (a.dtype === b.dtype) return [a, b];
  const signed = (dtype: DType) => (/^uint(16|32|64)$/.test(dtype.name) ? int64 : dtype);
  const common = promoteTypes(signed(a.dtype), signed(b.dtype));
  return [a.to(common), b.to(common)];
}

function compareTensors(actual: Tensor, expected: Tensor, options: CloseOptions, path: Path): Comparison {
  const bounds = boundsOf([actual.dtype.name, expected.dtype.name], options, path);
  const { checkDevice = true, checkDtype = true, checkStride = false } = options;
  const differ = (name: string, a: unknown, b: unknown) => {
    const text = `The values for attribute '${name}' do not match: ${a} != ${b}.`;
    throw new Refusal(AssertionError, text, path);
  };
  return () => {
    if (String(actual.shape) !== String(expected.shape)) differ("shape", actual.shape, expected.shape);
    const [strides, others] = [tupleText(actual.stride()), tupleText(expected.stride())];
    if (checkStride && strides !== others) differ("stride()", strides, others);
    const [device, wanted] = [String(actual.device.toString()), String(expected.device.toString())];
    if (checkDevice && device !== wanted) differ("device", device, wanted);
    if (checkDtype && actual.dtype !== expected.dtype) differ("dtype", actual.dtype, expected.dtype);
    if (actual.isMeta || expected.isMeta) return;
    const [a, b] = equalized(actual, expected);
    if (isSmall(a.dtype) && (bounds.rtol !== 0 || bounds.atol !== 0)) {
      const given = `Rtol=${numberText(bounds.rtol)} and atol=${numberText(bounds.atol)}`;
      const why = "are not supported for bitwise comparison of low dimensional floats.";
      throw new Refusal(AssertionError, `${given} ${why} Please use rtol=0.0 and atol=0.0.`, path);
    }
    const wide = (t: Tensor) => (isSmall(t.dtype) ? t.to(float32) : t);
    const matches = ops.isclose(wide(a), wide(b), bounds);
    if (matches.all().item<boolean>()) return;
    const single = a.ndim === 0;
    const scalar = (t: Tensor) => scalarOf(scalarValue(t));
    const text = single ? scalarText(scalar(a), scalar(b), bounds) : tensorText(a, b, matches, bounds);
    throw new Refusal(AssertionError, text, path);
  };
}

function scalarValue(t: Tensor): unknown {
  if (t.dtype === bool) return t.item<boolean>();
  if (t.dtype.category === 1) return new Int(t.bigint());
  if (t.dtype.category === 3) return t.item<Complex>();
  return new Float(t.to(float64).item());
}

/** The entries of what is compared by key; null for what is no dictionary. */
function entriesOf(value: unknown): Map<string, unknown> | null {
  if (value instanceof Map) return value;
  if (isTensorCollection(value) && !isNonTensor(value)) return new Map(value.items() as Iterable<[string, unknown]>);
  if (isDict(value)) return new Map(Object.entries(value));
  return null;
}

function listOf(keys: Iterable<string>): string {
  return `[${[...keys]
    .sort()
    .map((key) => pythonText(key))
    .join(", ")}]`;
}

function compareEntries(
  actual: Map<string, unknown>,
  expected: Map<string, unknown>,
  options: CloseOptions,
  path: Path,
): Comparison[] {
  const missing = [...expected.keys()].filter((key) => !actual.has(key));
  const additional = [...actual.keys()].filter((key) => !expected.has(key));
  if (missing.length + additional.length > 0) {
    const lines = [
      "The keys of the mappings do not match:",
      `Missing keys in the actual mapping: ${listOf(missing)}`,
      `Additional keys in the actual mapping: ${listOf(additional)}`,
    ];
    throw new Refusal(AssertionError, lines.join("\n"), path);
  }
  return [...actual.keys()].sort().flatMap((key) => pairs(actual.get(key), expected.get(key), options, [...path, key]));
}

const isNone = (value: unknown) => value === null || value === undefined;

function tensorOf(value: unknown): Tensor | null {
  if (value instanceof Tensor) return value;
  return ArrayBuffer.isView(value) && !(value instanceof DataView) ? fromTypedArray(value as Float32Array) : null;
}

function typeText(value: unknown): string {
  if (isNone(value)) return "<class 'NoneType'>";
  if (value instanceof Parameter) return "<class 'torch.nn.parameter.Parameter'>";
  if (value instanceof Tensor) return `<class 'torch.${value.constructor.name}'>`;
  if (typeof value === "function") return "<class 'function'>";
  return `<class '${typeName(value)}'>`;
}

/** What there is to compare, in order; the structure is looked at first. */
function pairs(actual: unknown, expected: unknown, options: CloseOptions, path: Path): Comparison[] {
  if (Array.isArray(actual) && Array.isArray(expected)) {
    if (actual.length !== expected.length) {
      const text = `The length of the sequences mismatch: ${actual.length} != ${expected.length}`;
      throw new Refusal(AssertionError, text, path);
    }
    return actual.flatMap((part, i) => pairs(part, expected[i], options, [...path, i]));
  }
  const [entries, others] = [entriesOf(actual), entriesOf(expected)];
  if (entries !== null && others !== null) return compareEntries(entries, others, options, path);
  const fails = (text: string): Comparison[] => [
    () => {
      throw new Refusal(AssertionError, text, path);
    },
  ];
  const told = (value: unknown) => (typeof value === "string" ? value : pythonText(value));
  if (isNone(actual) || isNone(expected)) {
    return isNone(actual) && isNone(expected) ? [] : fails(`None mismatch: ${told(actual)} is not ${told(expected)}`);
  }
  if (typeof actual === "boolean" && typeof expected === "boolean") {
    return actual === expected ? [] : fails(`Booleans mismatch: ${told(actual)} is not ${told(expected)}`);
  }
  if (isNumber(actual) && isNumber(expected)) return [compareNumbers(actual, expected, options, path)];
  const [a, b] = [tensorOf(actual), tensorOf(expected)];
  const alike = a !== null && b !== null && actual instanceof Tensor === expected instanceof Tensor;
  if (alike && (options.allowSubclasses !== false || a.constructor === b.constructor)) {
    return [compareTensors(a, b, options, path)];
  }
  const types = `${typeText(actual)} and ${typeText(expected)}`;
  throw new Refusal(TypeError, `No comparison pair was able to handle inputs of type ${types}.`, path);
}

/** Throws the first thing that is not close. */
export function compareAll(actual: unknown, expected: unknown, options: CloseOptions): void {
  try {
    for (const compare of pairs(actual, expected, options, [])) compare();
  } catch (error) {
    throw error instanceof Refusal ? error.toError(options.msg) : error;
  }
}
