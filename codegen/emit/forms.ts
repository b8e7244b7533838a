/**
 * The ways to write a call, as overloads. Each number of arguments has one overload where that is possible: then an
 * editor shows it first that people write first, and the compiler, when nothing fits, speaks of what was meant.
 */

/** An argument of a form: its name, and the types that it may have. */
export interface Param {
  readonly name: string;
  readonly types: readonly string[];
  readonly optional?: boolean;
  readonly rest?: boolean;
}

/** One overload. */
export interface Form {
  /** Type parameters, with their brackets. */
  readonly open: string;
  readonly params: readonly Param[];
  readonly result: string;
  /** What it is of, for its comment. */
  readonly of: number;
  /**
   * Forms that stand behind the others: those in which arguments are named that have to be there, and a function's
   * plain form, which is last: of an overloaded function that is handed on (`vmap(dot)`) TypeScript takes that one.
   */
  readonly place?: "named" | "last";
}

/** A positional argument. */
export interface Place {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
}

const OPTIONS = "options";

const union = (a: readonly string[], b: readonly string[]): string[] => [...new Set([...a, ...b])];
const sameTypes = (a: readonly string[], b: readonly string[]): boolean => a.join("|") === b.join("|");
const sameParams = (a: readonly Param[], b: readonly Param[]): boolean =>
  a.length === b.length && a.every((p, i) => p.name === b[i]?.name && sameTypes(p.types, b[i].types));

/** The overload's text behind the name. */
export function textOf({ open, params, result }: Form): string {
  const list = params.map(({ name, types, optional, rest }) => {
    const type = sorted(types).join(" | ");
    return rest ? `...${name}: ${types.length > 1 ? `(${type})` : type}[]` : `${name}${optional ? "?" : ""}: ${type}`;
  });
  return `${open}(${list.join(", ")}): ${result}`;
}

const isObject = (type: string): boolean => /(Options|Args)(<D>)?$|^(Omit|Some)<|^\{/.test(type);

/** What stands in its place first, then objects of options, null last; each once. */
function sorted(types: readonly string[]): string[] {
  const plain = types.filter((type) => !isObject(type)).flatMap((type) => type.split(" | "));
  const parts = [...new Set([...plain.filter((type) => type !== "null"), ...types.filter(isObject)])];
  return plain.includes("null") ? [...parts, "null"] : parts;
}

/**
 * The forms of a call with these arguments. `optionsAt` is the type of the object that names all arguments from a place
 * on, null where there is nothing to name. Where the last argument that is there and such an object could stand in one
 * place, they do; with `apart` the shortest form comes without it first, and with it last.
 */
export function formsOf(
  places: readonly Place[],
  optionsAt: (place: number) => string | null,
  head: Omit<Form, "params">,
  apart: boolean,
): Form[] {
  const required = places.filter((p) => p.required).length;
  const params = (count: number): Param[] => places.slice(0, count).map(({ name, type }) => ({ name, types: [type] }));
  const inPlace = new Map<number, Form>();
  const last: Form[] = [];
  const named: Form[] = [];
  for (let arity = 0; arity <= places.length + 1; arity++) {
    const own = arity >= required && arity <= places.length ? params(arity) : null;
    const options = arity === 0 ? null : optionsAt(arity - 1);
    const object = options === null ? null : { name: OPTIONS, types: [options] };
    if (own === null) {
      if (object === null) continue;
      const form = { ...head, params: [...params(arity - 1), object] };
      if (arity > required) inPlace.set(arity, form);
      else named.unshift({ ...form, place: "named" });
      continue;
    }
    const end = own.at(-1);
    const both = end === undefined || object === null ? end : { ...end, types: union(end.types, object.types) };
    if (apart && arity === required && both !== undefined && both !== end) {
      last.push({ ...head, params: [...own.slice(0, -1), both], place: "last" });
    } else if (both !== undefined) own[own.length - 1] = both;
    inPlace.set(arity, { ...head, params: own });
  }
  return [...joined([...inPlace.values()]), ...named, ...last];
}

/** Forms of growing length, each of which that begins another made a part of it. */
function joined(forms: readonly Form[]): Form[] {
  const out: Form[] = [];
  for (const form of forms) {
    const before = out.at(-1);
    const most = form.params.length - 1;
    const last = form.params[most];
    if (before !== undefined && last !== undefined && sameParams(before.params, form.params.slice(0, most))) {
      out[out.length - 1] = { ...form, params: [...before.params, { ...last, optional: true }] };
    } else out.push(form);
  }
  return out;
}

/** Whether the first type of options takes all that the second one takes. */
export type Covers = (wide: string, narrow: string) => boolean;

/** One form for two that differ in the types of one argument only, null where they differ in more. */
function merged(a: Form, b: Form, covers: Covers): Form | null {
  if (a.result !== b.result || a.open !== b.open || a.place !== b.place) return null;
  if (a.params.length !== b.params.length) return null;
  let different = -1;
  for (const [i, p] of a.params.entries()) {
    const q = b.params[i] as Param;
    if (p.optional !== q.optional || p.rest !== q.rest) return null;
    if (p.name !== q.name && p.name !== OPTIONS && q.name !== OPTIONS) return null;
    if (sameTypes(p.types, q.types)) continue;
    if (different >= 0) return null;
    different = i;
  }
  const params = a.params.map((p, i): Param => {
    const q = b.params[i] as Param;
    const types = union(p.types, q.types);
    const needed = types.filter((type) => !types.some((other) => covers(other, type)));
    return { ...p, name: p.name === OPTIONS ? q.name : p.name, types: needed };
  });
  return { ...a, params };
}

/** The forms of several operators behind one name, as few as say the same. */
export function fewest(forms: readonly Form[], covers: Covers): Form[] {
  const out: Form[] = [];
  for (const form of forms) {
    let now = form;
    let at = out.length;
    for (let i = 0; i < out.length; i++) {
      const one = merged(out[i] as Form, now, covers);
      if (one === null) continue;
      out.splice(i, 1);
      now = one;
      at = Math.min(at, i);
      i = -1;
    }
    out.splice(at, 0, now);
  }
  return out;
}
