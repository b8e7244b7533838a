// What scenes of tensordict's modules show, as text; scripts/oracle/make_td_nn_cases.py writes the same of Python's.
import { Size, Tensor, tensordict } from "../../src/index.ts";
import { listText, pythonString } from "../../src/tensordict/core/keys.ts";
import { pythonRepr } from "../../src/tensordict/core/python-repr.ts";

// biome-ignore lint/suspicious/noExplicitAny: results of all kinds are shown
type Any = any;

export type Show = (...values: Any[]) => void;

/** A key inside of a list, nested ones as tuples. */
const keyOf = (key: string | readonly string[]): string =>
  typeof key === "string" ? pythonString(key) : `(${key.map(pythonString).join(", ")})`;

/** A list of keys. */
export const keys = (list: readonly (string | readonly string[])[]): string => `[${list.map(keyOf).join(", ")}]`;

/** Keys of a TensorDict in order. */
export const sorted = (list: Iterable<string>): string => listText([...list].sort());

function tensorText(x: Tensor): string {
  const flat = x.detach().reshape(-1).tolist() as (number | boolean)[];
  const shown = flat.map((value) => {
    if (typeof value === "boolean") return String(value);
    if (Number.isNaN(value)) return '"nan"';
    return Number.isFinite(value) ? String(value) : `"${value > 0 ? "inf" : "-inf"}"`;
  });
  return `${x.dtype.name} [${x.shape.join(", ")}] [${shown.join(", ")}]`;
}

export function seen(x: Any): string {
  if (x instanceof Tensor) return tensorText(x);
  if (x instanceof Size) return String(x);
  if (tensordict.isNonTensor(x)) return String(x);
  if (x?.batchSize !== undefined && typeof x.items === "function") {
    const entries: [string, Any][] = x
      .items({ includeNested: true, leavesOnly: true })
      .map(([key, value]: Any) => [typeof key === "string" ? key : key.join("/"), value]);
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return `[${[...x.batchSize].join(", ")}] ${entries.map(([name, value]) => `${name}: ${seen(value)}`).join("; ")}`;
  }
  if (Array.isArray(x) && x.some((one) => one instanceof Tensor)) return x.map(seen).join(" | ");
  if (Array.isArray(x)) return `[${x.map((one) => (Array.isArray(one) ? keyOf(one) : pythonRepr(one))).join(", ")}]`;
  return typeof x === "string" || typeof x === "function" ? String(x) : pythonRepr(x);
}

/** What a call gives, or its error. */
export function error(run: () => Any): string {
  try {
    return seen(run());
  } catch (thrown) {
    return `${(thrown as Error).name}: ${(thrown as Error).message}`;
  }
}

const NUMBER = /-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/g;

/** Whether two texts are the same but for how their numbers are rounded. */
export function alike(got: string, wanted: string): boolean {
  if (got.replace(NUMBER, "#") !== wanted.replace(NUMBER, "#")) return false;
  const [a, b] = [got.match(NUMBER) ?? [], wanted.match(NUMBER) ?? []];
  return a.every((one, i) => Math.abs(Number(one) - Number(b[i])) <= 1e-4 * (1e-3 + Math.abs(Number(b[i]))));
}
