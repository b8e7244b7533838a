// A random program: leaves, then calls of operators on them and on each other's results.
import { Buffer } from "node:buffer";
import type { CaseSet } from "../conformance/case-set.ts";
import type { Case, Code, Encoded, Step, TensorDesc } from "../conformance/case-types.ts";
import { bytesOf, type Raw } from "../ops/random-run.ts";

export interface Leaf {
  id: number;
  dt: Code;
  sh: number[];
  values: Raw[];
  rg: boolean;
}

/** `{ $v: id }` in the arguments stands for a leaf or a result. */
export interface Call {
  /** Of the result; null: it is the receiver, changed in place. */
  id: number | null;
  name: string;
  recv: number | null;
  args: Encoded[];
  kw: Record<string, Encoded>;
}

export interface Program {
  leaves: Leaf[];
  calls: Call[];
  /** Whether gradients of gradients, and the change along a tangent, are compared as well. */
  second?: true;
  /** Of the random numbers that calls draw. */
  seed?: number;
  /** The same place is written several times, or before it is read: it is asked only whether that is refused. */
  unordered?: true;
}

/** What torch answers (scripts/oracle/answer_programs.py). */
export interface Answer {
  odd?: string;
  err?: Case["err"];
  vars?: TensorDesc[];
  bw?: number;
  grads?: Case["grads"];
  bwerr?: Case["bwerr"];
  second?: Case["second"];
  storages?: string[];
}

/** Ids that a value names. */
export function usedBy(v: Encoded | Record<string, Encoded>): number[] {
  if (v === null || typeof v !== "object") return [];
  if (Array.isArray(v)) return v.flatMap(usedBy);
  const id = (v as { $v?: number }).$v;
  return id === undefined ? Object.values(v).flatMap((x) => usedBy(x as Encoded)) : [id];
}

function renamed<T extends Encoded>(v: T, numbers: ReadonlyMap<number, number>): T {
  if (v === null || typeof v !== "object") return v;
  if (Array.isArray(v)) return v.map((x) => renamed(x, numbers)) as T;
  const id = (v as { $v?: number }).$v;
  return id === undefined ? v : ({ $v: numbers.get(id) as number } as T);
}

/** Steps as golden cases have them: variables are numbered, leaves first. */
export function stepsOf({ leaves, calls }: Program): Step[] {
  const numbers = new Map(leaves.map(({ id }, k) => [id, k]));
  return calls.map(({ id, name, recv, args, kw }) => {
    const receiver = recv === null ? null : (numbers.get(recv) as number);
    const given = args.map((v) => renamed(v, numbers));
    const named = Object.fromEntries(Object.entries(kw).map(([k, v]) => [k, renamed(v, numbers)]));
    if (id !== null) numbers.set(id, numbers.size);
    return [id === null ? null : (numbers.get(id) as number), name, receiver, given, named];
  });
}

/** What torch is asked. */
export function question(p: Program): object {
  const leaves = p.leaves.map(({ dt, sh, values, rg }) => ({
    dt,
    sh,
    rg,
    b: Buffer.from(bytesOf(dt, values)).toString("base64"),
  }));
  return {
    leaves,
    steps: stepsOf(p),
    ...(p.second ? { second: true } : {}),
    ...(p.seed === undefined ? {} : { seed: p.seed }),
  };
}

/** Where contents lie already in the blob of a set. */
const kept = new WeakMap<CaseSet, Map<string, number>>();

function placesOf(set: CaseSet): Map<string, number> {
  const places = kept.get(set) ?? new Map<string, number>();
  kept.set(set, places);
  return places;
}

/** The golden case of a program and torch's answer, with its storages after what is in `set` already. */
export function addCase(set: CaseSet, id: string, p: Program, answer: Answer): Case {
  const S: [number, number][] = [];
  const parts: Uint8Array[] = [set.blob];
  let end = set.blob.length;
  const places = placesOf(set);
  const store = (bytes: Uint8Array): number => {
    const text = Buffer.from(bytes).toString("latin1");
    const known = places.get(text);
    if (known !== undefined) return S.push([known, bytes.length]) - 1;
    const gap = (16 - (end % 16)) % 16;
    parts.push(new Uint8Array(gap), bytes);
    S.push([end + gap, bytes.length]);
    places.set(text, end + gap);
    end += gap + bytes.length;
    return S.length - 1;
  };
  const leaves = p.leaves.map(({ dt, sh, values, rg }) => {
    const s = values.length === 0 ? -1 : store(bytesOf(dt, values));
    return { $t: { s, dt, sh, ...(rg ? { rg: 1 as const } : {}) } };
  });
  const base = S.length;
  for (const text of (p.unordered ? [] : answer.storages) ?? []) store(new Uint8Array(Buffer.from(text, "base64")));
  const placed = <T extends { s: number }>(d: T): T => (d.s < 0 ? d : { ...d, s: d.s + base });
  const c: Case = { id, op: "prog", fam: "prog", args: [], leaves, steps: stepsOf(p), S, loose: 20 };
  if (p.seed !== undefined) c.seed = p.seed;
  if (answer.err !== undefined) c.err = answer.err;
  if (p.unordered) c.kept = "unknown";
  else c.vars = answer.vars?.map(placed);
  if (answer.bw !== undefined && !p.unordered) c.bw = answer.bw;
  if (answer.bwerr !== undefined) c.bwerr = answer.bwerr;
  const all = (grads: NonNullable<Case["grads"]>): NonNullable<Case["grads"]> =>
    Object.fromEntries(Object.entries(grads).map(([k, { $t }]) => [k, { $t: placed($t) }]));
  if (answer.grads !== undefined) c.grads = all(answer.grads);
  if (answer.second !== undefined) {
    const { plain, grads, grads2, jvp } = answer.second;
    c.second = { grads: all(grads) };
    if (plain !== undefined) c.second.plain = all(plain);
    if (grads2 !== undefined) c.second.grads2 = all(grads2);
    if (jvp !== undefined) c.second.jvp = { $t: placed(jvp.$t) };
  }
  const blob = new Uint8Array(end);
  let at = 0;
  for (const part of parts) {
    blob.set(part, at);
    at += part.length;
  }
  set.blob = blob;
  set.cases.push(c);
  return c;
}

const written = (v: Raw): string => (Array.isArray(v) ? `${v.join("+")}j` : Object.is(v, -0) ? "-0" : String(v));

/** One line that shows a program. */
export function shown(p: Program): string {
  const few = ({ values }: Leaf): string => (p.second && values.length <= 8 ? `{${values.map(written)}}` : "");
  const leaves = p.leaves.map((leaf) => `$${leaf.id} = ${leaf.dt}[${leaf.sh}]${leaf.rg ? "!" : ""}${few(leaf)}`);
  const text = (v: unknown): string => JSON.stringify(v).replace(/\{"\$v":(\d+)\}/g, "$$$1");
  const calls = p.calls.map(({ id, name, recv, args, kw }) => {
    const rest = [...args.map(text), ...Object.entries(kw).map(([k, v]) => `${k}=${text(v)}`)].join(", ");
    return `${id === null ? "" : `$${id} = `}${recv === null ? "" : `$${recv}.`}${name}(${rest})`;
  });
  return [...leaves, ...calls].join("; ");
}
