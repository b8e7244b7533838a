/** Groups of parameters: their options have PyTorch's names, which files have as well. */
import { pythonText } from "../api/print.ts";
import { isDict } from "../tensor/checks.ts";
import { Float, Int } from "../tensor/complex.ts";
import { KeyError, TypeError, ValueError, warn } from "../tensor/errors.ts";
import { Tensor } from "../tensor/tensor.ts";
import { legacyType, notIterable, typeName } from "../tensor/type-name.ts";

/** A group of parameters, with its options under PyTorch's names: `lr`, `weight_decay`. */
export interface ParamGroup {
  /** The parameters. */
  params: Tensor[];
  /** Their names, where they were given with names. */
  param_names?: string[];
  // biome-ignore lint/suspicious/noExplicitAny: each optimiser has its own options
  [option: string]: any;
}

/** A parameter, or a name and a parameter. */
export type NamedParameter = Tensor | readonly [name: string, parameter: Tensor];

/** What an optimiser takes: parameters, or objects of parameters and options. */
export type Params =
  | Iterable<NamedParameter>
  | Iterable<{ params: NamedParameter | Iterable<NamedParameter>; [option: string]: unknown }>;

const snake = (name: string): string => name.replace(/(?<=[a-z0-9])[A-Z]/g, (c) => `_${c.toLowerCase()}`);
const camel = (name: string): string => name.replace(/(?<=.)_([a-z])/g, (_, c: string) => c.toUpperCase());

/** Whole numbers that were given as floats: JavaScript's numbers do not tell. */
const floats = new WeakMap<object, Map<string, number>>();

/** A number as the program computes with it. */
export function plainNumber(value: unknown): unknown {
  return value instanceof Float || value instanceof Int ? Number(value.value) : value;
}

/** Sets an option; one that was given as a float is printed as one. */
export function setOption(group: object, key: string, value: unknown): void {
  const options = group as Record<string, unknown>;
  if (Array.isArray(value) && key === "betas") {
    options[key] = Object.freeze(value.map(plainNumber));
    return;
  }
  options[key] = plainNumber(value);
  if (!(value instanceof Float)) return;
  if (!floats.has(group)) floats.set(group, new Map());
  (floats.get(group) as Map<string, number>).set(key, value.value);
}

const asFloat = (x: unknown): unknown => (typeof x === "number" ? new Float(x) : x);

/** The option as Python prints it. */
function optionText(group: object, key: string, value: unknown): string {
  if (floats.get(group)?.get(key) === value) return pythonText(new Float(value as number));
  // As Python formats values: decays are floats, and tensors without dimensions are their number.
  if (key === "betas" && Array.isArray(value)) return pythonText(value.map(asFloat));
  if (value instanceof Tensor && value.ndim === 0) return pythonText(new Float(value.item() as number));
  if (key === "param_names" && Array.isArray(value)) return `[${value.map((x) => pythonText(x)).join(", ")}]`;
  return pythonText(value);
}

/** The groups as PyTorch prints them. */
export function groupsText(name: string, groups: readonly ParamGroup[]): string {
  const parts = groups.map((group, i) => {
    const keys = Object.keys(group)
      .filter((key) => key !== "params")
      .sort((a, b) => (a < b ? -1 : 1));
    const lines = keys.map((key) => `    ${key}: ${optionText(group, key, group[key])}\n`);
    return `\nParameter Group ${i}\n${lines.join("")}`;
  });
  return `${name} (${parts.join("")})`;
}

/** Lets options be read and set under the names that they have here, too: `group.weightDecay`. */
export function withOwnNames(group: ParamGroup): ParamGroup {
  for (const key of Object.keys(group)) {
    const own = camel(key);
    if (own === key || own in group) continue;
    Object.defineProperty(group, own, {
      get: () => group[key],
      set: (value) => setOption(group, key, value),
      enumerable: false,
      configurable: true,
    });
  }
  return group;
}

/** Options that older states lack. */
export function setDefaults(group: ParamGroup, defaults: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(defaults)) if (!(key in group)) group[key] = value;
}

function* itemsOf(params: unknown): Iterable<unknown> {
  if (typeof params === "object" && params !== null && Symbol.iterator in params) yield* params as Iterable<unknown>;
  else throw notIterable(params);
}

/** The list of what an optimiser was given: parameters or groups. */
export function listOf(params: unknown): unknown[] {
  if (params instanceof Tensor) {
    throw new TypeError(
      `params argument given to the optimizer should be an iterable of Tensors or dicts, but got ${legacyType(params)}`,
    );
  }
  const list = [...itemsOf(params)];
  if (list.length === 0) throw new ValueError("optimizer got an empty parameter list");
  return list;
}

const isPair = (x: unknown): x is readonly [string, unknown] =>
  Array.isArray(x) && x.length === 2 && typeof x[0] === "string";

/** The parameters of a group, with their names where they have some. */
function parametersOf(given: unknown): { params: unknown[]; names: string[] | null } {
  const list = given instanceof Tensor ? [given] : isPair(given) ? [given] : [...itemsOf(given)];
  const names = list.filter(isPair).map(([name]) => name);
  if (names.length > 0 && names.length !== list.length) {
    throw new ValueError("all optimizer params should be with/without names. Some param names are missing");
  }
  return { params: list.map((x) => (isPair(x) ? x[1] : x)), names: names.length > 0 ? names : null };
}

function checkParameter(param: unknown, differentiable: unknown): void {
  if (!(param instanceof Tensor)) {
    throw new TypeError(`optimizer can only optimize Tensors, but one of the params is ${typeName(param)}`);
  }
  if (!differentiable && !(param.isLeaf || param.retainsGrad)) {
    throw new ValueError("can't optimize a non-leaf Tensor");
  }
}

/** A new group from what was given, with the defaults where it says nothing. */
export function makeGroup(given: unknown, defaults: Readonly<Record<string, unknown>>): ParamGroup {
  if (!isDict(given)) throw new TypeError(`param_group must be a dict, but got <class '${typeName(given)}'>`);
  if (!("params" in given)) throw new KeyError("'params'");
  const { params, names } = parametersOf(given.params);
  const group: ParamGroup = { params: params as Tensor[] };
  for (const [key, value] of Object.entries(given)) {
    // Options may have the names that constructors take here.
    const name = key in defaults ? key : snake(key);
    if (key !== "params") setOption(group, name in defaults || name === "param_names" ? name : key, value);
  }
  if (names !== null) group.param_names = names;
  for (const param of params) checkParameter(param, defaults.differentiable);
  for (const [key, value] of Object.entries(defaults)) if (!(key in group)) setOption(group, key, value);
  if (new Set(params).size !== params.length) {
    warn(
      "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; " +
        "see github.com/pytorch/pytorch/issues/40967 for more information",
    );
  }
  return withOwnNames(group);
}

/** Refuses a group that does not fit beside the others. */
export function checkBeside(groups: readonly ParamGroup[], group: ParamGroup): void {
  const known = new Set<Tensor>();
  for (const other of groups) {
    for (const p of other.params) known.add(p);
    if ("param_names" in group !== "param_names" in other) {
      const which = "param_names" in group ? "with names" : "without names";
      throw new ValueError(
        "all optimizer param groups should be with/without names. " +
          `cannot add param group ${which} to the optimizer`,
      );
    }
  }
  if (group.params.some((p) => known.has(p))) {
    throw new ValueError("some parameters appear in more than one parameter group");
  }
}
