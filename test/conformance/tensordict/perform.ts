// Performs the call of a case.
import * as z from "../../../src/index.ts";
import { type Any, camel, NoSuchOp, NotApplicable } from "../adapter.ts";
import type { Encoded, Step } from "./case.ts";
import { classOf, exported, type Scene } from "./scene.ts";

const lib = z as Any;

const BINARY: Record<string, string> = {
  "+": "add",
  "-": "sub",
  "*": "mul",
  "/": "div",
  "**": "pow",
  "%": "mod",
  "&": "bitwiseAnd",
  "|": "bitwiseOr",
  "^": "bitwiseXor",
  "==": "eq",
  "!=": "ne",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
};
const MIRRORED: Record<string, string> = { lt: "gt", gt: "lt", le: "ge", ge: "le", eq: "eq", ne: "ne" };
const UNARY: Record<string, string> = { neg: "neg", "~": "bitwiseNot" };

/** The argument whose numbers are data, where 1 is an integer; the receiver counts. */
const DATA: Record<string, number> = {
  set: 2,
  setdefault: 2,
  fromkeys: 1,
  set_: 2,
  set_at_: 2,
  "[]=": 2,
  set_non_tensor: 2,
  new_tensor: 1,
  from_dict: 0,
  from_any: 0,
  "tensordict.make_tensordict": 0,
};

function dataPlace(step: Step): number {
  if (step.k !== "new") return DATA[step.m] ?? -1;
  return step.c === "TensorDict" || step.c === "TensorDictParams" ? 0 : -1;
}

const isCollection = (x: unknown) => z.isTensorCollection(x) || lib.TensorDictBase?.prototype.isPrototypeOf(x);

function member(self: Any, name: string): (...args: unknown[]) => unknown {
  const found = self?.[name];
  if (typeof found !== "function") throw new NoSuchOp(`no such method: ${name}`);
  return found.bind(self);
}

/** The name of a member: fields of tensorclasses stay as they are. */
function nameIn(self: Any, name: string): string {
  const fields = self?.constructor?.fields;
  return fields !== undefined && Object.hasOwn(fields, name) ? name : camel(name);
}

/** The parts of an index: a tuple is several, a list one. */
function indexParts(encoded: Encoded, index: unknown): unknown[] {
  const isTuple = encoded !== null && typeof encoded === "object" && "$tu" in encoded;
  if (!isTuple) return [Array.isArray(index) ? [index] : index];
  const parts = index as unknown[];
  return parts.length > 0 && parts.every((part) => typeof part === "string" && part !== "...") ? [parts] : parts;
}

function operator(name: string, step: Step, args: unknown[]): unknown {
  const [a, b, c] = args as [Any, Any, Any];
  if (name === "[]") return member(a, "at")(...indexParts(step.a[1], b));
  if (name === "[]=") {
    const parts = indexParts(step.a[1], b);
    const single = parts.length === 1 && !Array.isArray(parts[0]);
    member(a, "setAt")(single || isPath(parts[0]) ? parts[0] : parts, c);
    return null;
  }
  if (name === "del[]") {
    member(a, "del_")(b);
    return null;
  }
  if (name === "in" || name === "not in") throw new NotApplicable("Python's `in`");
  if (UNARY[name] !== undefined) return member(a, UNARY[name])();
  const inPlace = name.endsWith("=") && BINARY[name] === undefined;
  const word = BINARY[inPlace ? name.slice(0, -1) : name];
  if (word === undefined) throw new NotApplicable(`the operator ${name}`);
  if (inPlace) return member(a, `${word}_`)(b);
  if (isCollection(a) || !isCollection(b)) return member(a, word)(b);
  const mirrored = MIRRORED[word] ?? `r${word}`;
  if (typeof b[mirrored] === "function") return b[mirrored](a);
  return lib[word](a, b);
}

const isPath = (part: unknown) =>
  Array.isArray(part) && part.length > 0 && part.every((one) => typeof one === "string");

function builtin(name: string, x: Any): unknown {
  switch (name) {
    case "len":
      return x.length;
    case "repr":
    case "str":
      return String(x);
    case "list":
    case "iter":
    case "tuple":
      return [...x];
    case "copy":
      return member(x, "copy")();
    case "abs":
      return member(x, "abs")();
    default:
      throw new NotApplicable(`Python's ${name}()`);
  }
}

/** Functions that torch has by the same name. */
const RENAMED: Record<string, string> = {
  "tensordict.get_printoptions": "tensordict.get_tensor_dict_printoptions",
  "tensordict.set_printoptions": "tensordict.set_tensor_dict_printoptions",
};

/** Options by Python's names. */
function pythonOptions(options: object): Record<string, unknown> {
  const named = Object.entries(options).map(([key, value]) => [
    key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`),
    value,
  ]);
  // How notebooks show a TensorDict is no option here.
  return { ...Object.fromEntries(named), html: true };
}

function functionOf(given: string): (...args: unknown[]) => unknown {
  const name = RENAMED[given] ?? given;
  const [, ...parts] = name.split(".");
  const last = camel(parts.pop() as string).replace("None", "Null");
  const home = parts.reduce((at: Any, part) => at?.[camel(part)], lib);
  const found = parts.length > 0 && parts[0] !== "utils" ? home?.[last] : exported(last);
  if (typeof found !== "function") throw new NoSuchOp(`no such function: ${name}`);
  return given === "tensordict.get_printoptions" ? () => pythonOptions(found()) : found;
}

/** The class of a constructor or a class method. */
function target(step: Step): Any {
  const found = step.c?.startsWith("@") ? classOf(step.c, step.fl) : exported(step.c as string);
  if (found === undefined) throw new NoSuchOp(`no such class: ${step.c}`);
  return found;
}

function construct(step: Step, args: unknown[], options: Record<string, unknown> | undefined): unknown {
  const Class = target(step);
  // Entries named one by one: an object.
  const entries = step.c === "TensorDictParams" && args.length === 0 && !("lock" in (step.kw ?? {}));
  if (entries) return new Class(options);
  if (!step.c?.startsWith("@")) return options === undefined ? new Class(...args) : new Class(...args, options);
  const fields: Record<string, unknown> = {};
  const names = (step.fl ?? []).map(([name]) => name);
  for (const [i, value] of args.entries()) fields[names[i] as string] = value;
  const rest: Record<string, unknown> = {};
  const given = Object.entries(step.kw ?? {});
  for (const [key] of given) {
    const value = options?.[camel(key)];
    if (names.includes(key)) fields[key] = value;
    else rest[camel(key)] = value;
  }
  return new Class(fields, rest);
}

/** Python's make_tensordict takes entries by name beside its options: here they are one object. */
const MAKE_OPTIONS = new Set(["batch_size", "device", "auto_batch_size"]);

function makeTensordict(step: Step, options: Record<string, unknown> | undefined): unknown {
  const names = Object.keys(step.kw ?? {});
  const part = (own: boolean) =>
    Object.fromEntries(
      names
        .filter((name) => MAKE_OPTIONS.has(name) === own)
        .map((name) => [own ? camel(name) : name, options?.[camel(name)]]),
    );
  return lib.tensordict.makeTensordict(part(false), part(true));
}

/** The result of a call, whose arguments are decoded already. */
export function perform(step: Step, args: unknown[], options: Record<string, unknown> | undefined): unknown {
  const all = options === undefined ? args : [...args, options];
  const self = args[0] as Any;
  switch (step.k) {
    case "method":
    case "prog":
      if (step.m === "__call__") return self(...all.slice(1));
      return member(self, nameIn(self, step.m))(...all.slice(1));
    case "prop": {
      const name = nameIn(self, step.m);
      if (!(name in self)) throw new NoSuchOp(`no such property: ${name}`);
      return self[name];
    }
    case "setprop": {
      const name = nameIn(self, step.m);
      if (!(name in self)) throw new NoSuchOp(`no such property: ${name}`);
      self[name] = args[1];
      return null;
    }
    case "static":
      return member(target(step), camel(step.m))(...all);
    case "new":
      return construct(step, args, options);
    case "func":
      if (step.m === "tensordict.make_tensordict" && args.length === 0) return makeTensordict(step, options);
      return functionOf(step.m)(...all);
    case "op":
      return operator(step.m, step, args);
    case "builtin":
      return builtin(step.m, self);
    default:
      throw new Error(`unknown kind ${step.k}`);
  }
}

export function arguments_(scene: Scene, step: Step): [unknown[], Record<string, unknown> | undefined] {
  const entries = step.k === "new" && step.c === "TensorDictParams" && step.a.length === 0;
  return [scene.values(step.a, dataPlace(step)), scene.options(step.kw, step.m, entries)];
}
