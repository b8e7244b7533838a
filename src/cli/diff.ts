// `zensor diff`: what is not the same in two files or directories, whatever their formats.
import { pythonJsonStringify } from "../io/base/python-json.ts";
import { pythonText } from "../io/pickle/python-object.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { NestedTensor } from "../tensordict/core/nested.ts";
import { isLazy, isNested, type Td } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor } from "../tensordict/index.ts";
import { pause } from "./lifetime.ts";

import { say } from "./output.ts";
import { objectsIn } from "./python-objects.ts";
import { pythonNotes } from "./python-tree.ts";
import { type PythonNode, valueOf } from "./python-values.ts";

import { openSource, type TrustOptions } from "./source.ts";
import { printable } from "./text.ts";
import { unknownDifference, unknownIn } from "./unknown-entries.ts";

/** One difference. */
interface Difference {
  name: string;
  what: string;
}

/** Elements compared at once, so that large tensors are not taken into memory whole. */
const CHUNK = 4 * 2 ** 20;

async function sameElements(a: Tensor, b: Tensor): Promise<boolean> {
  const [x, y] = [a.reshape(-1), b.reshape(-1)];
  for (let at = 0; at < x.numel(); at += CHUNK) {
    const length = Math.min(CHUNK, x.numel() - at);
    const [left, right] = [x.narrow(0, at, length), y.narrow(0, at, length)];
    await pause();
    if (left.equal(right)) continue;
    // A value that is no number is not equal to itself, and still no difference.
    const alike = left.eq(right).logicalOr(left.ne(left).logicalAnd(right.ne(right)));
    if (!(alike.all().item() as boolean)) return false;
  }
  return true;
}

async function tensorDifference(a: Tensor, b: Tensor): Promise<string | null> {
  if (a.dtype !== b.dtype) return `${a.dtype.name} and ${b.dtype.name}`;
  const [x, y] = [a.shape.join(", "), b.shape.join(", ")];
  if (x !== y) return `shape [${x}] and [${y}]`;
  if (a.requiresGrad !== b.requiresGrad) return "requires_grad differs";
  if (a.isMeta || b.isMeta) return a.isMeta === b.isMeta ? null : "one has no elements (meta)";
  return (await sameElements(a, b)) ? null : "elements differ";
}

async function nestedDifference(a: NestedTensor, b: NestedTensor): Promise<string | null> {
  const sizes = (n: NestedTensor) => n._sizesTensor();
  const differs = a.length !== b.length || a.ndim !== b.ndim || !(await sameElements(sizes(a), sizes(b)));
  if (differs) return `sizes of components differ (${a._batchSize} and ${b._batchSize})`;
  return await tensorDifference(a._values, b._values);
}

async function compare(a: Entry | undefined, b: Entry | undefined, name: string, found: Difference[]): Promise<void> {
  if (a === undefined || b === undefined) {
    found.push({ name, what: a === undefined ? "only in the second" : "only in the first" });
    return;
  }
  if (a instanceof Tensor || b instanceof Tensor) {
    const both = a instanceof Tensor && b instanceof Tensor;
    const what = both ? await tensorDifference(a, b) : "a tensor and something else";
    if (what !== null) found.push({ name, what });
    return;
  }
  if (isNested(a) || isNested(b)) {
    const both = isNested(a) && isNested(b);
    const what = both ? await nestedDifference(a, b) : "a nested tensor and something else";
    if (what !== null) found.push({ name, what });
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
    else if (value(left) !== value(right)) found.push({ name, what: "values differ" });
    return;
  }
  await compareLevels(left, right, name, found);
}

/** What a level is: a class of a program by its name. */
function kindOf(td: Td): string {
  if (isLazy(td)) return "a lazy stack";
  return td._kind === "tensorclass" ? td._className : "a TensorDict";
}

function namesOf(td: Td): string {
  return td._batchSize.map((_, i) => td._names?.[i] ?? "None").join(", ");
}

async function compareLevels(a: Td, b: Td, prefix: string, found: Difference[]): Promise<void> {
  if (kindOf(a) !== kindOf(b)) found.push({ name: prefix, what: `${kindOf(a)} and ${kindOf(b)}` });
  const [x, y] = [a._batchSize.join(", "), b._batchSize.join(", ")];
  if (x !== y) found.push({ name: prefix, what: `batch size [${x}] and [${y}]` });
  else if (namesOf(a) !== namesOf(b)) found.push({ name: prefix, what: `names [${namesOf(a)}] and [${namesOf(b)}]` });
  if (isLazy(a) && isLazy(b)) {
    const [left, right] = [a.members, b.members];
    for (let i = 0; i < Math.max(left.length, right.length); i++) {
      await compare(
        left[i] as Entry | undefined,
        right[i] as Entry | undefined,
        prefix === "" ? `${i}` : `${prefix}.${i}`,
        found,
      );
    }
    return;
  }
  for (const key of new Set([...a._keys(), ...b._keys()])) {
    await compare(a._own(key), b._own(key), prefix === "" ? key : `${prefix}.${key}`, found);
  }
}

/** Lists and tuples, numbers and texts as keys: what the entries do not tell. */
function compareTrees(a: PythonNode | null, b: PythonNode | null, found: Difference[]): void {
  const [x, y] = [pythonNotes(a), pythonNotes(b)];
  for (const name of new Set([...x.keys(), ...y.keys()])) {
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

/** Prints the differences; gives whether there are none. */
export async function diff(
  first: string,
  second: string,
  options: { json?: boolean } & TrustOptions,
): Promise<boolean> {
  const a = await openSource(first, options);
  const b = await openSource(second, options);
  const found: Difference[] = [];
  await compare(a.td as Entry, b.td as Entry, "", found);
  compareTrees(a.tree, b.tree, found);
  if (options.json) say(JSON.stringify(found, null, 2));
  else for (const { name, what } of found) say(printable(`${name === "" ? "(all)" : name}: ${what}`));
  return found.length === 0;
}
