/** Nested arrays and plain objects of tensors, as torch's transforms take and give them. */
import { isDict } from "../tensor/checks.ts";

/** The structure of a value: what its nodes are, with a leaf for everything that is none. */
export type Structure =
  | { readonly kind: "leaf" }
  | { readonly kind: "list"; readonly parts: readonly Structure[] }
  | { readonly kind: "dict"; readonly keys: readonly string[]; readonly parts: readonly Structure[] };

const LEAF: Structure = { kind: "leaf" };

/** Adds the leaves of a value to `leaves`, in order; gives its structure. */
export function flatten(value: unknown, leaves: unknown[]): Structure {
  if (Array.isArray(value)) return { kind: "list", parts: value.map((x) => flatten(x, leaves)) };
  if (isDict(value)) {
    const keys = Object.keys(value);
    return { kind: "dict", keys, parts: keys.map((k) => flatten(value[k], leaves)) };
  }
  leaves.push(value);
  return LEAF;
}

/** A value of this structure, with the leaves that `next` gives in order. */
export function unflatten(structure: Structure, next: () => unknown): unknown {
  if (structure.kind === "leaf") return next();
  const parts = structure.parts.map((part) => unflatten(part, next));
  if (structure.kind === "list") return parts;
  return Object.fromEntries(structure.keys.map((k, i) => [k, parts[i]]));
}

/** A value of this structure with these leaves. */
export function rebuilt(structure: Structure, leaves: readonly unknown[]): unknown {
  let at = 0;
  return unflatten(structure, () => leaves[at++]);
}

export function countLeaves(structure: Structure): number {
  return structure.kind === "leaf" ? 1 : structure.parts.reduce((n, part) => n + countLeaves(part), 0);
}

/** What `given` says of each leaf: a leaf of it holds for all below. Null where the structures differ. */
export function broadcast(given: unknown, structure: Structure): unknown[] | null {
  const node = Array.isArray(given) || isDict(given);
  if (!node) return new Array(countLeaves(structure)).fill(given);
  const parts = partsLike(given, structure);
  if (parts === null) return null;
  const all: unknown[] = [];
  for (const [part, below] of parts) {
    const found = broadcast(part, below);
    if (found === null) return null;
    all.push(...found);
  }
  return all;
}

function partsLike(given: unknown, structure: Structure): [unknown, Structure][] | null {
  if (structure.kind === "leaf") return null;
  const { parts } = structure;
  if (structure.kind === "list") {
    if (!Array.isArray(given) || given.length !== parts.length) return null;
    return parts.map((part, i) => [given[i], part]);
  }
  if (!isDict(given)) return null;
  const same = Object.keys(given).length === parts.length && structure.keys.every((k) => k in given);
  return same ? parts.map((part, i) => [given[structure.keys[i] as string], part]) : null;
}

/** As torch prints a structure; the outermost array is a tuple. */
export function structureText(structure: Structure, outer = true, indent = 2): string {
  if (structure.kind === "leaf") return "*";
  const parts = structure.parts.map((part) => structureText(part, false, indent + 2));
  const type = structure.kind === "dict" ? "dict" : outer ? "tuple" : "list";
  const context = structure.kind === "dict" ? pythonText(structure.keys, false) : "None";
  return `TreeSpec(${type}, ${context}, [${parts.join(`,\n${" ".repeat(indent)}`)}])`;
}

/** A value as Python writes it; the outermost array is a tuple. */
export function pythonText(value: unknown, outer = true): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "string") return `'${value}'`;
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) {
    const parts = value.map((x) => pythonText(x, false));
    if (!outer) return `[${parts.join(", ")}]`;
    return parts.length === 1 ? `(${parts[0]},)` : `(${parts.join(", ")})`;
  }
  if (isDict(value)) {
    return `{${Object.entries(value)
      .map(([k, x]) => `'${k}': ${pythonText(x, false)}`)
      .join(", ")}}`;
  }
  return String(value);
}
