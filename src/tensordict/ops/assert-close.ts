// Comparing two collections, entry by entry, as tests do.
import { inOrder } from "../../tensor/checks.ts";
import { AssertionError, KeyError, RuntimeError } from "../../tensor/errors.ts";
import { tidy } from "../../tensor/temporaries.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { pythonString } from "../core/keys.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { entriesOf, isLazy, isNonTensor, isTensorCollection, type Td, type ValueTd } from "../core/state.ts";

/** What the names of an entry and of the levels above it print as. */
function named(path: readonly string[]): string {
  const names = path.map(pythonString);
  return `(${names.join(", ")}${names.length === 1 ? "," : ""})`;
}

interface Bounds {
  rtol: number;
  atol: number;
  equalNan: boolean;
  msg: string;
}

function compareTensors(a: Tensor, b: Tensor, path: readonly string[], { rtol, atol, equalNan, msg }: Bounds): void {
  const same = `${a.shape}` === `${b.shape}`;
  if (same && tidy(() => a.to("float64").isclose(b.to("float64"), { rtol, atol, equalNan }).all().item())) return;
  const apart = same ? a.to("float64").sub(b.to("float64")).pow(2).mean().sqrt().item() : Number.NaN;
  const shapes = same ? `got mse = ${Number(apart).toFixed(4)}` : `got the shapes ${a.shape} and ${b.shape}`;
  throw new AssertionError(`key ${named(path)} does not match, ${shapes}${msg === "" ? "" : `\n${msg}`}`);
}

/** Of one value for all elements, the value: how many elements it stands for does not matter. */
function plainValues(entry: ValueTd): unknown {
  return entry._kind === "nonTensor" ? entry.value_ : entry.tolist();
}

function sameValues(a: ValueTd, b: ValueTd): boolean {
  if (a._kind === b._kind) return Bun.deepEquals(plainValues(a), plainValues(b));
  return Bun.deepEquals(a.tolist(), b.tolist());
}

function compareTrees(a: Td, b: Td, path: readonly string[], bounds: Bounds): void {
  if (isLazy(a) && isLazy(b) && a.stackDim === b.stackDim && a.members.length === b.members.length) {
    for (const [i, member] of a.members.entries()) compareTrees(member, b.members[i] as Td, path, bounds);
    return;
  }
  const [keys, others] = [new Set(a._keys()), new Set(b._keys())];
  const odd = [...keys.symmetricDifference(others)];
  if (odd.length > 0) {
    throw new KeyError(
      `actual and expected structures don't match, these keys are in one only: ${odd.sort().join(", ")}`,
    );
  }
  for (const [key, entry] of entriesOf(a)) {
    const [other, at] = [b._own(key), [...path, key]];
    if (entry instanceof Tensor && other instanceof Tensor) compareTensors(entry, other, at, bounds);
    else if (isNonTensor(entry) && isNonTensor(other)) {
      if (!sameValues(entry, other)) {
        throw new AssertionError(`key ${named(at)} does not match: ${entry.tolist()} and ${other.tolist()}`);
      }
    } else if (isTensorCollection(entry) && isTensorCollection(other)) compareTrees(entry, other, at, bounds);
    else throw new AssertionError(`key ${named(at)} does not match: a tensor in one, none in the other`);
  }
}

/**
 * Throws unless two collections have the same keys and equal or close tensors under them.
 * @param rtol how far apart relative to the expected value, 1.3e-6 unless given
 * @param atol how far apart at all, 1e-5 unless given
 * @param msg comes at the end of the error
 * @returns true
 * @throws AssertionError for values that differ, KeyError for keys
 * @example
 * ```ts
 * const td = new TensorDict({ a: arange(3) }, [3]);
 * tensordict.assertClose(td, td.clone()) // true
 * ```
 * @torch tensordict.assert_close
 */
export function assertClose(
  actual: Td,
  expected: Td,
  rtol: number | null = null,
  atol: number | null = null,
  equalNan = true,
  msg = "",
): true {
  [actual, expected, rtol = null, atol = null, equalNan = true, msg = ""] = inOrder<Parameters<typeof assertClose>>(
    "assertClose",
    FUNCTIONS.assertClose,
    arguments,
  );
  if ((rtol ?? 0) < 0 || (atol ?? 0) < 0) throw new RuntimeError("rtol and atol must not be negative");
  compareTrees(actual, expected, [], { rtol: rtol ?? 1.3e-6, atol: atol ?? 1e-5, equalNan, msg });
  return true;
}
