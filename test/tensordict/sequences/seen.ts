// What a collection holds, told from what both languages say of it.
import type { Path, Seen, SeenLeaf } from "./steps.ts";
import { isLeaf } from "./steps.ts";

/** The entries of a collection; those of a lazy stack are those of its first member. */
export function entriesOf(seen: Seen): [string, Seen | SeenLeaf][] {
  return seen.c === "lazy" ? (seen.m?.[0] === undefined ? [] : entriesOf(seen.m[0])) : (seen.e ?? []);
}

/** The paths of all entries. */
export function pathsOf(seen: Seen): Path[] {
  const found: Path[] = [];
  for (const [key, entry] of entriesOf(seen)) {
    found.push([key]);
    if (!isLeaf(entry)) for (const path of pathsOf(entry)) found.push([key, ...path]);
  }
  return found;
}

export function entryAt(seen: Seen, path: Path): Seen | SeenLeaf | undefined {
  let at: Seen | SeenLeaf | undefined = seen;
  for (const key of path) {
    if (at === undefined || isLeaf(at)) return undefined;
    at = entriesOf(at).find(([k]) => k === key)?.[1];
  }
  return at;
}

/** The batch that a value at a path needs: that of the last level on the way there. */
export function batchOf(seen: Seen, path: Path): number[] {
  if (seen.c === "lazy") {
    const first = seen.m?.[0];
    return first === undefined ? seen.bs : batchOf(first, path).toSpliced(seen.sd as number, 0, seen.m?.length ?? 0);
  }
  const [key, ...rest] = path;
  const entry = seen.e?.find(([own]) => own === key)?.[1];
  return rest.length === 0 || entry === undefined || isLeaf(entry) ? seen.bs : batchOf(entry, rest);
}

/** The shape of the leaf at a path; null where there is none. */
export function shapeAt(seen: Seen | SeenLeaf | undefined, path: Path): number[] | null {
  if (seen === undefined || isLeaf(seen)) return seen !== undefined && path.length === 0 ? seen.sh : null;
  if (seen.c === "lazy") {
    const inner = shapeAt(seen.m?.[0], path);
    return inner === null ? null : inner.toSpliced(seen.sd as number, 0, seen.m?.length ?? 0);
  }
  const [key, ...rest] = path;
  return key === undefined ? null : shapeAt(seen.e?.find(([k]) => k === key)?.[1], rest);
}

/** Along which dimensions a collection is stacked, the outermost first. */
export function stackDims(seen: Seen): number[] {
  return seen.c !== "lazy" ? [] : [seen.sd as number, ...(seen.m?.[0] === undefined ? [] : stackDims(seen.m[0]))];
}

export function hasPoint(seen: Seen): boolean {
  if (seen.c === "lazy") return (seen.m ?? []).some(hasPoint);
  return seen.c === "point" || (seen.e ?? []).some(([, entry]) => !isLeaf(entry) && hasPoint(entry));
}

/** Whether a collection has no leaves that it lists: Python does not look at what is written into nothing. */
export function isBare(seen: Seen): boolean {
  return leavesOf(seen).size === 0;
}

export function storagesOf(seen: Seen | SeenLeaf): number[] {
  if (isLeaf(seen)) return [seen.s];
  return [...(seen.m ?? []), ...(seen.e ?? []).map(([, entry]) => entry)].flatMap(storagesOf);
}

export function leavesOf(seen: Seen): Set<string> {
  if (seen.c === "lazy") {
    const [first, ...others] = (seen.m ?? []).map(leavesOf);
    return new Set([...(first ?? [])].filter((path) => others.every((one) => one.has(path))));
  }
  const below = (seen.e ?? []).flatMap(([key, entry]) =>
    isLeaf(entry) ? [key] : [...leavesOf(entry)].map((path) => `${key}.${path}`),
  );
  return new Set(below);
}

/** Whether members of a stack have different keys. */
export function isRagged(seen: Seen): boolean {
  const members = seen.m ?? [];
  const keysOf = (one: Seen) => String(pathsOf(one).map(String).sort());
  const below = (seen.e ?? []).some(([, entry]) => !isLeaf(entry) && isRagged(entry));
  return below || members.some((one) => isRagged(one) || keysOf(one) !== keysOf(members[0] as Seen));
}
