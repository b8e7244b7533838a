// `zensor diff`: what is not the same in two files or directories, whatever their formats.
import { pythonJsonStringify } from "../io/base/python-json.ts";
import { pythonText } from "../io/pickle/python-object.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { NestedTensor } from "../tensordict/core/nested.ts";
import { isLazy, isNested, type Td } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor } from "../tensordict/index.ts";
import { color } from "./colors.ts";
import { compareElements, type Elements, elementsText, type Tolerance } from "./elements.ts";
import { CliError, EXIT } from "./errors.ts";
import { keysOption } from "./keys.ts";
import { say } from "./output.ts";
import { objectsIn } from "./python-objects.ts";
import { pythonNotes } from "./python-tree.ts";
import { type PythonNode, valueOf } from "./python-values.ts";
import { openSource, type TrustOptions } from "./source.ts";
import { printable } from "./text.ts";
import { unknownDifference, unknownIn } from "./unknown-entries.ts";

const ONLY_FIRST = "only in the first";
const ONLY_SECOND = "only in the second";

/** One difference. */
interface Difference {
  name: string;
  what: string;
  /** How far elements are from each other. */
  elements?: Elements;
}

/** Options of the command. */
export interface DiffOptions extends TrustOptions {
  keys?: string[];
  atol?: string;
  rtol?: string;
  exact?: boolean;
  ignoreDtype?: boolean;
  json?: boolean;
}

/** What is compared how. */
interface How extends Tolerance {
  ignoreDtype: boolean;
}

function toleranceOption(name: string, text: string | undefined): number {
  const value = text === undefined ? 0 : Number(text);
  if (text?.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw new CliError(`--${name} takes a number that is not negative, got ${JSON.stringify(text)}.`, EXIT.usage);
}

function howOf({ atol, rtol, exact, ignoreDtype }: DiffOptions): How {
  if (exact && (atol !== undefined || rtol !== undefined || ignoreDtype)) {
    throw new CliError("--exact compares bits: it does not go with --atol, --rtol or --ignore-dtype.", EXIT.usage);
  }
  return {
    atol: toleranceOption("atol", atol),
    rtol: toleranceOption("rtol", rtol),
    exact: exact === true,
    ignoreDtype: ignoreDtype === true,
  };
}

type What = Omit<Difference, "name">;

async function tensorDifference(a: Tensor, b: Tensor, how: How): Promise<What | null> {
  const dtypes = a.dtype === b.dtype || how.ignoreDtype ? [] : [`${a.dtype.name} and ${b.dtype.name}`];
  const [x, y] = [a.shape.join(", "), b.shape.join(", ")];
  if (x !== y) return { what: [...dtypes, `shape [${x}] and [${y}]`].join("; ") };
  const odd = a.isMeta || b.isMeta;
  const elements = odd ? null : await compareElements(a, b, how);
  const grads = a.requiresGrad === b.requiresGrad ? [] : ["requires_grad differs"];
  const meta = a.isMeta === b.isMeta ? [] : ["one has no elements (meta)"];
  const all = [...dtypes, ...grads, ...meta, ...(elements === null ? [] : [elementsText(elements)])];
  if (all.length === 0) return null;
  return { what: all.join("; "), ...(elements === null ? {} : { elements }) };
}

async function nestedDifference(a: NestedTensor, b: NestedTensor, how: How): Promise<What | null> {
  const sizes = (n: NestedTensor) => n._sizesTensor();
  const alike = a.length === b.length && a.ndim === b.ndim && sizes(a).equal(sizes(b));
  if (!alike) return { what: `sizes of components differ (${a._batchSize} and ${b._batchSize})` };
  return await tensorDifference(a._values, b._values, how);
}

/** The longest value that is shown. */
const MOST_SHOWN = 60;

function valuesText(left: string, right: string): string {
  const isShort = Math.max(left.length, right.length) <= MOST_SHOWN && !/\n/.test(left + right);
  return isShort ? `values differ: ${left} and ${right}` : "values differ";
}

async function compare(
  a: Entry | undefined,
  b: Entry | undefined,
  name: string,
  how: How,
  found: Difference[],
): Promise<void> {
  if (a === undefined || b === undefined) {
    found.push({ name, what: a === undefined ? ONLY_SECOND : ONLY_FIRST });
    return;
  }
  if (a instanceof Tensor || b instanceof Tensor) {
    const both = a instanceof Tensor && b instanceof Tensor;
    const what = both ? await tensorDifference(a, b, how) : { what: "a tensor and something else" };
    if (what !== null) found.push({ name, ...what });
    return;
  }
  if (isNested(a) || isNested(b)) {
    const both = isNested(a) && isNested(b);
    const what = both ? await nestedDifference(a, b, how) : { what: "a nested tensor and something else" };
    if (what !== null) found.push({ name, ...what });
    return;
  }
  const [left, right] = [a as Td, b as Td];
  const [odd, other] = [unknownIn(left), unknownIn(right)];
  if (odd !== null || other !== null) {
    const what = odd && other ? unknownDifference(odd, other) : "elements that no tensor has and something else";
    if (what !== null) found.push({ name, what });
    return;
  }
  if (isNonTensor(left) || isNonTensor(right)) {
    const alike = left._kind === right._kind && left._className === right._className;
    const value = (td: Td) => pythonJsonStringify(valueOf(td) as never);
    if (!alike) found.push({ name, what: `${left._className} and ${right._className}` });
    else if (value(left) !== value(right)) found.push({ name, what: valuesText(value(left), value(right)) });
    return;
  }
  await compareLevels(left, right, name, how, found);
}

/** What a level is: a class of a program by its name. */
function kindOf(td: Td): string {
  if (isLazy(td)) return "a lazy stack";
  return td._kind === "tensorclass" ? td._className : "a TensorDict";
}

function namesOf(td: Td): string {
  return td._batchSize.map((_, i) => td._names?.[i] ?? "None").join(", ");
}

async function compareLevels(a: Td, b: Td, prefix: string, how: How, found: Difference[]): Promise<void> {
  if (kindOf(a) !== kindOf(b)) found.push({ name: prefix, what: `${kindOf(a)} and ${kindOf(b)}` });
  const [x, y] = [a._batchSize.join(", "), b._batchSize.join(", ")];
  if (x !== y) found.push({ name: prefix, what: `batch size [${x}] and [${y}]` });
  else if (namesOf(a) !== namesOf(b)) found.push({ name: prefix, what: `names [${namesOf(a)}] and [${namesOf(b)}]` });
  // Members that differ have no stack that could be compared with something else.
  if (isLazy(a) !== isLazy(b)) return;
  if (isLazy(a) && isLazy(b)) {
    const [left, right] = [a.members, b.members];
    for (let i = 0; i < Math.max(left.length, right.length); i++) {
      await compare(
        left[i] as Entry | undefined,
        right[i] as Entry | undefined,
        prefix === "" ? `${i}` : `${prefix}.${i}`,
        how,
        found,
      );
    }
    return;
  }
  for (const key of new Set([...a._keys(), ...b._keys()])) {
    await compare(a._own(key), b._own(key), prefix === "" ? key : `${prefix}.${key}`, how, found);
  }
}

/** Lists and tuples, numbers and texts as keys: what the entries do not tell. */
function compareTrees(a: PythonNode | null, b: PythonNode | null, found: Difference[]): void {
  const [x, y] = [pythonNotes(a), pythonNotes(b)];
  const onOneSide = found.filter(({ what }) => what === ONLY_FIRST || what === ONLY_SECOND).map(({ name }) => name);
  const isMissing = (name: string) => onOneSide.some((own) => name === own || name.startsWith(`${own}.`));
  for (const name of new Set([...x.keys(), ...y.keys()])) {
    // What is there once has nothing to differ from.
    if (isMissing(name)) continue;
    const [left, right] = [x.get(name), y.get(name)];
    if (left !== right)
      found.push({ name, what: `in Python ${left ?? "as it is here"} and ${right ?? "as it is here"}` });
  }
  const [first, second] = [objectsIn(a), objectsIn(b)];
  for (const [name, object] of first) {
    const other = second.get(name);
    const same = other === undefined || pythonText(other) === pythonText(object);
    // What is a value, or of another class, has been told.
    if (!same && !found.some((row) => row.name === name)) found.push({ name, what: "what the object is differs" });
  }
}

function shown({ name, what }: Difference): string {
  const text = printable(`${name === "" ? "(all)" : name}: ${what}`);
  if (what === ONLY_FIRST) return color("red", text);
  return what === ONLY_SECOND ? color("green", text) : text;
}

/** Prints the differences; gives whether there are none. */
export async function diff(first: string, second: string, options: DiffOptions): Promise<boolean> {
  const how = howOf(options);
  const keys = keysOption(options.keys);
  const a = await openSource(first, options, keys, "some");
  const b = await openSource(second, options, keys, "some");
  keys?.requireFound();
  const found: Difference[] = [];
  await compare(a.td as Entry, b.td as Entry, "", how, found);
  compareTrees(a.tree, b.tree, found);
  if (options.json) say(JSON.stringify(found, null, 2));
  else for (const difference of found) say(shown(difference));
  return found.length === 0;
}
