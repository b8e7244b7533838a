// Calls a function by position, by name and with a name that it has not, and says what is wrong with it.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Parameter, parseSignature } from "../../scripts/signatures/parse.ts";

// biome-ignore lint/suspicious/noExplicitAny: functions and objects of all kinds are called by their names
export type Any = any;
type Call = (...args: unknown[]) => unknown;

/** Something to be called. */
export interface Target {
  /** How it is written: `tensordict.pad`, `TensorDict#view`, `new nn.Linear`. */
  path: string;
  signature: string;
  /** A new object whose method it is; null for functions. */
  receiver: () => unknown;
  call: (receiver: unknown, args: readonly unknown[]) => unknown;
  /** A value of an argument, made anew at every call. */
  value: (parameter: Parameter) => unknown;
  /** A dictionary in the place of the first argument is data, which names nothing. */
  placesOnly: boolean;
  /** Results that differ from call to call. */
  varies: boolean;
  /** Options that are given too, as one of several is needed. */
  also: readonly string[];
  /** It fails here, alike by position and by name. */
  fails: boolean;
}

export const isClass = (value: unknown): boolean =>
  typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));

/** The bytes of a zip archive without the times that its headers note, two seconds apart; others as they are. */
function withoutTimes(bytes: Buffer): Buffer {
  if (bytes.toString("latin1", 0, 4) !== "PK\x03\x04") return bytes;
  for (const [header, time] of [
    ["PK\x03\x04", 10],
    ["PK\x01\x02", 12],
  ] as const) {
    for (let at = bytes.indexOf(header, 0, "latin1"); at >= 0; at = bytes.indexOf(header, at + 4, "latin1")) {
      bytes.fill(0, at + time, at + time + 4);
    }
  }
  return bytes;
}

/** What a folder or file holds. */
function contents(path: string): string {
  if (!statSync(path).isDirectory()) {
    const bytes = readFileSync(path);
    // HDF5 notes the time.
    if (bytes.toString("latin1", 1, 4) === "HDF") return `${bytes.length} bytes`;
    return createHash("sha1").update(withoutTimes(bytes)).digest("hex");
  }
  return readdirSync(path)
    .sort()
    .map((name) => `${name}: ${contents(join(path, name))}`)
    .join("\n");
}

/** What can be seen of a value: its text, or what kind of object it is. */
function seen(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(seen).join(", ")}]`;
  if (typeof value === "function" && isClass(value)) return value.name;
  if (typeof value !== "object" || value === null) return String(value);
  const named = Object.getPrototypeOf(value)?.constructor?.name;
  const silent = value.toString === Object.prototype.toString;
  if (named !== undefined && named !== "Object" && silent) return `${named} of ${Object.keys(value)}`;
  return Bun.inspect(value, { depth: 6 });
}

/** Where the files of a target's arguments are, so that they are compared, too. */
const files = (args: readonly unknown[]) =>
  args.filter((one): one is string => typeof one === "string" && one.includes("/") && existsSync(one));

export class Comparison {
  /**
   * @param folder what paths begin with that differ from call to call
   * @param begin called before each call and what it takes
   */
  constructor(
    private readonly folder: string,
    private readonly begin: () => void,
  ) {}

  /** Some are promised; other objects that can be awaited are themselves called. */
  private async receiver(target: Target): Promise<{ made: unknown }> {
    const made = target.receiver();
    return { made: made instanceof Promise ? await made : made };
  }

  private text(value: unknown): string {
    const place = new RegExp(`${this.folder}/\\d+`, "g");
    try {
      return seen(value).replace(place, "FOLDER");
    } catch (error) {
      return String(error);
    }
  }

  /** The result, the receiver, the arguments and the files afterwards. */
  private async outcome(
    target: Target,
    { made }: { made: unknown },
    args: readonly unknown[],
    given: readonly unknown[],
  ) {
    let result: unknown;
    try {
      result = await target.call(made, args);
      if (target.fails) throw new Error("does not fail");
    } catch (error) {
      if (!target.fails) throw error;
      result = String(error);
    }
    const after = [made, ...given].map((one) => this.text(one));
    const fixed = target.varies ? [] : [this.text(result), ...files(given).map(contents)];
    return [...fixed, ...after].join("\n");
  }

  /** What is wrong with the calls of a target. */
  async problems(target: Target): Promise<string[]> {
    const { positional, options: optional } = parseSignature(target.signature);
    const needed = optional.filter((one) => !one.optional || target.also.includes(one.name));
    const found: string[] = [];
    try {
      this.begin();
      const values = positional.map(target.value);
      const options = Object.fromEntries(needed.map((one) => [one.name, target.value(one)]));
      const trailing = needed.length > 0 ? [options] : [];
      const places = (list: readonly unknown[]) =>
        list.flatMap((value, i) => (positional[i]?.rest ? (value as unknown[]) : [value]));
      const byPlace = await this.outcome(target, await this.receiver(target), [...places(values), ...trailing], values);
      if (!target.placesOnly && positional.length > 0) {
        this.begin();
        const again = positional.map((one, i) => (typeof values[i] === "function" ? values[i] : target.value(one)));
        const names = { ...Object.fromEntries(positional.map((one, i) => [one.name, again[i]])), ...options };
        const byName = await this.outcome(target, await this.receiver(target), [names], again);
        if (byName !== byPlace) found.push(`${target.path}: by name\n${byName}\nby position\n${byPlace}`);
        found.push(...(await this.refused(target, [{ ...names, noSuchName: 1 }])));
      }
      const last = positional.map(target.value);
      found.push(...(await this.refused(target, [...places(last), { ...options, noSuchName: 1 }])));
    } catch (error) {
      found.push(`${target.path}: ${String(error).split("\n")[0]}`);
    }
    return found;
  }

  private async refused(target: Target, args: readonly unknown[]): Promise<string[]> {
    // Names that are not known are those of entries.
    if (/ \*\*:/.test(target.signature)) return [];
    try {
      await target.call((await this.receiver(target)).made, args);
      return [`${target.path}: takes a name that it has not`];
    } catch (error) {
      const text = String(error);
      if (/got an unexpected keyword argument 'noSuchName'/.test(text)) return [];
      return [`${target.path} with a wrong name: ${text.split("\n")[0]}`];
    }
  }
}

/** A function or class of the package, or a member of such a class. */
export interface Found {
  kind: "function" | "constructor" | "static" | "method";
  /** How it is written. */
  path: string;
  /** The names that lead to it: of namespaces, then of the class or function. */
  home: string[];
  name: string;
  fn: Call;
  /** The class whose own member it is; null for functions. */
  owner: Any;
}

const BUILT_IN: readonly unknown[] = [Object, Function, Array, Error, Promise].flatMap((made) => [
  made,
  made.prototype,
]);

/** Members of a class and of what it extends, without those that are internal or of the language. */
function* members(made: Any, kind: "static" | "method", path: string, home: string[]): Generator<Found> {
  const start = kind === "static" ? made : made.prototype;
  const seen = new Set<string>();
  for (let at = start; at !== null && !BUILT_IN.includes(at); at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)) as [string, Any][]) {
      if (typeof value !== "function" || name === "constructor" || name.startsWith("_") || isClass(value)) continue;
      // What a class has of its own hides what stands above it.
      if (seen.has(name)) continue;
      seen.add(name);
      const owner = kind === "static" ? at : at.constructor;
      yield { kind, path: `${path}${kind === "static" ? "." : "#"}${name}`, home, name, fn: value, owner };
    }
  }
}

/** Everything that can be called in a namespace, depth first; classes named in `first` before all others. */
export function* exported(namespace: Any, home: string[] = []): Generator<Found> {
  for (const [name, value] of Object.entries(namespace) as [string, Any][]) {
    const path = [...home, name].join(".");
    if (typeof value === "function") {
      const kind = isClass(value) ? "constructor" : "function";
      yield { kind, path: kind === "constructor" ? `new ${path}` : path, home, name, fn: value, owner: null };
      if (kind === "function") continue;
      yield* members(value, "static", path, [...home, name]);
      yield* members(value, "method", path, [...home, name]);
    } else if (typeof value === "object" && value !== null) {
      const prototype = Object.getPrototypeOf(value);
      const plain = prototype === null || prototype === Object.prototype || prototype.constructor === undefined;
      if (plain) yield* exported(value, [...home, name]);
    }
  }
}
