// What differs between two views of the same collections.
import type { Outcome, Seen, SeenLeaf } from "./steps.ts";
import { isLeaf } from "./steps.ts";

/** Which parts of a leaf are compared: a plain model knows no strides. */
const LEAF = ["dt", "sh", "s", "v", "st", "off"] as const;

/** Strides, but for dimensions of one: what Python copies of a collection with a device has others there. */
const steps = (leaf: SeenLeaf) => leaf.st?.filter((_, dim) => leaf.sh[dim] !== 1);

function leafDifference(ours: SeenLeaf, theirs: SeenLeaf, at: string): string | null {
  for (const part of LEAF) {
    const [a, b] = part === "st" ? [steps(ours), steps(theirs)] : [ours[part], theirs[part]];
    if (a === undefined || b === undefined || ((part === "st" || part === "off") && ours.v.length === 0)) continue;
    if (JSON.stringify(a) !== JSON.stringify(b)) {
      return `${at} ${part}: ${JSON.stringify(a)} here, ${JSON.stringify(b)} expected`;
    }
  }
  return null;
}

function seenDifference(ours: Seen | SeenLeaf, theirs: Seen | SeenLeaf, at: string): string | null {
  if (isLeaf(ours) || isLeaf(theirs)) {
    if (isLeaf(ours) && isLeaf(theirs)) return leafDifference(ours, theirs, at);
    return `${at} is ${isLeaf(ours) ? "a leaf" : "a collection"} here`;
  }
  for (const part of ["c", "bs", "lk", "sd"] as const) {
    const [a, b] = [JSON.stringify(ours[part]), JSON.stringify(theirs[part])];
    if (a !== b) return `${at} ${part}: ${a} here, ${b} expected`;
  }
  const [m, n] = [ours.m ?? [], theirs.m ?? []];
  if (m.length !== n.length) return `${at}: ${m.length} members here, ${n.length} expected`;
  const keys = [ours, theirs].map((seen) => JSON.stringify((seen.e ?? []).map(([key]) => key)));
  if (keys[0] !== keys[1]) return `${at} keys: ${keys[0]} here, ${keys[1]} expected`;
  for (const [i, member] of m.entries()) {
    const reason = seenDifference(member, n[i] as Seen, `${at}.members[${i}]`);
    if (reason !== null) return reason;
  }
  for (const [i, [key, entry]] of (ours.e ?? []).entries()) {
    const reason = seenDifference(entry, (theirs.e as [string, Seen][])[i]?.[1] as Seen, `${at}.${key}`);
    if (reason !== null) return reason;
  }
  return null;
}

/** An error without the folder of its files. */
const plainText = (err: [string, string]): string => err.join(": ").replace(/\(\/[^()]*\/([^/()]*)\)/g, "($1)");

/** What Python alone refuses: to save views of files, and what it stumbles over. */
const THEIR_OWN = [
  "object has no attribute",
  "already has a file associated",
  "Boolean value of Tensor with no values",
  "missing 1 required",
  "there are exclusive keys",
  "zip() argument",
  "cat lazy stacked tds must have same stack dim",
  "has no attribute '_from_tensordict'",
];

/** What is refused here alone: parts of locked trees stay locked, and fields that a class has not are none. */
const OUR_OWN = [
  "Cannot unlock a tensordict that is part of a locked graph",
  "has no field",
  "cannot contain itself",
  "does not fit the entry of shape",
];

/** Where two outcomes of a step differ, or null; of errors the class and the text. */
export function differenceOf(ours: Outcome, theirs: Outcome, texts = true): string | null {
  if (ours.err !== undefined || theirs.err !== undefined) {
    if (ours.err === undefined && THEIR_OWN.some((text) => theirs.err?.[1].includes(text))) return null;
    if (ours.err === undefined) return `no error here, ${theirs.err?.join(": ")} expected`;
    if (OUR_OWN.some((text) => ours.err?.[1].includes(text)) && theirs.err === undefined) return null;
    if (theirs.err === undefined) return `${ours.err.join(": ")} here, none expected`;
    if (!texts) return null;
    const [a, b] = [plainText(ours.err), plainText(theirs.err)];
    // A line of advice may follow.
    return a === b || a.startsWith(`${b}\n`) ? null : `${a} here, ${b} expected`;
  }
  if (ours.vars.length !== theirs.vars.length)
    return `${ours.vars.length} results here, ${theirs.vars.length} expected`;
  for (const [i, seen] of ours.vars.entries()) {
    const reason = seenDifference(seen, theirs.vars[i] as Seen, `#${i}`);
    if (reason !== null) return reason;
  }
  return null;
}
